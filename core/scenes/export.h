#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <stop_token>
#include <string_view>

// Scenes as files, in the formats people keep training data in.
namespace vitrine::scenes {

enum class ExportFormat : std::uint8_t {
    llava,      // images/N.png and scenes.json: conversations of several turns
    jsonl,      // images/N.png and scenes.jsonl: caption, questions and everything known about the scene
    coco,       // images/N.png, captions.json, and instances.json with the boxes; the categories are the shapes
    cc3m,       // images/N.png and scenes.tsv: caption and file
    kohya,      // images/N.png and scenes.json: keyed by file, caption and tags
    sidecars,   // N.png with the caption in N.txt
    webdataset  // scenes-N.tar, a thousand scenes each: N.png, N.txt, and N.json with a line of jsonl
};
std::string_view name_of(ExportFormat format);
std::span<const std::string_view> export_format_names();
ExportFormat export_format_by_name(std::string_view name);  // OptionError

struct ExportOptions {
    std::uint64_t seed = 0;
    std::uint64_t count = 0;  // scenes 0 to count - 1
    int size = 128;           // width and height of the pictures
    std::size_t turns = 4;    // of each conversation, and questions of each scene
    ExportFormat format = ExportFormat::llava;
    std::filesystem::path folder;  // new or empty
};

// Makes the folder beside its place and gives it its name when all is written. False when stopped: then nothing is
// left. Throws OptionError, FileError.
bool export_scenes(const ExportOptions& options,
                   const std::function<void(std::uint64_t done, std::uint64_t total)>& progress = {},
                   std::stop_token stop = {});

}  // namespace vitrine::scenes
