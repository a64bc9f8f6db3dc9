#pragma once

#include <QImage>
#include <QList>
#include <QMetaType>
#include <QStringList>

namespace vitrine {

// A picture made ready to be shown, and repeatedly halved copies of it: a shrunken view is drawn from the nearest
// larger copy, which is both quick and free of the shimmer of plain sampling. A value, shared cheaply; of() belongs on
// a worker thread, since it touches every pixel.
struct Picture {
    QImage image;          // in a format that is drawn without conversion
    QList<QImage> halves;  // image at 1/2, 1/4, ... while the longer side stays above 256
    QStringList notes;     // what a person may want to know: "frame 1 of 12"

    static Picture of(QImage image, QStringList notes = {});

    bool isNull() const { return image.isNull(); }
    qint64 bytes() const;
    // The smallest copy that is at least `scale` times as large as the picture.
    const QImage& atLeast(qreal scale) const;
};

}  // namespace vitrine

Q_DECLARE_METATYPE(vitrine::Picture)
