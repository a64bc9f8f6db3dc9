#include "core/image/pixels.h"
#include "core/image/readers.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <tiffio.h>

namespace vitrine::picture {
namespace {

// A TIFF in memory, open at its first page. libtiff's messages are kept for the error text instead of being printed.
class TiffReader {
public:
    explicit TiffReader(const Source& source) : source_(source) {
        TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
        TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, this);
        TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, this);
        tiff_ = TIFFClientOpenExt(
            "picture", "rm", this, on_read, on_write, on_seek, [](thandle_t) { return 0; }, on_size, nullptr, nullptr,
            options);
        TIFFOpenOptionsFree(options);
        if (tiff_ == nullptr) fail();
    }
    ~TiffReader() {
        if (tiff_ != nullptr) TIFFClose(tiff_);
    }
    TiffReader(const TiffReader&) = delete;
    TiffReader& operator=(const TiffReader&) = delete;

    TIFF* get() const { return tiff_; }

    template <class T>
    T field(std::uint32_t tag, T absent) const {
        T value = absent;
        return TIFFGetFieldDefaulted(tiff_, tag, &value) == 1 ? value : absent;
    }

    bool incomplete() const { return incomplete_; }

    [[noreturn]] void fail() const {
        if (starved_) refuse_truncated(source_);
        refuse_damaged(source_, message_[0] != '\0' ? message_ : "unreadable");
    }

private:
    static TiffReader& self(thandle_t handle) { return *static_cast<TiffReader*>(handle); }

    static int on_error(TIFF*, void* handle, const char*, const char* format, va_list arguments) {
        std::vsnprintf(self(handle).message_, sizeof(message_), format, arguments);
        return 1;
    }
    // Most warnings concern odd tags. Those passed on from libjpeg mean that pixels were made up.
    static int on_warning(TIFF*, void* handle, const char*, const char* format, va_list arguments) {
        char text[256];
        std::vsnprintf(text, sizeof(text), format, arguments);
        TiffReader& reader = self(handle);
        reader.incomplete_ =
            reader.incomplete_ || std::strstr(text, "Premature end") || std::strstr(text, "Corrupt JPEG");
        return 1;
    }
    static tmsize_t on_read(thandle_t handle, void* to, tmsize_t count) {
        TiffReader& reader = self(handle);
        const auto wanted = static_cast<std::uint64_t>(count);
        const std::uint64_t left = reader.source_.size() - std::min<std::uint64_t>(reader.at_, reader.source_.size());
        const std::uint64_t given = std::min(wanted, left);
        reader.starved_ = reader.starved_ || given < wanted;
        std::memcpy(to, reader.source_.data() + (reader.source_.size() - left), given);
        reader.at_ += given;
        return static_cast<tmsize_t>(given);
    }
    static tmsize_t on_write(thandle_t, void*, tmsize_t) { return -1; }
    static toff_t on_seek(thandle_t handle, toff_t offset, int whence) {
        TiffReader& reader = self(handle);
        if (whence == SEEK_SET) reader.at_ = offset;
        if (whence == SEEK_CUR) reader.at_ += offset;
        if (whence == SEEK_END) reader.at_ = reader.source_.size() + offset;
        return reader.at_;
    }
    static toff_t on_size(thandle_t handle) { return self(handle).source_.size(); }

    const Source& source_;
    TIFF* tiff_ = nullptr;
    std::uint64_t at_ = 0;
    bool starved_ = false;
    bool incomplete_ = false;
    char message_[256] = {};
};

enum class Alpha : std::uint8_t { none, plain, premultiplied };

struct Layout {
    std::size_t width, height;
    unsigned bits, channels, colours;  // bits of a sample; samples of a pixel; how many of them are colour
    std::uint16_t photometric;
    bool planar;
    Alpha alpha;
};

Alpha alpha_of(const TiffReader& reader, unsigned channels, unsigned colours) {
    if (channels <= colours) return Alpha::none;
    std::uint16_t count = 0;
    std::uint16_t* types = nullptr;
    // A fourth sample beside RGB that nothing explains is alpha in practice.
    if (TIFFGetField(reader.get(), TIFFTAG_EXTRASAMPLES, &count, &types) != 1 || count == 0) return Alpha::plain;
    if (types[0] == EXTRASAMPLE_ASSOCALPHA) return Alpha::premultiplied;
    return types[0] == EXTRASAMPLE_UNASSALPHA ? Alpha::plain : Alpha::none;
}

