#include "app/pictures/thumbnails.h"

#include "core/image/decode.h"
#include "core/image/preprocess.h"

#include <QCryptographicHash>
#include <QDateTime>
#include <QDir>
#include <QDirIterator>
#include <QFile>
#include <QSaveFile>
#include <QThread>

#include <algorithm>
#include <utility>
#include <vector>

namespace vitrine {
namespace {

constexpr int kQuality = 88;

QString fileOf(const QString& folder, const QString& path, const FileStamp& stamp, int edge) {
    const QString key = QStringLiteral("%1\n%2\n%3\n%4").arg(path).arg(stamp.size).arg(stamp.modified).arg(edge);
    const QByteArray hash = QCryptographicHash::hash(key.toUtf8(), QCryptographicHash::Sha1).toHex();
    return QStringLiteral("%1/%2/%3.jpg").arg(folder, QString::fromLatin1(hash.left(2)), QString::fromLatin1(hash));
}

QImage read(const QString& file) {
    QImage image(file, "JPEG");
    if (image.isNull()) return image;
    QFile touched(file);  // used now, as prune() sees it
    if (touched.open(QIODevice::ReadWrite))
        touched.setFileTime(QDateTime::currentDateTime(), QFile::FileModificationTime);
    return image;
}

// A cache that cannot be written costs time, nothing else.
void write(const QString& file, const QImage& image) {
    QDir().mkpath(QFileInfo(file).path());
    QSaveFile target(file);
    if (target.open(QIODevice::WriteOnly) && image.save(&target, "JPEG", kQuality)) target.commit();
}

Image shrunk(Image image, int edge) {
    const int longer = std::max(image.width, image.height);
    if (longer <= edge) return image;
    const auto side = [&](int length) { return std::max(1, qRound(double(length) * edge / longer)); };
    return resize_bicubic(image, side(image.width), side(image.height));
}

void pruneFolder(const QString& folder, qint64 bytes) {
    struct Entry {
        QDateTime used;
        qint64 size;
        QString path;
    };
    std::vector<Entry> entries;
    qint64 sum = 0;
    QDirIterator files(folder, {QStringLiteral("*.jpg")}, QDir::Files, QDirIterator::Subdirectories);
    while (files.hasNext()) {
        files.next();
        const QFileInfo info = files.fileInfo();
        entries.push_back({info.lastModified(), info.size(), info.filePath()});
        sum += info.size();
    }
    if (sum <= bytes) return;
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
    for (const Entry& entry : entries) {
        if (sum <= bytes) break;
        if (QFile::remove(entry.path)) sum -= entry.size;
    }
}

}  // namespace

Thumbnails::Thumbnails(QString cacheFolder, qint64 memoryBytes, QObject* parent)
    : QObject(parent), m_folder(std::move(cacheFolder)), m_cache(memoryBytes) {
    // Half of the cores at most: the model has the better use for them.
    m_pool.setMaxThreadCount(std::clamp(QThread::idealThreadCount() / 2, 1, 4));
    m_pool.setObjectName(QStringLiteral("thumbnails"));
}

Thumbnails::~Thumbnails() {
    m_pool.clear();
    m_pool.waitForDone();
}

QImage Thumbnails::find(const QString& path) const {
    const Made* const known = m_cache.object(path);
    return known == nullptr ? QImage() : known->image;
}

void Thumbnails::want(const QStringList& paths, int edge) {
    m_edge = edge <= 128 ? 128 : edge <= 256 ? 256 : 512;
    m_waiting.clear();
    m_failed.intersect(QSet<QString>(paths.begin(), paths.end()));
    for (const QString& path : paths) {
        const Made* const known = m_cache.object(path);
        if (known != nullptr && known->edge >= m_edge) continue;
        if (!m_failed.contains(path)) m_waiting.append(path);
    }
    startNext();
}

void Thumbnails::startNext() {
    while (!m_waiting.isEmpty() && m_running.size() < m_pool.maxThreadCount()) {
        const QString path = m_waiting.takeFirst();
        if (m_running.contains(path)) continue;
        m_running.insert(path);
        // Always answered from the event loop, also when it is done before this line ends.
        m_pool.start([this, path, folder = m_folder, edge = m_edge] {
            QMetaObject::invokeMethod(
                this, [this, made = make(folder, path, edge)] { take(made); }, Qt::QueuedConnection);
        });
    }
}

Thumbnails::Made Thumbnails::make(const QString& folder, const QString& path, int edge) {
    Made made{path, edge, {}, {}};
    const QString file = fileOf(folder, path, stampOf(path), edge);
    made.image = read(file);
    if (!made.image.isNull()) return made;
    try {
        made.image =
            toQImage(shrunk(decode_image_file(path.toStdString()), edge)).convertToFormat(QImage::Format_RGB32);
        write(file, made.image);
    } catch (const std::exception& error) {
        made.reason = reasonOf(error);
    }
    return made;
}

void Thumbnails::take(const Made& made) {
    m_running.remove(made.path);
    if (made.image.isNull()) {
        m_failed.insert(made.path);
        Q_EMIT failed(made.path, made.reason);
    } else {
        m_cache.insert(made.path, new Made(made), made.image.sizeInBytes());
        Q_EMIT ready(made.path);
    }
    startNext();
}

void Thumbnails::prune(qint64 bytes) {
    m_pool.start([folder = m_folder, bytes] { pruneFolder(folder, bytes); });
}

}  // namespace vitrine
