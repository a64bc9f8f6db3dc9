#pragma once

#include "core/captions/sidecar.h"
#include "core/captions/table.h"
#include "core/types.h"

#include <filesystem>
#include <optional>
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
               const std::string& model, std::uint64_t seed);

private:
    std::optional<captions::SidecarKind> sidecar_;
    std::optional<captions::Log> log_;
    captions::SidecarClaims claims_;
    bool overwrite_;
};

}  // namespace vitrine::cli
