#include "app/settings.h"

#include <QDateTime>
#include <QDir>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QSaveFile>
#include <QThreadPool>

namespace vitrine {
namespace {

// Writes follow one another on a single thread, so that the last one wins.
QThreadPool& writer() {
    static QThreadPool pool;
    pool.setMaxThreadCount(1);
    return pool;
}

QString save(const QString& path, const QByteArray& content) {
    QDir().mkpath(QFileInfo(path).path());
    QSaveFile file(path);
    if (file.open(QIODevice::WriteOnly) && file.write(content) == content.size() && file.commit()) return {};
    return Settings::tr("The settings could not be saved to %1: %2").arg(path, file.errorString());
}

}  // namespace

Settings::Settings(QString file, QObject* parent) : QObject(parent), m_file(std::move(file)) {
    m_timer.setSingleShot(true);
    m_timer.setInterval(500);
    connect(&m_timer, &QTimer::timeout, this, &Settings::write);

    QFile content(m_file);
    if (!content.open(QIODevice::ReadOnly)) return;
    QJsonParseError error;
    const QJsonDocument document = QJsonDocument::fromJson(content.readAll(), &error);
    if (document.isObject()) {
        m_values = document.object();
        return;
    }
    const QString kept = m_file + QStringLiteral(".damaged-") +
                         QDateTime::currentDateTimeUtc().toString(QStringLiteral("yyyyMMdd-HHmmss"));
    content.close();
    if (QFile::rename(m_file, kept)) {
        QMetaObject::invokeMethod(
            this, [this, kept] { Q_EMIT damaged(kept); }, Qt::QueuedConnection);
    }
}

Settings::~Settings() {
    flush();
}

void Settings::flush() {
    m_timer.stop();
    write();
    writer().waitForDone();
}

QJsonValue Settings::encode(const QStringList& value) {
    return QJsonArray::fromStringList(value);
}

void Settings::store(const char* key, const QJsonValue& value) {
    const QString name = QString::fromLatin1(key);
    if (m_values.value(name) == value) return;
    m_values.insert(name, value);
    m_dirty = true;
    m_timer.start();
    Q_EMIT changed(name);
}

void Settings::write() {
    if (!m_dirty) return;
    m_dirty = false;
    const QByteArray content = QJsonDocument(m_values).toJson();
    writer().start([this, path = m_file, content] {
        if (const QString fault = save(path, content); !fault.isEmpty()) Q_EMIT failed(fault);
    });
}

template <typename T>
T Settings::get(const Setting<T>& setting) const {
    const QJsonValue value = m_values.value(QLatin1String(setting.key));
    if constexpr (std::is_same_v<T, bool>) {
        return value.toBool(setting.fallback);
    } else if constexpr (std::is_same_v<T, int>) {
        return value.toInt(setting.fallback);
    } else if constexpr (std::is_same_v<T, double>) {
        return value.toDouble(setting.fallback);
    } else if constexpr (std::is_same_v<T, QString>) {
        return value.toString(setting.fallback);
    } else if constexpr (std::is_same_v<T, QJsonObject>) {
        return value.isObject() ? value.toObject() : setting.fallback;
    } else if constexpr (std::is_same_v<T, QByteArray>) {
        return value.isString() ? QByteArray::fromBase64(value.toString().toLatin1()) : setting.fallback;
    } else {
        static_assert(std::is_same_v<T, QStringList>);
        if (!value.isArray()) return setting.fallback;
        QStringList list;
        for (const QJsonValue& entry : value.toArray()) list.append(entry.toString());
        return list;
    }
}

template bool Settings::get(const Setting<bool>&) const;
template int Settings::get(const Setting<int>&) const;
template double Settings::get(const Setting<double>&) const;
template QString Settings::get(const Setting<QString>&) const;
template QByteArray Settings::get(const Setting<QByteArray>&) const;
template QStringList Settings::get(const Setting<QStringList>&) const;
template QJsonObject Settings::get(const Setting<QJsonObject>&) const;

}  // namespace vitrine
