#include "app/cli/caption_writer.h"

#include "core/captions/record.h"
#include "core/error.h"

namespace vitrine::cli {
namespace fs = std::filesystem;

CaptionWriter::CaptionWriter(CaptionFormat format, fs::path file, bool overwrite) : overwrite_(overwrite) {
    switch (format) {
        case CaptionFormat::none: break;
        case CaptionFormat::txt: sidecar_ = captions::SidecarKind::txt; break;
        case CaptionFormat::caption: sidecar_ = captions::SidecarKind::caption; break;
        case CaptionFormat::jsonl: log_.emplace(captions::Format::jsonl, std::move(file)); break;
        case CaptionFormat::csv: log_.emplace(captions::Format::csv, std::move(file)); break;
    }
}

bool CaptionWriter::has_caption(const fs::path& picture) const {
    if (sidecar_) return fs::exists(captions::sidecar_path(picture, *sidecar_));
    return log_ && log_->contains(picture.string());
}

void CaptionWriter::claim(const fs::path& picture) {
    if (!sidecar_) return;
    const fs::path target = captions::sidecar_path(picture, *sidecar_);
    claims_.claim(picture, target);
    if (!overwrite_ && fs::exists(target)) {
        throw FileError({.name = "caption",
                         .where = target.string(),
                         .expected = "no caption yet",
                         .found = "one that may be edited by hand",
                         .advice = "Use --only-missing to leave such pictures out, or --overwrite to replace it."});
    }
}

void CaptionWriter::write(const fs::path& picture, const GenerationResult& result, const std::string& prompt,
                          const std::string& model, std::uint64_t seed) {
    if (sidecar_)
        captions::write_sidecar(captions::sidecar_path(picture, *sidecar_), result.text, captions::TextStyle{});
    if (!log_) return;
    log_->append({.file = picture.string(),
                  .caption = result.text,
                  .provenance = {.model = model,
                                 .prompt = prompt,
                                 .seed = seed,
                                 .time = captions::utc_time(),
                                 .finish = std::string(name_of(result.finish))}});
}

}  // namespace vitrine::cli
