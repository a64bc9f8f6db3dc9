#include "core/image/pixels.h"
#include "core/image/readers.h"

#ifdef VITRINE_WITH_HEIF

#include <algorithm>
#include <cstring>
#include <memory>

#include <libheif/heif.h>

namespace vitrine::picture {
namespace {

template <auto release>
struct Release {
    template <class T>
    void operator()(T* thing) const {
        release(thing);
    }
};
using Context = std::unique_ptr<heif_context, Release<heif_context_free>>;
using Handle = std::unique_ptr<heif_image_handle, Release<heif_image_handle_release>>;
using Pixels = std::unique_ptr<heif_image, Release<heif_image_release>>;
using Options = std::unique_ptr<heif_decoding_options, Release<heif_decoding_options_free>>;

void check(const Source& source, const heif_error& error) {
    if (error.code == heif_error_Ok) return;
    const bool over_limit = error.subcode == heif_suberror_Security_limit_exceeded;  // sizes that only damage explains
    if (error.code == heif_error_Memory_allocation_error && !over_limit) throw std::bad_alloc();
    if (error.subcode == heif_suberror_End_of_data) refuse_truncated(source);
    if (error.code == heif_error_Unsupported_filetype || error.code == heif_error_Unsupported_feature) {
        refuse(source, "a kind this system's libheif can decode", error.message, "Convert it to PNG or JPEG first.");
    }
    refuse_damaged(source, error.message);
}

}  // namespace

// libheif turns and crops by the file's own properties, which count instead of the EXIF orientation: that stays at 1.
Decoded read_heif(const Source& source) {
    const Context context(heif_context_alloc());
    if (!context) throw std::bad_alloc();
    check(source, heif_context_read_from_memory_without_copy(context.get(), source.data(), source.size(), nullptr));
    heif_image_handle* primary = nullptr;
    check(source, heif_context_get_primary_image_handle(context.get(), &primary));
    const Handle handle(primary);
    check_size(source, heif_image_handle_get_width(handle.get()), heif_image_handle_get_height(handle.get()));

    const bool has_alpha = heif_image_handle_has_alpha_channel(handle.get()) != 0;
    const Options options(heif_decoding_options_alloc());
    if (!options) throw std::bad_alloc();
    options->convert_hdr_to_8bit = 1;
    heif_image* decoded = nullptr;
    check(source,
          heif_decode_image(handle.get(), &decoded, heif_colorspace_RGB,
                            has_alpha ? heif_chroma_interleaved_RGBA : heif_chroma_interleaved_RGB, options.get()));
    const Pixels pixels(decoded);
    int stride = 0;
    const std::uint8_t* from = heif_image_get_plane_readonly(pixels.get(), heif_channel_interleaved, &stride);
    if (from == nullptr) refuse_damaged(source, "no pixels");

    Decoded result{allocate(source, heif_image_get_width(pixels.get(), heif_channel_interleaved),
                            heif_image_get_height(pixels.get(), heif_channel_interleaved))};
    Image& image = result.image;
    const auto width = static_cast<std::size_t>(image.width);
    const bool premultiplied = heif_image_handle_is_premultiplied_alpha(handle.get()) != 0;
    for (int y = 0; y < image.height; ++y) {
        const std::uint8_t* row = from + static_cast<std::ptrdiff_t>(y) * stride;
        std::uint8_t* to = image.rgb.data() + 3 * width * static_cast<std::size_t>(y);
        if (!has_alpha) {
            std::memcpy(to, row, 3 * width);
        } else if (!premultiplied) {
            compose_on_white(row, to, width);
        } else {
            for (std::size_t i = 0; i < 3 * width; ++i) {
                const std::uint8_t* pixel = row + 4 * (i / 3);
                to[i] = static_cast<std::uint8_t>(std::min(255, pixel[i % 3] + 255 - pixel[3]));
            }
        }
    }
    if (has_alpha) image.notes.emplace_back(note_alpha);
    if (heif_image_handle_get_luma_bits_per_pixel(handle.get()) > 8) {
        image.notes.push_back(std::to_string(heif_image_handle_get_luma_bits_per_pixel(handle.get())) +
                              "-bit reduced to 8");
    }
    if (const int images = heif_context_get_number_of_top_level_images(context.get()); images > 1) {
        image.notes.push_back("main picture of " + std::to_string(images));
    }
    const std::string_view brand(reinterpret_cast<const char*>(source.data()) + 8, 4);
    if (brand == "avis" || brand == "msf1" || brand == "hevc" || brand == "hevx") {
        image.notes.emplace_back("still picture of an image sequence");
    }
    return result;
}

}  // namespace vitrine::picture

#else

namespace vitrine::picture {

Decoded read_heif(const Source& source) {
    refuse(source, "a format this build can read", std::string(source.format) + ", which needs libheif",
           "Convert it to PNG or JPEG, or build with libheif (Debian package libheif-dev).");
}

}  // namespace vitrine::picture

#endif
