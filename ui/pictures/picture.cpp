#include "ui/pictures/picture.h"

#include <utility>

namespace vitrine {
namespace {

constexpr int kSmallestCopy = 256;

// The mean of each square of four pixels, two colour channels at a time; a last odd row or column is dropped, as is
// right for copies of this kind: they are stretched over the same area again.
QImage halved(const QImage& source) {
    const int width = qMax(1, source.width() / 2);
    const int height = qMax(1, source.height() / 2);
    const int right = source.width() > 1 ? 1 : 0;
    const int below = source.height() > 1 ? 1 : 0;
    QImage result(width, height, source.format());
    if (result.isNull()) return result;
    constexpr quint32 mask = 0x00FF00FF;
    constexpr quint32 half = 0x00020002;
    for (int y = 0; y < height; ++y) {
        const auto* upper = reinterpret_cast<const quint32*>(source.constScanLine(2 * y));
        const auto* lower = reinterpret_cast<const quint32*>(source.constScanLine(2 * y + below));
        auto* out = reinterpret_cast<quint32*>(result.scanLine(y));
        for (int x = 0; x < width; ++x) {
            const quint32 a = upper[2 * x];
            const quint32 b = upper[2 * x + right];
            const quint32 c = lower[2 * x];
            const quint32 d = lower[2 * x + right];
            const quint32 even = (a & mask) + (b & mask) + (c & mask) + (d & mask) + half;
            const quint32 odd = ((a >> 8) & mask) + ((b >> 8) & mask) + ((c >> 8) & mask) + ((d >> 8) & mask) + half;
            out[x] = ((even >> 2) & mask) | (((odd >> 2) & mask) << 8);
        }
    }
    return result;
}

}  // namespace

Picture Picture::of(QImage image, QStringList notes) {
    const bool opaque = !image.hasAlphaChannel();
    Picture picture{std::move(image), {}, std::move(notes)};
    picture.image.convertTo(opaque ? QImage::Format_RGB32 : QImage::Format_ARGB32_Premultiplied);
    picture.image.setDevicePixelRatio(1.0);
    const QImage* last = &picture.image;
    while (qMax(last->width(), last->height()) >= 2 * kSmallestCopy) {
        QImage copy = halved(*last);
        if (copy.isNull()) break;  // no memory: a coarser view is better than none
        picture.halves.append(std::move(copy));
        last = &picture.halves.last();
    }
    return picture;
}

qint64 Picture::bytes() const {
    qint64 sum = image.sizeInBytes();
    for (const QImage& copy : halves) sum += copy.sizeInBytes();
    return sum;
}

const QImage& Picture::atLeast(qreal scale) const {
    const QImage* best = &image;
    for (const QImage& copy : halves) {
        if (copy.width() < image.width() * scale || copy.height() < image.height() * scale) break;
        best = &copy;
    }
    return *best;
}

}  // namespace vitrine
