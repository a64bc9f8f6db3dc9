#include "core/insight/colour_map.h"

#include <opencv2/imgproc.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace vitrine {
namespace {

constexpr std::array kNames{std::pair{ColourMap::magma, std::string_view{"magma"}},
                            std::pair{ColourMap::viridis, std::string_view{"viridis"}},
                            std::pair{ColourMap::cividis, std::string_view{"cividis"}},
                            std::pair{ColourMap::difference, std::string_view{"difference"}}};

RgbTable from_opencv(cv::ColormapTypes type) {
    cv::Mat ramp(1, 256, CV_8UC1);
    for (int i = 0; i < 256; ++i) ramp.at<std::uint8_t>(0, i) = static_cast<std::uint8_t>(i);
    cv::Mat bgr;
    cv::applyColorMap(ramp, bgr, type);
    RgbTable table;
    for (int i = 0; i < 256; ++i) {
        const auto& pixel = bgr.at<cv::Vec3b>(0, i);
        table[static_cast<std::size_t>(i)] = {pixel[2], pixel[1], pixel[0]};
    }
    return table;
}

// CIELAB in polar form, white point D65, to sRGB (IEC 61966-2-1).
Rgb srgb_of(double lightness, double chroma, double hue_degrees) {
    const auto decode = [](double t) {
        constexpr double kKnee = 6.0 / 29.0;
        return t > kKnee ? t * t * t : 3.0 * kKnee * kKnee * (t - 4.0 / 29.0);
    };
    const double hue = hue_degrees * std::numbers::pi / 180.0;
    const double fy = (lightness + 16.0) / 116.0;
    const double x = 0.95047 * decode(fy + chroma * std::cos(hue) / 500.0);
    const double y = decode(fy);
    const double z = 1.08883 * decode(fy - chroma * std::sin(hue) / 200.0);
    const auto encode = [](double linear) {
        const double c = linear <= 0.0031308 ? 12.92 * linear : 1.055 * std::pow(linear, 1.0 / 2.4) - 0.055;
        return static_cast<std::uint8_t>(std::lround(255.0 * std::clamp(c, 0.0, 1.0)));
    };
    return {encode(3.2404542 * x - 1.5371385 * y - 0.4985314 * z),
            encode(-0.9692660 * x + 1.8760108 * y + 0.0415560 * z),
            encode(0.0556434 * x - 0.2040259 * y + 1.0572252 * z)};
}

RgbTable difference_table() {
    constexpr double kMiddleLightness = 94.0;
    constexpr double kEndLightness = 42.0;
    struct Polar {
        double chroma, hue;
    };
    constexpr Polar kLess{52.0, 284.0};  // the strongest blue and orange of that lightness that sRGB has, about
    constexpr Polar kMore{58.0, 55.0};
    RgbTable table;
    for (std::size_t i = 0; i < table.size(); ++i) {
        const double side = (static_cast<double>(i) - 127.5) / 127.5;
        const double share = std::abs(side);
        const Polar end = side < 0.0 ? kLess : kMore;
        table[i] = srgb_of(kMiddleLightness + (kEndLightness - kMiddleLightness) * share, end.chroma * share, end.hue);
    }
    return table;
}

}  // namespace

std::string_view name_of(ColourMap map) {
    for (const auto& [value, name] : kNames) {
        if (value == map) return name;
    }
    return "unknown";
}

std::optional<ColourMap> colour_map_from_name(std::string_view wanted) {
    for (const auto& [value, name] : kNames) {
        if (name == wanted) return value;
    }
    return std::nullopt;
}

const RgbTable& colour_table(ColourMap map) {
    static const std::array tables{from_opencv(cv::COLORMAP_MAGMA), from_opencv(cv::COLORMAP_VIRIDIS),
                                   from_opencv(cv::COLORMAP_CIVIDIS), difference_table()};
    return tables[static_cast<std::size_t>(map)];
}

}  // namespace vitrine
