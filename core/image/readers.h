#pragma once

#include "core/image/decode.h"
#include "core/types.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

// What the readers of the single formats share; private to this folder. A reader takes a whole file in memory and
// returns opaque RGB as stored. It checks the size found in the header before it allocates, and throws rather than
// return a picture of which a part is missing.
namespace vitrine::picture {

struct Source {
    std::span<const std::byte> bytes;
    const std::string& name;  // of the file, for messages
    const DecodeLimits& limits;
    std::string_view format;

    const std::uint8_t* data() const { return reinterpret_cast<const std::uint8_t*>(bytes.data()); }
    std::size_t size() const { return bytes.size(); }
};

struct Decoded {
    Image image;
    int orientation = 1;  // EXIF's 1 to 8, still to be applied
};

Decoded read_jpeg(const Source& source);
Decoded read_png(const Source& source);
Decoded read_gif(const Source& source);
Decoded read_webp(const Source& source);
Decoded read_tiff(const Source& source);
Decoded read_heif(const Source& source);    // HEIC and AVIF
Decoded read_bitmap(const Source& source);  // BMP and the PNM family

// A picture of this size, its pixels allocated; throws when a side is zero or the limit is passed.
Image allocate(const Source& source, std::int64_t width, std::int64_t height);
void check_size(const Source& source, std::int64_t width, std::int64_t height);

[[noreturn]] void refuse(const Source& source, std::string expected, std::string found, std::string advice);
[[noreturn]] void refuse_truncated(const Source& source);
[[noreturn]] void refuse_damaged(const Source& source, std::string_view detail);

inline constexpr std::string_view note_16_bit = "16-bit reduced to 8";
inline constexpr std::string_view note_alpha = "transparency composed on white";
inline constexpr std::string_view note_cmyk = "CMYK converted without its colour profile";

}  // namespace vitrine::picture
