#include "core/captions/table.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/captions/csv.h"
#include "core/error.h"
#include "core/text/utf8.h"

namespace vitrine::captions {
namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kWriteSize = std::size_t{1} << 16;

std::string text_of(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A record as named fields, in the order that a new file's columns have.
Json fields_of(const Record& record) {
    const Provenance& from = record.provenance;
    return Json::object({{"file", record.file},
                         {"caption", record.caption},
                         {"finish", from.finish},
                         {"prompt", from.prompt},
                         {"model", from.model},
                         {"seed", from.seed},
                         {"time", from.time},
                         {"edited", from.edited}});
}

std::vector<std::string> csv_columns() {
    std::vector<std::string> names;
    const Json fields = fields_of({});
    for (const auto& field : fields.items()) names.push_back(field.key());
    return names;
}

std::string csv_text(const Record& record, const std::vector<std::string>& columns) {
    const Json fields = fields_of(record);
    std::vector<std::string> row;
    for (const std::string& column : columns) {
        const auto field = fields.find(column);
        const bool known = field != fields.end();
        row.push_back(known && field->is_string() ? field->get<std::string>() : known ? field->dump() : "");
    }
    return csv_row(row);
}

std::string jsonl_text(const Record& record) {
    return text_of(fields_of(record)) + '\n';
}

// kohya's tools look for a stem in the folder of pictures, and for a whole path as it is. So the ending goes where
// nothing else answers to the stem.
std::string kohya_key(const fs::path& picture, const std::string& name) {
    constexpr std::array<std::string_view, 8> added{".jpg", ".jpeg", ".png", ".webp", ".JPG", ".JPEG", ".PNG", ".WEBP"};
    constexpr std::array<std::string_view, 5> others{"", ".bmp", ".gif", ".tif", ".avif"};
    const std::string ending = picture.extension().string();
    if (std::find(added.begin(), added.end(), ending) == added.end()) return name;
    const auto is_taken = [&](std::string_view other) {
        std::error_code absent;
        return other != ending && fs::exists(fs::path(picture).replace_extension().concat(other), absent);
    };
    const bool taken =
        std::any_of(added.begin(), added.end(), is_taken) || std::any_of(others.begin(), others.end(), is_taken);
    return taken ? name : name.substr(0, name.size() - ending.size());
}

bool is_utf8(const std::string& text) {
    std::string buffer;
    return utf8::repaired(text, buffer).data() == text.data();
}

fs::path whole(const fs::path& path) {
    return fs::absolute(path).lexically_normal();
}

}  // namespace

std::string_view name_of(Format format) {
    constexpr std::array<std::string_view, 4> names{"jsonl", "csv", "kohya", "llava"};
    return names[static_cast<std::size_t>(format)];
}

std::string_view ending_of(Format format) {
    constexpr std::array<std::string_view, 4> endings{".jsonl", ".csv", ".json", ".json"};
    return endings[static_cast<std::size_t>(format)];
}

Log::Log(Format format, fs::path file) : format_(format), path_(std::move(file)), columns_(csv_columns()) {
    std::error_code absent;
    const std::string text = fs::exists(path_, absent) ? ReadOnlyFile(path_).read_all() : std::string();
    if (format_ == Format::csv) {
        read_csv(text);
    } else {
        read_jsonl(text);
    }
}

void Log::read_csv(std::string_view text) {
    const CsvTable table = parse_csv(text);
    if (table.open_quote) {
        write("\"\n");
    } else if (!text.empty() && text.back() != '\n') {
        write("\n");
    }
    if (table.rows.empty()) return write(csv_row(columns_));
    columns_ = table.rows.front();
    const auto place = std::find(columns_.begin(), columns_.end(), "file") - columns_.begin();
    for (auto row = table.rows.begin() + 1; row != table.rows.end(); ++row) {
        if (place < std::ssize(*row)) files_.insert((*row)[static_cast<std::size_t>(place)]);
    }
}

void Log::read_jsonl(std::string_view text) {
    if (!text.empty() && text.back() != '\n') write("\n");
    for (std::size_t at = 0; at < text.size();) {
        const std::string_view line = text.substr(at, text.find('\n', at) - at);
        const auto row = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
        if (row.is_object() && row.contains("caption") && row.contains("file") && row["file"].is_string())
            files_.insert(row["file"].get<std::string>());
        at += line.size() + 1;
    }
}

void Log::append(const Record& record) {
    write(format_ == Format::csv ? csv_text(record, columns_) : jsonl_text(record));
    files_.insert(record.file);
}

void Log::write(std::string_view text) const {
    std::ofstream stream(path_, std::ios::binary | std::ios::app);
    stream << text;
    if (!stream.flush()) {
        throw FileError({.name = "captions",
                         .where = path_.string(),
                         .expected = "to be writable",
                         .found = "an error while writing",
                         .advice = "The captions written before it are safe."});
    }
}

Export::Export(Format format, const fs::path& target)
    : format_(format), folder_(whole(target).parent_path()), file_(whole(target)) {
    if (format_ == Format::csv) write(csv_row(csv_columns()));
}

std::optional<std::string> Export::add(const fs::path& picture, const std::string& caption,
                                       const Provenance& provenance) {
    const fs::path path = whole(picture);
    const fs::path relative = path.lexically_relative(folder_);
    const bool below = !relative.empty() && *relative.begin() != "..";
    const Record record{(below ? relative : path).string(), tidy_caption(caption), provenance};
    if (record.caption.empty()) return "no caption";
    if (!is_utf8(record.file)) return "the file name is not UTF-8";
    if (format_ != Format::csv && record.file.find('\\') != record.file.npos)
        return "readers take the backslash in the file name for a folder";
    write(row_of(path, record));
    ++count_;
    return {};
}

std::string Export::row_of(const fs::path& picture, const Record& record) const {
    const bool first = count_ == 0;
    switch (format_) {
        case Format::jsonl: break;
        case Format::csv: return csv_text(record, csv_columns());
        case Format::kohya:
            return (first ? "{\n" : ",\n") + text_of(kohya_key(picture, record.file)) + ": " +
                   text_of(Json::object({{"caption", record.caption}}));
        case Format::llava: {
            const std::string& prompt = record.provenance.prompt;
            const std::string question = "<image>\n" + (prompt.empty() ? "Describe this picture." : prompt);
            const Json turns = Json::array({Json::object({{"from", "human"}, {"value", question}}),
                                            Json::object({{"from", "gpt"}, {"value", record.caption}})});
            return (first ? "[\n" : ",\n") +
                   text_of(Json::object({{"id", record.file}, {"image", record.file}, {"conversations", turns}}));
        }
    }
    return jsonl_text(record);
}

void Export::write(std::string_view text) {
    waiting_ += text;
    if (waiting_.size() < kWriteSize) return;
    file_.write(waiting_);
    waiting_.clear();
}

void Export::commit() {
    if (format_ == Format::kohya) waiting_ += count_ == 0 ? "{}\n" : "\n}\n";
    if (format_ == Format::llava) waiting_ += count_ == 0 ? "[]\n" : "\n]\n";
    file_.write(waiting_);
    waiting_.clear();
    file_.commit();
}

}  // namespace vitrine::captions
