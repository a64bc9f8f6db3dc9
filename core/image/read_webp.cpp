#include "core/image/pixels.h"
#include "core/image/readers.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <webp/decode.h>
#include <webp/demux.h>

namespace vitrine::picture {
namespace {

// A view of one frame, or of one metadata chunk, into the file; WebPDemux* calls come in such pairs.
struct Frame : WebPIterator {
    Frame() : WebPIterator{} {}
    ~Frame() { WebPDemuxReleaseIterator(this); }
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;
};

int orientation_of(const WebPDemuxer* demuxer) {
    WebPChunkIterator chunk{};
    if (!WebPDemuxGetChunk(demuxer, "EXIF", 1, &chunk)) return 1;
    const int orientation = exif_orientation(std::as_bytes(std::span(chunk.chunk.bytes, chunk.chunk.size)));
    WebPDemuxReleaseChunkIterator(&chunk);
    return orientation;
}

}  // namespace

// A still picture is an animation of one frame here, so that there is one way through.
Decoded read_webp(const Source& source) {
    const WebPData data{source.data(), source.size()};
    WebPDemuxState state = WEBP_DEMUX_PARSE_ERROR;
    const std::unique_ptr<WebPDemuxer, decltype(&WebPDemuxDelete)> demuxer(WebPDemuxPartial(&data, &state),
                                                                           WebPDemuxDelete);
    if (!demuxer || state == WEBP_DEMUX_PARSE_ERROR) refuse_damaged(source, "not a valid WebP container");
    if (state != WEBP_DEMUX_DONE) refuse_truncated(source);

    Decoded result{allocate(source, WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_WIDTH),
                            WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_HEIGHT)),
                   orientation_of(demuxer.get())};
    Image& image = result.image;
    Frame frame;
    if (!WebPDemuxGetFrame(demuxer.get(), 1, &frame))
        refuse(source, "a picture", "a file without one", "Copy or download it again.");
    if (frame.x_offset + frame.width > image.width || frame.y_offset + frame.height > image.height) {
        refuse_damaged(source, "a frame that leaves the canvas");
    }
    const auto width = static_cast<std::size_t>(frame.width);
    const auto height = static_cast<std::size_t>(frame.height);
    const auto canvas = static_cast<std::size_t>(image.width);
    const std::size_t corner =
        static_cast<std::size_t>(frame.y_offset) * canvas + static_cast<std::size_t>(frame.x_offset);

    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config)) refuse_damaged(source, "an incompatible libwebp");
    const bool has_alpha = frame.has_alpha != 0;
    std::vector<std::uint8_t> rgba(has_alpha ? width * height * 4 : 0);
    WebPRGBABuffer& target = config.output.u.RGBA;
    config.output.is_external_memory = 1;
    config.output.colorspace = has_alpha ? MODE_RGBA : MODE_RGB;
    target.rgba = has_alpha ? rgba.data() : image.rgb.data() + 3 * corner;
    target.stride = static_cast<int>(has_alpha ? 4 * width : 3 * canvas);
    target.size = has_alpha ? rgba.size() : image.rgb.size() - 3 * corner;
    // Outside its first frame an animation is transparent; inside, every pixel is written.
    std::fill(image.rgb.begin(), image.rgb.end(), std::uint8_t{255});
    switch (const auto status = WebPDecode(frame.fragment.bytes, frame.fragment.size, &config)) {
        case VP8_STATUS_OK: break;
        case VP8_STATUS_OUT_OF_MEMORY: throw std::bad_alloc();
        case VP8_STATUS_SUSPENDED:
        case VP8_STATUS_NOT_ENOUGH_DATA: refuse_truncated(source);
        default: refuse_damaged(source, "VP8 status " + std::to_string(status));
    }
    if (has_alpha) {
        for (std::size_t y = 0; y < height; ++y) {
            compose_on_white(rgba.data() + 4 * y * width, image.rgb.data() + 3 * (corner + y * canvas), width);
        }
        image.notes.emplace_back(note_alpha);
    }
    if (frame.num_frames > 1) image.notes.push_back("frame 1 of " + std::to_string(frame.num_frames));
    return result;
}

}  // namespace vitrine::picture
