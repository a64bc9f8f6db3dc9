#include "ui/insight/rank_chart.h"

#include "ui/insight/words.h"
#include "ui/theme.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>
#include <utility>

namespace vitrine {

RankChart::RankChart(QWidget* parent) : QWidget(parent) {
    setFont(theme::smallFont(font()));
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::MinimumExpanding);
    setAccessibleName(tr("Rank of the word after each layer"));
}

QSize RankChart::sizeHint() const {
    return {280, fontMetrics().height() * 10 + wordsHeight()};
}
QSize RankChart::minimumSizeHint() const {
    return {200, fontMetrics().height() * 8 + wordsHeight()};
}

int RankChart::wordsHeight() const {
    QFont bold = font();
    bold.setWeight(QFont::Bold);
    const QFontMetrics metrics(bold);
    int longest = 0;
    for (const TokenAlternative& word : m_ranks.winner)
        longest = std::max(longest, metrics.horizontalAdvance(insight::tokenLabel(QString::fromStdString(word.text))));
    return std::min(longest, metrics.averageCharWidth() * 12) + theme::kTight;
}

void RankChart::setRanks(const WordRanks& ranks, std::int32_t spoken) {
    m_ranks = ranks;
    m_spoken = spoken;
    m_pointed = std::min(m_pointed, layers() - 1);
    std::int64_t worst = 1;
    for (const std::int64_t rank : ranks.rank) worst = std::max(worst, rank + 1);
    m_decades = std::max(1.0, std::ceil(std::log10(static_cast<double>(worst))));
    updateGeometry();
    update();
    Q_EMIT layerPointed(m_pointed);
}

void RankChart::clear() {
    m_pointed = -1;
    setRanks({}, -1);
}

QString RankChart::describe(int layer) const {
    if (layer < 0 || layer >= layers()) return {};
    const auto at = static_cast<std::size_t>(layer);
    QString text = tr("After layer %1: rank %2").arg(layer).arg(m_ranks.rank[at] + 1);
    if (at < m_ranks.log_prob.size()) text += tr(" (%1)").arg(insight::percent(std::exp(m_ranks.log_prob[at])));
    if (at < m_ranks.winner.size()) {
        const TokenAlternative& winner = m_ranks.winner[at];
        text += tr(", likeliest is %1 (%2)")
                    .arg(insight::quoted(insight::tokenLabel(QString::fromStdString(winner.text))),
                         insight::percent(std::exp(winner.log_prob)));
    }
    return text;
}

void RankChart::point(int layer) {
    if (std::exchange(m_pointed, layer) == layer) return;
    setAccessibleDescription(describe(layer));
    update();
    Q_EMIT layerPointed(layer);
}

void RankChart::mouseMoveEvent(QMouseEvent* event) {
    const QRectF area = plot();
    const double at = (event->position().x() - area.left()) / area.width() * layers();
    point(at >= 0 && at < layers() ? static_cast<int>(at) : -1);
}
void RankChart::leaveEvent(QEvent*) {
    point(-1);
}

void RankChart::keyPressEvent(QKeyEvent* event) {
    const int by = event->key() == Qt::Key_Left ? -1 : event->key() == Qt::Key_Right ? 1 : 0;
    if (by == 0 || layers() == 0) return event->ignore();
    point(std::clamp(m_pointed < 0 && by > 0 ? 0 : m_pointed + by, 0, layers() - 1));
}

QRectF RankChart::plot() const {
    const int left = fontMetrics().horizontalAdvance(QStringLiteral("100k")) + theme::kSpace;
    const int line = fontMetrics().height();
    const qreal top = line * 1.7;  // under the name of the axis
    return QRectF(left, top, width() - left - theme::kTight, height() - top - line - wordsHeight() - theme::kSpace);
}

