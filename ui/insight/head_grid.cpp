#include "ui/insight/head_grid.h"

#include "ui/insight/words.h"
#include "ui/theme.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace vitrine {
namespace {

constexpr int kGap = 3;
constexpr int kSmallest = 12;  // side of a map in the table
constexpr int kLargest = 64;

}  // namespace

HeadGrid::HeadGrid(QWidget* parent) : QAbstractScrollArea(parent) {
    setFocusPolicy(Qt::StrongFocus);
    setFrameShape(QFrame::NoFrame);
    setFont(theme::smallFont(font()));
    setAccessibleName(tr("Maps of all layers and heads"));
    viewport()->setMouseTracking(true);
}

QSize HeadGrid::sizeHint() const {
    return {320, 200};
}

void HeadGrid::setMaps(const HeadMaps& maps) {
    const bool sameShape = maps.layers == m_maps.layers && maps.heads == m_maps.heads;
    m_maps = maps;
    if (!sameShape) m_pointed = -1;
    drawMaps();
    sort();
}

void HeadGrid::clear() {
    setMaps({});
}

void HeadGrid::setScores(const std::vector<float>& scores) {
    m_scores = scores;
    sort();
}

void HeadGrid::setLook(const ColourTable& colours, ScaleTransform transform, bool oneScale) {
    if (colours == m_colours && transform == m_transform && oneScale == m_oneScale) return;
    m_colours = colours;
    m_transform = transform;
    m_oneScale = oneScale;
    drawMaps();
    viewport()->update();
}

void HeadGrid::setSort(HeadSort sorting) {
    m_sort = sorting;
    verticalScrollBar()->setValue(0);
    sort();
}

void HeadGrid::drawMaps() {
    const int rows = m_maps.rows;
    const int columns = m_maps.columns;
    const auto patches = static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
    m_image = {};
    if (patches == 0 || m_maps.values.empty()) return;
    m_scale = scale_of(ScaleKind::global, m_transform, m_maps.values);
    m_image = QImage(m_maps.heads * columns, m_maps.layers * rows, QImage::Format_ARGB32_Premultiplied);
    for (int layer = 0; layer < m_maps.layers; ++layer) {
        for (int head = 0; head < m_maps.heads; ++head) {
            const float* values = m_maps.map(layer, head);
            const ValueScale scale =
                m_oneScale ? m_scale : scale_of(ScaleKind::per_map, m_transform, {values, patches});
            const QImage map = mapImage(values, rows, columns, scale, m_colours);
            for (int row = 0; row < rows; ++row) {
                auto* line = reinterpret_cast<QRgb*>(m_image.scanLine(layer * rows + row)) + head * columns;
                std::copy_n(reinterpret_cast<const QRgb*>(map.constScanLine(row)), columns, line);
            }
        }
    }
}

double HeadGrid::measure(int cell) const {
    const auto at = static_cast<std::size_t>(cell);
    switch (m_sort) {
        case HeadSort::mass: return at < m_maps.masses.size() ? m_maps.masses[at].picture : 0.0;
        case HeadSort::entropy: return at < m_maps.entropy.size() ? -m_maps.entropy[at] : 0.0;  // the sharpest first
        case HeadSort::score: return at < m_scores.size() ? m_scores[at] : 0.0;
        case HeadSort::layer: break;
    }
    return 0.0;
}

void HeadGrid::sort() {
    m_order.resize(static_cast<std::size_t>(m_maps.layers * m_maps.heads));
    std::iota(m_order.begin(), m_order.end(), 0);
    std::stable_sort(m_order.begin(), m_order.end(), [this](int a, int b) { return measure(a) > measure(b); });
    arrange();
}

void HeadGrid::arrange() {
    const QFontMetrics metrics(font());
    const int width = viewport()->width();
    const bool table = m_sort == HeadSort::layer;
    const int columns = std::max(1, m_maps.columns);
    const int rows = std::max(1, m_maps.rows);
    int side = kLargest;
    if (table) {
        m_perRow = std::max(1, m_maps.heads);
        m_origin = {metrics.horizontalAdvance(QStringLiteral("L00")) + theme::kTight, metrics.height() + kGap};
        const int pitch = (width - m_origin.x()) / m_perRow;
        side = std::clamp(pitch - kGap, kSmallest, kLargest);
        m_pitch = {std::max(pitch, side + kGap), side * rows / columns + kGap};
        m_pitch.setWidth(std::min(m_pitch.width(), kLargest + kGap));
    } else {
        const int text = metrics.horizontalAdvance(QStringLiteral("L00 H00"));
        side = std::max(text, 3 * columns);
        m_perRow = std::max(1, (width + theme::kSpace) / (side + theme::kSpace));
        m_origin = {0, 0};
        m_pitch = {side + theme::kSpace, side * rows / columns + 2 * metrics.height() + theme::kSpace};
    }
    m_cell = {side, std::max(1, side * rows / columns)};
    const int lines = (static_cast<int>(m_order.size()) + m_perRow - 1) / m_perRow;
    const int height = m_origin.y() + lines * m_pitch.height() + kGap;
    verticalScrollBar()->setPageStep(viewport()->height());
    verticalScrollBar()->setSingleStep(m_pitch.height());
    verticalScrollBar()->setRange(0, std::max(0, height - viewport()->height()));
    horizontalScrollBar()->setPageStep(width);
    horizontalScrollBar()->setRange(
        0, std::max(0, m_origin.x() + (m_perRow - 1) * m_pitch.width() + m_cell.width() - width));
    viewport()->update();
}

