#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "core/train/dataset_file_format.h"
#include "core/train/dataset_formats.h"
#include "core/train/dataset_json.h"

namespace vitrine::dataset {
namespace {

constexpr std::size_t kLinesLookedAt = 200;

// Heading words, the likelier first: a table with addresses and files means its files.
constexpr std::array<std::string_view, 11> kPictureWords{
    "file", "filepath", "file_name", "filename", "path", "image_path", "image", "picture", "img", "image_url", "url"};
constexpr std::array<std::string_view, 6> kCaptionWords{"caption", "text", "title", "sentence", "description", "alt"};

std::vector<std::string> fields_of(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    std::vector<std::string> fields;
    for (std::size_t at = 0; at <= line.size();) {
        const std::size_t end = std::min(line.find('\t', at), line.size());
        fields.emplace_back(line.substr(at, end - at));
        at = end + 1;
    }
    return fields;
}

// Spreadsheets and pandas put a field with quotes into quotes and double those inside.
void unquote(std::string& field) {
    if (field.size() < 4 || field.front() != '"' || field.back() != '"') return;
    std::string plain;
    bool doubled = false;
    for (std::size_t at = 1; at + 1 < field.size(); ++at) {
        if (field[at] == '"') {
            if (at + 2 >= field.size() || field[at + 1] != '"') return;
            doubled = true;
            ++at;
        }
        plain += field[at];
    }
    if (doubled) field = std::move(plain);
}

std::optional<std::size_t> column_of(const std::vector<std::string>& heading, std::span<const std::string_view> words) {
    for (const std::string_view word : words) {
        for (std::size_t column = 0; column < heading.size(); ++column) {
            if (lower(heading[column]) == word) return column;
        }
    }
    return {};
}

// Captions and names of pictures in columns with tabs between.
class Cc3m final : public TextFileFormat {
public:
    Cc3m(const Path& path, const Path& pictures) : TextFileFormat(path, pictures, "line") {}

    void scan(Collector& collector) override {
        collector.expect(file().size());
        find_columns();
        LineReader lines(file());
        for (Line line; lines.next(line);) {
            if (line.number == heading_) continue;
            const Row row{
                .at = line.at, .length = row_length(line.length), .number = static_cast<std::uint32_t>(line.number)};
            if (!collector.take(row, line.position)) return;
        }
    }

    RawRow read(const Row& row) const override {
        std::string text = read_row(file(), row.at, row.length);
        const bool mended = mend_utf8(text);
        std::vector<std::string> fields = fields_of(text);
        if (fields.size() <= std::max(picture_, caption_)) {
            throw Skip{reason::broken_row, std::to_string(fields.size()) + " of " +
                                               std::to_string(std::max(picture_, caption_) + 1) + " columns"};
        }
        unquote(fields[caption_]);
        unquote(fields[picture_]);
        RawRow result{.picture = folders().key_of(fields[picture_]), .bare = true};
        result.turns.push_back({Role::assistant, std::move(fields[caption_]), {}, {}});
        if (mended) result.notes.push_back(note::windows_1252);
        return result;
    }

private:
    // By the heading where there is one; else the pictures are the column with the most names of pictures.
    void find_columns() {
        LineReader lines(file());
        std::vector<std::size_t> pictures;  // how many in each column
        Line line;
        for (std::size_t count = 0; count < kLinesLookedAt && lines.next(line); ++count) {
            if (line.length > kLongestRow) continue;
            const std::vector<std::string> fields = fields_of(file().read(line.at, line.length));
            if (count == 0) {
                const auto picture = column_of(fields, kPictureWords);
                const auto caption = column_of(fields, kCaptionWords);
                if (picture && caption) {
                    picture_ = *picture;
                    caption_ = *caption;
                    heading_ = line.number;
                    return;
                }
            }
            pictures.resize(std::max(pictures.size(), fields.size()));
            for (std::size_t i = 0; i < fields.size(); ++i) {
                if (is_remote(fields[i]) || is_picture_name(fields[i])) ++pictures[i];
            }
        }
        const auto most = std::max_element(pictures.begin(), pictures.end());
        if (most == pictures.end() || *most == 0) return;
        picture_ = static_cast<std::size_t>(most - pictures.begin());
        caption_ = picture_ == 0 ? 1 : 0;
    }

    std::size_t caption_ = 0;
    std::size_t picture_ = 1;
    std::uint64_t heading_ = 0;  // its line; 0: none
};

}  // namespace

Format open_cc3m(const Path& path, const Path& pictures) {
    return std::make_unique<Cc3m>(path, pictures);
}

}  // namespace vitrine::dataset
