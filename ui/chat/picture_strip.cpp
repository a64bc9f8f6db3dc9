#include "ui/chat/picture_strip.h"

#include "ui/icons.h"
#include "ui/theme.h"

#include <QPainter>
#include <QPainterPath>
#include <QResizeEvent>
#include <QToolButton>

namespace vitrine {

PictureTile::PictureTile(const TurnPicture& picture, bool removable, QWidget* parent)
    : QAbstractButton(parent), m_picture(picture) {
    setFocusPolicy(Qt::StrongFocus);
    setCursor(Qt::PointingHandCursor);
    setAttribute(Qt::WA_Hover);
    const bool broken = !picture.problem.isEmpty();
    setAccessibleName(broken ? tr("Picture %1 cannot be used: %2").arg(picture.name, picture.problem)
                             : tr("Picture %1").arg(picture.name));
    setToolTip(broken ? picture.name + u'\n' + picture.problem : picture.name);
    if (!removable) return;
    m_remove = new QToolButton(this);
    m_remove->setIcon(vitrine::icon(QStringLiteral("close")));
    m_remove->setStyleSheet(QStringLiteral("QToolButton, QToolButton:focus { padding: 0; }"));
    m_remove->setToolTip(tr("Remove"));
    m_remove->setAccessibleName(tr("Remove %1").arg(picture.name));
    m_remove->setCursor(Qt::PointingHandCursor);
    connect(m_remove, &QToolButton::clicked, this, [this] { Q_EMIT removeWanted(m_picture.key); });
}

void PictureTile::setThumbnail(const QImage& image) {
    m_thumbnail = image;
    updateGeometry();
    update();
}

QSize PictureTile::sizeHint() const {
    const int unit = fontMetrics().height();
    const int side = m_remove != nullptr ? unit * 4 : unit * 8;
    if (!m_picture.problem.isEmpty()) return {unit * 18, unit * 4};
    if (m_thumbnail.isNull()) return {side, side};
    // As wide as the picture asks for, within reason.
    const double aspect = static_cast<double>(m_thumbnail.width()) / std::max(1, m_thumbnail.height());
    return {static_cast<int>(side * std::clamp(aspect, 0.6, 2.2)), side};
}

void PictureTile::resizeEvent(QResizeEvent* /*event*/) {
    if (m_remove == nullptr) return;
    const int side = fontMetrics().height() * 5 / 4;
    m_remove->setIconSize(QSize(side, side) * 0.6);
    m_remove->setGeometry(width() - side - 3, 3, side, side);
}

void PictureTile::paintEvent(QPaintEvent* /*event*/) {
    const theme::Colors& colors = theme::colors(*this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setRenderHint(QPainter::SmoothPixmapTransform);
    const QRectF frame = QRectF(rect()).adjusted(1, 1, -1, -1);
    QPainterPath shape;
    shape.addRoundedRect(frame, theme::kRadius, theme::kRadius);
    painter.fillPath(shape, colors.raised);
    if (!m_picture.problem.isEmpty()) {
        const int unit = fontMetrics().height();
        const int pad = theme::kSpace;
        vitrine::icon(QStringLiteral("warning")).paint(&painter, QRect(pad, (height() - unit) / 2, unit, unit));
        const int right = m_remove != nullptr ? unit * 3 / 2 + pad : pad;
        const QRect text = rect().adjusted(pad * 2 + unit, pad, -right, -pad);
        QFont bold = font();
        bold.setWeight(QFont::DemiBold);
        painter.setFont(bold);
        painter.setPen(colors.text);
        painter.drawText(QRect(text.topLeft(), QSize(text.width(), unit)), Qt::AlignLeft | Qt::AlignVCenter,
                         QFontMetrics(bold).elidedText(m_picture.name, Qt::ElideMiddle, text.width()));
        painter.setFont(theme::smallFont(font()));
        painter.setPen(colors.bad);
        painter.drawText(text.adjusted(0, unit, 0, 0), Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap,
                         m_picture.problem);
    } else if (!m_thumbnail.isNull()) {
        painter.setClipPath(shape);
        QSizeF size = m_thumbnail.size();
        size.scale(frame.size(), Qt::KeepAspectRatioByExpanding);
        QRectF target(QPointF(), size);
        target.moveCenter(frame.center());
        painter.drawImage(target, m_thumbnail);
        painter.setClipping(false);
    } else {
        const int side = fontMetrics().height() * 3 / 2;
        vitrine::icon(QStringLiteral("picture"))
            .paint(&painter, QRect(width() / 2 - side / 2, height() / 2 - side / 2, side, side));
    }
    const bool focused = hasFocus();
    painter.setPen(QPen(focused || underMouse() ? colors.accent : colors.border, focused ? 2 : 1));
    painter.drawPath(shape);
}

PictureStrip::PictureStrip(bool removable, QWidget* parent) : QWidget(parent), m_removable(removable) {
    QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
}

void PictureStrip::setPictures(const QList<TurnPicture>& pictures) {
    if (m_pictures == pictures) return;
    m_pictures = pictures;
    std::vector<PictureTile*> kept;
    for (const TurnPicture& picture : pictures) {
        const auto same = std::find_if(m_tiles.begin(), m_tiles.end(), [&](PictureTile* tile) {
            return tile != nullptr && tile->picture() == picture;
        });
        if (same != m_tiles.end()) {
            kept.push_back(std::exchange(*same, nullptr));
            continue;
        }
        auto* tile = new PictureTile(picture, m_removable, this);
        connect(tile, &PictureTile::clicked, this, [this, key = picture.key] { Q_EMIT activated(key); });
        connect(tile, &PictureTile::removeWanted, this, &PictureStrip::removeWanted);
        tile->show();
        kept.push_back(tile);
    }
    for (PictureTile* tile : m_tiles) {
        if (tile == nullptr) continue;
        tile->hide();
        tile->deleteLater();
    }
    m_tiles = std::move(kept);
    arrange(width(), &m_tiles);
    updateGeometry();
    for (const PictureTile* tile : m_tiles) {
        const TurnPicture& picture = tile->picture();
        if (picture.problem.isEmpty() && !picture.loading) Q_EMIT thumbnailWanted(picture.key);
    }
}

void PictureStrip::setThumbnail(const QString& key, const QImage& image) {
    for (PictureTile* tile : m_tiles) {
        if (tile->picture().key == key) tile->setThumbnail(image);
    }
    arrange(width(), &m_tiles);
    updateGeometry();
}

int PictureStrip::arrange(int width, const std::vector<PictureTile*>* place) const {
    int x = 0;
    int y = 0;
    int line = 0;
    for (PictureTile* tile : m_tiles) {
        const QSize size = tile->sizeHint().boundedTo({std::max(1, width), 10'000});
        if (x > 0 && x + size.width() > width) {
            x = 0;
            y += line + theme::kSpace;
            line = 0;
        }
        if (place != nullptr) tile->setGeometry(x, y, size.width(), size.height());
        x += size.width() + theme::kSpace;
        line = std::max(line, size.height());
    }
    return y + line;
}

QSize PictureStrip::sizeHint() const {
    int width = 0;
    for (const PictureTile* tile : m_tiles) width += tile->sizeHint().width() + theme::kSpace;
    width = std::min(width, fontMetrics().height() * 40);
    return {width, arrange(width, nullptr)};
}

void PictureStrip::resizeEvent(QResizeEvent* event) {
    arrange(event->size().width(), &m_tiles);
}

}  // namespace vitrine
