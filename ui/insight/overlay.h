#pragma once

#include "ui/insight/values.h"

#include <QImage>
#include <QRectF>
#include <QSizeF>

#include <span>
#include <vector>

class QPainter;

// From values of patches to colours over a picture, as functions without state. The grid covers the whole picture,
// whatever its shape: the model squeezes pictures into a square, and its patches lie where that square is stretched
// back.
namespace vitrine {

// Whether some of the values lie beyond the ends of their scale, and so look fainter or stronger than they are told.
struct ScaleCut {
    bool below = false;
    bool above = false;
};
ScaleCut cutOf(const ValueScale& scale, std::span<const float> values);

// One pixel for each patch, opaque; NaN is transparent.
QImage mapImage(const float* values, int rows, int columns, const ValueScale& scale, const ColourTable& colours);
// The same to be laid over a picture: opacity follows the value, of a two-sided scale its distance from 0.
QImage overlayImage(const PatchGrid& grid, const ValueScale& scale, const ColourTable& colours);

QRectF patchRect(int patch, int rows, int columns, const QSizeF& picture);
int patchAt(const QPointF& point, int rows, int columns, const QSizeF& picture);  // -1 beside the picture
std::vector<int> patchesIn(const QRectF& area, int rows, int columns, const QSizeF& picture);

// What is drawn around patches, on top of their colours.
struct PatchMarks {
    int hovered = -1;
    int locked = -1;
    std::vector<int> region;
    std::vector<int> sinks;
    SinkMode sinkMode = SinkMode::leave;
};

// `cells` comes from overlayImage(); the painter is in picture coordinates.
void paintCells(QPainter& painter, const QSizeF& picture, const QImage& cells, bool smooth);
void paintMarks(QPainter& painter, const QSizeF& picture, int rows, int columns, const PatchMarks& marks);

}  // namespace vitrine
