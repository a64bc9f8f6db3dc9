#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

// Tells by its first bytes what a file is.
namespace vitrine::picture {

enum class Kind : std::uint8_t {
    jpeg,
    png,
    gif,
    webp,
    tiff,
    heif,
    bitmap,   // there is a reader for these
    foreign,  // known by name, not supported
    lfs_pointer,
    text,
    unknown,
};

struct Format {
    Kind kind = Kind::unknown;
    std::string_view name;    // "JPEG", "camera RAW (Canon CR2)"
    std::string_view advice;  // foreign: what to do about it
};

Format recognise(std::span<const std::byte> bytes);

}  // namespace vitrine::picture