void HeadGrid::resizeEvent(QResizeEvent*) {
    arrange();
}

QRect HeadGrid::placeAt(int index) const {
    return {m_origin + QPoint(index % m_perRow * m_pitch.width(), index / m_perRow * m_pitch.height()), m_cell};
}

int HeadGrid::indexOf(int layer, int head) const {
    const auto found = std::find(m_order.begin(), m_order.end(), layer * m_maps.heads + head);
    return layer < 0 || head < 0 || found == m_order.end() ? -1 : static_cast<int>(found - m_order.begin());
}

QRect HeadGrid::cellRect(int layer, int head) const {
    const int index = indexOf(layer, head);
    if (index < 0) return {};
    return placeAt(index).translated(-horizontalScrollBar()->value(), -verticalScrollBar()->value());
}

int HeadGrid::indexAt(const QPoint& viewportPoint) const {
    const QPoint point =
        viewportPoint + QPoint(horizontalScrollBar()->value(), verticalScrollBar()->value()) - m_origin;
    if (point.x() < 0 || point.y() < 0 || m_order.empty()) return -1;
    const int column = point.x() / m_pitch.width();
    const int index = point.y() / m_pitch.height() * m_perRow + column;
    return column < m_perRow && index < static_cast<int>(m_order.size()) ? index : -1;
}

void HeadGrid::setCurrent(int layer, int head) {
    if (layer == m_layer && head == m_head) return;
    m_layer = layer;
    m_head = head;
    setAccessibleDescription(indexOf(layer, head) < 0 ? QString() : describe(layer, head));
    viewport()->update();
}

void HeadGrid::open(int index) {
    const int cell = m_order[static_cast<std::size_t>(index)];
    setCurrent(cell / m_maps.heads, cell % m_maps.heads);
    const QRect place = placeAt(index).adjusted(0, 0, 0, m_pitch.height() - m_cell.height());
    QScrollBar* bar = verticalScrollBar();
    if (place.top() < bar->value() + m_origin.y()) bar->setValue(place.top() - m_origin.y());
    if (place.bottom() > bar->value() + viewport()->height()) bar->setValue(place.bottom() - viewport()->height());
    bar = horizontalScrollBar();
    if (place.left() < bar->value() + m_origin.x()) bar->setValue(place.left() - m_origin.x());
    if (place.right() > bar->value() + viewport()->width()) bar->setValue(place.right() + 1 - viewport()->width());
    Q_EMIT opened(m_layer, m_head);
}

void HeadGrid::mouseMoveEvent(QMouseEvent* event) {
    const int index = indexAt(event->position().toPoint());
    if (std::exchange(m_pointed, index) == index) return;
    viewport()->setCursor(index >= 0 ? Qt::PointingHandCursor : Qt::ArrowCursor);
    viewport()->update();
    const int cell = index < 0 ? 0 : m_order[static_cast<std::size_t>(index)];
    Q_EMIT pointed(index < 0 ? kAll : cell / m_maps.heads, index < 0 ? kAll : cell % m_maps.heads);
}

void HeadGrid::mousePressEvent(QMouseEvent* event) {
    const int index = indexAt(event->position().toPoint());
    if (event->button() == Qt::LeftButton && index >= 0) open(index);
}

void HeadGrid::keyPressEvent(QKeyEvent* event) {
    if (m_order.empty() || (event->modifiers() & ~Qt::KeypadModifier)) {
        event->ignore();
        return;
    }
    const int last = static_cast<int>(m_order.size()) - 1;
    const int here = indexOf(m_layer, m_head);
    const auto move = [&](int by) {
        const int to = here < 0 ? 0 : here + by;
        if (to >= 0 && to <= last) open(to);
    };
    switch (event->key()) {
        case Qt::Key_Left: return move(-1);
        case Qt::Key_Right: return move(1);
        case Qt::Key_Up: return move(-m_perRow);
        case Qt::Key_Down: return move(m_perRow);
        case Qt::Key_Home: return open(0);
        case Qt::Key_End: return open(last);
        case Qt::Key_PageUp:
        case Qt::Key_PageDown: return QAbstractScrollArea::keyPressEvent(event);
        default: event->ignore();
    }
}

bool HeadGrid::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::Leave && std::exchange(m_pointed, -1) >= 0) {
        viewport()->update();
        Q_EMIT pointed(kAll, kAll);
    } else if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const int index = indexAt(help->pos());
        const int cell = index < 0 ? 0 : m_order[static_cast<std::size_t>(index)];
        QToolTip::showText(help->globalPos(),
                           index < 0 ? QString() : describe(cell / m_maps.heads, cell % m_maps.heads), viewport());
        return true;
    }
    return QAbstractScrollArea::viewportEvent(event);
}

