#pragma once

#include "core/types.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace vitrine {

struct DecodeLimits {
    std::int64_t max_pixels = 200'000'000;  // width * height of the picture as stored
    std::int64_t max_file_bytes = 1'000'000'000;
};

// Decodes any picture the system can read into upright, opaque 8-bit RGB: EXIF orientation applied, alpha composed on
// white, CMYK converted, 16-bit reduced, palettes and 1-bit expanded, the first frame of an animation taken (and
// noted). The type is found by content; `name` only stands in messages. Throws PictureError, FileError.
Image decode_image(std::span<const std::byte> bytes, const std::string& name, const DecodeLimits& limits = {});
Image decode_image_file(const std::filesystem::path& path, const DecodeLimits& limits = {});

}  // namespace vitrine
