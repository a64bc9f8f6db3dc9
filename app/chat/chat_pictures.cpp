#include "app/chat/chat_pictures.h"

#include "app/pictures/picture_file.h"
#include "core/error.h"
#include "core/image/decode.h"
#include "core/weights/file.h"

#include <QBuffer>
#include <QCoreApplication>
#include <QCryptographicHash>
#include <QDir>
#include <QDirIterator>
#include <QFileInfo>

#include <algorithm>
#include <span>

namespace vitrine {
namespace {

constexpr qsizetype kCacheBytes = 384'000'000;  // decoded; the picture used last always stays

QString tr(const char* text) {
    return QCoreApplication::translate("vitrine::ChatPictures", text);
}

QByteArrayView viewOf(const std::string& bytes) {
    return {bytes.data(), static_cast<qsizetype>(bytes.size())};
}

QString digestOf(const std::string& bytes) {
    return QString::fromLatin1(QCryptographicHash::hash(viewOf(bytes), QCryptographicHash::Sha256).toHex());
}

QString suffixOf(const std::string& format) {
    const QString name = QString::fromStdString(format).toLower();
    if (name == QStringLiteral("jpeg")) return QStringLiteral("jpg");
    if (name == QStringLiteral("tiff")) return QStringLiteral("tif");
    return name.section(u' ', 0, 0);
}

Image decode(const std::string& bytes, const QString& name) {
    return decode_image(std::as_bytes(std::span(bytes)), name.toStdString());
}

}  // namespace

ChatPictures::ChatPictures(QString folder) : m_folder(std::move(folder)), m_cache(kCacheBytes) {}

QString ChatPictures::pathOf(const QString& key) const {
    return QStringLiteral("%1/%2/%3").arg(m_folder, key.left(2), key);
}

ChatPictures::Kept ChatPictures::keep(const QString& file) {
    const ReadOnlyFile source(file.toStdString());
    const auto limit = static_cast<std::uint64_t>(DecodeLimits{}.max_file_bytes);
    if (source.size() > limit) {
        throw PictureError({.name = "picture",
                            .where = file.toStdString(),
                            .expected = "at most " + std::to_string(limit) + " bytes",
                            .found = std::to_string(source.size())});
    }
    return keepBytes(source.read_all(), QFileInfo(file).fileName());
}

ChatPictures::Kept ChatPictures::keep(const QImage& picture) {
    QByteArray png;
    QBuffer buffer(&png);
    buffer.open(QIODevice::WriteOnly);
    if (!picture.save(&buffer, "PNG")) throw PictureError({.name = tr("The pasted picture is empty.").toStdString()});
    return keepBytes(png.toStdString(), tr("pasted picture"));
}

ChatPictures::Kept ChatPictures::keepBytes(const std::string& bytes, const QString& name) {
    const auto image = std::make_shared<const Image>(decode(bytes, name));
    const QString key = digestOf(bytes) + u'.' + suffixOf(image->format);
    const QString path = pathOf(key);
    {
        const std::lock_guard lock(m_mutex);
        m_kept.insert(key);
    }
    if (QFileInfo(path).size() != static_cast<qint64>(bytes.size())) {
        if (!QDir().mkpath(QFileInfo(path).path())) {
            throw FileError({.name = tr("The folder for the pictures of chats cannot be made").toStdString(),
                             .where = QFileInfo(path).path().toStdString()});
        }
        write_file(path.toStdString(), bytes);
    }
    remember(key, image);
    return {key, image};
}

ImagePtr ChatPictures::cached(const QString& key) {
    const std::lock_guard lock(m_mutex);
    const ImagePtr* const known = m_cache.object(key);
    return known == nullptr ? ImagePtr() : *known;
}

void ChatPictures::remember(const QString& key, const ImagePtr& image) {
    const std::lock_guard lock(m_mutex);
    const auto bytes = static_cast<qsizetype>(image->rgb.size());
    m_cache.insert(key, new ImagePtr(image), std::min(bytes, kCacheBytes));
}

ImagePtr ChatPictures::read(const QString& key) const {
    const QString path = pathOf(key);
    if (!QFileInfo::exists(path)) {
        throw FileError({.name = tr("A picture of this chat is gone").toStdString(),
                         .where = path.toStdString(),
                         .advice = tr("Send it again, or edit the message.").toStdString()});
    }
    const std::string bytes = ReadOnlyFile(path.toStdString()).read_all();
    if (digestOf(bytes) != key.section(u'.', 0, 0)) {
        throw FileError({.name = tr("A picture of this chat was changed on the disk").toStdString(),
                         .where = path.toStdString(),
                         .advice = tr("Send it again, or edit the message.").toStdString()});
    }
    return std::make_shared<const Image>(decode(bytes, key));
}

ImagePtr ChatPictures::decoded(const QString& key) {
    if (ImagePtr image = cached(key)) return image;
    const ImagePtr image = read(key);
    remember(key, image);
    return image;
}

QImage ChatPictures::thumbnail(const QString& key, int side) {
    ImagePtr image = cached(key);
    if (!image) image = read(key);
    const QImage whole = toQImage(Image(*image));
    if (whole.width() <= side && whole.height() <= side) return whole;
    return whole.scaled(side, side, Qt::KeepAspectRatio, Qt::SmoothTransformation);
}

void ChatPictures::collect(const QSet<QString>& inUse) {
    QDirIterator files(m_folder, QDir::Files | QDir::Hidden, QDirIterator::Subdirectories);
    while (files.hasNext()) {
        const QString file = files.next();
        const QString key = files.fileName().section(QStringLiteral(".part-"), 0, 0);  // also while it is being written
        const std::lock_guard lock(m_mutex);
        if (!inUse.contains(files.fileName()) && !m_kept.contains(key)) QFile::remove(file);
    }
}

}  // namespace vitrine