void RankChart::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const theme::Colors& colors = theme::colors(*this);
    const int count = layers();
    if (count == 0) return;
    const QRectF area = plot();
    const QFontMetrics metrics(font());
    const qreal step = area.width() / count;
    const auto x = [&](int layer) { return area.left() + (layer + 0.5) * step; };
    const auto y = [&](std::int64_t rank) {
        return area.top() + area.height() * std::log10(static_cast<double>(rank + 1)) / m_decades;
    };

    painter.setPen(colors.muted);
    painter.drawText(QRectF(0, 0, width(), metrics.height()), Qt::AlignLeft, tr("Rank"));
    for (int decade = 0; decade <= static_cast<int>(m_decades); ++decade) {
        const qreal at = area.top() + area.height() * decade / m_decades;
        painter.setPen(QPen(colors.border, 1));
        painter.drawLine(QPointF(area.left(), at), QPointF(area.right(), at));
        painter.setPen(colors.muted);
        const QString label = decade < 3 ? QString::number(qRound(std::pow(10, decade)))
                                         : QStringLiteral("%1k").arg(qRound(std::pow(10, decade - 3)));
        if (decade == 0 || area.height() / m_decades > metrics.height() || decade == static_cast<int>(m_decades))
            painter.drawText(QRectF(0, at - metrics.height() / 2.0, area.left() - theme::kTight, metrics.height()),
                             Qt::AlignRight | Qt::AlignVCenter, label);
    }
    if (m_pointed >= 0) {
        painter.fillRect(QRectF(x(m_pointed) - step / 2, area.top(), step, area.height()), colors.raised);
    }
    QPainterPath line;
    for (int layer = 0; layer < count; ++layer) {
        const QPointF at(x(layer), y(m_ranks.rank[static_cast<std::size_t>(layer)]));
        layer == 0 ? line.moveTo(at) : line.lineTo(at);
    }
    painter.setPen(QPen(colors.accent, 1.5));
    painter.setBrush(Qt::NoBrush);
    painter.drawPath(line);
    const qreal smallest = 2.0;
    const qreal largest = std::min(6.0, std::max(3.0, step * 0.7));
    for (int layer = 0; layer < count; ++layer) {
        const auto at = static_cast<std::size_t>(layer);
        const double probability = at < m_ranks.log_prob.size() ? std::exp(m_ranks.log_prob[at]) : 0.0;
        const qreal radius = smallest + (largest - smallest) * std::sqrt(probability);
        painter.setPen(QPen(colors.accent, 1.5));
        painter.setBrush(probability >= 0.5 ? colors.accent : colors.surface);
        painter.drawEllipse(QPointF(x(layer), y(m_ranks.rank[at])), radius, radius);
    }

    // Layers and the likeliest words under the plot, as many as there is room for.
    const int widest = metrics.horizontalAdvance(QString::number(count)) + theme::kTight;
    const int everyNumber = std::max(1, static_cast<int>(std::ceil(widest / step)));
    const int everyWord = std::max(1, static_cast<int>(std::ceil(metrics.height() * 0.9 / step)));
    for (int layer = 0; layer < count; ++layer) {
        const auto at = static_cast<std::size_t>(layer);
        painter.setFont(font());
        painter.setPen(colors.muted);
        if (layer % everyNumber == 0) {
            painter.drawText(QRectF(x(layer) - widest, area.bottom() + theme::kTight, 2 * widest, metrics.height()),
                             Qt::AlignHCenter | Qt::AlignTop, QString::number(layer));
        }
        if (at >= m_ranks.winner.size() || (layer % everyWord != 0 && layer != m_pointed)) continue;
        const bool spoken = m_ranks.winner[at].id == m_spoken;
        QFont font = this->font();
        font.setWeight(spoken ? QFont::Bold : QFont::Normal);
        painter.setFont(font);
        painter.setPen(spoken ? colors.accent : layer == m_pointed ? colors.text : colors.muted);
        painter.save();
        painter.translate(x(layer), area.bottom() + theme::kTight + metrics.height() + 2);
        painter.rotate(90);
        const QString word = insight::tokenLabel(QString::fromStdString(m_ranks.winner[at].text));
        painter.drawText(QRectF(0, -metrics.height() / 2.0, wordsHeight(), metrics.height()),
                         Qt::AlignLeft | Qt::AlignVCenter,
                         QFontMetrics(font).elidedText(word, Qt::ElideRight, wordsHeight()));
        painter.restore();
    }
    if (hasFocus()) {
        painter.setPen(QPen(colors.accent, 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
    }
}

}  // namespace vitrine
