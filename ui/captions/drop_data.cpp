#include "ui/captions/drop_data.h"

#include <QFileInfo>
#include <QMimeData>
#include <QUrl>

#include <algorithm>
#include <array>
#include <utility>

namespace vitrine {
namespace {

constexpr int kAskedEntries = 256;  // of more, the rest is taken for files: whoever adds them looks again anyway

// Kinds of files that people drop together with pictures. Anything else is left to the decoder, which goes by content.
enum class Kind { picture, junk, sidecar, video, archive, raw, design, document };
constexpr std::size_t kKinds = 8;

Kind kindOf(const QString& path) {
    const QString name = path.section(QLatin1Char('/'), -1);
    if (name.startsWith(QLatin1String("._")) || name == QLatin1String(".DS_Store") ||
        name.compare(QLatin1String("Thumbs.db"), Qt::CaseInsensitive) == 0 ||
        name.compare(QLatin1String("desktop.ini"), Qt::CaseInsensitive) == 0) {
        return Kind::junk;
    }
    static const std::array<std::pair<Kind, QStringList>, 6> known{{
        {Kind::sidecar, {QStringLiteral("txt"), QStringLiteral("caption")}},
        {Kind::video, QStringLiteral("mp4 mov mkv avi webm m4v wmv mpg mpeg mp3 wav flac ogg").split(QLatin1Char(' '))},
        {Kind::archive, QStringLiteral("zip rar 7z tar gz tgz bz2 xz zst").split(QLatin1Char(' '))},
        {Kind::raw, QStringLiteral("cr2 cr3 nef arw dng orf rw2 raf pef srw").split(QLatin1Char(' '))},
        {Kind::design, QStringLiteral("psd xcf kra ai eps svg svgz blend").split(QLatin1Char(' '))},
        {Kind::document, QStringLiteral("pdf md doc docx odt rtf html htm json jsonl csv xls xlsx ods ppt pptx xml "
                                        "yaml yml toml py cpp h safetensors")
                             .split(QLatin1Char(' '))},
    }};
    const QString suffix = name.section(QLatin1Char('.'), -1).toLower();
    if (!name.contains(QLatin1Char('.'))) return Kind::picture;
    for (const auto& [kind, suffixes] : known) {
        if (suffixes.contains(suffix)) return kind;
    }
    return Kind::picture;
}

QString refusalOf(Kind kind, int count, const QString& name) {
    const QString what = count == 1 ? name : DropData::tr("%1 files like %2").arg(count).arg(name);
    switch (kind) {
        case Kind::video: return DropData::tr("%1: sound and video are not captioned").arg(what);
        case Kind::archive: return DropData::tr("%1: unpack it first, then drop the folder").arg(what);
        case Kind::raw: return DropData::tr("%1: camera RAW, export it as JPEG or TIFF first").arg(what);
        case Kind::design: return DropData::tr("%1: a drawing program's file, export it as PNG first").arg(what);
        case Kind::sidecar:
        case Kind::document: return DropData::tr("%1: not a picture").arg(what);
        case Kind::picture:
        case Kind::junk: break;
    }
    return {};
}

// The first format the source offers already encoded, best first.
void takeImage(const QMimeData& mime, DropData& data) {
    static const std::array<std::pair<const char*, const char*>, 6> formats{{{"image/png", "png"},
                                                                             {"image/jpeg", "jpg"},
                                                                             {"image/webp", "webp"},
                                                                             {"image/gif", "gif"},
                                                                             {"image/tiff", "tif"},
                                                                             {"image/bmp", "bmp"}}};
    for (const auto& [format, suffix] : formats) {
        if (!mime.hasFormat(QLatin1String(format))) continue;
        data.imageBytes = mime.data(QLatin1String(format));
        data.imageSuffix = QLatin1String(suffix);
        if (!data.imageBytes.isEmpty()) return;
    }
    data.imageSuffix.clear();
    if (mime.hasImage()) data.image = qvariant_cast<QImage>(mime.imageData());
}

// A picture written into its address: data:image/png;base64,...
bool takeDataUrl(const QUrl& url, DropData& data) {
    const QString text = url.toString(QUrl::FullyEncoded);
    const qsizetype comma = text.indexOf(QLatin1Char(','));
    const QString head = text.left(comma);
    if (comma < 0 || !head.startsWith(QLatin1String("data:image/")) || !head.endsWith(QLatin1String(";base64")))
        return false;
    data.imageBytes = QByteArray::fromBase64(QByteArray::fromPercentEncoding(text.mid(comma + 1).toLatin1()));
    data.imageSuffix = head.mid(11).section(QLatin1Char(';'), 0, 0);
    return !data.imageBytes.isEmpty();
}

QString counted(int count, const QString& one, const QString& many) {
    return count == 1 ? one : many.arg(count);
}

}  // namespace

DropData DropData::of(const QMimeData& mime, const std::function<bool(const QString& path)>& isFolder) {
    const auto folder = isFolder ? isFolder : [](const QString& path) { return QFileInfo(path).isDir(); };
    DropData data;
    std::array<std::pair<int, QString>, kKinds> refused;  // by Kind: how many, and the name of the first
    int asked = 0;
    int remote = 0;
    const QList<QUrl> urls = mime.hasUrls() ? mime.urls() : QList<QUrl>();
    for (const QUrl& url : urls) {
        if (!url.isLocalFile()) {
            if (url.scheme() == QLatin1String("data") && takeDataUrl(url, data)) continue;
            ++remote;
            continue;
        }
        QString path = url.toLocalFile();
        const bool slash = path.size() > 1 && path.endsWith(QLatin1Char('/'));
        if (slash) path.chop(1);
        if (slash || (asked++ < kAskedEntries && folder(path))) {
            if (!data.folders.contains(path)) data.folders.append(path);
            continue;
        }
        const Kind kind = kindOf(path);
        if (kind == Kind::picture) {
            data.files.append(path);
            continue;
        }
        auto& [count, first] = refused[std::size_t(kind)];
        if (count++ == 0) first = path.section(QLatin1Char('/'), -1);
    }
    data.files.removeDuplicates();
    if (!data.files.isEmpty()) refused[std::size_t(Kind::sidecar)].first = 0;  // they come with their pictures anyway

    // A browser offers the address and the pixels of the same picture; a file manager at times an icon beside the
    // files.
    const bool local = !data.files.isEmpty() || !data.folders.isEmpty();
    if (!local && !data.hasImage()) takeImage(mime, data);
    for (std::size_t kind = 0; kind < refused.size(); ++kind) {
        const auto& [count, first] = refused[kind];
        const QString line = count > 0 ? refusalOf(Kind(kind), count, first) : QString();
        if (!line.isEmpty()) data.refusals.append(line);
    }
    if (remote > 0 && !data.hasImage()) {
        data.refusals.append(tr("A picture on the web is not fetched: save it first, or copy the picture itself"));
    }
    return data;
}

QString DropData::summary() const {
    QStringList parts;
    const int pictures = int(files.size()) + (hasImage() ? 1 : 0);
    if (pictures > 0) parts.append(counted(pictures, tr("1 picture"), tr("%1 pictures")));
    if (!folders.isEmpty()) parts.append(counted(int(folders.size()), tr("1 folder"), tr("%1 folders")));
    return parts.size() == 2 ? tr("%1 and %2").arg(parts[0], parts[1]) : parts.value(0);
}

}  // namespace vitrine
