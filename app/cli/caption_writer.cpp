#include "app/cli/caption_writer.h"

#include "app/cli/common.h"
#include "core/weights/file.h"

#include <algorithm>
#include <fstream>

namespace vitrine::cli {
namespace fs = std::filesystem;

namespace {

// A field of a CSV line. One that a spreadsheet would run as a formula gets an apostrophe in front.
std::string csv_field(std::string text) {
    if (!text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos) text.insert(0, "'");
    std::string quoted = "\"";
    for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
    return quoted + '"';
}

std::string first_csv_field(const std::string& line) {
    if (!line.starts_with('"')) return line.substr(0, line.find(','));
    std::string field;
    for (std::size_t i = 1; i < line.size(); ++i) {
        if (line[i] == '"' && (i + 1 == line.size() || line[++i] != '"')) break;
        field += line[i];
    }
    return field.starts_with("'") ? field.substr(1) : field;
}

std::string name_in_file(const std::string& line, CaptionFormat format) {
    if (format == CaptionFormat::csv) return first_csv_field(line);
    const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("caption")) return {};
    const auto file = json.find("file");
    return file != json.end() && file->is_string() ? file->get<std::string>() : std::string();
}

}  // namespace

CaptionWriter::CaptionWriter(CaptionFormat format, fs::path file, bool overwrite)
    : format_(format), file_(std::move(file)), overwrite_(overwrite) {
    if (format_ != CaptionFormat::jsonl && format_ != CaptionFormat::csv) return;
    std::ifstream stream(file_, std::ios::binary);
    bool ends_with_newline = true;
    for (std::string line; std::getline(stream, line);) {
        in_file_[name_in_file(line, format_)] = true;
        ends_with_newline = !stream.eof();
    }
    if (!ends_with_newline) append("");  // the line before was cut; ours start on a new one
    if (format_ == CaptionFormat::csv && in_file_.empty()) append("file,caption,finish,prompt,model");
}

bool CaptionWriter::has_caption(const fs::path& picture) const {
    if (format_ == CaptionFormat::none) return false;
    if (format_ == CaptionFormat::txt || format_ == CaptionFormat::caption) return fs::exists(sidecar(picture));
    return in_file_.contains(picture.string());
}

void CaptionWriter::claim(const fs::path& picture) {
    if (format_ != CaptionFormat::txt && format_ != CaptionFormat::caption) return;
    const fs::path target = sidecar(picture);
    const auto [entry, first] = claimed_.emplace(target, picture);
    if (!first && entry->second != picture) {
        throw FileError(
            {.name = "caption",
             .where = target.string(),
             .expected = "a sidecar of its own for each picture",
             .found = entry->second.filename().string() + " and " + picture.filename().string() + " share it",
             .advice = "Rename one of them, or write jsonl or csv."});
    }
    if (!overwrite_ && fs::exists(target)) {
        throw FileError({.name = "caption",
                         .where = target.string(),
                         .expected = "no caption yet",
                         .found = "one that may be edited by hand",
                         .advice = "Use --only-missing to leave such pictures out, or --overwrite to replace it."});
    }
}

void CaptionWriter::write(const fs::path& picture, const GenerationResult& result, const std::string& prompt,
                          const std::string& model) {
    switch (format_) {
        case CaptionFormat::none: return;
        case CaptionFormat::txt:
        case CaptionFormat::caption: {
            AtomicFile file(sidecar(picture));
            file.write(result.text + "\n");
            file.commit();
            return;
        }
        case CaptionFormat::jsonl: {
            const Json json{{"file", picture.string()},
                            {"caption", result.text},
                            {"finish", name_of(result.finish)},
                            {"prompt", prompt},
                            {"model", model}};
            append(json.dump(-1, ' ', false, Json::error_handler_t::replace));
            return;
        }
        case CaptionFormat::csv:
            append(csv_field(picture.string()) + ',' + csv_field(result.text) + ',' +
                   std::string(name_of(result.finish)) + ',' + csv_field(prompt) + ',' + csv_field(model));
            return;
    }
}

fs::path CaptionWriter::sidecar(const fs::path& picture) const {
    return fs::path(picture).replace_extension(format_ == CaptionFormat::txt ? ".txt" : ".caption");
}

void CaptionWriter::append(const std::string& line) const {
    std::ofstream stream(file_, std::ios::binary | std::ios::app);
    stream << line << '\n';
    if (!stream.flush()) {
        throw FileError({.name = "captions",
                         .where = file_.string(),
                         .expected = "to be writable",
                         .found = "an error while writing",
                         .advice = "The captions written before it are safe."});
    }
}

}  // namespace vitrine::cli
