#include "core/image/decode.h"

#include "core/error.h"
#include "core/image/format.h"
#include "core/image/pixels.h"
#include "core/image/readers.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

namespace vitrine {
namespace picture {

void refuse(const Source& source, std::string expected, std::string found, std::string advice) {
    throw PictureError(
        {std::string(source.format), source.name, std::move(expected), std::move(found), std::move(advice)});
}

void refuse_truncated(const Source& source) {
    refuse(source, "a whole picture", "a truncated file of " + std::to_string(source.size()) + " bytes",
           "Copy or download it again.");
}

void refuse_damaged(const Source& source, std::string_view detail) {
    refuse(source, "a whole picture", "damaged data (" + std::string(detail) + ")", "Copy or download it again.");
}

void check_size(const Source& source, std::int64_t width, std::int64_t height) {
    const std::string found = std::to_string(width) + " x " + std::to_string(height) + " pixels";
    if (width <= 0 || height <= 0) refuse(source, "a picture with pixels", found, "Copy or download it again.");
    if (height > source.limits.max_pixels / width) {
        refuse(source, "at most " + std::to_string(source.limits.max_pixels) + " pixels", found,
               "Scale it down first; the model sees a small picture anyway.");
    }
}

Image allocate(const Source& source, std::int64_t width, std::int64_t height) {
    check_size(source, width, height);
    Image image;
    image.width = static_cast<int>(width);
    image.height = static_cast<int>(height);
    image.rgb.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3);
    return image;
}

namespace {

constexpr const char* readable = "a picture (JPEG, PNG, GIF, WebP, TIFF, HEIC, AVIF, BMP or PNM)";

Decoded read(const Source& source, const Format& format) {
    switch (format.kind) {
        case Kind::jpeg: return read_jpeg(source);
        case Kind::png: return read_png(source);
        case Kind::gif: return read_gif(source);
        case Kind::webp: return read_webp(source);
        case Kind::tiff: return read_tiff(source);
        case Kind::heif: return read_heif(source);
        case Kind::bitmap: return read_bitmap(source);
        case Kind::foreign:
            refuse(source, readable, std::string(format.name) + ", which is not supported", std::string(format.advice));
        case Kind::lfs_pointer:
            refuse(source, readable, "a Git LFS pointer in its place", "Fetch the file itself with `git lfs pull`.");
        case Kind::text: refuse(source, readable, "a text file", "Choose a picture file.");
        case Kind::unknown: break;
    }
    refuse(source, readable, "data of an unknown kind", "Choose a picture file; it may also be damaged.");
}

}  // namespace
}  // namespace picture

Image decode_image(std::span<const std::byte> bytes, const std::string& name, const DecodeLimits& limits) {
    picture::Source source{bytes, name, limits, {}};
    if (bytes.empty()) picture::refuse(source, picture::readable, "an empty file", "Copy or download it again.");
    if (static_cast<std::uint64_t>(bytes.size()) > static_cast<std::uint64_t>(limits.max_file_bytes)) {
        picture::refuse(source, "at most " + std::to_string(limits.max_file_bytes) + " bytes",
                        std::to_string(bytes.size()) + " bytes", "Scale it down first.");
    }
    const picture::Format format = picture::recognise(bytes);
    const bool has_reader = format.kind < picture::Kind::foreign;
    if (has_reader) source.format = format.name;
    try {
        auto [image, orientation] = picture::read(source, format);
        picture::apply_orientation(image, orientation);
        if (image.format.empty()) image.format = format.name;
        return std::move(image);
    } catch (const std::bad_alloc&) {
        throw MemoryError({std::string(format.name), name, "enough memory to decode the picture", "too little",
                           "Close other programs or scale the picture down first."});
    }
}

Image decode_image_file(const std::filesystem::path& path, const DecodeLimits& limits) {
    const std::string name = path.string();
    const auto fail = [&](std::string found, std::string advice) {
        throw FileError({{}, name, "a readable picture file", std::move(found), std::move(advice)});
    };
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (status.type() == std::filesystem::file_type::not_found) fail("no such file", "Check the path.");
    if (error) fail(error.message(), "Check the path and its permissions.");
    if (std::filesystem::is_directory(status)) fail("a folder", "Choose a file in it.");
    // Reading from a pipe or a device could wait for ever.
    if (!std::filesystem::is_regular_file(status)) fail("a pipe or device", "Choose a regular file.");

    const auto size = std::filesystem::file_size(path, error);
    if (error) fail(error.message(), "Check the path and its permissions.");
    if (size > static_cast<std::uint64_t>(limits.max_file_bytes)) {
        throw PictureError({{},
                            name,
                            "at most " + std::to_string(limits.max_file_bytes) + " bytes",
                            std::to_string(size) + " bytes",
                            "Scale it down first."});
    }
    const auto close = [](std::FILE* file) { std::fclose(file); };
    const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "rb"), close);
    if (!file) fail(std::generic_category().message(errno), "Check its permissions.");
    std::vector<std::byte> bytes(size);
    bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file.get()));
    if (std::ferror(file.get())) fail(std::generic_category().message(errno), "Check the disk.");
    return decode_image(bytes, name, limits);
}

}  // namespace vitrine
