#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace vitrine {

// magma, viridis and cividis rise evenly in lightness, so that they also read in print and with every form of colour
// blindness. difference is for signed values: light in the middle, where nothing changed, and darkening in even steps
// to blue (less) and orange (more), which colour blindness does not confuse.
enum class ColourMap : std::uint8_t { magma, viridis, cividis, difference };
std::string_view name_of(ColourMap map);
std::optional<ColourMap> colour_map_from_name(std::string_view name);

using Rgb = std::array<std::uint8_t, 3>;
using RgbTable = std::array<Rgb, 256>;
const RgbTable& colour_table(ColourMap map);  // by Shade::index of core/insight/map_scale.h

}  // namespace vitrine
