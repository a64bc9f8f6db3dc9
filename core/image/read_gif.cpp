#include "core/image/pixels.h"
#include "core/image/readers.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include <gif_lib.h>

namespace vitrine::picture {
namespace {

class GifReader {
public:
    explicit GifReader(const Source& source) : rest_(source.bytes) {
        int error = 0;
        gif_ = DGifOpen(this, on_read, &error);
        if (gif_ == nullptr) fail(source, error);
    }
    ~GifReader() {
        if (gif_ != nullptr) DGifCloseFile(gif_, nullptr);
    }
    GifReader(const GifReader&) = delete;
    GifReader& operator=(const GifReader&) = delete;

    GifFileType& file() { return *gif_; }
    [[noreturn]] void fail(const Source& source) const { fail(source, gif_->Error); }

    // Goes to the next frame, whose descriptor then stands in file().Image, and keeps the transparent index announced
    // for it. False at the end of the file, nothing on error.
    std::optional<bool> next_frame() {
        transparent_ = NO_TRANSPARENT_COLOR;
        for (;;) {
            GifRecordType type = UNDEFINED_RECORD_TYPE;
            if (DGifGetRecordType(gif_, &type) == GIF_ERROR) return std::nullopt;
            if (type == TERMINATE_RECORD_TYPE) return false;
            if (type == IMAGE_DESC_RECORD_TYPE) {
                if (DGifGetImageDesc(gif_) == GIF_ERROR) return std::nullopt;
                return true;
            }
            if (type == EXTENSION_RECORD_TYPE && !read_extension()) return std::nullopt;
        }
    }

    int transparent() const { return transparent_; }

    bool skip_pixels() {
        int size = 0;
        GifByteType* block = nullptr;
        if (DGifGetCode(gif_, &size, &block) == GIF_ERROR) return false;
        while (block != nullptr) {
            if (DGifGetCodeNext(gif_, &block) == GIF_ERROR) return false;
        }
        return true;
    }

private:
    static int on_read(GifFileType* gif, GifByteType* to, int count) {
        auto* self = static_cast<GifReader*>(gif->UserData);
        const std::size_t given = std::min(static_cast<std::size_t>(count), self->rest_.size());
        self->starved_ = self->starved_ || given < static_cast<std::size_t>(count);
        std::memcpy(to, self->rest_.data(), given);
        self->rest_ = self->rest_.subspan(given);
        return static_cast<int>(given);
    }

    bool read_extension() {
        int code = 0;
        GifByteType* block = nullptr;
        if (DGifGetExtension(gif_, &code, &block) == GIF_ERROR) return false;
        while (block != nullptr) {
            GraphicsControlBlock control;
            if (code == GRAPHICS_EXT_FUNC_CODE && DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK) {
                transparent_ = control.TransparentColor;
            }
            if (DGifGetExtensionNext(gif_, &block) == GIF_ERROR) return false;
        }
        return true;
    }

    [[noreturn]] void fail(const Source& source, int error) const {
        if (starved_) refuse_truncated(source);
        const char* text = GifErrorString(error);
        refuse_damaged(source, text != nullptr ? text : "unreadable");
    }

    GifFileType* gif_ = nullptr;
    std::span<const std::byte> rest_;
    bool starved_ = false;
    int transparent_ = NO_TRANSPARENT_COLOR;
};

// RGBA of each index; without any colour table the indices are grey levels.
std::array<std::uint8_t, 1024> palette_of(const ColorMapObject* colours, int transparent) {
    std::array<std::uint8_t, 1024> palette{};
    for (int i = 0; i < 256; ++i) {
        std::uint8_t* entry = &palette[static_cast<std::size_t>(4 * i)];
        if (colours == nullptr) {
            std::fill_n(entry, 3, static_cast<std::uint8_t>(i));
        } else if (i < colours->ColorCount) {
            const GifColorType& colour = colours->Colors[i];
            entry[0] = colour.Red;
            entry[1] = colour.Green;
            entry[2] = colour.Blue;
        }
        entry[3] = i == transparent ? 0 : 255;
    }
    return palette;
}

}  // namespace

Decoded read_gif(const Source& source) {
    GifReader reader(source);
    GifFileType& gif = reader.file();
    check_size(source, std::max(gif.SWidth, 1), std::max(gif.SHeight, 1));
    const auto first = reader.next_frame();
    if (!first) reader.fail(source);
    if (!*first) refuse(source, "a picture", "a file without one", "Copy or download it again.");

    const GifImageDesc frame = gif.Image;
    if (frame.Width <= 0 || frame.Height <= 0) check_size(source, frame.Width, frame.Height);
    Decoded result{allocate(source, std::max(gif.SWidth, frame.Left + frame.Width),
                            std::max(gif.SHeight, frame.Top + frame.Height))};
    Image& image = result.image;
    // What the first frame leaves free is transparent, hence white. (Pillow fills it with colour 0 of the palette.)
    std::fill(image.rgb.begin(), image.rgb.end(), std::uint8_t{255});

    const auto palette = palette_of(frame.ColorMap != nullptr ? frame.ColorMap : gif.SColorMap, reader.transparent());
    std::vector<GifPixelType> line(static_cast<std::size_t>(frame.Width));
    bool has_alpha = false;
    // Interlaced rows come in four passes; a plain picture is one pass over all rows.
    struct Pass {
        int start, step;
    };
    constexpr std::array<Pass, 5> passes{{{0, 8}, {4, 8}, {2, 4}, {1, 2}, {0, 1}}};
    const auto used = frame.Interlace ? std::span(passes).first(4) : std::span(passes).last(1);
    for (const auto [start, step] : used) {
        for (int y = start; y < frame.Height; y += step) {
            if (DGifGetLine(&gif, line.data(), frame.Width) == GIF_ERROR) reader.fail(source);
            std::uint8_t* to = image.rgb.data() +
                               3 * (static_cast<std::size_t>(frame.Top + y) * static_cast<std::size_t>(image.width) +
                                    static_cast<std::size_t>(frame.Left));
            for (const GifPixelType index : line) {
                compose_on_white(&palette[std::size_t{4} * index], to, 1);
                has_alpha = has_alpha || index == reader.transparent();
                to += 3;
            }
        }
    }

    int frames = 1;
    while (reader.next_frame().value_or(false) && reader.skip_pixels()) ++frames;
    if (frames > 1) image.notes.push_back("frame 1 of " + std::to_string(frames));
    if (has_alpha) image.notes.emplace_back(note_alpha);
    return result;
}

}  // namespace vitrine::picture
