#include "ui/insight/colour_bar.h"

#include "ui/insight/words.h"
#include "ui/theme.h"

#include <QPainter>
#include <QPolygonF>

#include <algorithm>

namespace vitrine {
namespace {

constexpr qreal kThickness = 10;

QImage strip(const ColourTable& colours) {
    QImage image(static_cast<int>(colours.size()), 1, QImage::Format_RGB32);
    std::copy(colours.begin(), colours.end(), reinterpret_cast<QRgb*>(image.scanLine(0)));
    return image;
}

QString tick(const ValueScale& scale, ScaleCut cut, double place) {
    const double value = value_at(scale, place) / scale.unit;
    const bool middle = scale.two_sided && place == 0.5;
    QString text = insight::number(middle ? 0.0 : value);
    if (scale.kind == ScaleKind::uniform) text += QStringLiteral(" ×");
    if (scale.two_sided && place > 0.5) text.prepend(u'+');
    if (place == 0.0 && cut.below) text.prepend(QStringLiteral("≤ "));
    if (place == 1.0 && cut.above) text.prepend(QStringLiteral("≥ "));
    return text;
}

}  // namespace

ColourBar::ColourBar(QWidget* parent) : QWidget(parent) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setFont(theme::smallFont(font()));
    setAccessibleName(tr("Colour scale"));
}

void ColourBar::setScale(const ValueScale& scale, const ColourTable& colours, ScaleCut cut) {
    m_scale = scale;
    m_colours = colours;
    m_cut = cut;
    setAccessibleDescription(tr("from %1 to %2").arg(tick(scale, cut, 0.0), tick(scale, cut, 1.0)));
    update();
}

void ColourBar::setValue(std::optional<double> value) {
    if (m_value == value) return;
    m_value = value;
    update();
}

QSize ColourBar::sizeHint() const {
    return {240, qRound(kThickness) + 6 + fontMetrics().height()};
}
QSize ColourBar::minimumSizeHint() const {
    return {120, sizeHint().height()};
}

void ColourBar::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const QColor ink = theme::colors(*this).text;
    const QRectF area = rect();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setRenderHint(QPainter::SmoothPixmapTransform);
    const qreal head = kThickness * 0.8;  // room for the arrow heads at either end
    const QRectF bar(area.left() + head, area.top() + 4, area.width() - 2 * head, kThickness);
    painter.drawImage(bar, strip(m_colours));
    painter.setPen(QPen(ink, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(bar.adjusted(0.5, 0.5, -0.5, -0.5));
    const auto arrow = [&](qreal base, qreal tip, QRgb colour) {
        painter.setBrush(QColor(colour));
        painter.drawPolygon(QPolygonF(
            {QPointF(base, bar.top() + 0.5), QPointF(tip, bar.center().y()), QPointF(base, bar.bottom() - 0.5)}));
    };
    if (m_cut.below) arrow(bar.left(), area.left() + 0.5, m_colours.front());
    if (m_cut.above) arrow(bar.right(), area.right() - 0.5, m_colours.back());

    const QFontMetricsF metrics(font());
    const int steps = area.width() > metrics.averageCharWidth() * 60 ? 4 : 2;
    for (int i = 0; i <= steps; ++i) {
        const double place = static_cast<double>(i) / steps;
        const QString label = tick(m_scale, m_cut, place);
        const qreal width = metrics.horizontalAdvance(label);
        const qreal x = bar.left() + place * bar.width();
        painter.drawLine(QPointF(x, bar.bottom()), QPointF(x, bar.bottom() + 2));
        const qreal left = std::clamp(x - width / 2, area.left(), std::max(area.left(), area.right() - width));
        painter.drawText(QRectF(left, bar.bottom() + 2, width + 1, metrics.height()), Qt::AlignLeft | Qt::AlignTop,
                         label);
    }
    const int index = m_value ? shade_of(m_scale, static_cast<float>(*m_value)).index : -1;
    if (index >= 0) {
        const qreal x = bar.left() + index / 255.0 * bar.width();
        painter.setBrush(ink);
        painter.drawPolygon(
            QPolygonF({QPointF(x, bar.top() + 3), QPointF(x - 4, area.top()), QPointF(x + 4, area.top())}));
    }
}

}  // namespace vitrine
