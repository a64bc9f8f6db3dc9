#include "ui/chat/picture_dialog.h"

#include <QMouseEvent>
#include <QPainter>

namespace vitrine {

PictureDialog::PictureDialog(const QString& name, const QImage& image, QWidget* parent)
    : QDialog(parent), m_image(image) {
    setWindowTitle(tr("%1, %2 × %3").arg(name).arg(image.width()).arg(image.height()));
    setAccessibleName(windowTitle());
    const QSize room = parent != nullptr ? parent->size() * 0.9 : QSize(1000, 700);
    resize(image.size().scaled(room, Qt::KeepAspectRatio).boundedTo(image.size() * 4).expandedTo({240, 180}));
}

void PictureDialog::paintEvent(QPaintEvent* /*event*/) {
    QPainter painter(this);
    QSizeF size = m_image.size();
    size.scale(this->size(), Qt::KeepAspectRatio);
    QRectF target(QPointF(), size);
    target.moveCenter(QRectF(rect()).center());
    // A small picture shows its pixels instead of a blur.
    painter.setRenderHint(QPainter::SmoothPixmapTransform, size.width() < m_image.width() * 2.0);
    painter.drawImage(target, m_image);
}

void PictureDialog::mouseReleaseEvent(QMouseEvent* /*event*/) {
    accept();
}

}  // namespace vitrine
