#include "app/models/download.h"

#include <QDir>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLocale>
#include <QSaveFile>
#include <QStorageInfo>

#include <algorithm>
#include <utility>

namespace vitrine {
namespace {

constexpr int kTickMs = 500;
constexpr double kNewShare = 0.3;           // of the newest measurement in the speed shown
constexpr qint64 kSpareBytes = 64'000'000;  // left free on the disk

const QString kDescription = QStringLiteral("download.json");
const QString kPartSuffix = QStringLiteral(".part");

qint64 freeBytesOf(const QString& folder) {
    const QStorageInfo storage(folder);
    return storage.isValid() ? storage.bytesAvailable() : -1;
}

QString sizeText(qint64 bytes) {
    return QLocale().formattedDataSize(bytes, 2, QLocale::DataSizeSIFormat);
}

}  // namespace

QString folderNameOf(const QString& hubId) {
    return QString(hubId).replace(QLatin1Char('/'), QLatin1String("--"));
}

QString hubIdOf(const QString& folderName) {
    QString id = folderName;
    if (const auto dashes = id.indexOf(QLatin1String("--")); dashes >= 0) id.replace(dashes, 2, QLatin1Char('/'));
    return id;
}

Download::Download(HubClient& client, HubListing chosen, const QString& modelsFolder, DownloadOptions options,
                   QObject* parent)
    : QObject(parent), m_client(client), m_commit(chosen.commit), m_options(std::move(options)) {
    if (!m_options.freeBytes) m_options.freeBytes = freeBytesOf;
    m_status.state = DownloadState::waiting;
    m_status.hubId = chosen.hubId;
    m_status.folder = modelsFolder + QLatin1Char('/') + folderNameOf(chosen.hubId);
    m_partFolder = m_status.folder + kPartSuffix;
    for (const HubFile& file : std::as_const(chosen.files)) m_entries.append({file, {}, false});
    m_tick.setInterval(kTickMs);
    connect(&m_tick, &QTimer::timeout, this, [this] {
        const double seconds = static_cast<double>(m_sinceTick.restart()) / 1000.0;
        const qint64 before = std::exchange(m_received, m_status.done);
        refresh();
        const bool receiving = std::any_of(m_transfers.begin(), m_transfers.end(), [](const auto& named) {
            return named.second->phase() == FileTransfer::Phase::receiving;
        });
        if (receiving && seconds > 0.0) {
            const double speed = std::max(0.0, static_cast<double>(m_status.done - before) / seconds);
            double& shown = m_status.bytesPerSecond;
            shown = m_measuring ? (1.0 - kNewShare) * shown + kNewShare * speed : speed;
        }
        m_measuring = receiving;
        m_received = m_status.done;
        Q_EMIT changed();
    });
    refresh();
}

Download::~Download() = default;

Download* Download::restore(HubClient& client, const QString& partFolder, DownloadOptions options, QObject* parent) {
    QFile description(partFolder + QLatin1Char('/') + kDescription);
    if (!description.open(QIODevice::ReadOnly)) return nullptr;
    const QJsonObject object = QJsonDocument::fromJson(description.readAll()).object();
    HubListing chosen{object[QLatin1String("hub_id")].toString(), object[QLatin1String("commit")].toString(), {}};
    const auto id = hubIdFrom(chosen.hubId);
    const QFileInfo folder(partFolder);
    if (!id || folderNameOf(*id) + kPartSuffix != folder.fileName()) return nullptr;
    QList<QByteArray> etags;
    const QJsonArray files = object[QLatin1String("files")].toArray();
    for (const QJsonValue& value : files) {
        HubFile file;
        file.name = value[QLatin1String("name")].toString();
        file.size = value[QLatin1String("size")].toInteger(-1);
        file.sha256 = value[QLatin1String("sha256")].toString().toLatin1();
        file.gitSha1 = value[QLatin1String("git_sha1")].toString().toLatin1();
        if (file.name.isEmpty() || file.name.contains(QLatin1Char('/')) || file.size < 0) return nullptr;
        chosen.files.append(file);
        etags.append(value[QLatin1String("etag")].toString().toLatin1());
    }
    auto* download = new Download(client, chosen, folder.absolutePath(), std::move(options), parent);
    for (qsizetype i = 0; i < etags.size(); ++i) download->m_entries[i].etag = etags[i];
    download->lookAround();
    const bool paused = object[QLatin1String("paused")].toBool();
    download->m_status.state = paused ? DownloadState::paused : DownloadState::waiting;
    return download;
}

void Download::adopt(const HubListing& chosen) {
    QList<Entry> entries;
    for (const HubFile& file : chosen.files) {
        const auto known = std::find_if(m_entries.begin(), m_entries.end(), [&](const Entry& entry) {
            return entry.file.name == file.name && entry.file.size == file.size && entry.file.sha256 == file.sha256 &&
                   entry.file.gitSha1 == file.gitSha1;
        });
        if (known == m_entries.end()) doubt(file.name);
        entries.append(known == m_entries.end() ? Entry{file, {}, false} : *known);
    }
    m_entries = std::move(entries);
    m_commit = chosen.commit;
    refresh();
}

// A complete file that is perhaps not the one that is wanted becomes a part, and so is checked.
void Download::doubt(const QString& name) {
    const QString file = m_partFolder + QLatin1Char('/') + name;
    if (QFileInfo::exists(file)) QFile::rename(file, file + kPartSuffix);
}

bool Download::save() {
    QJsonArray files;
    for (const Entry& entry : std::as_const(m_entries)) {
        files.append(QJsonObject{{QStringLiteral("name"), entry.file.name},
                                 {QStringLiteral("size"), entry.file.size},
                                 {QStringLiteral("sha256"), QString::fromLatin1(entry.file.sha256)},
                                 {QStringLiteral("git_sha1"), QString::fromLatin1(entry.file.gitSha1)},
                                 {QStringLiteral("etag"), QString::fromLatin1(entry.etag)}});
    }
    QSaveFile file(m_partFolder + QLatin1Char('/') + kDescription);
    const QJsonObject object{{QStringLiteral("hub_id"), m_status.hubId},
                             {QStringLiteral("commit"), m_commit},
                             {QStringLiteral("from"), m_client.endpoint().url.toString(QUrl::RemoveUserInfo)},
                             {QStringLiteral("paused"), m_status.state == DownloadState::paused},
                             {QStringLiteral("files"), files}};
    return file.open(QIODevice::WriteOnly) && file.write(QJsonDocument(object).toJson()) > 0 && file.commit();
}

void Download::setState(DownloadState state, const QString& reason) {
    m_status.state = state;
    m_status.reason = reason;
    if (state == DownloadState::running) {
        m_sinceTick.start();
        m_tick.start();
    } else {
        m_tick.stop();
        m_status.bytesPerSecond = 0.0;
        m_measuring = false;
    }
    Q_EMIT changed();
}

void Download::start() {
    if (m_status.state == DownloadState::running || m_status.state == DownloadState::finished) return;
    if (QFileInfo::exists(m_status.folder))
        return fail(tr("%1 is there already. Remove it first to download it anew.").arg(m_status.folder));
    if (!QDir().mkpath(m_partFolder)) return fail(tr("%1 cannot be made.").arg(m_partFolder));
    if (!QFileInfo::exists(m_partFolder + QLatin1Char('/') + kDescription))
        for (const Entry& entry : std::as_const(m_entries)) doubt(entry.file.name);
    lookAround();
    if (!hasRoom()) return;
    m_received = m_status.done;
    setState(DownloadState::running);
    if (!save()) return fail(tr("%1 cannot be written.").arg(m_partFolder));
    startTransfers();
}

bool Download::hasRoom() {
    const qint64 free = m_options.freeBytes(m_partFolder);
    const qint64 needed = m_status.total - m_status.done + kSpareBytes;
    if (free < 0 || needed <= free) return true;
    fail(tr("There is not enough room: %1 are still to come (and %2 should stay free), but only %3 are free at %4.")
             .arg(sizeText(m_status.total - m_status.done), sizeText(kSpareBytes), sizeText(free), m_partFolder));
    return false;
}

void Download::startTransfers() {
    for (Entry& entry : m_entries) {
        if (m_status.state != DownloadState::running) return;
        if (static_cast<int>(m_transfers.size()) >= m_options.filesAtOnce) return;
        const QString name = entry.file.name;
        if (entry.complete || m_transfers.contains(name)) continue;
        auto* transfer =
            new FileTransfer(m_client, m_status.hubId, entry.file, m_partFolder, entry.etag, m_options.patience, this);
        m_transfers.emplace(name, transfer);
        connect(transfer, &FileTransfer::etagChanged, this, [this, transfer] {
            for (Entry& other : m_entries)
                if (other.file.name == transfer->file().name) other.etag = transfer->etag();
            save();
        });
        connect(
            transfer, &FileTransfer::finished, this, [this, name] { onFileFinished(name); }, Qt::QueuedConnection);
        connect(transfer, &FileTransfer::failed, this, &Download::fail);
        transfer->start();
    }
    if (m_transfers.empty()) finish();
}

void Download::onFileFinished(const QString& name) {
    const auto found = m_transfers.find(name);
    if (found == m_transfers.end()) return;
    found->second->deleteLater();
    m_transfers.erase(found);
    for (Entry& entry : m_entries)
        if (entry.file.name == name) entry.complete = true;
    refresh();
    Q_EMIT changed();
    startTransfers();
}

void Download::finish() {
    QFile::remove(m_partFolder + QLatin1Char('/') + kDescription);
    if (!QDir().rename(m_partFolder, m_status.folder)) {
        save();
        return fail(tr("%1 cannot be renamed to %2.").arg(m_partFolder, m_status.folder));
    }
    refresh();
    setState(DownloadState::finished);
}

void Download::stopTransfers() {
    refresh();
    for (const auto& [name, transfer] : m_transfers) {
        transfer->disconnect(this);
        transfer->deleteLater();
    }
    m_transfers.clear();
}

void Download::fail(const QString& reason) {
    stopTransfers();
    setState(DownloadState::failed, reason);
}

void Download::pause() {
    if (m_status.state == DownloadState::finished) return;
    stopTransfers();
    setState(DownloadState::paused);
    save();
}

void Download::remove() {
    stopTransfers();
    setState(DownloadState::paused);
    QDir(m_partFolder).removeRecursively();
}

void Download::suspend() {
    for (const auto& [name, transfer] : std::exchange(m_transfers, {})) delete transfer;
    m_tick.stop();
}

void Download::lookAround() {
    for (Entry& entry : m_entries) {
        const QFileInfo file(m_partFolder + QLatin1Char('/') + entry.file.name);
        entry.complete = file.isFile() && file.size() == entry.file.size;  // it has its name once it is complete
    }
    refresh();
}

void Download::refresh() {
    m_status.files.clear();
    m_status.done = 0;
    m_status.total = 0;
    for (const Entry& entry : std::as_const(m_entries)) {
        DownloadStatus::File file{entry.file.name, 0, entry.file.size, {}};
        if (entry.complete) {
            file.done = file.total;
        } else if (const auto found = m_transfers.find(file.name); found != m_transfers.end()) {
            const FileTransfer& transfer = *found->second;
            file.done = transfer.done();
            file.note =
                transfer.phase() == FileTransfer::Phase::checking ? tr("Checking what is there") : transfer.note();
        } else {
            const QFileInfo part(m_partFolder + QLatin1Char('/') + file.name + kPartSuffix);
            file.done = part.exists() ? std::min(part.size(), file.total) : 0;
        }
        m_status.done += file.done;
        m_status.total += file.total;
        m_status.files.append(file);
    }
    if (m_status.state != DownloadState::running) return;
    const auto noted = std::find_if(m_status.files.begin(), m_status.files.end(),
                                    [](const DownloadStatus::File& file) { return !file.note.isEmpty(); });
    m_status.reason = noted == m_status.files.end() ? QString() : noted->note;
}

}  // namespace vitrine
