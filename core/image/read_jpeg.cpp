#include "core/image/pixels.h"
#include "core/image/readers.h"

#include <csetjmp>
#include <cstdio>
#include <vector>

#include <jerror.h>
#include <jpeglib.h>

// libjpeg-turbo with its defaults (accurate integer DCT, smooth chroma upsampling), which are Pillow's too.
namespace vitrine::picture {
namespace {

// libjpeg wants its error handler not to return; longjmp leaves its C frames. No object with a destructor lives in the
// functions that are left this way.
struct Errors : jpeg_error_mgr {
    std::jmp_buf escape;
    char message[JMSG_LENGTH_MAX] = {};
    bool file_ended = false;    // the decoder asked for bytes behind the last one
    bool data_missing = false;  // and made up pixels instead
    bool damaged = false;
};

Errors& errors_of(j_common_ptr info) {
    return static_cast<Errors&>(*info->err);
}

void on_error(j_common_ptr info) {
    info->err->format_message(info, errors_of(info).message);
    std::longjmp(errors_of(info).escape, 1);
}

// Warnings are libjpeg's way to say that it goes on with grey or stale pixels. Only those that cost no pixel are
// harmless.
void on_message(j_common_ptr info, int level) {
    if (level >= 0) return;
    Errors& errors = errors_of(info);
    switch (info->err->msg_code) {
        case JWRN_JPEG_EOF: errors.file_ended = true; return;
        case JWRN_HIT_MARKER: errors.data_missing = true; return;
        case JWRN_ADOBE_XFORM:
        case JWRN_EXTRANEOUS_DATA:
        case JWRN_JFIF_MAJOR:
        case JWRN_NOT_SEQUENTIAL: return;
        default:
            if (!errors.damaged) info->err->format_message(info, errors.message);
            errors.damaged = true;
    }
}

// A progressive file of a few kilobytes can hold tens of thousands of scans, each over the whole picture.
void on_progress(j_common_ptr info) {
    constexpr int max_scans = 500;
    if (!info->is_decompressor || reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= max_scans) return;
    std::snprintf(errors_of(info).message, JMSG_LENGTH_MAX, "more than %d scans", max_scans);
    std::longjmp(errors_of(info).escape, 1);
}

class JpegReader {
public:
    JpegReader() {
        info_.err = jpeg_std_error(&errors_);
        errors_.error_exit = on_error;
        errors_.emit_message = on_message;
        progress_.progress_monitor = on_progress;
    }
    ~JpegReader() { jpeg_destroy_decompress(&info_); }
    JpegReader(const JpegReader&) = delete;
    JpegReader& operator=(const JpegReader&) = delete;

    bool read_header(const Source& source) {
        if (setjmp(errors_.escape)) return false;
        jpeg_create_decompress(&info_);
        info_.progress = &progress_;
        jpeg_mem_src(&info_, source.data(), source.size());
        jpeg_save_markers(&info_, JPEG_APP0 + 1, 0xFFFF);
        jpeg_read_header(&info_, TRUE);
        info_.out_color_space = info_.num_components == 4 ? JCS_CMYK : JCS_RGB;
        return true;
    }

    // `line` has room for one row of four components.
    bool read_pixels(std::uint8_t* rgb, std::uint8_t* line) {
        if (setjmp(errors_.escape)) return false;
        jpeg_start_decompress(&info_);
        const std::size_t width = info_.output_width;
        while (info_.output_scanline < info_.output_height) {
            std::uint8_t* const to = rgb + 3 * width * info_.output_scanline;
            JSAMPROW row = is_cmyk() ? line : to;
            if (jpeg_read_scanlines(&info_, &row, 1) != 1) return false;
            if (is_cmyk()) {
                // Stored as light, not ink: Adobe's programs started it, and Pillow and the browsers read every
                // four-component JPEG so, with or without Adobe's marker.
                for (std::size_t i = 0; i < 4 * width; ++i) line[i] = static_cast<std::uint8_t>(255 - line[i]);
                cmyk_to_rgb(line, to, width);
            }
        }
        return true;
    }

    bool is_cmyk() const { return info_.out_color_space == JCS_CMYK; }
    unsigned width() const { return info_.image_width; }
    unsigned height() const { return info_.image_height; }

    int orientation() const {
        for (auto* marker = info_.marker_list; marker != nullptr; marker = marker->next) {
            const auto block = std::as_bytes(std::span(marker->data, marker->data_length));
            if (block.size() > 6 && block[0] == std::byte{'E'} && block[1] == std::byte{'x'})
                return exif_orientation(block);
        }
        return 1;
    }

    // All scans of such a file are read before the first row, and a missing one only makes the picture coarser.
    bool truncated() { return errors_.file_ended && (errors_.data_missing || jpeg_has_multiple_scans(&info_)); }
    bool ended_early() const { return errors_.file_ended; }
    bool damaged() const { return errors_.data_missing || errors_.damaged; }
    const char* message() const {
        return errors_.message[0] != '\0' ? errors_.message : "a stretch of data is missing";
    }

private:
    jpeg_decompress_struct info_{};
    Errors errors_{};
    jpeg_progress_mgr progress_{};
};

}  // namespace

Decoded read_jpeg(const Source& source) {
    JpegReader reader;
    const auto fail = [&] {
        if (reader.ended_early()) refuse_truncated(source);
        refuse_damaged(source, reader.message());
    };
    if (!reader.read_header(source)) fail();
    Decoded result{allocate(source, reader.width(), reader.height()), reader.orientation()};
    std::vector<std::uint8_t> line(reader.is_cmyk() ? std::size_t{4} * reader.width() : 0);
    if (!reader.read_pixels(result.image.rgb.data(), line.data())) fail();
    if (reader.truncated()) refuse_truncated(source);
    if (reader.damaged()) refuse_damaged(source, reader.message());
    if (reader.is_cmyk()) result.image.notes.emplace_back(note_cmyk);
    return result;
}

}  // namespace vitrine::picture
