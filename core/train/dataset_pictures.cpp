#include "core/train/dataset_pictures.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <system_error>

#include "core/error.h"
#include "core/train/dataset_rows.h"

namespace vitrine::dataset {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 18> kEndings{"avif", "bmp",  "gif", "heic", "heif", "jfif",
                                                    "jpe",  "jpeg", "jpg", "pbm",  "pgm",  "png",
                                                    "pnm",  "ppm",  "tif", "tiff", "webp", "dib"};

// The parts of a name without "." and with each ".." taken back; false where it leads above its start.
bool normalise(std::string& name) {
    std::vector<std::string_view> parts;
    for (std::size_t at = 0; at <= name.size();) {
        const std::size_t end = std::min(name.find('/', at), name.size());
        const std::string_view part = std::string_view(name).substr(at, end - at);
        at = end + 1;
        if (part.empty() || part == ".") continue;
        if (part != "..") {
            parts.push_back(part);
        } else if (parts.empty()) {
            return false;
        } else {
            parts.pop_back();
        }
    }
    std::string joined;
    for (const std::string_view part : parts) joined.append(joined.empty() ? "" : "/").append(part);
    name = std::move(joined);
    return true;
}

// Most names are plain already, and half a million of them are looked at.
bool is_plain(std::string_view name) {
    return name.front() != '/' && name.find("//") == name.npos && name.find("./") == name.npos &&
           name.find('\\') == name.npos && !name.ends_with("/..") && name != "." && name != "..";
}

struct FolderId {
    dev_t device;
    ino_t number;
    auto operator<=>(const FolderId&) const = default;
};

}  // namespace

std::string lower(std::string_view ascii) {
    std::string text(ascii);
    for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return text;
}

std::span<const std::string_view> picture_endings() {
    return kEndings;
}

bool is_picture_ending(std::string_view lowercase) {
    return std::find(kEndings.begin(), kEndings.end(), lowercase) != kEndings.end();
}

std::pair<std::string_view, std::string> split_ending(std::string_view name) {
    const std::size_t base = name.rfind('/') + 1;  // npos + 1 is 0
    const std::size_t dot = name.rfind('.');
    if (dot == name.npos || dot <= base) return {name, {}};
    return {name.substr(0, dot), lower(name.substr(dot + 1))};
}

bool is_picture_name(std::string_view name) {
    return is_picture_ending(split_ending(name).second);
}

bool is_remote(std::string_view name) {
    const std::string head = lower(name.substr(0, 11));
    return head.starts_with("http://") || head.starts_with("https://") || head.starts_with("ftp://") ||
           head.starts_with("s3://") || head.starts_with("data:image/");
}

bool is_junk(std::string_view name) {
    const std::string plain = lower(name);
    return plain.starts_with('.') || plain == "thumbs.db" || plain == "desktop.ini" || plain == "__macosx" ||
           plain == "@eadir";
}

std::string file_identity(const fs::path& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
        throw FileError({.name = {},
                         .where = path.string(),
                         .expected = "a picture",
                         .found = "\"" + std::generic_category().message(errno) + "\"",
                         .advice = {}});
    }
    std::error_code ignored;
    return fs::absolute(path, ignored).lexically_normal().string() + "|" + std::to_string(status.st_size) + "|" +
           std::to_string(status.st_mtim.tv_sec) + "." + std::to_string(status.st_mtim.tv_nsec);
}

PictureFolders::PictureFolders(std::vector<fs::path> roots) {
    for (const fs::path& root : roots) {
        std::string name = fs::absolute(root.empty() ? fs::path(".") : root).lexically_normal().string();
        if (!name.ends_with('/')) name += '/';
        if (std::find(roots_.begin(), roots_.end(), name) == roots_.end()) roots_.push_back(std::move(name));
    }
}

std::string PictureFolders::key_of(std::string_view name) const {
    if (is_remote(name)) throw Skip{reason::remote_picture, std::string(name.substr(0, 200))};
    std::string key(name);
    if (key.find('\0') != key.npos) throw Skip{reason::wrong_type, "a picture's name with a zero byte"};
    if (key.empty() || is_plain(key)) return key;

    const auto outside = [&] { return Skip{reason::outside, std::string(name)}; };
    std::replace(key.begin(), key.end(), '\\', '/');  // written on Windows
    const bool has_drive =
        key.size() > 2 && std::isalpha(static_cast<unsigned char>(key[0])) && key.substr(1, 2) == ":/";
    if (has_drive) throw outside();
    const bool absolute = key.starts_with('/');
    if (!normalise(key) || key.empty()) throw outside();
    if (!absolute) return key;
    key.insert(0, "/");
    for (const std::string& root : roots_) {
        if (key.starts_with(root)) return key.substr(root.size());
    }
    throw outside();
}

bool PictureFolders::contains(const std::string& key) const {
    struct stat status {};
    return std::any_of(roots_.begin(), roots_.end(), [&](const std::string& root) {
        return ::stat((root + key).c_str(), &status) == 0 && S_ISREG(status.st_mode);
    });
}

void PictureFolders::require(const std::string& key) const {
    for (const std::string& root : roots_) {
        struct stat status {};
        if (::stat((root + key).c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
        if (status.st_size == 0) throw Skip{reason::empty_picture, key};
        return;
    }
    throw Skip{reason::missing_picture, key};
}

fs::path PictureFolders::path_of(const std::string& key) const {
    for (const std::string& root : roots_) {
        struct stat status {};
        if (::stat((root + key).c_str(), &status) == 0 && S_ISREG(status.st_mode)) return root + key;
    }
    return roots_.front() + key;  // whoever opens it says that it is not there
}

FolderListing list_files(const fs::path& folder, const std::function<bool(std::uint64_t files)>& go_on) {
    FolderListing listing;
    std::set<FolderId> seen;
    std::vector<std::string> folders{""};  // names with a '/' at their end
    std::set<std::string> links;           // entered last: a folder is listed by its own name where it has one
    while (!folders.empty() || !links.empty()) {
        if (folders.empty()) folders.push_back(std::move(links.extract(links.begin()).value()));
        const std::string below = std::move(folders.back());
        folders.pop_back();
        if (!go_on(listing.files.size())) break;

        const fs::path path = folder / below;
        struct stat status {};
        if (::stat(path.c_str(), &status) == 0 && !seen.insert({status.st_dev, status.st_ino}).second) {
            listing.skipped.emplace_back(reason::seen_folder, below);
            continue;
        }
        std::error_code error;
        fs::directory_iterator entries(path, error);
        if (error && below.empty()) {
            throw FileError({.name = {},
                             .where = folder.string(),
                             .expected = "a folder that can be read",
                             .found = "\"" + error.message() + "\"",
                             .advice = {}});
        }
        for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
            const std::string name = entries->path().filename().string();
            if (is_junk(name)) continue;
            std::error_code unknown;  // a link to nothing is a file that turns out to be missing
            if (!entries->is_directory(unknown)) {
                listing.files.push_back(below + name);
            } else if (entries->is_symlink(unknown)) {
                links.insert(below + name + "/");
            } else {
                folders.push_back(below + name + "/");
            }
        }
        if (error) listing.skipped.emplace_back(reason::unreadable_folder, below + ": " + error.message());
    }
    std::sort(listing.files.begin(), listing.files.end());
    return listing;
}

}  // namespace vitrine::dataset
