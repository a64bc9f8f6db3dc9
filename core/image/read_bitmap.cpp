#include "core/image/pixels.h"
#include "core/image/readers.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <climits>
#include <cmath>
#include <vector>

#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

// BMP and PNM through OpenCV. It leaves the scale of a sample to the caller, and it reports a short file on stderr
// only: both need the header, which is read here first.
namespace vitrine::picture {
namespace {

// The byte for each value that OpenCV can give for a sample.
using Levels = std::vector<std::uint8_t>;

Levels scaled_from(unsigned white) {
    Levels levels(std::size_t{white} + 1);
    for (std::size_t v = 0; v < levels.size(); ++v) {
        levels[v] = static_cast<std::uint8_t>(std::nearbyint(static_cast<double>(v) / white * 255.0));
    }
    return levels;
}

// OpenCV shifts samples of 5 or 6 bits up and leaves the low bits empty; white is white again after this.
Levels shifted_from(unsigned bits) {
    Levels levels(256);
    for (unsigned v = 0; v < levels.size(); ++v)
        levels[v] = static_cast<std::uint8_t>((v >> (8 - bits)) * 255 / ((1U << bits) - 1));
    return levels;
}

struct Header {
    std::int64_t width = 0;
    std::int64_t height = 0;
    std::int64_t needed_bytes = 0;  // of the whole file, where the header tells
    std::array<Levels, 3> levels;   // RGB
};

Header read_bmp_header(const Source& source) {
    const std::uint8_t* data = source.data();
    const auto u16 = [&](std::size_t at) { return std::uint32_t{data[at]} | std::uint32_t{data[at + 1]} << 8; };
    const auto u32 = [&](std::size_t at) { return u16(at) | u16(at + 2) << 16; };
    constexpr std::size_t shortest = 14 + 12;
    if (source.size() < shortest) refuse_truncated(source);
    const bool is_os2 = u32(14) == 12;
    if (!is_os2 && source.size() < 14 + 40) refuse_truncated(source);

    Header header;
    header.width = is_os2 ? u16(18) : static_cast<std::int32_t>(u32(18));
    header.height =
        is_os2 ? u16(20)
               : std::abs(static_cast<std::int64_t>(static_cast<std::int32_t>(u32(22))));  // < 0: top row first
    const std::uint32_t bits = is_os2 ? u16(24) : u16(28);
    const std::uint32_t compression = is_os2 ? 0 : u32(30);
    enum : std::uint32_t { none = 0, rle8 = 1, rle4 = 2, masks = 3 };
    if (compression > masks) {
        refuse(source, "no compression or run lengths", "compression " + std::to_string(compression),
               "Convert it to PNG or JPEG first.");
    }
    check_size(source, header.width, header.height);
    if (compression == none || compression == masks) {
        header.needed_bytes = u32(10) + (header.width * bits + 31) / 32 * 4 * header.height;
    }
    const bool green_has_6 = compression == masks && source.size() >= 62 && u32(58) == 0x7E0;
    header.levels.fill(bits == 16 ? shifted_from(5) : scaled_from(255));
    if (bits == 16 && green_has_6) header.levels[1] = shifted_from(6);
    return header;
}

Header read_pnm_header(const Source& source) {
    const std::string_view text(reinterpret_cast<const char*>(source.data()),
                                std::min<std::size_t>(source.size(), 4096));
    std::size_t at = 2;
    const auto next_number = [&] {
        const auto is = [&](auto test) { return at < text.size() && test(static_cast<unsigned char>(text[at])) != 0; };
        while (is(::isspace) || (at < text.size() && text[at] == '#')) {
            if (text[at] == '#') at = std::min(text.find('\n', at), text.size() - 1);
            ++at;
        }
        if (!is(::isdigit))
            at < text.size() ? refuse_damaged(source, "no number where the size stands") : refuse_truncated(source);
        std::int64_t number = 0;
        for (; is(::isdigit); ++at) number = std::min<std::int64_t>(number * 10 + (text[at] - '0'), INT_MAX);
        return number;
    };
    Header header;
    header.width = next_number();
    header.height = next_number();
    check_size(source, header.width, header.height);
    const bool is_bits = text[1] == '1' || text[1] == '4';
    const std::int64_t white = is_bits ? 1 : next_number();
    if (white < 1 || white > 65535) refuse_damaged(source, "a maximum of " + std::to_string(white));
    header.levels.fill(scaled_from(is_bits ? 255 : static_cast<unsigned>(white)));
    if (text[1] >= '4') {  // binary
        const std::int64_t row =
            is_bits ? (header.width + 7) / 8 : header.width * (text[1] == '6' ? 3 : 1) * (white > 255 ? 2 : 1);
        header.needed_bytes = static_cast<std::int64_t>(at) + 1 + row * header.height;
    }
    return header;
}

cv::Mat decode(const Source& source) {
    if (source.size() >= INT_MAX) {
        refuse(source, "less than 2 GB", std::to_string(source.size()) + " bytes", "Convert it to PNG first.");
    }
    try {
        const bool is_plain = source.data()[0] == 'P' && source.data()[1] < '4';
        if (is_plain) {  // OpenCV misses the last number unless something stands behind it
            std::vector<std::uint8_t> bytes(source.data(), source.data() + source.size());
            bytes.push_back('\n');
            return cv::imdecode(bytes, cv::IMREAD_UNCHANGED);
        }
        const cv::Mat bytes(1, static_cast<int>(source.size()), CV_8UC1, const_cast<std::uint8_t*>(source.data()));
        return cv::imdecode(bytes, cv::IMREAD_UNCHANGED);
    } catch (const cv::Exception& problem) {
        refuse_damaged(source, problem.err);
    }
}

template <class Sample>
void convert(const cv::Mat& pixels, const std::array<Levels, 3>& levels, Image& image) {
    const auto channels = static_cast<std::size_t>(pixels.channels());
    std::uint8_t* to = image.rgb.data();
    for (int y = 0; y < image.height; ++y) {
        const Sample* from = pixels.ptr<Sample>(y);
        for (int x = 0; x < image.width; ++x, from += channels, to += 3) {
            std::array<std::uint8_t, 4> rgba{0, 0, 0, 255};
            for (std::size_t c = 0; c < 3; ++c) {
                const auto level = static_cast<std::size_t>(channels < 3 ? from[0] : from[2 - c]);  // OpenCV keeps BGR
                rgba[c] = levels[c][std::min(level, levels[c].size() - 1)];
            }
            if (channels == 4) rgba[3] = static_cast<std::uint8_t>(from[3]);
            compose_on_white(rgba.data(), to, 1);
        }
    }
}

}  // namespace

Decoded read_bitmap(const Source& source) {
    const bool is_bmp = source.data()[0] == 'B';
    const Header header = is_bmp ? read_bmp_header(source) : read_pnm_header(source);
    if (header.needed_bytes > static_cast<std::int64_t>(source.size())) refuse_truncated(source);
    const cv::Mat pixels = decode(source);
    if (pixels.cols != header.width || pixels.rows != header.height) refuse_damaged(source, "unreadable pixels");

    Decoded result{allocate(source, header.width, header.height)};
    if (pixels.depth() == CV_16U) {
        convert<std::uint16_t>(pixels, header.levels, result.image);
        result.image.notes.emplace_back(note_16_bit);
    } else {
        convert<std::uint8_t>(pixels, header.levels, result.image);
    }
    if (pixels.channels() == 4) result.image.notes.emplace_back(note_alpha);
    return result;
}

}  // namespace vitrine::picture
