#include "ui/insight/mass_bars.h"

#include "ui/insight/words.h"
#include "ui/theme.h"

#include <QPainter>

#include <cmath>

namespace vitrine {
namespace {

constexpr int kBarHeight = 14;

}  // namespace

MassBars::MassBars(QWidget* parent) : QWidget(parent) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setAccessibleName(tr("Where the attention goes"));
}

void MassBars::setRow(const std::optional<Masses>& masses, double entropy, std::int64_t keys) {
    const std::size_t before = m_parts.size();
    m_parts.clear();
    if (masses) {
        m_parts.push_back({tr("This picture"), masses->picture, 0});
        if (masses->other_pictures > 0.0) m_parts.push_back({tr("Other pictures"), masses->other_pictures, 1});
        m_parts.push_back({tr("First position"), masses->first, 2});
        m_parts.push_back({tr("Rest of the prompt"), masses->prompt, 3});
        m_parts.push_back({tr("Answer so far"), masses->answer, 4});
    }
    const double most = std::log(static_cast<double>(std::max<std::int64_t>(keys, 1)));
    m_entropy = keys > 1 ? tr("Entropy %1 nats, %2 of the most possible over %3 positions")
                               .arg(insight::number(entropy), insight::percent(entropy / most))
                               .arg(keys)
                         : QString();
    QStringList said;
    for (const Part& part : m_parts) said.append(part.name + u' ' + insight::percent(part.share));
    said.append(m_entropy);
    setAccessibleDescription(said.join(QStringLiteral(", ")));
    if (before != m_parts.size()) updateGeometry();
    update();
}

void MassBars::clear() {
    setRow(std::nullopt, 0.0, 0);
}

QSize MassBars::sizeHint() const {
    const int line = fontMetrics().height() + 2;
    const int parts = static_cast<int>(m_parts.size());
    // The line about the entropy may need a second one where the widget is narrow.
    return {220, (parts > 0 ? kBarHeight + theme::kSpace + parts * line : 0) + theme::kTight + 2 * line};
}

// Told apart by pattern as well as by colour.
QBrush MassBars::brush(int kind) const {
    const theme::Colors& colors = theme::colors(*this);
    switch (kind) {
        case 0: return colors.accent;
        case 1: return QBrush(colors.accent, Qt::Dense4Pattern);
        case 2: return colors.text;
        case 3: return QBrush(colors.muted, Qt::BDiagPattern);
        default: return QBrush(colors.text, Qt::Dense5Pattern);
    }
}

void MassBars::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const theme::Colors& colors = theme::colors(*this);
    const int line = fontMetrics().height() + 2;
    int y = 0;
    if (!m_parts.empty()) {
        const QRectF bar(0.5, 0.5, width() - 1, kBarHeight - 1);
        qreal x = bar.left();
        for (const Part& part : m_parts) {
            const qreal length = bar.width() * part.share;
            painter.fillRect(QRectF(x, bar.top(), length, bar.height()), brush(part.kind));
            x += length;
            painter.setPen(colors.surface);
            if (x < bar.right() - 1) painter.drawLine(QPointF(x, bar.top()), QPointF(x, bar.bottom()));
        }
        painter.setPen(colors.muted);
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(bar);
        y = kBarHeight + theme::kSpace;
    }
    const int swatch = fontMetrics().ascent();
    const int numbers = fontMetrics().horizontalAdvance(QStringLiteral("00.00 %"));
    int names = 0;
    for (const Part& part : m_parts) names = std::max(names, fontMetrics().horizontalAdvance(part.name));
    for (const Part& part : m_parts) {
        const QRectF square(0.5, y + (line - swatch) / 2.0, swatch, swatch);
        painter.fillRect(square, brush(part.kind));
        painter.setPen(colors.muted);
        painter.drawRect(square);
        painter.setPen(colors.text);
        const int left = swatch + theme::kSpace;
        painter.drawText(QRect(left, y, names, line), Qt::AlignLeft | Qt::AlignVCenter, part.name);
        painter.drawText(QRect(left + names + theme::kSpace, y, numbers, line), Qt::AlignRight | Qt::AlignVCenter,
                         insight::percent(part.share));
        y += line;
    }
    painter.setPen(colors.muted);
    painter.drawText(QRect(0, y + theme::kTight, width(), 2 * line), Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap,
                     m_entropy);
}

}  // namespace vitrine