// DNG, NEF, ARW and their kin are TIFF files whose first page is a thumbnail or bare sensor data.
bool is_camera_raw(const TiffReader& reader, std::uint16_t photometric) {
    constexpr std::uint16_t photometric_linear_raw = 34892;
    if (photometric == PHOTOMETRIC_CFA || photometric == photometric_linear_raw) return true;
    std::uint16_t count = 0;
    void* values = nullptr;
    const bool has_parts = TIFFGetField(reader.get(), TIFFTAG_SUBIFD, &count, &values) == 1 && count > 0;
    const auto kind = reader.field<std::uint32_t>(TIFFTAG_SUBFILETYPE, 0);
    return has_parts && (kind & FILETYPE_REDUCEDIMAGE) != 0;
}

// What the plain way below can read; nothing for the rest (YCbCr without JPEG, CIELab, LogLuv), which libtiff converts
// itself.
std::optional<Layout> plain_layout(const TiffReader& reader, std::size_t width, std::size_t height) {
    Layout layout{};
    layout.width = width;
    layout.height = height;
    layout.bits = reader.field<std::uint16_t>(TIFFTAG_BITSPERSAMPLE, 1);
    layout.channels = reader.field<std::uint16_t>(TIFFTAG_SAMPLESPERPIXEL, 1);
    layout.photometric = reader.field<std::uint16_t>(TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    layout.planar = layout.channels > 1 &&
                    reader.field<std::uint16_t>(TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG) == PLANARCONFIG_SEPARATE;
    if (layout.photometric == PHOTOMETRIC_YCBCR &&
        reader.field<std::uint16_t>(TIFFTAG_COMPRESSION, 1) == COMPRESSION_JPEG && !layout.planar) {
        TIFFSetField(reader.get(), TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);  // libjpeg converts while it decodes
        layout.photometric = PHOTOMETRIC_RGB;
    }
    switch (layout.photometric) {
        case PHOTOMETRIC_MINISWHITE:
        case PHOTOMETRIC_MINISBLACK:
        case PHOTOMETRIC_PALETTE: layout.colours = 1; break;
        case PHOTOMETRIC_RGB: layout.colours = 3; break;
        case PHOTOMETRIC_SEPARATED: layout.colours = 4; break;
        default: return std::nullopt;
    }
    const bool known_depth = layout.bits == 8 || layout.bits == 16 ||
                             (layout.colours == 1 && (layout.bits == 1 || layout.bits == 2 || layout.bits == 4));
    if (!known_depth || (layout.photometric == PHOTOMETRIC_PALETTE && layout.bits > 8)) return std::nullopt;
    if (layout.channels < layout.colours || layout.channels > 16) return std::nullopt;
    layout.alpha = alpha_of(reader, layout.channels, layout.colours);
    return layout;
}

// Takes `count` samples of 1 to 16 bits to one byte each, unscaled; of 16 bits the upper 8. libtiff has put words into
// the order of this machine.
void unpack(const std::uint8_t* from, unsigned bits, std::size_t count, std::uint8_t* to, std::size_t stride) {
    if (bits == 16) {
        for (std::size_t i = 0; i < count; ++i) {
            std::uint16_t word = 0;
            std::memcpy(&word, from + 2 * i, sizeof(word));
            to[i * stride] = static_cast<std::uint8_t>(word >> 8);
        }
        return;
    }
    const unsigned mask = (1U << bits) - 1;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t bit = i * bits;
        to[i * stride] = static_cast<std::uint8_t>((from[bit / 8] >> (8 - bits - bit % 8)) & mask);
    }
}

