#pragma once

#include "core/types.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Pictures as rows name them, and folders full of them.
namespace vitrine::dataset {

std::string lower(std::string_view ascii);
std::span<const std::string_view> picture_endings();  // "jpg", without their dots
bool is_picture_ending(std::string_view lowercase);
// The name up to the last dot of its last part, and what stands behind that dot in lower case.
std::pair<std::string_view, std::string> split_ending(std::string_view name);
bool is_picture_name(std::string_view name);
bool is_remote(std::string_view name);  // a URL or picture data in place of a file name
bool is_junk(std::string_view name);    // what systems leave behind: "._x.jpg", "Thumbs.db", "__MACOSX", ".git"
// All that tells a file from the one it is replaced by: absolute path, size, time of change. Throws FileError.
std::string file_identity(const std::filesystem::path& path);

// The folders in which a data set looks for its pictures, first to last. Keys are names below any of them.
class PictureFolders {
public:
    explicit PictureFolders(std::vector<std::filesystem::path> roots);

    // A name from a row, as a key: parts joined with '/', nothing that leads out. Looks at no file. Throws Skip for
    // URLs and for names outside the folders.
    std::string key_of(std::string_view name) const;
    bool contains(const std::string& key) const;
    void require(const std::string& key) const;  // throws Skip when it is missing or empty
    std::filesystem::path path_of(const std::string& key) const;

private:
    std::vector<std::string> roots_;
};

struct FolderListing {
    std::vector<std::string> files;                            // below the folder, parts joined with '/', in byte order
    std::vector<std::pair<const char*, std::string>> skipped;  // reason and place
};
// Files of a folder and of those below it, junk left out. Follows links, but enters each folder once. `go_on` is asked
// at each folder with the number of files so far; where it says no, the listing ends early. Throws FileError when the
// folder itself cannot be read.
FolderListing list_files(const std::filesystem::path& folder, const std::function<bool(std::uint64_t files)>& go_on);

}  // namespace vitrine::dataset
