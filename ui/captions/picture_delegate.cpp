#include "ui/captions/picture_delegate.h"

#include "ui/captions/roles.h"
#include "ui/captions/state_text.h"
#include "ui/icons.h"
#include "ui/theme.h"

#include <QImage>
#include <QPainter>

namespace vitrine {
namespace {

constexpr int kPad = theme::kSpace;

QString oneLine(const QString& text, int longest) {
    return text.left(longest).simplified();
}

}  // namespace

QSize PictureDelegate::cellSize(const QFont& font) const {
    const int line = QFontMetrics(font).height();
    const int small = QFontMetrics(theme::smallFont(font)).height();
    const int edge = thumbnailEdge();
    if (m_grid) return {edge + 2 * kPad, edge + 2 * kPad + theme::kTight + line + small};
    return {edge * 4, qMax(edge, 2 * line + small + theme::kTight) + 2 * kPad};
}

QSize PictureDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const {
    return cellSize(option.font);
}

QPixmap PictureDelegate::drawing(const QString& name, int side, const QPainter& painter) const {
    auto known = m_icons.find(name);
    if (known == m_icons.end()) known = m_icons.insert(name, icon(name));
    return known->pixmap(QSize(side, side), painter.device()->devicePixelRatioF());
}

void PictureDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& row) const {
    const theme::Colors& colors = theme::colors(option.palette);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    const QRect cell = option.rect.adjusted(2, 1, -2, -1);
    const bool selected = option.state & QStyle::State_Selected;
    if (selected || (option.state & QStyle::State_MouseOver)) {
        QColor fill = colors.raised;
        if (!selected) fill.setAlphaF(0.5F);
        painter->setPen(Qt::NoPen);
        painter->setBrush(fill);
        painter->drawRoundedRect(cell, theme::kRadius, theme::kRadius);
    }
    if (selected) {  // a bar beside the fill, which alone would be too faint to tell
        painter->setPen(Qt::NoPen);
        painter->setBrush(colors.accent);
        painter->drawRoundedRect(QRectF(cell.left(), cell.top() + 6, 3, cell.height() - 12), 1.5, 1.5);
    }
    if (option.state & QStyle::State_HasFocus) {
        painter->setPen(QPen(colors.accent, 2));
        painter->setBrush(Qt::NoBrush);
        painter->drawRoundedRect(QRectF(cell).adjusted(1, 1, -1, -1), theme::kRadius, theme::kRadius);
    }

    const int edge = thumbnailEdge();
    const QRect inner = option.rect.adjusted(kPad, kPad, -kPad, -kPad);
    const QFontMetrics metrics(option.font);
    const QFontMetrics smallMetrics(theme::smallFont(option.font));
    const QString name = row.data(CaptionRoles::fileName).toString();
    const auto drawLine = [&](const QRect& line, const QString& text, const QColor& color, Qt::TextElideMode mode) {
        painter->setFont(option.font);
        painter->setPen(color);
        painter->drawText(line, Qt::AlignVCenter | Qt::AlignLeft | Qt::TextSingleLine,
                          metrics.elidedText(text, mode, line.width()));
    };
    if (m_grid) {
        paintThumbnail(*painter, QRect(inner.left() + (inner.width() - edge) / 2, inner.top(), edge, edge), option,
                       row);
        QRect line(inner.left(), inner.top() + edge + theme::kTight, inner.width(), metrics.height());
        drawLine(line, name, colors.text, Qt::ElideMiddle);
        paintState(*painter, QRect(inner.left(), line.bottom() + 1, inner.width(), smallMetrics.height()), option, row);
    } else {
        paintThumbnail(*painter, QRect(inner.left() + theme::kTight, inner.center().y() - edge / 2, edge, edge), option,
                       row);
        const int left = inner.left() + theme::kTight + edge + theme::kSpace;
        const int block = 2 * metrics.height() + smallMetrics.height() + theme::kTight;
        QRect line(left, inner.center().y() - block / 2, inner.right() - left, metrics.height());
        drawLine(line, name, colors.text, Qt::ElideMiddle);
        line.translate(0, metrics.height());
        QString excerpt = oneLine(row.data(CaptionRoles::caption).toString(), 200);
        if (excerpt.isEmpty()) excerpt = oneLine(row.data(CaptionRoles::reason).toString(), 200);
        drawLine(line, excerpt, colors.muted, Qt::ElideRight);
        paintState(*painter, QRect(left, line.bottom() + theme::kTight, line.width(), smallMetrics.height()), option,
                   row);
    }
    painter->restore();
}

void PictureDelegate::paintThumbnail(QPainter& painter, const QRect& box, const QStyleOptionViewItem& option,
                                     const QModelIndex& row) const {
    const auto image = row.data(CaptionRoles::thumbnail).value<QImage>();
    if (image.isNull()) {
        const theme::Colors& colors = theme::colors(option.palette);
        painter.setPen(Qt::NoPen);
        painter.setBrush(option.state & QStyle::State_Selected ? colors.surface : colors.raised);
        painter.drawRoundedRect(box, theme::kTight, theme::kTight);
        return;
    }
    // Shrunk to the box, never enlarged.
    const QSizeF natural = QSizeF(image.size()) / painter.device()->devicePixelRatioF();
    const bool larger = natural.width() > box.width() || natural.height() > box.height();
    QRectF target(QPointF(), larger ? natural.scaled(QSizeF(box.size()), Qt::KeepAspectRatio) : natural);
    target.moveCenter(box.toRectF().center());
    painter.setRenderHint(QPainter::SmoothPixmapTransform);
    painter.drawImage(target.toAlignedRect().intersected(box), image);
}

void PictureDelegate::paintState(QPainter& painter, const QRect& line, const QStyleOptionViewItem& option,
                                 const QModelIndex& row) const {
    const theme::Colors& colors = theme::colors(option.palette);
    const StateText state = stateText(row);
    const int side = line.height();
    painter.drawPixmap(line.left(), line.top(), drawing(state.iconName, side, painter));
    const QRect text = line.adjusted(side + theme::kTight, 0, 0, 0);
    painter.setFont(theme::smallFont(option.font));
    painter.setPen(state.isFault ? colors.bad : colors.muted);
    painter.drawText(text, Qt::AlignVCenter | Qt::AlignLeft | Qt::TextSingleLine,
                     painter.fontMetrics().elidedText(state.word, Qt::ElideRight, text.width()));
}

}  // namespace vitrine
