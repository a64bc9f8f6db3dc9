#include "core/image/pixels.h"
#include "core/image/readers.h"

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <utility>
#include <vector>

#include <png.h>

namespace vitrine::picture {
namespace {

// Feeds libpng from memory and catches its errors; as with libjpeg, longjmp may only leave functions without C++
// objects.
class PngReader {
public:
    explicit PngReader(const Source& source) : rest_(source.bytes) {
        png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, [](png_structp, png_const_charp) {});
        info_ = png_ != nullptr ? png_create_info_struct(png_) : nullptr;
        if (info_ == nullptr) {
            png_destroy_read_struct(&png_, nullptr, nullptr);
            throw std::bad_alloc();
        }
        png_set_read_fn(png_, this, on_read);
        png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // check_size() has the limits and names them
    }
    ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
    PngReader(const PngReader&) = delete;
    PngReader& operator=(const PngReader&) = delete;

    bool read_header() {
        if (setjmp(escape_)) return false;
        png_read_info(png_, info_);
        return true;
    }

    // Every kind of PNG becomes RGB or, where it has an alpha channel, a palette with tRNS or a transparent colour,
    // RGBA. Of 16 bits the upper 8 are kept, as Pillow does for RGB (it clips 16-bit grey to white at 255, which no one
    // wants).
    bool prepare() {
        if (setjmp(escape_)) return false;
        png_set_expand(png_);
        png_set_strip_16(png_);
        png_set_gray_to_rgb(png_);
        png_set_interlace_handling(png_);
        png_read_update_info(png_, info_);
        return true;
    }

    bool read_pixels(png_bytepp rows) {
        if (setjmp(escape_)) return false;
        png_read_image(png_, rows);
        return true;
    }

    // Checks the rest of the pixel data and takes in what stands behind it. A file cut there still has its whole
    // picture.
    bool read_end() {
        if (setjmp(escape_)) return starved_;
        png_read_end(png_, info_);
        return true;
    }

    std::int64_t width() const { return png_get_image_width(png_, info_); }
    std::int64_t height() const { return png_get_image_height(png_, info_); }
    bool is_16_bit() const { return png_get_bit_depth(png_, info_) == 16; }
    bool has_alpha() const { return png_get_channels(png_, info_) == 4; }  // after prepare()
    bool starved() const { return starved_; }
    const char* message() const { return message_; }

    int orientation() {
        png_uint_32 size = 0;
        png_bytep exif = nullptr;
        if (png_get_eXIf_1(png_, info_, &size, &exif) == 0) return 1;
        return exif_orientation(std::as_bytes(std::span(exif, size)));
    }

private:
    static void on_error(png_structp png, png_const_charp message) {
        auto* self = static_cast<PngReader*>(png_get_error_ptr(png));
        std::strncpy(self->message_, message, sizeof(self->message_) - 1);
        std::longjmp(self->escape_, 1);
    }

    static void on_read(png_structp png, png_bytep to, std::size_t count) {
        auto* self = static_cast<PngReader*>(png_get_io_ptr(png));
        if (count > self->rest_.size()) {
            self->starved_ = true;
            png_error(png, "end of file");
        }
        std::memcpy(to, self->rest_.data(), count);
        self->rest_ = self->rest_.subspan(count);
    }

    png_structp png_ = nullptr;
    png_infop info_ = nullptr;
    std::span<const std::byte> rest_;
    std::jmp_buf escape_;
    char message_[128] = {};
    bool starved_ = false;
};

// Frames of an animated PNG: the count in acTL, which libpng does not know; 0 in a still picture.
std::uint32_t animation_frames(const Source& source) {
    const std::uint8_t* data = source.data();
    const auto u32 = [&](std::size_t at) {
        return std::uint32_t{data[at]} << 24 | std::uint32_t{data[at + 1]} << 16 | std::uint32_t{data[at + 2]} << 8 |
               data[at + 3];
    };
    for (std::size_t at = 8; at + 12 <= source.size() && std::memcmp(data + at + 4, "IDAT", 4) != 0;) {
        if (std::memcmp(data + at + 4, "acTL", 4) == 0) return u32(at + 8);
        at += std::size_t{12} + u32(at);
    }
    return 0;
}

}  // namespace

Decoded read_png(const Source& source) {
    PngReader reader(source);
    const auto check = [&](bool success) {
        if (success) return;
        if (reader.starved()) refuse_truncated(source);
        refuse_damaged(source, reader.message());
    };
    check(reader.read_header());
    check_size(source, reader.width(), reader.height());
    const bool is_16_bit = reader.is_16_bit();
    check(reader.prepare());

    Decoded result{allocate(source, reader.width(), reader.height())};
    Image& image = result.image;
    const auto width = static_cast<std::size_t>(image.width);
    const auto height = static_cast<std::size_t>(image.height);
    const bool has_alpha = reader.has_alpha();
    std::vector<std::uint8_t> rgba(has_alpha ? width * height * 4 : 0);
    std::vector<png_bytep> rows(height);
    for (std::size_t y = 0; y < height; ++y) {
        rows[y] = has_alpha ? rgba.data() + y * width * 4 : image.rgb.data() + y * width * 3;
    }
    check(reader.read_pixels(rows.data()));
    check(reader.read_end());
    result.orientation = reader.orientation();

    if (const auto frames = animation_frames(source); frames > 1)
        image.notes.push_back("frame 1 of " + std::to_string(frames));
    if (is_16_bit) image.notes.emplace_back(note_16_bit);
    if (has_alpha) {
        compose_on_white(rgba.data(), image.rgb.data(), width * height);
        image.notes.emplace_back(note_alpha);
    }
    return result;
}

}  // namespace vitrine::picture
