#pragma once

#include "core/insight/values.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

// Which colour a value gets: arithmetic without a colour, so that the window and the exported files agree. 0 always
// stands on a scale: what is not there looks like nothing, and noise near 0 is not stretched until it looks like
// signal.
namespace vitrine {

// What the range is taken from. uniform: a fixed multiple of what even attention would give, the same for all maps.
enum class ScaleKind : std::uint8_t { per_map, per_layer, global, uniform };
inline std::string_view name_of(ScaleKind kind) {
    constexpr std::string_view kNames[]{"per map", "per layer", "global", "times uniform"};
    return kNames[static_cast<int>(kind)];
}

// log: log(1 + 999 x) / log 1000 of the linear share x, which shows three powers of ten and is 0 at 0.
// clip99: linear up to the 99th percentile.
enum class ScaleTransform : std::uint8_t { linear, log, clip99 };
inline std::string_view name_of(ScaleTransform transform) {
    constexpr std::string_view kNames[]{"linear", "log", "99 % clip"};
    return kNames[static_cast<int>(transform)];
}

struct ValueScale {
    ScaleKind kind = ScaleKind::per_map;
    ScaleTransform transform = ScaleTransform::linear;
    double low = 0.0;        // 0 or below; two-sided: -high
    double high = 1.0;       // 0 or above
    double unit = 1.0;       // numbers are shown as multiples of it; kind uniform: what even attention would give
    bool two_sided = false;  // signed differences, 0 in the middle
};

// Where a value stands on a scale.
struct Shade {
    int index = -1;         // 0 to 255 into a table of colours; -1: not a number, to be left blank
    double strength = 0.0;  // 0 to 1: how far from the value that means nothing, for opacity
    bool below = false;     // clipped
    bool above = false;
};

namespace detail {
inline constexpr double kLogSpan = 999.0;
inline double bend(double share, ScaleTransform transform) {
    return transform == ScaleTransform::log ? std::log1p(kLogSpan * share) / std::log1p(kLogSpan) : share;
}
inline double unbend(double share, ScaleTransform transform) {
    return transform == ScaleTransform::log ? std::expm1(share * std::log1p(kLogSpan)) / kLogSpan : share;
}
}  // namespace detail

inline Shade shade_of(const ValueScale& scale, float value) {
    if (std::isnan(value)) return {};
    Shade shade{.below = value<scale.low, .above = value> scale.high};
    const double held = std::clamp(static_cast<double>(value), scale.low, scale.high);
    const double range = scale.high - scale.low;
    double position = 0.0;
    if (scale.two_sided) {
        shade.strength = range > 0.0 ? detail::bend(std::abs(held) / scale.high, scale.transform) : 0.0;
        position = (1.0 + std::copysign(shade.strength, held)) / 2.0;
    } else {
        position = range > 0.0 ? detail::bend((held - scale.low) / range, scale.transform) : 0.0;
        shade.strength = position;
    }
    shade.index = static_cast<int>(std::lround(position * 255.0));
    return shade;
}

// The value at a position from 0 to 1 along the colour bar; the inverse of shade_of.
inline double value_at(const ValueScale& scale, double position) {
    if (!scale.two_sided) return scale.low + (scale.high - scale.low) * detail::unbend(position, scale.transform);
    const double side = 2.0 * position - 1.0;
    return std::copysign(scale.high * detail::unbend(std::abs(side), scale.transform), side);
}

// The scale on which these values just fit; values that are not finite do not count. The values are those of one map,
// of all maps of a layer, or of all maps there are: kind only says which.
inline ValueScale scale_of(ScaleKind kind, ScaleTransform transform, std::span<const float> values,
                           bool two_sided = false) {
    ValueScale scale{.kind = kind, .transform = transform, .low = 0.0, .high = 0.0, .two_sided = two_sided};
    std::vector<double> sizes;  // as far as they reach above 0, or to either side of it
    for (const float value : values) {
        if (!std::isfinite(value)) continue;
        sizes.push_back(two_sided ? std::abs(value) : value);
        scale.low = std::min(scale.low, static_cast<double>(value));
    }
    if (!sizes.empty()) {
        const double most = *std::max_element(sizes.begin(), sizes.end());
        scale.high = std::max(0.0, most);
        if (transform == ScaleTransform::clip99) {
            const auto rank = static_cast<std::size_t>(std::ceil(0.99 * static_cast<double>(sizes.size()))) - 1;
            std::nth_element(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(rank), sizes.end());
            if (sizes[rank] > 0.0) scale.high = sizes[rank];  // a few lit patches alone are not clipped away
        }
    }
    if (two_sided) scale.low = -scale.high;
    return scale;
}

// From 0 to `times` what even attention gives: 1 / AttentionMap::keys.
inline ValueScale uniform_scale(double uniform, ScaleTransform transform = ScaleTransform::linear,
                                double times = 10.0) {
    return {.kind = ScaleKind::uniform, .transform = transform, .low = 0.0, .high = times * uniform, .unit = uniform};
}

}  // namespace vitrine
