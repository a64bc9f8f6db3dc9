#include "core/image/pixels.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace vitrine::picture {

void compose_on_white(const std::uint8_t* rgba, std::uint8_t* rgb, std::size_t pixels) {
    for (std::size_t i = 0; i < pixels; ++i, rgba += 4, rgb += 3) {
        const std::uint32_t alpha = rgba[3];
        for (int c = 0; c < 3; ++c) rgb[c] = divide_by_255(rgba[c] * alpha + 255 * (255 - alpha));
    }
}

void cmyk_to_rgb(const std::uint8_t* cmyk, std::uint8_t* rgb, std::size_t pixels) {
    for (std::size_t i = 0; i < pixels; ++i, cmyk += 4, rgb += 3) {
        const std::uint32_t light = 255U - cmyk[3];
        for (int c = 0; c < 3; ++c) rgb[c] = static_cast<std::uint8_t>(light - divide_by_255(cmyk[c] * light));
    }
}

int exif_orientation(std::span<const std::byte> exif) {
    constexpr std::string_view prefix("Exif\0\0", 6);
    if (exif.size() >= prefix.size() && std::memcmp(exif.data(), prefix.data(), prefix.size()) == 0) {
        exif = exif.subspan(prefix.size());
    }
    if (exif.size() < 8) return 1;
    const auto byte = [&](std::size_t at) { return std::to_integer<std::uint32_t>(exif[at]); };
    const bool little = byte(0) == 'I';
    const auto u16 = [&](std::size_t at) {
        return little ? byte(at) | byte(at + 1) << 8 : byte(at) << 8 | byte(at + 1);
    };
    const auto u32 = [&](std::size_t at) { return little ? u16(at) | u16(at + 2) << 16 : u16(at) << 16 | u16(at + 2); };
    if ((!little && byte(0) != 'M') || byte(1) != byte(0) || u16(2) != 42) return 1;

    const std::size_t directory = u32(4);
    if (directory > exif.size() - 2) return 1;
    const std::size_t entries = std::min<std::size_t>(u16(directory), (exif.size() - directory - 2) / 12);
    for (std::size_t i = 0; i < entries; ++i) {
        const std::size_t entry = directory + 2 + 12 * i;
        if (u16(entry) != 0x0112) continue;
        constexpr std::uint32_t type_short = 3;
        const std::uint32_t value = u16(entry + 2) == type_short ? u16(entry + 8) : u32(entry + 8);
        return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
    }
    return 1;
}

void apply_orientation(Image& image, int orientation) {
    if (orientation <= 1 || orientation > 8) return;
    const std::ptrdiff_t w = image.width;
    const std::ptrdiff_t h = image.height;
    // Pixel (x, y) of the upright picture is the stored pixel start + x * along + y * down.
    struct Walk {
        std::ptrdiff_t start, along, down;
    };
    const std::array<Walk, 9> walks{{{},
                                     {0, 1, w},
                                     {w - 1, -1, w},
                                     {w * h - 1, -1, -w},
                                     {(h - 1) * w, 1, -w},
                                     {0, w, 1},
                                     {(h - 1) * w, -w, 1},
                                     {w * h - 1, -w, -1},
                                     {w - 1, w, -1}}};
    const Walk walk = walks[static_cast<std::size_t>(orientation)];
    if (orientation >= 5) std::swap(image.width, image.height);

    // In tiles, for a quarter turn reads columns and would otherwise miss the cache at every pixel.
    constexpr int tile = 64;
    std::vector<std::uint8_t> upright(image.rgb.size());
    for (int y0 = 0; y0 < image.height; y0 += tile) {
        for (int x0 = 0; x0 < image.width; x0 += tile) {
            const int columns = std::min(tile, image.width - x0);
            for (int y = y0; y < std::min(y0 + tile, image.height); ++y) {
                const std::uint8_t* from = image.rgb.data() + 3 * (walk.start + x0 * walk.along + y * walk.down);
                std::uint8_t* to = upright.data() + 3 * (static_cast<std::ptrdiff_t>(y) * image.width + x0);
                for (int x = 0; x < columns; ++x, to += 3, from += 3 * walk.along) {
                    to[0] = from[0];
                    to[1] = from[1];
                    to[2] = from[2];
                }
            }
        }
    }
    image.rgb = std::move(upright);
}

}  // namespace vitrine::picture
