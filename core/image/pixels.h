#pragma once

#include "core/types.h"

#include <cstddef>
#include <cstdint>
#include <span>

// Arithmetic on pixels that several readers need. It rounds as Pillow does, since transformers' processors stand on
// Pillow and the same file should give the same pixel_values.
namespace vitrine::picture {

// x / 255, rounded, for x up to 255 * 255.
constexpr std::uint8_t divide_by_255(std::uint32_t x) {
    x += 128;
    return static_cast<std::uint8_t>((x + (x >> 8)) >> 8);
}

void compose_on_white(const std::uint8_t* rgba, std::uint8_t* rgb, std::size_t pixels);
void cmyk_to_rgb(const std::uint8_t* cmyk, std::uint8_t* rgb, std::size_t pixels);  // 255 is full ink

// Tag 0x0112 of an EXIF block (a TIFF header, with or without "Exif\0\0" before it); 1 when it is absent or makes no
// sense.
int exif_orientation(std::span<const std::byte> exif);

// Turns and mirrors the picture so that it stands upright.
void apply_orientation(Image& image, int orientation);

}  // namespace vitrine::picture
