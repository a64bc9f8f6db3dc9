#include "app/models/file_transfer.h"

#include <QFileInfo>
#include <QLocale>
#include <QRegularExpression>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace vitrine {
namespace {

constexpr qint64 kSlice = 4 << 20;  // hashed at a time, so that a pause takes effect in between
constexpr qint64 kChunk = 1 << 20;  // written at a time
constexpr int kMostRestarts = 2;

bool isStrong(const QByteArray& etag) {  // fit for If-Range (RFC 9110, 13.1.5)
    return etag.startsWith('"');
}

QString bytes(qint64 count) {
    return QLocale().toString(count);
}

struct ContentRange {
    qint64 first = -1;
    qint64 total = -1;  // -1: not said
};
ContentRange contentRange(const QByteArray& header) {
    static const QRegularExpression pattern(QStringLiteral("^bytes (\\d+)-\\d+/(\\d+|\\*)$"));
    const auto match = pattern.match(QString::fromLatin1(header.trimmed()));
    if (!match.hasMatch()) return {};
    return {match.captured(1).toLongLong(),
            match.captured(2) == QLatin1String("*") ? -1 : match.captured(2).toLongLong()};
}

}  // namespace

FileTransfer::FileTransfer(HubClient& client, QString hubId, HubFile file, const QString& folder, QByteArray etag,
                           TransferPatience patience, QObject* parent)
    : QObject(parent),
      m_client(client),
      m_hubId(std::move(hubId)),
      m_file(std::move(file)),
      m_target(folder + QLatin1Char('/') + m_file.name),
      m_etag(std::move(etag)),
      m_patience(patience),
      m_part(m_target + QStringLiteral(".part")),
      m_hash(m_file.sha256.isEmpty() ? QCryptographicHash::Sha1 : QCryptographicHash::Sha256) {
    m_wait.setSingleShot(true);
    connect(&m_wait, &QTimer::timeout, this, &FileTransfer::ask);
}

FileTransfer::~FileTransfer() = default;

void FileTransfer::start() {
    // Unbuffered: a full disk shows at the write that hits it.
    if (!m_part.open(QIODevice::ReadWrite | QIODevice::Unbuffered))
        return fail(tr("%1 cannot be written: %2.").arg(m_part.fileName(), m_part.errorString()));
    resetHash();
    if (m_part.size() > m_file.size && !truncate()) return;
    if (m_part.size() == 0) return ask();
    setPhase(Phase::checking);
    hashExisting();
}

void FileTransfer::resetHash() {
    m_done = 0;
    m_hash.reset();
    if (m_file.sha256.isEmpty()) m_hash.addData("blob " + QByteArray::number(m_file.size) + '\0');
}

bool FileTransfer::truncate() {
    resetHash();
    if (m_part.resize(0) && m_part.seek(0)) return true;
    fail(tr("%1 cannot be written: %2.").arg(m_part.fileName(), m_part.errorString()));
    return false;
}

void FileTransfer::hashExisting() {
    const QByteArray slice = m_part.read(kSlice);
    m_hash.addData(slice);
    m_done += slice.size();
    Q_EMIT progressed();
    if (!slice.isEmpty() && m_done < m_part.size()) {
        QTimer::singleShot(0, this, &FileTransfer::hashExisting);
    } else if (m_part.seek(m_done)) {
        ask();
    }
}

void FileTransfer::setPhase(Phase phase, const QString& note) {
    m_phase = phase;
    m_note = note;
    Q_EMIT progressed();
}

void FileTransfer::ask() {
    if (m_done == m_file.size) return complete();
    setPhase(Phase::asking, m_note);
    m_gained = 0;
    HubReply::Headers headers;
    if (m_done > 0) {
        headers.append({"Range", "bytes=" + QByteArray::number(m_done) + '-'});
        // Without a strong name of the version the checksum alone tells whether both halves are of one file.
        if (isStrong(m_etag)) headers.append({"If-Range", m_etag});
    }
    m_reply = m_client.request(m_client.endpoint().file(m_hubId, m_file.name), headers, this);
    connect(m_reply, &HubReply::answered, this, &FileTransfer::onAnswered);
    connect(m_reply, &HubReply::readyRead, this, &FileTransfer::onReadyRead);
    connect(m_reply, &HubReply::finished, this, &FileTransfer::onFinished);
}

void FileTransfer::onAnswered() {
    const QByteArray etag = m_reply->header("ETag");
    const QByteArray lengthText = m_reply->header("Content-Length");
    const qint64 length = lengthText.isEmpty() ? -1 : lengthText.toLongLong();
    qint64 total = -1;
    if (m_reply->status() == 206) {
        const ContentRange range = contentRange(m_reply->header("Content-Range"));
        const bool changed = isStrong(m_etag) && isStrong(etag) && etag != m_etag;
        if (range.first != m_done || changed) {
            beginAgain(changed ? tr("The file changed on the hub: begun again.")
                               : tr("The server sent another part than the one asked for: begun again."));
            return;
        }
        total = range.total >= 0 ? range.total : length >= 0 ? m_done + length : -1;
    } else {
        // The whole file: the first request, a server that knows no ranges, or a file that is another one by now.
        if (m_done > 0 && !truncate()) return;
        total = length;
    }
    if (total >= 0 && total != m_file.size) {
        return fail(tr("The hub lists %1 with %2 bytes, but sends %3. The file may have changed: cancel this download "
                       "and begin it again.")
                        .arg(m_file.name, bytes(m_file.size), bytes(total)));
    }
    if (!etag.isEmpty() && etag != m_etag) {
        m_etag = etag;
        Q_EMIT etagChanged();
    }
    setPhase(Phase::receiving);
}

