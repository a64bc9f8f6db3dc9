#include "app/pictures/picture_file.h"

#include "app/names.h"
#include "core/error.h"
#include "core/train/dataset_pictures.h"
#include "core/types.h"

#include <QCoreApplication>
#include <QDateTime>
#include <QFileInfo>

#include <utility>

namespace vitrine {

FileStamp stampOf(const QString& path) {
    const QFileInfo info(path);
    if (!info.exists()) return {};
    return {info.size(), info.lastModified().toMSecsSinceEpoch()};
}

QImage toQImage(Image&& image) {
    const int width = image.width;
    const int height = image.height;
    auto* kept = new std::vector<std::uint8_t>(std::move(image.rgb));
    const auto drop = [](void* pixels) { delete static_cast<std::vector<std::uint8_t>*>(pixels); };
    return QImage(kept->data(), width, height, 3 * qsizetype(width), QImage::Format_RGB888, drop, kept);
}

QString pictureFilter() {
    QStringList patterns;
    for (const std::string_view ending : dataset::picture_endings())
        patterns << QStringLiteral("*.") + QString::fromLatin1(ending.data(), static_cast<qsizetype>(ending.size()));
    return QCoreApplication::translate("Pictures", "Pictures (%1)").arg(patterns.join(u' ')) + QStringLiteral(";;") +
           QCoreApplication::translate("Pictures", "All files (*)");
}

QString reasonOf(const std::exception& error) {
    const auto* known = dynamic_cast<const Error*>(&error);
    if (known == nullptr) return wordsOf(error);
    ErrorParts parts = known->parts();
    parts.where.clear();
    QString reason = QString::fromStdString(Error(std::move(parts)).what());
    if (!reason.isEmpty()) reason[0] = reason[0].toUpper();
    return reason;
}

}  // namespace vitrine
