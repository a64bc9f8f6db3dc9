#include "core/image/format.h"

#include <algorithm>
#include <array>
#include <cctype>

using namespace std::string_view_literals;

namespace vitrine::picture {
namespace {

constexpr std::string_view convert = "Convert it to PNG or JPEG first.";
constexpr std::string_view develop = "Develop it to JPEG, PNG or TIFF first.";
constexpr std::string_view grab_frame = "Save single frames of it as pictures.";
constexpr std::string_view render = "Export it as PNG first.";
constexpr std::string_view no_picture = "Choose a picture file.";

struct Magic {
    std::size_t offset;
    std::string_view bytes;
    Format format;
};

// The first match counts, so a longer magic stands before a shorter one that it contains.
constexpr std::array magics{
    Magic{0, "\xFF\xD8\xFF"sv, {Kind::jpeg, "JPEG", {}}},
    Magic{0, "\x89PNG\r\n\x1A\n"sv, {Kind::png, "PNG", {}}},
    Magic{0, "GIF87a"sv, {Kind::gif, "GIF", {}}},
    Magic{0, "GIF89a"sv, {Kind::gif, "GIF", {}}},
    Magic{8, "WEBPVP8"sv, {Kind::webp, "WebP", {}}},
    Magic{8, "CR\x02"sv, {Kind::foreign, "camera RAW (Canon CR2)", develop}},
    Magic{0, "II*\0"sv, {Kind::tiff, "TIFF", {}}},
    Magic{0, "MM\0*"sv, {Kind::tiff, "TIFF", {}}},
    Magic{0, "II+\0"sv, {Kind::tiff, "TIFF", {}}},
    Magic{0, "MM\0+"sv, {Kind::tiff, "TIFF", {}}},
    Magic{0, "BM"sv, {Kind::bitmap, "BMP", {}}},
    Magic{0,
          "\x8A"
          "MNG\r\n\x1A\n"sv,
          {Kind::foreign, "MNG animation", grab_frame}},
    Magic{0, "\xFF\x0A"sv, {Kind::foreign, "JPEG XL", convert}},
    Magic{0, "\0\0\0\x0CJXL \r\n\x87\n"sv, {Kind::foreign, "JPEG XL", convert}},
    Magic{0, "\0\0\0\x0CjP  \r\n\x87\n"sv, {Kind::foreign, "JPEG 2000", convert}},
    Magic{0, "\xFF\x4F\xFF\x51"sv, {Kind::foreign, "JPEG 2000", convert}},
    Magic{0, "II\xBC"sv, {Kind::foreign, "JPEG XR", convert}},
    Magic{0, "\0\0\x01\0"sv, {Kind::foreign, "Windows icon (ICO)", convert}},
    Magic{0, "\0\0\x02\0"sv, {Kind::foreign, "Windows cursor (CUR)", convert}},
    Magic{0, "icns"sv, {Kind::foreign, "Apple icon (ICNS)", convert}},
    Magic{0, "8BPS"sv, {Kind::foreign, "Photoshop document (PSD)", render}},
    Magic{0, "gimp xcf"sv, {Kind::foreign, "GIMP document (XCF)", render}},
    Magic{0, "%PDF-"sv, {Kind::foreign, "PDF document", render}},
    Magic{0, "%!PS"sv, {Kind::foreign, "PostScript (EPS)", render}},
    Magic{0, "\xC5\xD0\xD3\xC6"sv, {Kind::foreign, "PostScript (EPS)", render}},
    Magic{0, "AT&TFORM"sv, {Kind::foreign, "DjVu document", render}},
    Magic{0, "FUJIFILMCCD-RAW"sv, {Kind::foreign, "camera RAW (Fujifilm RAF)", develop}},
    Magic{0, "IIRO"sv, {Kind::foreign, "camera RAW (Olympus ORF)", develop}},
    Magic{0, "IIRS"sv, {Kind::foreign, "camera RAW (Olympus ORF)", develop}},
    Magic{0, "MMOR"sv, {Kind::foreign, "camera RAW (Olympus ORF)", develop}},
    Magic{0, "IIU\0"sv, {Kind::foreign, "camera RAW (Panasonic RW2)", develop}},
    Magic{0, "FOVb"sv, {Kind::foreign, "camera RAW (Sigma X3F)", develop}},
    Magic{0, "\0MRM"sv, {Kind::foreign, "camera RAW (Minolta MRW)", develop}},
    Magic{0, "v/1\x01"sv, {Kind::foreign, "OpenEXR", convert}},
    Magic{0, "#?RADIANCE"sv, {Kind::foreign, "Radiance HDR", convert}},
    Magic{0, "#?RGBE"sv, {Kind::foreign, "Radiance HDR", convert}},
    Magic{0, "qoif"sv, {Kind::foreign, "QOI", convert}},
    Magic{0, "DDS "sv, {Kind::foreign, "DDS texture", convert}},
    Magic{0, "\xABKTX"sv, {Kind::foreign, "KTX texture", convert}},
    Magic{0, "BPG\xFB"sv, {Kind::foreign, "BPG", convert}},
    Magic{0, "FLIF"sv, {Kind::foreign, "FLIF", convert}},
    Magic{0, "farbfeld"sv, {Kind::foreign, "farbfeld", convert}},
    Magic{0, "SIMPLE  ="sv, {Kind::foreign, "FITS", convert}},
    Magic{0, "\x59\xA6\x6A\x95"sv, {Kind::foreign, "Sun raster", convert}},
    Magic{0, "\xD7\xCD\xC6\x9A"sv, {Kind::foreign, "Windows metafile (WMF)", render}},
    Magic{40, " EMF"sv, {Kind::foreign, "Windows metafile (EMF)", render}},
    Magic{128, "DICM"sv, {Kind::foreign, "DICOM", convert}},
    Magic{0, "\x1A\x45\xDF\xA3"sv, {Kind::foreign, "Matroska or WebM video", grab_frame}},
    Magic{8, "AVI "sv, {Kind::foreign, "AVI video", grab_frame}},
    Magic{0, "PK\x03\x04"sv, {Kind::foreign, "ZIP archive", "Unpack it first."}},
    Magic{0, "Rar!\x1A\x07"sv, {Kind::foreign, "RAR archive", "Unpack it first."}},
    Magic{0, "7z\xBC\xAF\x27\x1C"sv, {Kind::foreign, "7-Zip archive", "Unpack it first."}},
    Magic{0, "\x1F\x8B"sv, {Kind::foreign, "gzip file", "Unpack it first."}},
    Magic{0,
          "\x7F"
          "ELF"sv,
          {Kind::foreign, "program", no_picture}},
    Magic{0, "SQLite format 3"sv, {Kind::foreign, "SQLite database", no_picture}},
};

// ISO base media: "ftyp", then the brand that says which of the many formats it is.
Format recognise_media(std::string_view head) {
    const std::string_view brand = head.substr(8, 4);
    const auto is_one_of = [&](std::initializer_list<std::string_view> brands) {
        return std::find(brands.begin(), brands.end(), brand) != brands.end();
    };
    if (is_one_of({"avif", "avis"})) return {Kind::heif, "AVIF", {}};
    if (is_one_of({"heic", "heix", "hevc", "hevx", "heim", "heis"})) return {Kind::heif, "HEIC", {}};
    if (is_one_of({"mif1", "msf1"})) {
        return {Kind::heif, head.find("avif") != head.npos ? "AVIF"sv : "HEIC"sv, {}};
    }
    if (brand == "crx ") return {Kind::foreign, "camera RAW (Canon CR3)", develop};
    return {Kind::foreign, "MP4 or QuickTime video", grab_frame};
}

bool is_text(std::string_view head) {
    return std::none_of(head.begin(), head.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte == 0x7F || (byte < 0x20 && !std::isspace(byte));
    });
}

Format recognise_text(std::string_view head) {
    const auto contains = [&](std::string_view word) {
        return std::search(head.begin(), head.end(), word.begin(), word.end(), [](char a, char b) {
                   return std::tolower(static_cast<unsigned char>(a)) == b;
               }) != head.end();
    };
    if (head.starts_with("version https://git-lfs")) return {Kind::lfs_pointer, "Git LFS pointer", {}};
    if (contains("<svg")) return {Kind::foreign, "SVG drawing", render};
    if (contains("<html") || contains("<!doctype html")) {
        return {Kind::foreign, "web page (HTML)", "The download gave a page instead of the picture; fetch it again."};
    }
    return {Kind::text, "text file", {}};
}

}  // namespace

Format recognise(std::span<const std::byte> bytes) {
    const std::string_view head(reinterpret_cast<const char*>(bytes.data()), std::min<std::size_t>(bytes.size(), 1024));
    if (head.size() >= 12 && head.substr(4, 4) == "ftyp") return recognise_media(head);
    for (const Magic& magic : magics) {
        if (head.size() >= magic.offset && head.substr(magic.offset).starts_with(magic.bytes)) return magic.format;
    }
    const bool pnm = head.size() >= 3 && head[0] == 'P' && std::isspace(static_cast<unsigned char>(head[2]));
    if (pnm && head[1] >= '1' && head[1] <= '6') return {Kind::bitmap, "PNM", {}};
    if (pnm && head[1] == '7') return {Kind::foreign, "PAM", convert};
    if (pnm && (head[1] == 'f' || head[1] == 'F')) return {Kind::foreign, "PFM (floating point)", convert};
    return is_text(head) ? recognise_text(head) : Format{Kind::unknown, "unknown", {}};
}

}  // namespace vitrine::picture
