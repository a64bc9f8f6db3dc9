#include "app/models/downloads.h"

#include <QDir>
#include <QStorageInfo>

#include <algorithm>
#include <utility>

namespace vitrine {

// On the thread "downloads". What it has to say goes to the owner by queued calls; the owner outlives the thread.
class Downloads::Worker : public QObject {
public:
    Worker(Downloads& owner, HubEndpoint endpoint, QString modelsFolder, DownloadOptions options)
        : m_owner(owner),
          m_endpoint(std::move(endpoint)),
          m_modelsFolder(std::move(modelsFolder)),
          m_options(std::move(options)) {}

    // The network manager is made on the thread it serves.
    void begin() {
        m_client = new HubClient(m_endpoint, m_options.patience.stall, this);
        const QDir models(m_modelsFolder);
        for (const QString& name : models.entryList({QStringLiteral("*.part")}, QDir::Dirs | QDir::NoDotAndDotDot)) {
            Download* download = Download::restore(*m_client, models.absoluteFilePath(name), m_options, this);
            if (download == nullptr) continue;
            add(download);
            if (download->status().state == DownloadState::waiting) download->start();
        }
    }

    void end() {
        for (Download* download : std::as_const(m_downloads)) download->suspend();
        qDeleteAll(std::exchange(m_downloads, {}));
        delete std::exchange(m_client, nullptr);
    }

    void list(const QString& hubId) {
        m_client->list(
            hubId,
            [this](const HubListing& listing) {
                QDir().mkpath(m_modelsFolder);
                const qint64 free = m_options.freeBytes ? m_options.freeBytes(m_modelsFolder)
                                                        : QStorageInfo(m_modelsFolder).bytesAvailable();
                tell([listing, free](Downloads& owner) { Q_EMIT owner.listed(listing, free); });
            },
            [this, hubId](const HubFault& fault) {
                tell([hubId, text = fault.text](Downloads& owner) { Q_EMIT owner.listFailed(hubId, text); });
            });
    }

    void start(const HubListing& chosen) {
        if (Download* known = m_downloads.value(chosen.hubId)) {
            if (known->status().state == DownloadState::running) return;
            if (known->status().state != DownloadState::finished) {
                known->adopt(chosen);
                return known->start();
            }
            known->deleteLater();
        }
        auto* download = new Download(*m_client, chosen, m_modelsFolder, m_options, this);
        add(download);
        download->start();
    }

    void cancel(const QString& hubId, bool keep) {
        Download* download = m_downloads.value(hubId);
        if (download == nullptr) return;
        if (keep) return download->pause();
        download->remove();
        forget(hubId);
    }

    void forget(const QString& hubId) {
        Download* download = m_downloads.take(hubId);
        if (download == nullptr) return;
        download->disconnect(this);
        download->deleteLater();
        tell([hubId](Downloads& owner) { owner.drop(hubId); });
    }

    Download* find(const QString& hubId) const { return m_downloads.value(hubId); }

private:
    template <typename Call>
    void tell(Call call) {
        QMetaObject::invokeMethod(&m_owner, [&owner = m_owner, call = std::move(call)] { call(owner); });
    }

    void add(Download* download) {
        m_downloads.insert(download->status().hubId, download);
        const auto report = [this, download] {
            tell([status = download->status()](Downloads& owner) { owner.take(status); });
        };
        connect(download, &Download::changed, this, report);
        report();
    }

    Downloads& m_owner;
    HubEndpoint m_endpoint;
    QString m_modelsFolder;
    DownloadOptions m_options;
    HubClient* m_client = nullptr;
    QHash<QString, Download*> m_downloads;
};

Downloads::Downloads(HubEndpoint endpoint, const QString& modelsFolder, DownloadOptions options, QObject* parent)
    : QObject(parent),
      m_endpoint(endpoint.url),
      m_worker(new Worker(*this, std::move(endpoint), modelsFolder, std::move(options))) {
    m_thread.setObjectName(QStringLiteral("downloads"));
    m_worker->moveToThread(&m_thread);
    m_thread.start();
    QMetaObject::invokeMethod(m_worker, [worker = m_worker] { worker->begin(); });
}

Downloads::~Downloads() {
    QMetaObject::invokeMethod(m_worker, [worker = m_worker] {
        worker->end();
        worker->thread()->quit();
    });
    m_thread.wait();
    delete m_worker;
}

QString Downloads::host() const {
    return m_endpoint.host();
}

std::optional<DownloadStatus> Downloads::find(const QString& hubId) const {
    const auto found =
        std::find_if(m_all.begin(), m_all.end(), [&](const DownloadStatus& status) { return status.hubId == hubId; });
    return found == m_all.end() ? std::nullopt : std::optional(*found);
}

void Downloads::take(const DownloadStatus& status) {
    const auto found = std::find_if(m_all.begin(), m_all.end(),
                                    [&](const DownloadStatus& other) { return other.hubId == status.hubId; });
    const bool isNews = found == m_all.end() || found->state != status.state;
    if (found == m_all.end())
        m_all.append(status);
    else
        *found = status;
    Q_EMIT changed(status.hubId);
    if (isNews && status.state == DownloadState::finished) Q_EMIT finished(status.hubId, status.folder);
}

void Downloads::drop(const QString& hubId) {
    m_all.removeIf([&](const DownloadStatus& status) { return status.hubId == hubId; });
    Q_EMIT changed(hubId);
}

void Downloads::list(const QString& hubId) {
    QMetaObject::invokeMethod(m_worker, [worker = m_worker, hubId] { worker->list(hubId); });
}

void Downloads::start(const HubListing& chosen) {
    QMetaObject::invokeMethod(m_worker, [worker = m_worker, chosen] { worker->start(chosen); });
}

void Downloads::resume(const QString& hubId) {
    QMetaObject::invokeMethod(m_worker, [worker = m_worker, hubId] {
        if (Download* download = worker->find(hubId)) download->start();
    });
}

void Downloads::pause(const QString& hubId) {
    cancel(hubId, true);
}

void Downloads::cancel(const QString& hubId, bool keep) {
    QMetaObject::invokeMethod(m_worker, [worker = m_worker, hubId, keep] { worker->cancel(hubId, keep); });
}

void Downloads::dismiss(const QString& hubId) {
    QMetaObject::invokeMethod(m_worker, [worker = m_worker, hubId] { worker->forget(hubId); });
}

}  // namespace vitrine
