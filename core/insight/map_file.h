#pragma once

#include "core/insight/picture_map.h"
#include "core/insight/values.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

// Maps as files, each with its origin written inside: PNG and SVG of the view, NPY, NPZ and JSON of the numbers. The
// ending of the name decides. A file appears whole or not at all.
namespace vitrine {

enum class MapFormat : std::uint8_t { png, svg, npy, npz, json };
// Capital letters or not. Throws OptionError that lists the endings, so that a long job can ask before it starts.
MapFormat map_format_of(const std::filesystem::path& path);

// What the maps of one file share; tower, method, layer, head and position stand with each map.
struct MapProvenance {
    std::string model;
    std::string prompt;
    std::string answer;
    std::string picture;                // its file
    std::optional<std::uint64_t> seed;  // of sampling
    std::string program = program_and_version();
    std::string time = time_now();  // UTC, "2026-01-31T12:00:00Z"

    static std::string program_and_version();  // "vitrine 0.1.0"
    static std::string time_now();
};

// The map of one token, and how it stands over its picture in PNG and SVG: panel.grid is taken from the map, an empty
// panel.title is made of token, layer and head.
struct TokenMap {
    std::string token;
    AttentionMap map;
    MapPanel panel;
};

// Objects of the JSON form. `layer` and `head` are numbers, "mean" over all, or null where the method has none; `mass`
// is null where the map has none; `grid` is a list of rows, null where a patch is masked.
nlohmann::ordered_json map_json(const TokenMap& map);
nlohmann::ordered_json provenance_json(const MapProvenance& provenance);

// - PNG: iTXt chunks Software, Description (the caption) and provenance (JSON); SVG: the same in <metadata>.
// - JSON: map_json of a single map with `provenance` beside its keys; of several {"maps": [...], "provenance"}.
// - NPZ: maps [maps, rows, columns], mass [maps, 5] (picture, other pictures, first, prompt, answer; NaN where there
// are
//   none), entropy [maps]; provenance.json. NPY: maps, with the provenance behind the numbers; one map is [rows,
//   columns].
// The provenance of NPY and NPZ describes each map as well. An empty style.caption is made of the method and
// provenance. Throws OptionError (ending), InputError (no map, grids that differ in size where the format has one
// array), FileError.
void write_map(const std::filesystem::path& path, std::span<const TokenMap> maps, const MapProvenance& provenance,
               const MapStyle& style = {});
// All heads of one token: a sheet, or arrays [layers, heads, rows, columns], mass [layers, heads, 5], entropy [layers,
// heads].
void write_head_maps(const std::filesystem::path& path, const HeadMaps& maps, const std::string& token,
                     const MapProvenance& provenance, const MapStyle& style = {});

}  // namespace vitrine
