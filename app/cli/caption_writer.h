#pragma once

#include "core/types.h"

#include <filesystem>
#include <map>
#include <string>

namespace vitrine::cli {

enum class CaptionFormat { none, txt, caption, jsonl, csv };

// Where captions go: a sidecar beside each picture (.txt, .caption), or one file of lines (.jsonl, .csv) that grows as
// captions come. Each caption is written at once and whole; a caption that is already there is never replaced unless
// told so.
class CaptionWriter {
public:
    CaptionWriter(CaptionFormat format, std::filesystem::path file, bool overwrite);

    bool has_caption(const std::filesystem::path& picture) const;
    // Throws FileError when a caption is there already, when two pictures would share one sidecar (a.jpg, a.png), or
    // when the file cannot be written. Call before the work of captioning.
    void claim(const std::filesystem::path& picture);
    void write(const std::filesystem::path& picture, const GenerationResult& result, const std::string& prompt,
               const std::string& model);

private:
    std::filesystem::path sidecar(const std::filesystem::path& picture) const;
    void append(const std::string& line) const;

    CaptionFormat format_;
    std::filesystem::path file_;
    bool overwrite_;
    std::map<std::filesystem::path, std::filesystem::path> claimed_;  // sidecar -> picture
    std::map<std::string, bool> in_file_;                             // pictures the file of lines holds already
};

}  // namespace vitrine::cli
