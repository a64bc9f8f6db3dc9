#pragma once

#include "app/models/download.h"

#include <QHash>
#include <QList>
#include <QObject>
#include <QString>
#include <QThread>

#include <memory>
#include <optional>

namespace vitrine {

// All downloads as the UI thread sees them: wishes go in, signals come back. Network, hashing and writing happen on a
// thread of its own named "downloads". Those that were not paused when the program ended go on by themselves.
// Destroying it closes the files and leaves what has come.
class Downloads : public QObject {
    Q_OBJECT

public:
    Downloads(HubEndpoint endpoint, const QString& modelsFolder, DownloadOptions options = {},
              QObject* parent = nullptr);
    ~Downloads() override;

    QString host() const;
    QList<DownloadStatus> all() const { return m_all; }  // oldest first
    std::optional<DownloadStatus> find(const QString& hubId) const;

    // Answered by listed() or listFailed().
    void list(const QString& hubId);
    // `chosen` has only the files that are wanted. What is there of an earlier try is gone on from.
    void start(const HubListing& chosen);
    void resume(const QString& hubId);
    void pause(const QString& hubId);
    void cancel(const QString& hubId, bool keep);  // keep: as paused, to be gone on from later
    void dismiss(const QString& hubId);            // a finished one leaves the list

Q_SIGNALS:
    void listed(const vitrine::HubListing& listing, qint64 freeBytes);
    void listFailed(const QString& hubId, const QString& reason);
    void changed(const QString& hubId);  // also when it has left the list
    void finished(const QString& hubId, const QString& folder);

private:
    class Worker;
    void take(const DownloadStatus& status);
    void drop(const QString& hubId);

    QUrl m_endpoint;
    QList<DownloadStatus> m_all;
    QThread m_thread;
    Worker* m_worker;  // lives on m_thread
};

}  // namespace vitrine
