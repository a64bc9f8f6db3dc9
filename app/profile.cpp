#include "app/profile.h"

#include <QCryptographicHash>
#include <QDir>
#include <QStandardPaths>

namespace vitrine {

Profile::Profile(QString config, QString data, QString localData, QString cache)
    : m_config(std::move(config)),
      m_data(std::move(data)),
      m_localData(std::move(localData)),
      m_cache(std::move(cache)) {}

Profile Profile::standard() {
    const auto place = [](QStandardPaths::StandardLocation location) {
        return QStandardPaths::writableLocation(location);
    };
    return {place(QStandardPaths::AppConfigLocation), place(QStandardPaths::AppDataLocation),
            place(QStandardPaths::AppLocalDataLocation), place(QStandardPaths::CacheLocation)};
}

Profile Profile::at(const QString& folder) {
    const QString base = QDir(folder).absolutePath();
    return {base + QStringLiteral("/config"), base + QStringLiteral("/data"), base + QStringLiteral("/data"),
            base + QStringLiteral("/cache")};
}

QString Profile::settingsFile() const {
    return m_config + QStringLiteral("/settings.json");
}
QString Profile::databaseFile() const {
    return m_data + QStringLiteral("/vitrine.sqlite");
}
QString Profile::modelsFolder() const {
    return m_localData + QStringLiteral("/models");
}
QString Profile::runsFolder() const {
    return m_data + QStringLiteral("/runs");
}
QString Profile::cacheFolder(const QString& name) const {
    return m_cache + QLatin1Char('/') + name;
}

QString Profile::identity() const {
    const QByteArray hash = QCryptographicHash::hash(m_data.toUtf8(), QCryptographicHash::Sha256);
    return QStringLiteral("vitrine-") + QString::fromLatin1(hash.toHex().left(16));
}

}  // namespace vitrine
