#pragma once

#include "core/image/decode.h"
#include "core/train/dataset_pictures.h"
#include "core/train/dataset_rows.h"
#include "core/train/dataset_text.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace vitrine::dataset {

// Pictures that are files below folders: all formats but tars.
class PictureFileFormat : public RowFormat {
public:
    void require_picture(const std::string& key) const override { folders_.require(key); }
    Image picture(const std::string& key) const override { return decode_image_file(folders_.path_of(key)); }
    std::string picture_identity(const std::string& key) const override { return file_identity(folders_.path_of(key)); }

protected:
    explicit PictureFileFormat(std::vector<std::filesystem::path> roots) : folders_(std::move(roots)) {}
    const PictureFolders& folders() const { return folders_; }

private:
    PictureFolders folders_;
};

// And the rows are parts of one text file.
class TextFileFormat : public PictureFileFormat {
public:
    std::string where() const override { return path_.string(); }
    std::string place(const Row& row) const override {
        return file_.name() + " " + row_word_ + " " + std::to_string(row.number);
    }

protected:
    // Without a folder of pictures, names start from the file's own folder or from one of `more` below it.
    TextFileFormat(const std::filesystem::path& path, const std::filesystem::path& pictures, const char* row_word,
                   const std::vector<std::string>& more = {"images"})
        : PictureFileFormat(roots(path, pictures, more)), path_(path), file_(path), row_word_(row_word) {}

    const TextFile& file() const { return file_; }

private:
    static std::vector<std::filesystem::path> roots(const std::filesystem::path& path,
                                                    const std::filesystem::path& pictures,
                                                    const std::vector<std::string>& more) {
        if (!pictures.empty()) return {pictures};
        std::vector<std::filesystem::path> folders{path.parent_path()};
        for (const std::string& name : more) folders.push_back(path.parent_path() / name);
        return folders;
    }

    std::filesystem::path path_;
    TextFile file_;
    const char* row_word_;  // "row", "line"
};

}  // namespace vitrine::dataset
