#pragma once

#include "core/insight/map_scale.h"
#include "core/insight/values.h"

#include <QMap>
#include <QMetaType>
#include <QRgb>
#include <QString>

#include <array>
#include <cstdint>
#include <vector>

// Plain values that pass between the insight dock and whoever computes what it shows.
namespace vitrine {

// An answer to look into.
struct InsightSource {
    QString title;  // what was asked, for people
    InsightLayout layout;
    std::vector<InsightToken> tokens;  // by position, without gaps
    bool live = false;                 // more tokens are coming
};

enum class SinkMode : std::uint8_t { leave, hatch, hide };

// All that a person has chosen: what to compute and how it looks.
struct InsightView {
    MapRequest request;
    ScaleKind scale = ScaleKind::per_map;
    ScaleTransform transform = ScaleTransform::linear;
    QString colours = QStringLiteral("magma");  // one of setColours()
    bool smooth = false;
    bool showSeen = false;  // the picture as the model was given it
    SinkMode sinks = SinkMode::leave;
    bool operator==(const InsightView&) const = default;
};

enum class InsightExport : std::uint8_t { png, svg, npy, npz, json, clipboard };

using ColourTable = std::array<QRgb, 256>;        // opaque, from the lowest value to the highest
using ColourTables = QMap<QString, ColourTable>;  // by name

}  // namespace vitrine

Q_DECLARE_METATYPE(vitrine::InsightView)
Q_DECLARE_METATYPE(vitrine::InsightExport)
