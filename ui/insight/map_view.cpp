#include "ui/insight/map_view.h"

#include "ui/insight/words.h"
#include "ui/pictures/picture_view.h"
#include "ui/theme.h"

#include <QKeyEvent>
#include <QLabel>
#include <QPainter>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <utility>

namespace vitrine {

MapView::MapView(const QString& name, QWidget* parent)
    : QWidget(parent), m_view(new PictureView(this)), m_readout(new QLabel(this)) {
    m_view->setAccessibleName(name);
    m_view->setDragSelects(true);
    m_view->setToolTip({});
    m_readout->setFont(theme::smallFont(font()));
    m_readout->setTextFormat(Qt::PlainText);
    m_readout->setAccessibleName(tr("Value of the patch"));
    m_readout->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    theme::setMuted(*m_readout);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(theme::kTight);
    layout->addWidget(m_view, 1);
    layout->addWidget(m_readout);

    m_view->setOverlay([this](QPainter& painter, const QSize& picture) {
        if (m_cells.isNull()) return;
        paintCells(painter, picture, m_cells, m_smooth);
        paintMarks(painter, picture, m_grid.rows, m_grid.columns, m_marks);
        paintNotes(painter, QRectF(QPointF(), picture));
    });
    connect(m_view, &PictureView::hovered, this,
            [this](const QPointF& at, bool inside) { hover(inside ? patchUnder(at) : -1); });
    connect(m_view, &PictureView::clicked, this, [this](const QPointF& at) {
        if (!m_selectable) return;
        choose({}, true);
        const int patch = patchUnder(at);
        lock(patch == m_marks.locked ? -1 : patch);
    });
    connect(m_view, &PictureView::regionDragged, this, [this](const QRectF& area, bool finished) {
        if (!m_selectable || m_cells.isNull()) return;
        choose(patchesIn(area, m_grid.rows, m_grid.columns, m_view->picture().image.size()), finished);
    });
    tell();
}

void MapView::setPicture(const Picture& picture, const QImage& seenByModel) {
    m_picture = picture;
    m_seen = seenByModel;
    showPicture();
}

void MapView::setShowSeen(bool seen) {
    if (std::exchange(m_showSeen, seen) != seen) showPicture();
}

void MapView::showPicture() {
    if (m_picture.isNull()) {
        m_view->clear();
    } else {
        m_view->setPicture(m_showSeen && !m_seen.isNull() ? Picture::of(m_seen) : m_picture);
    }
}

void MapView::setMap(const PatchGrid& grid, const ValueScale& scale, const ColourTable& colours, double uniform) {
    if (grid.rows != m_grid.rows || grid.columns != m_grid.columns) {
        m_marks.hovered = -1;
        letGo();
    }
    m_grid = grid;
    m_scale = scale;
    m_uniform = uniform;
    m_cells = overlayImage(grid, scale, colours);
    m_view->setGrey(true);
    m_view->update();
    tell();
}

void MapView::clearMap() {
    m_grid = {};
    m_cells = {};
    m_marks.hovered = -1;
    letGo();
    m_view->setGrey(false);
}

void MapView::setSmooth(bool smooth) {
    m_smooth = smooth;
    m_view->update();
}

void MapView::setSinks(const std::vector<int>& patches, SinkMode mode) {
    m_marks.sinks = patches;
    m_marks.sinkMode = mode;
    std::erase_if(m_marks.sinks, [this](int patch) { return patch < 0 || patch >= m_grid.rows * m_grid.columns; });
    m_view->update();
    tell();
}

void MapView::setSelectable(bool selectable) {
    m_selectable = selectable;
    m_view->setDragSelects(selectable);
    tell();
}

void MapView::point(int patch) {
    if (patch >= static_cast<int>(m_grid.values.size())) patch = -1;
    if (std::exchange(m_marks.hovered, patch) == patch) return;
    m_view->update();
    tell();
}

void MapView::letGo() {
    m_marks.locked = -1;
    m_marks.region.clear();
    m_corner = -1;
    m_view->update();
    tell();
}

void MapView::hover(int patch) {
    if (m_marks.hovered == patch) return;
    point(patch);
    Q_EMIT patchHovered(patch);
}

void MapView::lock(int patch) {
    m_corner = patch;
    if (std::exchange(m_marks.locked, patch) == patch) return;
    m_view->update();
    tell();
    Q_EMIT patchLocked(patch);
}

void MapView::choose(const std::vector<int>& patches, bool finished) {
    const bool same = m_marks.region == patches;
    m_marks.region = patches;
    m_view->update();
    // What is marked while the pointer still moves is only shown; an end that changes nothing is told all the same.
    if (finished && !(same && patches.empty())) Q_EMIT regionChosen(patches);
}

int MapView::patchUnder(const QPointF& picturePoint) const {
    return patchAt(picturePoint, m_grid.rows, m_grid.columns, m_view->picture().image.size());
}

std::optional<double> MapView::valueRead() const {
    const int patch = m_marks.hovered >= 0 ? m_marks.hovered : m_marks.locked;
    if (patch < 0 || patch >= static_cast<int>(m_grid.values.size())) return std::nullopt;
    const double value = m_grid.values[static_cast<std::size_t>(patch)];
    return std::isnan(value) ? std::nullopt : std::optional(value);
}

void MapView::tell() {
    const int patch = m_marks.hovered >= 0 ? m_marks.hovered : m_marks.locked;
    const auto& sinks = m_marks.sinks;
    QString text;
    if (m_grid.values.empty()) {
        text = QString();
    } else if (patch < 0) {
        text = m_selectable ? tr("Point at a patch to read it, click to keep it, drag to mark several") : QString();
    } else {
        const std::optional<double> value = valueRead();
        text = insight::patchName(patch, m_grid.columns) + QStringLiteral(": ");
        text += value ? insight::number(*value) : tr("left blank");
        if (value && m_uniform > 0.0) text += tr(", %1 × uniform").arg(insight::number(*value / m_uniform));
        if (std::find(sinks.begin(), sinks.end(), patch) != sinks.end()) text += tr(", a sink");
    }
    m_readout->setText(text);
    Q_EMIT valueChanged();
}

void MapView::moveLock(int dx, int dy) {
    if (m_grid.values.empty()) return;
    const int from = m_marks.locked >= 0 ? m_marks.locked : m_grid.rows / 2 * m_grid.columns + m_grid.columns / 2;
    const bool first = m_marks.locked < 0;
    const int column = std::clamp(from % m_grid.columns + (first ? 0 : dx), 0, m_grid.columns - 1);
    const int row = std::clamp(from / m_grid.columns + (first ? 0 : dy), 0, m_grid.rows - 1);
    choose({}, true);
    lock(row * m_grid.columns + column);
}

void MapView::stretch(int dx, int dy) {
    if (m_marks.locked < 0) return moveLock(dx, dy);
    const int column = std::clamp(m_corner % m_grid.columns + dx, 0, m_grid.columns - 1);
    const int row = std::clamp(m_corner / m_grid.columns + dy, 0, m_grid.rows - 1);
    m_corner = row * m_grid.columns + column;
    const int fromRow = m_marks.locked / m_grid.columns;
    const int fromColumn = m_marks.locked % m_grid.columns;
    std::vector<int> patches;
    for (int y = std::min(fromRow, row); y <= std::max(fromRow, row); ++y)
        for (int x = std::min(fromColumn, column); x <= std::max(fromColumn, column); ++x)
            patches.push_back(y * m_grid.columns + x);
    choose(patches, true);
}

void MapView::keyPressEvent(QKeyEvent* event) {
    const Qt::KeyboardModifiers held = event->modifiers() & ~Qt::KeypadModifier;
    const bool shift = m_selectable && held == Qt::ShiftModifier;
    const bool both = m_selectable && held == (Qt::ShiftModifier | Qt::ControlModifier);
    const auto arrow = [&](int dx, int dy) {
        if (shift) moveLock(dx, dy);
        if (both) stretch(dx, dy);
        event->setAccepted(shift || both);
    };
    switch (event->key()) {
        case Qt::Key_Left: return arrow(-1, 0);
        case Qt::Key_Right: return arrow(1, 0);
        case Qt::Key_Up: return arrow(0, -1);
        case Qt::Key_Down: return arrow(0, 1);
        case Qt::Key_Escape:
            if (m_marks.locked < 0 && m_marks.region.empty()) break;
            choose({}, true);
            lock(-1);
            return;
        default: break;
    }
    QWidget::keyPressEvent(event);
}

// Small labels in a corner of what is visible of the picture, for what must not be overlooked.
void MapView::paintNotes(QPainter& painter, const QRectF& picture) const {
    QStringList notes;
    if (m_showSeen) notes.append(tr("What the model saw"));
    const int sinks = static_cast<int>(m_marks.sinks.size());
    if (sinks > 0 && m_marks.sinkMode == SinkMode::hide) notes.append(tr("Sinks hidden: %1").arg(sinks));
    if (sinks > 0 && m_marks.sinkMode == SinkMode::hatch) notes.append(tr("Sinks hatched: %1").arg(sinks));
    if (notes.isEmpty()) return;
    const QRectF seen = painter.transform().mapRect(picture) & QRectF(m_view->rect());
    painter.save();
    painter.setWorldTransform({});
    painter.setRenderHint(QPainter::Antialiasing);
    const QFont small = theme::smallFont(font());
    const QFontMetricsF metrics(small);
    painter.setFont(small);
    qreal y = seen.bottom() - theme::kTight;
    for (const QString& note : notes) {
        const qreal room = seen.width() - 4 * theme::kTight;
        const QString text = metrics.elidedText(note, Qt::ElideRight, room);
        const QSizeF size(metrics.horizontalAdvance(text) + 2 * theme::kTight, metrics.height() + theme::kTight);
        const QRectF chip(QPointF(seen.left() + theme::kTight, y - size.height()), size);
        painter.setPen(Qt::NoPen);
        painter.setBrush(QColor(0, 0, 0, 190));
        painter.drawRoundedRect(chip, theme::kTight, theme::kTight);
        painter.setPen(Qt::white);
        painter.drawText(chip, Qt::AlignCenter, text);
        y = chip.top() - theme::kTight;
    }
    painter.restore();
}

QSize MapView::pictureSize() const {
    return m_view->picture().image.size();
}

}  // namespace vitrine