// All samples of the page as [height, width, channels] bytes, whatever strips, tiles or planes they are stored in.
std::vector<std::uint8_t> read_samples(const TiffReader& reader, const Source& source, const Layout& layout) {
    TIFF* tiff = reader.get();
    const bool tiled = TIFFIsTiled(tiff) != 0;
    const std::size_t block_width = tiled ? reader.field<std::uint32_t>(TIFFTAG_TILEWIDTH, 0) : layout.width;
    const std::size_t block_height =
        tiled ? reader.field<std::uint32_t>(TIFFTAG_TILELENGTH, 0)
              : std::min<std::size_t>(reader.field<std::uint32_t>(TIFFTAG_ROWSPERSTRIP, ~0U), layout.height);
    check_size(source, static_cast<std::int64_t>(block_width), static_cast<std::int64_t>(block_height));

    const std::size_t planes = layout.planar ? layout.channels : 1;
    const std::size_t interleaved = layout.planar ? 1 : layout.channels;
    const std::size_t row_bytes = (block_width * interleaved * layout.bits + 7) / 8;
    std::vector<std::uint8_t> samples(layout.width * layout.height * layout.channels);
    std::vector<std::uint8_t> block(row_bytes * block_height);
    const tmsize_t stored = tiled ? TIFFTileSize(tiff) : TIFFStripSize(tiff);
    if (stored != static_cast<tmsize_t>(block.size())) refuse_damaged(source, "strips or tiles of an odd size");

    for (std::size_t plane = 0; plane < planes; ++plane) {
        for (std::size_t y0 = 0; y0 < layout.height; y0 += block_height) {
            const std::size_t rows = std::min(block_height, layout.height - y0);
            for (std::size_t x0 = 0; x0 < layout.width; x0 += block_width) {
                const auto row = static_cast<std::uint32_t>(y0);
                const auto sample = static_cast<std::uint16_t>(plane);
                const tmsize_t needed = static_cast<tmsize_t>(row_bytes * (tiled ? block_height : rows));
                const tmsize_t got =
                    tiled ? TIFFReadTile(tiff, block.data(), static_cast<std::uint32_t>(x0), row, 0, sample)
                          : TIFFReadEncodedStrip(tiff, TIFFComputeStrip(tiff, row, sample), block.data(), needed);
                if (got < needed) reader.fail();
                const std::size_t columns = std::min(block_width, layout.width - x0);
                for (std::size_t y = 0; y < rows; ++y) {
                    unpack(block.data() + y * row_bytes, layout.bits, columns * interleaved,
                           samples.data() + ((y0 + y) * layout.width + x0) * layout.channels + plane,
                           layout.planar ? layout.channels : 1);
                }
            }
        }
    }
    return samples;
}

using Palette = std::array<std::array<std::uint8_t, 3>, 256>;

// The colour of each sample value of a one-channel picture: its palette, or its grey.
Palette palette_of(const TiffReader& reader, const Source& source, const Layout& layout) {
    const unsigned top = (1U << std::min(layout.bits, 8U)) - 1;
    Palette palette{};
    std::uint16_t *red = nullptr, *green = nullptr, *blue = nullptr;
    const bool indexed = layout.photometric == PHOTOMETRIC_PALETTE;
    if (indexed && TIFFGetField(reader.get(), TIFFTAG_COLORMAP, &red, &green, &blue) != 1)
        refuse_damaged(source, "no colour map");
    for (unsigned i = 0; i <= top; ++i) {
        if (indexed) {
            palette[i] = {static_cast<std::uint8_t>(red[i] >> 8), static_cast<std::uint8_t>(green[i] >> 8),
                          static_cast<std::uint8_t>(blue[i] >> 8)};
        } else {
            const unsigned grey = i * 255 / top;
            palette[i].fill(
                static_cast<std::uint8_t>(layout.photometric == PHOTOMETRIC_MINISWHITE ? 255 - grey : grey));
        }
    }
    return palette;
}