void HeadGrid::changeEvent(QEvent* event) {
    if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) arrange();
    QAbstractScrollArea::changeEvent(event);
}
void HeadGrid::focusInEvent(QFocusEvent* event) {
    viewport()->update();
    QAbstractScrollArea::focusInEvent(event);
}
void HeadGrid::focusOutEvent(QFocusEvent* event) {
    viewport()->update();
    QAbstractScrollArea::focusOutEvent(event);
}

QString HeadGrid::describe(int layer, int head) const {
    const auto cell = static_cast<std::size_t>(layer * m_maps.heads + head);
    QStringList parts{tr("L%1 H%2").arg(layer).arg(head)};
    if (cell < m_maps.masses.size())
        parts.append(tr("%1 on the picture").arg(insight::percent(m_maps.masses[cell].picture)));
    if (cell < m_maps.entropy.size()) parts.append(tr("entropy %1 nats").arg(insight::number(m_maps.entropy[cell])));
    if (cell < m_scores.size()) parts.append(tr("score %1").arg(insight::number(m_scores[cell])));
    return parts.join(QStringLiteral(", "));
}

void HeadGrid::paintEvent(QPaintEvent* event) {
    QPainter painter(viewport());
    const theme::Colors& colors = theme::colors(*this);
    painter.fillRect(event->rect(), colors.window);
    painter.setFont(font());
    if (m_image.isNull()) {
        painter.setPen(colors.muted);
        painter.drawText(viewport()->rect(), Qt::AlignCenter | Qt::TextWordWrap,
                         tr("The maps of all heads come here."));
        return;
    }
    const QFontMetrics metrics(font());
    const QPoint offset(horizontalScrollBar()->value(), verticalScrollBar()->value());
    const bool table = m_sort == HeadSort::layer;
    const int top = event->rect().top() + offset.y() - m_origin.y();
    const int bottom = event->rect().bottom() + offset.y() - m_origin.y();
    const int first = std::max(0, top / m_pitch.height() * m_perRow);
    const int end = std::min(static_cast<int>(m_order.size()), (bottom / m_pitch.height() + 1) * m_perRow);
    painter.save();
    painter.translate(-offset);
    const int current = indexOf(m_layer, m_head);
    for (int index = first; index < end; ++index) {
        const int cell = m_order[static_cast<std::size_t>(index)];
        const int layer = cell / m_maps.heads;
        const int head = cell % m_maps.heads;
        const QRect place = placeAt(index);
        painter.drawImage(place, m_image,
                          QRect(head * m_maps.columns, layer * m_maps.rows, m_maps.columns, m_maps.rows));
        if (index == current || index == m_pointed) {
            painter.setPen(QPen(index == current ? colors.accent : colors.text, index == current ? 2 : 1));
            painter.setBrush(Qt::NoBrush);
            painter.drawRect(QRectF(place).adjusted(-1, -1, 1, 1));
        }
        painter.setPen(index == current ? colors.text : colors.muted);
        if (!table) {
            const QRect label(place.left(), place.bottom() + 2, m_pitch.width(), metrics.height());
            painter.drawText(label, Qt::AlignLeft, tr("L%1 H%2").arg(layer).arg(head));
            const double value = measure(cell);
            painter.drawText(label.translated(0, metrics.height()), Qt::AlignLeft,
                             m_sort == HeadSort::mass ? insight::percent(value) : insight::number(std::abs(value)));
        }
    }
    painter.restore();
    if (table) {  // the numbers of layers and heads stay where the maps scroll away under them
        painter.setPen(colors.muted);
        painter.fillRect(QRect(0, 0, m_origin.x() - 1, viewport()->height()), colors.window);
        const int everyLayer = (metrics.height() + m_pitch.height() - 1) / m_pitch.height();
        for (int layer = 0; layer < m_maps.layers; layer += everyLayer) {
            const QRect at(0, m_origin.y() + layer * m_pitch.height() - offset.y(), m_origin.x() - theme::kTight,
                           m_cell.height());
            painter.drawText(at, Qt::AlignRight | Qt::AlignVCenter | Qt::TextDontClip, tr("L%1").arg(layer));
        }
        painter.fillRect(QRect(0, 0, viewport()->width(), m_origin.y() - 1), colors.window);
        const int label = metrics.horizontalAdvance(QStringLiteral("H00 "));
        const int everyHead = (label + m_pitch.width() - 1) / m_pitch.width();
        painter.setClipRect(QRect(m_origin.x(), 0, viewport()->width(), m_origin.y()));
        for (int head = 0; head < m_maps.heads; head += everyHead) {
            const QRect at(m_origin.x() + head * m_pitch.width() - offset.x(), 0, label, metrics.height());
            painter.drawText(at, Qt::AlignLeft, tr("H%1").arg(head));
        }
        painter.setClipping(false);
    }
    if (hasFocus()) {
        painter.setPen(QPen(colors.accent, 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(viewport()->rect().adjusted(0, 0, -1, -1));
    }
}

}  // namespace vitrine
