#pragma once

#include "core/insight/canvas.h"
#include "core/insight/colour_map.h"
#include "core/insight/map_scale.h"
#include "core/insight/values.h"
#include "core/scenes/scene.h"
#include "core/types.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

// Maps drawn over the grey picture, and sheets of the maps of all heads, as pixels, PNG or SVG. Each patch covers
// exactly its part of the picture, whatever the shape of the picture; patches without a value (NaN) and those that the
// scale puts at nothing leave the picture as it is. A bar of the colours with numbers stands below, with the scale in
// words.
namespace vitrine {

// One map over one picture. What is pointed to must outlive the drawing.
struct MapPanel {
    const Image* picture = nullptr;  // upright; without one the ground is plain grey
    const PatchGrid* grid = nullptr;
    std::string title;               // above it
    std::vector<scenes::Box> boxes;  // outlined
    std::optional<int> chosen;       // this patch is outlined
    std::vector<int> sinks;          // these are hatched
};

struct MapStyle {
    ColourMap colours = ColourMap::magma;
    ValueScale scale;
    double opacity = 0.9;  // of the strongest value; less for weaker ones
    bool smooth = false;   // between the middles of the patches; blocks otherwise
    bool colour_bar = true;
    // Of each picture, in pixels, about: every patch gets the same whole number of them, and at least four, each way.
    int longest_side = 512;
    std::string caption;  // below; broken into lines where it is long
};

// Several maps stand side by side on the one scale. Throws InputError without a panel, without a grid in one, or when a
// grid's size does not fit its values; patches that do not exist are OptionError.
Image map_image(std::span<const MapPanel> panels, const MapStyle& style);
std::string map_png(std::span<const MapPanel> panels, const MapStyle& style, const Canvas::Words& words);
std::string map_svg(std::span<const MapPanel> panels, const MapStyle& style, const Canvas::Words& words);

// A row of small maps for each layer, without the picture; below each, where known, a bar as long as the share of
// attention that the picture gets at all. The scale is one for all; opacity, smooth and longest_side mean nothing.
Image heads_image(const HeadMaps& maps, const MapStyle& style);
std::string heads_png(const HeadMaps& maps, const MapStyle& style, const Canvas::Words& words);
std::string heads_svg(const HeadMaps& maps, const MapStyle& style, const Canvas::Words& words);

// A number as people read it on a scale: three digits that count, no locale.
std::string short_number(double value);

}  // namespace vitrine
