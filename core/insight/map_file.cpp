#include "core/insight/map_file.h"

#include "core/captions/record.h"
#include "core/error.h"
#include "core/insight/array_file.h"
#include "core/weights/file.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace vitrine {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::array kEndings{std::pair{MapFormat::png, ".png"}, std::pair{MapFormat::svg, ".svg"},
                              std::pair{MapFormat::npy, ".npy"}, std::pair{MapFormat::npz, ".npz"},
                              std::pair{MapFormat::json, ".json"}};

// With the digits that a float needs and no more: 0.1F stays 0.1. null where it is no number.
ordered_json number(float value) {
    if (!std::isfinite(value)) return nullptr;
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    double same = 0.0;
    std::from_chars(digits.data(), end.ptr, same);
    return same;
}

ordered_json rows_of(std::span<const float> values, int rows, int columns) {
    ordered_json result = ordered_json::array();
    for (int row = 0; row < rows; ++row) {
        ordered_json line = ordered_json::array();
        for (int column = 0; column < columns; ++column)
            line.push_back(number(values[static_cast<std::size_t>(row * columns + column)]));
        result.push_back(std::move(line));
    }
    return result;
}

ordered_json mass_json(const Masses& mass) {
    return {{"picture", mass.picture},
            {"other_pictures", mass.other_pictures},
            {"first", mass.first},
            {"prompt", mass.prompt},
            {"answer", mass.answer}};
}

void append_mass(std::vector<float>& values, const std::optional<Masses>& mass) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    const Masses parts = mass.value_or(Masses{none, none, none, none, none});
    for (const double part : {parts.picture, parts.other_pictures, parts.first, parts.prompt, parts.answer})
        values.push_back(static_cast<float>(part));
}

bool has_layer(MapMethod method) {
    return method != MapMethod::relevance && method != MapMethod::rollout;
}
bool has_head(MapMethod method) {
    return has_layer(method) && method != MapMethod::lens;
}

ordered_json place_json(int place) {
    return place == kAll ? ordered_json("mean") : ordered_json(place);
}

// What says which map it is, without its numbers.
ordered_json request_json(const MapRequest& request, const std::string& token, bool all_heads) {
    ordered_json result{{"method", name_of(request.method)}, {"tower", name_of(request.tower)}};
    if (!all_heads) {
        result["layer"] = has_layer(request.method) ? place_json(request.layer) : ordered_json(nullptr);
        result["head"] = has_head(request.method) ? place_json(request.head) : ordered_json(nullptr);
    }
    result["token"] = token;
    result["picture"] = request.picture;
    if (request.tower == Tower::language) {
        result["position"] = request.position;
    } else {
        result["patch"] = place_json(request.patch);
    }
    return result;
}

ordered_json described(const TokenMap& map) {
    ordered_json result = request_json(map.map.request, map.token, false);
    result["mass"] = map.map.masses ? mass_json(*map.map.masses) : ordered_json(nullptr);
    result["entropy"] = map.map.entropy;
    result["keys"] = map.map.keys;
    return result;
}

std::string text_of(const ordered_json& value) {
    return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string title_of(const TokenMap& map) {
    const MapRequest& request = map.map.request;
    std::string title = map.token;
    const auto mention = [&](const char* what, int place) {
        title +=
            (title.empty() ? "" : ", ") + std::string(what) + (place == kAll ? "s: mean" : " " + std::to_string(place));
    };
    if (has_layer(request.method)) mention("layer", request.layer);
    if (has_head(request.method)) mention("head", request.head);
    return title;
}

std::string caption_of(const MapStyle& style, const MapRequest& request, const std::string& token,
                       const MapProvenance& provenance) {
    if (!style.caption.empty()) return style.caption;
    std::string caption(name_of(request.method));
    caption +=
        " of the " + std::string(name_of(request.tower)) + (request.tower == Tower::vision ? " tower" : " model");
    if (!token.empty()) caption += ", token \"" + token + "\"";
    if (!provenance.model.empty()) caption += ", " + provenance.model;
    return caption;
}

// Provenance with what the maps are, for formats whose numbers stand alone.
std::string words_of(const MapProvenance& provenance, const ordered_json& maps) {
    ordered_json result = provenance_json(provenance);
    result["maps"] = maps;
    return text_of(result);
}

Canvas::Words words_for(const MapProvenance& provenance, const ordered_json& maps, const std::string& caption) {
    return {{"Software", provenance.program}, {"Description", caption}, {"provenance", words_of(provenance, maps)}};
}

// One array of all maps, and its shape.
struct Stack {
    std::vector<std::int64_t> shape;
    std::vector<float> values;
    std::vector<float> mass;
    std::vector<float> entropy;
};

Stack stacked(std::span<const TokenMap> maps) {
    const PatchGrid& first = maps.front().map.grid;
    const auto count = static_cast<std::int64_t>(maps.size());
    Stack stack{.shape = {count, first.rows, first.columns}, .values = {}, .mass = {}, .entropy = {}};
    for (const auto& [token, map, panel] : maps) {
        if (map.grid.rows != first.rows || map.grid.columns != first.columns) {
            throw InputError({.name = "map of \"" + token + "\"",
                              .expected = std::to_string(first.rows) + " x " + std::to_string(first.columns) +
                                          " patches as the first",
                              .found = std::to_string(map.grid.rows) + " x " + std::to_string(map.grid.columns),
                              .advice = "Write maps of different sizes into files of their own, or as JSON."});
        }
        stack.values.insert(stack.values.end(), map.grid.values.begin(), map.grid.values.end());
        append_mass(stack.mass, map.masses);
        stack.entropy.push_back(static_cast<float>(map.entropy));
    }
    return stack;
}

}  // namespace