void FileTransfer::onReadyRead() {
    while (m_reply && m_reply->bytesAvailable() > 0) {
        const QByteArray chunk = m_reply->read(kChunk);
        if (chunk.isEmpty()) return;
        if (m_done + chunk.size() > m_file.size) {
            return fail(tr("The hub lists %1 with %2 bytes, but sends more. The file may have changed: cancel this "
                           "download and begin it again.")
                            .arg(m_file.name, bytes(m_file.size)));
        }
        if (m_part.write(chunk) != chunk.size()) {
            // What was written of the chunk is not counted and will be overwritten.
            const QString why = m_part.errorString();
            m_part.resize(m_done);
            return fail(tr("%1 cannot be written: %2. What has come so far is kept.").arg(m_part.fileName(), why));
        }
        m_hash.addData(chunk);
        m_done += chunk.size();
        m_gained += chunk.size();
    }
    Q_EMIT progressed();
}

void FileTransfer::onFinished() {
    onReadyRead();
    if (!m_reply || m_failed) return;
    std::optional<HubFault> fault = m_reply->fault();
    m_reply->deleteLater();
    m_reply = nullptr;
    if (m_done == m_file.size) return complete();
    if (!fault) {
        fault = HubFault{HubFault::Kind::cut,
                         tr("%1 ended after %2 of %3 bytes.").arg(m_file.name, bytes(m_done), bytes(m_file.size)),
                         {}};
    }
    if (fault->kind == HubFault::Kind::range && m_done > 0) {
        beginAgain(tr("The server does not continue this file: begun again."));
    } else if (fault->passes()) {
        tryLater(*fault);
    } else {
        fail(fault->text);
    }
}

void FileTransfer::tryLater(const HubFault& fault) {
    m_faults = m_gained > 0 ? 1 : m_faults + 1;
    const auto doubled = m_patience.firstWait * (1 << std::min(m_faults - 1, 20));
    std::chrono::milliseconds wait = std::min<std::chrono::milliseconds>(doubled, m_patience.longestWait);
    if (fault.retryAfter) wait = std::max<std::chrono::milliseconds>(wait, *fault.retryAfter);
    if (m_faults >= m_patience.tries) return fail(fault.text);
    if (wait > m_patience.longestRetryAfter) {
        const auto minutes = std::chrono::ceil<std::chrono::minutes>(wait).count();
        return fail(tr("%1 It asks for a pause of %2 minutes: try again then.").arg(fault.text).arg(minutes));
    }
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
    setPhase(Phase::waiting, tr("%1 Trying again in %2 s.").arg(fault.text).arg(seconds));
    m_wait.start(wait);
}

bool FileTransfer::beginAgain(const QString& why) {
    if (m_reply) m_reply->deleteLater();
    if (m_reply) m_reply->disconnect(this);
    m_reply = nullptr;
    if (++m_restarts > kMostRestarts) {
        fail(why);
        return false;
    }
    m_etag.clear();
    Q_EMIT etagChanged();
    if (!truncate()) return false;
    m_note = why;
    ask();
    return true;
}

void FileTransfer::complete() {
    const QByteArray& expected = m_file.sha256.isEmpty() ? m_file.gitSha1 : m_file.sha256;
    if (!expected.isEmpty() && m_hash.result().toHex() != expected) {
        const bool again = m_restarts == 0;
        if (again) {
            beginAgain(tr("The checksum of %1 was wrong: begun again.").arg(m_file.name));
            return;
        }
        truncate();
        return fail(tr("%1 does not have the checksum that the hub lists, also at the second try. The file may have "
                       "changed: cancel this download and begin it again.")
                        .arg(m_file.name));
    }
    // Data first, name second: a power cut leaves no empty file under the final name.
    const bool written = ::fsync(m_part.handle()) == 0;
    m_part.close();
    if (!written ||
        std::rename(QFile::encodeName(m_part.fileName()).constData(), QFile::encodeName(m_target).constData()) != 0) {
        return fail(tr("%1 cannot be written: %2.").arg(m_target, QString::fromLocal8Bit(std::strerror(errno))));
    }
    Q_EMIT finished();
}

void FileTransfer::fail(const QString& reason) {
    m_failed = true;
    m_wait.stop();
    if (m_reply) {
        m_reply->disconnect(this);
        m_reply->deleteLater();
        m_reply = nullptr;
    }
    m_part.close();
    // Later, so that nobody is deleted in the middle of its own work.
    QMetaObject::invokeMethod(
        this, [this, reason] { Q_EMIT failed(reason); }, Qt::QueuedConnection);
}

}  // namespace vitrine
