#include <nlohmann/json.hpp>

#include "core/train/dataset_file_format.h"
#include "core/train/dataset_formats.h"
#include "core/train/dataset_json.h"

namespace vitrine::dataset {
namespace {

RawRow row_of(std::string text, const PictureFolders& folders) {
    bool mended = false;
    RawRow row = row_from_json(parse_row(std::move(text), mended));
    if (mended) row.notes.push_back(note::windows_1252);
    row.picture = folders.key_of(row.picture);
    return row;
}

// [{...}, {...}]: the elements of one array.
class Llava final : public TextFileFormat {
public:
    Llava(const Path& path, const Path& pictures) : TextFileFormat(path, pictures, "row") {}

    void scan(Collector& collector) override {
        collector.expect(file().size());
        JsonScanner scanner(file());
        if (scanner.peek() != '[') return;
        Row row;
        const bool whole = scanner.elements([&](const JsonScanner::Value& value) {
            row.at = value.at;
            row.length = row_length(value.length);
            ++row.number;
            return collector.take(row, scanner.position());
        });
        ++row.number;
        if (whole && collector.go_on(scanner.position()) && scanner.peek() != 0) {
            collector.skip(reason::broken_row, place(row) + ": more text behind the list, at " + scanner.place());
        }
        if (!whole) collector.skip(reason::cut, place(row) + ": the text ends at " + scanner.place());
    }

    RawRow read(const Row& row) const override { return row_of(read_row(file(), row.at, row.length), folders()); }
};

// {...} LF {...} LF: one object a line.
class Jsonl final : public TextFileFormat {
public:
    Jsonl(const Path& path, const Path& pictures) : TextFileFormat(path, pictures, "line") {}

    void scan(Collector& collector) override {
        collector.expect(file().size());
        LineReader lines(file());
        for (Line line; lines.next(line);) {
            const Row row{
                .at = line.at, .length = row_length(line.length), .number = static_cast<std::uint32_t>(line.number)};
            if (!collector.take(row, line.position)) return;
        }
    }

    RawRow read(const Row& row) const override { return row_of(read_row(file(), row.at, row.length), folders()); }
};

}  // namespace

Format open_llava(const Path& path, const Path& pictures) {
    return std::make_unique<Llava>(path, pictures);
}

Format open_jsonl(const Path& path, const Path& pictures) {
    return std::make_unique<Jsonl>(is_folder(path) ? path / "metadata.jsonl" : path, pictures);
}

}  // namespace vitrine::dataset
