#pragma once

#include "app/models/file_transfer.h"
#include "app/models/hub_client.h"

#include <QElapsedTimer>
#include <QList>
#include <QMetaType>
#include <QObject>
#include <QString>
#include <QTimer>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace vitrine {

enum class DownloadState : std::uint8_t { waiting, running, paused, failed, finished };

struct DownloadStatus {
    struct File {
        QString name;
        qint64 done = 0;
        qint64 total = 0;
        QString note;
    };

    QString hubId;
    QString folder;  // where the model is once it is complete
    DownloadState state = DownloadState::paused;
    qint64 done = 0;
    qint64 total = 0;
    double bytesPerSecond = 0.0;  // 0: not known
    QString reason;               // why it failed, or what holds it up
    QList<File> files;
};

struct DownloadOptions {
    TransferPatience patience;
    int filesAtOnce = 3;
    std::function<qint64(const QString& folder)> freeBytes;  // absent: the file system is asked; -1: not known
};

// The chosen files of one repository, gathered in MODELS/OWNER--NAME.part with a description (download.json) from
// which another run of the program goes on. When all are complete the folder gets its name without ".part", so that a
// model is there whole or not at all. Lives on the thread of its client; a failure stops all transfers and keeps what
// has come.
class Download : public QObject {
    Q_OBJECT

public:
    // Throws nothing; a folder that cannot be made shows as failed when started.
    Download(HubClient& client, HubListing chosen, const QString& modelsFolder, DownloadOptions options,
             QObject* parent);
    ~Download() override;
    // From the description in MODELS/*.part; nullptr when there is none or it is damaged.
    static Download* restore(HubClient& client, const QString& partFolder, DownloadOptions options, QObject* parent);

    void adopt(const HubListing& chosen);  // other files, or other versions of them, while not running
    void start();                          // also after pause and failure
    void pause();
    void remove();   // what has come, too
    void suspend();  // the program ends: the files are closed, the next one goes on

    const DownloadStatus& status() const { return m_status; }

Q_SIGNALS:
    void changed();

private:
    struct Entry {
        HubFile file;
        QByteArray etag;
        bool complete = false;
    };

    void doubt(const QString& name);
    bool hasRoom();
    void startTransfers();
    void onFileFinished(const QString& name);
    void stopTransfers();
    void fail(const QString& reason);
    void finish();
    void lookAround();  // which files are complete
    void refresh();
    bool save();
    void setState(DownloadState state, const QString& reason = {});

    HubClient& m_client;
    QString m_commit;
    QString m_partFolder;
    DownloadOptions m_options;
    QList<Entry> m_entries;
    std::map<QString, FileTransfer*> m_transfers;  // by file name, children of this
    DownloadStatus m_status;
    QTimer m_tick;
    QElapsedTimer m_sinceTick;
    qint64 m_received = 0;  // at the last tick
    bool m_measuring = false;
};

// "Qwen/Qwen3-0.6B" <-> "Qwen--Qwen3-0.6B"
QString folderNameOf(const QString& hubId);
QString hubIdOf(const QString& folderName);

}  // namespace vitrine

Q_DECLARE_METATYPE(vitrine::DownloadStatus)
