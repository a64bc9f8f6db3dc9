#pragma once

#include "core/train/dataset_rows.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

// The formats, each in a file of its own, and how they are told apart.
namespace vitrine::dataset {

using Path = std::filesystem::path;
using Format = std::unique_ptr<RowFormat>;

// Each throws FileError when `path` cannot be opened; `pictures` is empty where nobody named a folder.
Format open_llava(const Path& path, const Path& pictures);
Format open_coco(const Path& path, const Path& pictures);
Format open_cc3m(const Path& path, const Path& pictures);
Format open_sidecars(const Path& path, const Path& pictures);
Format open_jsonl(const Path& path, const Path& pictures);
Format open_kohya(const Path& path, const Path& pictures);
Format open_webdataset(const Path& path);  // its pictures are inside

// Told from the content; the name only helps where text could be several things. Throws FileError, or ConfigError that
// says what the file looks like.
DatasetFormat detect_format(const Path& path);
std::optional<DatasetFormat> format_from_name(std::string_view name);
std::string looks_like(const Path& path);  // "a gzip file", "text that begins with \"...\"", "an empty file"

bool is_folder(const Path& path);
bool is_tar_name(const std::string& name);
bool is_tar(const Path& path);                // by its first header
std::vector<Path> tars_of(const Path& path);  // itself, those of a folder in byte order, those a text file lists

}  // namespace vitrine::dataset
