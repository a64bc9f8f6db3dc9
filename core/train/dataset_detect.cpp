#include <algorithm>
#include <array>
#include <system_error>

#include "core/error.h"
#include "core/image/format.h"
#include "core/text/utf8.h"
#include "core/train/dataset_formats.h"
#include "core/train/dataset_json.h"
#include "core/train/dataset_pictures.h"
#include "core/train/dataset_tar.h"
#include "core/weights/json_file.h"

namespace vitrine::dataset {
namespace {

constexpr std::size_t kHead = 4096;
constexpr std::uint64_t kMembersLookedAt = 16;

std::string head_of(const Path& path) {
    const ReadOnlyFile file(path);
    std::string head(kHead, '\0');
    head.resize(read_at(file, 0, head));
    return head;
}

// Few control characters, as a stray one does not make a caption a program, and no zero byte but at the end, where a
// copy that broke off may have left them.
bool is_plain_text(std::string_view head) {
    if (const std::size_t last = head.find_last_not_of('\0'); last != head.npos) head = head.substr(0, last + 1);
    const auto controls = std::count_if(head.begin(), head.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 && (byte < '\t' || byte > '\r');
    });
    return head.find('\0') == head.npos && static_cast<std::size_t>(controls) * 50 <= head.size();
}

std::vector<Path> tars_in(const Path& folder) {
    std::error_code error;
    std::filesystem::directory_iterator entries(folder, error);
    std::vector<Path> tars;
    for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
        const std::string name = entries->path().filename().string();
        if (is_tar_name(name) && !is_junk(name)) tars.push_back(entries->path());
    }
    if (error) {
        throw FileError({.name = {},
                         .where = folder.string(),
                         .expected = "a folder that can be read",
                         .found = "\"" + error.message() + "\"",
                         .advice = {}});
    }
    std::sort(tars.begin(), tars.end());
    return tars;
}

std::string line_of(const TextFile& file, const Line& line) {
    std::string text = file.read(line.at, std::min<std::uint64_t>(line.length, kHead));
    return text.erase(text.find_last_not_of(" \r\t") + 1);
}

bool is_picture(const picture::Format& format) {
    using enum picture::Kind;
    return format.kind == jpeg || format.kind == png || format.kind == gif || format.kind == webp ||
           format.kind == tiff || format.kind == heif || format.kind == bitmap;
}

// What an object that fills the file, or stands on its first line, is the beginning of.
DatasetFormat detect_object(const TextFile& file, const Path& path) {
    JsonScanner scanner(file);
    bool annotations = false;  // or images: a list under the key that COCO has
    bool row = false;          // a key that a row has
    bool entries = false;      // nothing but objects or texts under names
    std::uint64_t count = 0;
    const bool whole = scanner.members([&](const JsonScanner::Value& key) {
        const std::string name = file.read(key.at, std::min<std::uint64_t>(key.length, 64));
        const char first = scanner.peek();
        const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
            return std::find(names.begin(), names.end(), name) != names.end();
        };
        annotations = annotations || (first == '[' && is_one_of({"\"annotations\"", "\"images\""}));
        row = row || (first != '{' && is_one_of({"\"image\"", "\"file_name\"", "\"file\"", "\"text\"", "\"caption\"",
                                                 "\"conversations\"", "\"messages\""}));
        entries = entries || (name != "\"info\"" && (first == '{' || first == '"'));
        scanner.value();
        return !annotations && ++count < kMembersLookedAt;
    });
    if (annotations) return DatasetFormat::coco;
    if (row || (whole && scanner.peek() == '{')) return DatasetFormat::jsonl;
    if (entries) return DatasetFormat::kohya;
    throw ConfigError({.name = {},
                       .where = path.string(),
                       .expected = "COCO captions, kohya metadata or rows of JSON",
                       .found = "an object with other keys: " + looks_like(path),
                       .advice = "Name the format if you know it."});
}

