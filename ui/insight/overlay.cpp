#include "ui/insight/overlay.h"

#include <QPainter>
#include <QPen>

#include <cmath>

namespace vitrine {
namespace {

constexpr double kFaintest = 0.30;  // opacity of the lowest value: a masked patch, which has none, differs from it
constexpr double kStrongest = 0.85;

double opacity(double strength) {
    return kFaintest + (kStrongest - kFaintest) * strength;
}

// The lines between patches in the painter's own units, on whole device pixels: neighbours neither overlap nor leave a
// gap. The hairs keep a line on one side where it, or the widget itself, falls between two device pixels.
std::vector<qreal> edges(qreal begin, qreal length, int count, qreal ratio) {
    std::vector<qreal> result(static_cast<std::size_t>(count) + 1);
    for (int i = 0; i <= count; ++i)
        result[static_cast<std::size_t>(i)] = (std::round((begin + length * i / count) * ratio + 1e-6) + 0.01) / ratio;
    return result;
}

// A line that shows on any ground: white within black.
void drawTwice(QPainter& painter, qreal width, Qt::PenStyle style, const auto& draw) {
    painter.setPen(QPen(QColor(0, 0, 0, 210), width + 2, Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin));
    draw();
    painter.setPen(QPen(Qt::white, width, style, Qt::FlatCap, Qt::MiterJoin));
    draw();
}

}  // namespace

ScaleCut cutOf(const ValueScale& scale, std::span<const float> values) {
    ScaleCut cut;
    for (const float value : values) {
        const Shade shade = shade_of(scale, value);
        cut.below = cut.below || shade.below;
        cut.above = cut.above || shade.above;
    }
    return cut;
}

QImage mapImage(const float* values, int rows, int columns, const ValueScale& scale, const ColourTable& colours) {
    QImage image(columns, rows, QImage::Format_ARGB32_Premultiplied);
    for (int row = 0; row < rows; ++row) {
        auto* line = reinterpret_cast<QRgb*>(image.scanLine(row));
        for (int column = 0; column < columns; ++column) {
            const int index = shade_of(scale, *values++).index;
            line[column] = index < 0 ? 0U : colours[static_cast<std::size_t>(index)] | 0xFF000000U;
        }
    }
    return image;
}

QImage overlayImage(const PatchGrid& grid, const ValueScale& scale, const ColourTable& colours) {
    QImage image(grid.columns, grid.rows, QImage::Format_ARGB32_Premultiplied);
    for (int row = 0; row < grid.rows; ++row) {
        auto* line = reinterpret_cast<QRgb*>(image.scanLine(row));
        for (int column = 0; column < grid.columns; ++column) {
            const Shade shade = shade_of(scale, grid.at(row, column));
            if (shade.index < 0) {
                line[column] = 0U;
                continue;
            }
            const QRgb colour = colours[static_cast<std::size_t>(shade.index)];
            const int alpha = static_cast<int>(std::lround(opacity(shade.strength) * 255.0));
            line[column] = qPremultiply(qRgba(qRed(colour), qGreen(colour), qBlue(colour), alpha));
        }
    }
    return image;
}

QRectF patchRect(int patch, int rows, int columns, const QSizeF& picture) {
    const qreal width = picture.width() / columns;
    const qreal height = picture.height() / rows;
    return {patch % columns * width, patch / columns * height, width, height};
}

int patchAt(const QPointF& point, int rows, int columns, const QSizeF& picture) {
    if (rows <= 0 || columns <= 0 || picture.isEmpty()) return -1;
    const int column = static_cast<int>(std::floor(point.x() / picture.width() * columns));
    const int row = static_cast<int>(std::floor(point.y() / picture.height() * rows));
    if (column < 0 || row < 0 || column >= columns || row >= rows) return -1;
    return row * columns + column;
}

std::vector<int> patchesIn(const QRectF& area, int rows, int columns, const QSizeF& picture) {
    std::vector<int> patches;
    for (int patch = 0; patch < rows * columns; ++patch)
        if (patchRect(patch, rows, columns, picture).intersects(area)) patches.push_back(patch);
    return patches;
}

void paintCells(QPainter& painter, const QSizeF& picture, const QImage& cells, bool smooth) {
    const QRectF area = painter.transform().mapRect(QRectF(QPointF(), picture));
    painter.save();
    painter.setWorldTransform({});
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setRenderHint(QPainter::SmoothPixmapTransform, smooth);
    if (smooth) {
        painter.drawImage(area, cells);
    } else {
        const qreal ratio = painter.device()->devicePixelRatioF();
        const std::vector<qreal> x = edges(area.left(), area.width(), cells.width(), ratio);
        const std::vector<qreal> y = edges(area.top(), area.height(), cells.height(), ratio);
        for (std::size_t row = 0; row + 1 < y.size(); ++row) {
            const auto* line = reinterpret_cast<const QRgb*>(cells.constScanLine(static_cast<int>(row)));
            for (std::size_t column = 0; column + 1 < x.size(); ++column) {
                if (qAlpha(line[column]) == 0) continue;
                painter.fillRect(QRectF(QPointF(x[column], y[row]), QPointF(x[column + 1], y[row + 1])),
                                 QColor::fromRgba(qUnpremultiply(line[column])));
            }
        }
    }
    painter.restore();
}

void paintMarks(QPainter& painter, const QSizeF& picture, int rows, int columns, const PatchMarks& marks) {
    const QTransform toWidget = painter.transform();
    const auto place = [&](int patch) { return toWidget.mapRect(patchRect(patch, rows, columns, picture)); };
    painter.save();
    painter.setWorldTransform({});
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setBrush(Qt::NoBrush);
    if (marks.sinkMode != SinkMode::leave) {
        for (const int patch : marks.sinks) {
            const QRectF cell = place(patch).adjusted(0.5, 0.5, -0.5, -0.5);
            if (marks.sinkMode == SinkMode::hatch) {
                painter.fillRect(cell, QColor(0, 0, 0, 110));
                painter.fillRect(cell, QBrush(Qt::white, Qt::BDiagPattern));
            }
            drawTwice(painter, 1, Qt::DotLine, [&] { painter.drawRect(cell); });
        }
    }
    if (!marks.region.empty()) {
        std::vector<bool> inside(static_cast<std::size_t>(rows * columns), false);
        for (const int patch : marks.region) inside[static_cast<std::size_t>(patch)] = true;
        const auto has = [&](int row, int column) {
            return row >= 0 && column >= 0 && row < rows && column < columns &&
                   inside[static_cast<std::size_t>(row * columns + column)];
        };
        QList<QLineF> outline;
        for (const int patch : marks.region) {
            const int row = patch / columns;
            const int column = patch % columns;
            const QRectF cell = place(patch);
            if (!has(row - 1, column)) outline.append({cell.topLeft(), cell.topRight()});
            if (!has(row + 1, column)) outline.append({cell.bottomLeft(), cell.bottomRight()});
            if (!has(row, column - 1)) outline.append({cell.topLeft(), cell.bottomLeft()});
            if (!has(row, column + 1)) outline.append({cell.topRight(), cell.bottomRight()});
        }
        drawTwice(painter, 2, Qt::DashLine, [&] { painter.drawLines(outline); });
    }
    const auto outlined = [&](int patch, qreal width) {
        if (patch < 0 || patch >= rows * columns) return;
        const qreal inset = width / 2 + 1;
        const QRectF cell = place(patch).adjusted(inset, inset, -inset, -inset);
        drawTwice(painter, width, Qt::SolidLine, [&] { painter.drawRect(cell); });
    };
    outlined(marks.locked, 2);
    if (marks.hovered != marks.locked) outlined(marks.hovered, 1);
    painter.restore();
}

}  // namespace vitrine