MapFormat map_format_of(const fs::path& path) {
    std::string ending = path.extension().string();
    std::ranges::transform(ending, ending.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
    std::string known;
    for (const auto& [format, name] : kEndings) {
        if (ending == name) return format;
        known += (known.empty() ? "" : format == kEndings.back().first ? " or " : ", ") + std::string(name);
    }
    throw OptionError({.name = "file of maps",
                       .where = path.string(),
                       .expected = "a name that ends in " + known,
                       .found = ending.empty() ? "no ending" : ending});
}

std::string MapProvenance::program_and_version() {
    return "vitrine " VITRINE_VERSION;
}

std::string MapProvenance::time_now() {
    return captions::utc_time();
}

ordered_json map_json(const TokenMap& map) {
    ordered_json result = described(map);
    const PatchGrid& grid = map.map.grid;
    result["grid"] = rows_of(grid.values, grid.rows, grid.columns);
    return result;
}

ordered_json provenance_json(const MapProvenance& provenance) {
    return {{"program", provenance.program},
            {"time", provenance.time},
            {"model", provenance.model},
            {"prompt", provenance.prompt},
            {"answer", provenance.answer},
            {"picture", provenance.picture},
            {"seed", provenance.seed ? ordered_json(*provenance.seed) : ordered_json(nullptr)}};
}

void write_map(const fs::path& path, std::span<const TokenMap> maps, const MapProvenance& provenance,
               const MapStyle& style) {
    const MapFormat format = map_format_of(path);
    if (maps.empty())
        throw InputError({.name = "maps", .where = path.string(), .expected = "one or more", .found = "none"});

    ordered_json descriptions = ordered_json::array();
    std::vector<MapPanel> panels;
    for (const TokenMap& map : maps) {
        descriptions.push_back(described(map));
        MapPanel& panel = panels.emplace_back(map.panel);
        panel.grid = &map.map.grid;
        if (panel.title.empty()) panel.title = title_of(map);
    }
    MapStyle captioned = style;
    captioned.caption =
        caption_of(style, maps.front().map.request, maps.size() == 1 ? maps.front().token : "", provenance);
    const auto words = [&] { return words_for(provenance, descriptions, captioned.caption); };

    switch (format) {
        case MapFormat::png: return write_file(path, map_png(panels, captioned, words()));
        case MapFormat::svg: return write_file(path, map_svg(panels, captioned, words()));
        case MapFormat::npy: {
            Stack stack = stacked(maps);
            if (maps.size() == 1) stack.shape.erase(stack.shape.begin());
            return write_file(path, npy_bytes({"maps", stack.shape, stack.values}, words_of(provenance, descriptions)));
        }
        case MapFormat::npz: {
            const Stack stack = stacked(maps);
            const std::int64_t count = stack.shape.front();
            const std::array<ArrayView, 3> arrays{ArrayView{"maps", stack.shape, stack.values},
                                                  ArrayView{"mass", {count, 5}, stack.mass},
                                                  ArrayView{"entropy", {count}, stack.entropy}};
            return write_file(path, npz_bytes(arrays, words_of(provenance, descriptions)));
        }
        case MapFormat::json: {
            ordered_json result;
            if (maps.size() == 1) {
                result = map_json(maps.front());
            } else {
                for (const TokenMap& map : maps) result["maps"].push_back(map_json(map));
            }
            result["provenance"] = provenance_json(provenance);
            return write_file(path, text_of(result) + '\n');
        }
    }
}

void write_head_maps(const fs::path& path, const HeadMaps& maps, const std::string& token,
                     const MapProvenance& provenance, const MapStyle& style) {
    const MapFormat format = map_format_of(path);
    MapStyle captioned = style;
    captioned.caption = caption_of(style, maps.request, token, provenance);
    const ordered_json description = request_json(maps.request, token, true);
    const auto words = [&] { return words_for(provenance, ordered_json::array({description}), captioned.caption); };

    std::vector<float> mass;
    for (const Masses& masses : maps.masses) append_mass(mass, masses);
    switch (format) {
        case MapFormat::png: return write_file(path, heads_png(maps, captioned, words()));
        case MapFormat::svg: return write_file(path, heads_svg(maps, captioned, words()));
        case MapFormat::npy:
        case MapFormat::npz: {
            const std::string origin = words_of(provenance, ordered_json::array({description}));
            const ArrayView all{"maps", {maps.layers, maps.heads, maps.rows, maps.columns}, maps.values};
            if (format == MapFormat::npy) return write_file(path, npy_bytes(all, origin));
            std::vector<ArrayView> arrays{all};
            if (!mass.empty()) arrays.push_back({"mass", {maps.layers, maps.heads, 5}, mass});
            if (!maps.entropy.empty()) arrays.push_back({"entropy", {maps.layers, maps.heads}, maps.entropy});
            return write_file(path, npz_bytes(arrays, origin));
        }
        case MapFormat::json: {
            ordered_json result = description;
            result["maps"] = ordered_json::array();
            for (int layer = 0; layer < maps.layers; ++layer) {
                for (int head = 0; head < maps.heads; ++head) {
                    const auto at = static_cast<std::size_t>(layer * maps.heads + head);
                    ordered_json& entry = result["maps"].emplace_back(ordered_json{{"layer", layer}, {"head", head}});
                    if (!maps.masses.empty()) entry["mass"] = mass_json(maps.masses[at]);
                    if (!maps.entropy.empty()) entry["entropy"] = number(maps.entropy[at]);
                    const auto size = static_cast<std::size_t>(maps.rows * maps.columns);
                    entry["grid"] = rows_of({maps.map(layer, head), size}, maps.rows, maps.columns);
                }
            }
            result["provenance"] = provenance_json(provenance);
            return write_file(path, text_of(result) + '\n');
        }
    }
}

}  // namespace vitrine