DatasetFormat detect_text(const Path& path) {
    const TextFile file(path);
    const std::string ending = split_ending(path.filename().string()).second;
    JsonScanner scanner(file);
    const char first = scanner.peek();
    if (first == '[') return DatasetFormat::llava;
    if (ending == "jsonl" || ending == "ndjson") return DatasetFormat::jsonl;
    if (ending == "tsv") return DatasetFormat::cc3m;
    if (first == '{') return detect_object(file, path);

    LineReader lines(file);
    std::size_t count = 0;
    std::size_t tables = 0;
    std::size_t tars = 0;
    for (Line line; count < kMembersLookedAt && lines.next(line); ++count) {
        const std::string text = line_of(file, line);
        tables += text.find('\t') != text.npos ? 1 : 0;
        tars += is_tar_name(text) ? 1 : 0;
    }
    if (count > 0 && tars == count) return DatasetFormat::webdataset;
    if (2 * tables > count) return DatasetFormat::cc3m;
    throw ConfigError(
        {.name = {},
         .where = path.string(),
         .expected = "a data set: JSON, JSONL, TSV, tar or a folder",
         .found = looks_like(path),
         .advice = count == 0 ? "The file holds nothing: download it again." : "Name the format if you know it."});
}

}  // namespace

std::string looks_like(const Path& path) {
    if (is_folder(path)) return "a folder";
    const std::string head = head_of(path);
    if (head.empty()) return "an empty file";
    if (is_tar(path)) return "a tar";
    const picture::Format format = picture::recognise(std::as_bytes(std::span(head)));
    const std::string text = without_mark(head);
    if (is_plain_text(text)) {
        if (format.kind == picture::Kind::lfs_pointer) return "a Git LFS pointer";
        std::string buffer;
        return "text that begins with \"" + shown_name(utf8::repaired(std::string_view(text).substr(0, 60), buffer)) +
               "\"";
    }
    if (format.kind != picture::Kind::unknown) return "a file of the type " + std::string(format.name);
    if (head.starts_with("PAR1")) return "a Parquet file";
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string bytes = "bytes";
    for (const char c : head.substr(0, 8)) {
        const auto byte = static_cast<unsigned char>(c);
        bytes.append(1, ' ').append(1, digits[byte >> 4U]).append(1, digits[byte & 0xFU]);
    }
    return bytes;
}

bool is_folder(const Path& path) {
    std::error_code unreadable;
    return is_directory(path, unreadable);
}

bool is_tar_name(const std::string& name) {
    return split_ending(name).second == "tar";
}

bool is_tar(const Path& path) {
    const ReadOnlyFile file(path);
    TarBlock block{};
    return read_at(file, 0, block) == block.size() && is_tar_header(block);
}

std::vector<Path> tars_of(const Path& path) {
    if (is_folder(path)) return tars_in(path);
    if (is_tar(path)) return {path};
    std::vector<Path> tars;
    const TextFile list(path);
    LineReader lines(list);
    for (Line line; lines.next(line);) {
        const std::string name = line_of(list, line);
        if (is_tar_name(name)) tars.push_back(path.parent_path() / name);
    }
    return tars;
}

std::optional<DatasetFormat> format_from_name(std::string_view name) {
    for (const auto format : {DatasetFormat::llava, DatasetFormat::coco, DatasetFormat::cc3m, DatasetFormat::sidecars,
                              DatasetFormat::jsonl, DatasetFormat::kohya, DatasetFormat::webdataset}) {
        if (name_of(format) == name) return format;
    }
    return {};
}

DatasetFormat detect_format(const Path& path) {
    if (is_folder(path)) {
        std::error_code missing;
        if (!tars_in(path).empty()) return DatasetFormat::webdataset;
        return exists(path / "metadata.jsonl", missing) ? DatasetFormat::jsonl : DatasetFormat::sidecars;
    }
    const std::string head = head_of(path);
    if (is_tar(path)) return DatasetFormat::webdataset;
    const picture::Format seen = picture::recognise(std::as_bytes(std::span(head)));
    const bool pointer = seen.kind == picture::Kind::lfs_pointer;
    const bool page = lower(head.substr(0, 14)) == "<!doctype html" || lower(head.substr(0, 5)) == "<html";
    if (!head.empty() && !pointer && !page && is_plain_text(without_mark(head))) return detect_text(path);
    throw ConfigError({.name = {},
                       .where = path.string(),
                       .expected = "a data set: JSON, JSONL, TSV, tar or a folder",
                       .found = looks_like(path),
                       .advice = head.empty() ? "Download it again."
                                 : pointer    ? "Fetch the content it stands for: git lfs pull."
                                 : page       ? "The download gave a page instead of the file; fetch it again."
                                 : is_picture(seen)
                                     ? "To train on pictures, name the folder that holds them and their captions."
                                     : std::string(seen.advice)});
}

}  // namespace vitrine::dataset