void convert(const TiffReader& reader, const Source& source, const Layout& layout,
             const std::vector<std::uint8_t>& samples, Image& image) {
    const Palette palette = layout.colours == 1 ? palette_of(reader, source, layout) : Palette{};
    const unsigned top = (1U << std::min(layout.bits, 8U)) - 1;
    const std::uint8_t* from = samples.data();
    std::uint8_t* to = image.rgb.data();
    for (std::size_t i = 0; i < layout.width * layout.height; ++i, from += layout.channels, to += 3) {
        std::array<std::uint8_t, 4> pixel{from[0], from[0], from[0], 255};
        if (layout.colours == 1) std::copy_n(palette[from[0]].data(), 3, pixel.data());
        if (layout.colours == 3) std::copy_n(from, 3, pixel.data());
        if (layout.colours == 4) cmyk_to_rgb(from, pixel.data(), 1);
        if (layout.alpha != Alpha::none) {
            pixel[3] = static_cast<std::uint8_t>(from[layout.colours] * 255U / top);
            if (layout.alpha == Alpha::premultiplied && pixel[3] != 0) {
                for (int c = 0; c < 3; ++c)
                    pixel[c] = static_cast<std::uint8_t>(std::min(255, pixel[c] * 255 / pixel[3]));
            }
            compose_on_white(pixel.data(), to, 1);
        } else {
            std::copy_n(pixel.data(), 3, to);
        }
    }
}

// libtiff's own conversion, for the rare colour spaces.
void read_converted(const TiffReader& reader, const Source& source, Image& image) {
    char reason[1024] = {};
    if (!TIFFRGBAImageOK(reader.get(), reason))
        refuse(source, "8 or 16 bits a sample, in a usual colour space", reason, "Convert it to PNG or JPEG first.");
    TIFFSetField(reader.get(), TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);  // turned later, with all other formats
    std::vector<std::uint32_t> raster(static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height));
    if (!TIFFReadRGBAImageOriented(reader.get(), static_cast<std::uint32_t>(image.width),
                                   static_cast<std::uint32_t>(image.height), raster.data(), ORIENTATION_TOPLEFT, 1)) {
        reader.fail();
    }
    std::uint8_t* to = image.rgb.data();
    for (const std::uint32_t pixel : raster) {
        *to++ = TIFFGetR(pixel);
        *to++ = TIFFGetG(pixel);
        *to++ = TIFFGetB(pixel);
    }
}

}  // namespace

Decoded read_tiff(const Source& source) {
    TiffReader reader(source);
    const auto photometric = reader.field<std::uint16_t>(TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    if (is_camera_raw(reader, photometric)) {
        refuse(source, "a finished picture", "camera RAW, which is not supported",
               "Develop it to JPEG, PNG or TIFF first.");
    }
    const auto width = reader.field<std::uint32_t>(TIFFTAG_IMAGEWIDTH, 0);
    const auto height = reader.field<std::uint32_t>(TIFFTAG_IMAGELENGTH, 0);
    check_size(source, width, height);
    const auto kind = reader.field<std::uint16_t>(TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
    const auto bits = reader.field<std::uint16_t>(TIFFTAG_BITSPERSAMPLE, 1);
    const bool is_number = kind != SAMPLEFORMAT_UINT && kind != SAMPLEFORMAT_VOID;
    if (is_number || bits > 16) {
        // The range that means black to white stands nowhere in such files, so any picture would be a guess.
        refuse(source, "unsigned samples of at most 16 bits",
               std::to_string(bits) + (kind == SAMPLEFORMAT_IEEEFP ? "-bit floating-point samples" : "-bit samples"),
               "Convert it to 8 or 16 bits first.");
    }

    Decoded result{allocate(source, width, height), reader.field<std::uint16_t>(TIFFTAG_ORIENTATION, 1)};
    Image& image = result.image;
    if (const auto layout = plain_layout(reader, width, height)) {
        convert(reader, source, *layout, read_samples(reader, source, *layout), image);
        if (layout->bits == 16) image.notes.emplace_back(note_16_bit);
        if (layout->alpha != Alpha::none) image.notes.emplace_back(note_alpha);
        if (layout->colours == 4) image.notes.emplace_back(note_cmyk);
    } else {
        read_converted(reader, source, image);
    }
    if (reader.incomplete()) refuse_damaged(source, "incomplete JPEG data inside");
    if (const auto pages = TIFFNumberOfDirectories(reader.get()); pages > 1)
        image.notes.push_back("page 1 of " + std::to_string(pages));
    return result;
}

}  // namespace vitrine::picture
