#pragma once

#include <QString>

namespace vitrine {

// Where one person's things live. The standard profile follows the desktop's conventions; another one keeps everything
// under a single folder, so that tests, demonstrations and second set-ups never meet.
class Profile {
public:
    static Profile standard();
    static Profile at(const QString& folder);

    QString settingsFile() const;  // typed settings, JSON
    QString databaseFile() const;  // chats and the caption library
    QString dataFolder() const { return m_data; }
    QString modelsFolder() const;
    QString runsFolder() const;
    QString cacheFolder(const QString& name) const;  // may be deleted at any time
    QString identity() const;                        // the same for two processes of one profile, fit for a socket name

private:
    Profile(QString config, QString data, QString localData, QString cache);

    QString m_config;
    QString m_data;
    QString m_localData;
    QString m_cache;
};

}  // namespace vitrine
