#include <array>
#include <nlohmann/json.hpp>

#include "core/train/dataset_file_format.h"
#include "core/train/dataset_formats.h"
#include "core/train/dataset_json.h"

namespace vitrine::dataset {
namespace {

using nlohmann::json;

// What may have been left off a key, the likelier first. A row remembers which by its number, so the order stays.
constexpr std::array<std::string_view, 13> kEndings{"",      ".jpg",  ".png", ".webp", ".jpeg", ".JPG", ".PNG",
                                                    ".WEBP", ".JPEG", ".bmp", ".gif",  ".tif",  ".avif"};

// {"stem or path": {"caption": ..., "tags": ...}, ...}
class Kohya final : public TextFileFormat {
public:
    Kohya(const Path& path, const Path& pictures) : TextFileFormat(path, pictures, "entry") {}

    void scan(Collector& collector) override {
        collector.expect(file().size());
        JsonScanner scanner(file());
        if (scanner.peek() != '{') return;
        Row row;
        bool more = true;
        const bool whole = scanner.members([&](const JsonScanner::Value& key) {
            const JsonScanner::Value value = scanner.value();
            if (!value.whole) return true;
            ++row.number;
            row.at = key.at;
            row.length = row_length(scanner.position() - key.at);
            if (!find_picture(row)) {
                collector.skip(reason::several_pictures, place(row) + ": one name, pictures of several types");
                return more = collector.go_on(scanner.position());
            }
            return more = collector.take(row, scanner.position());
        });
        ++row.number;
        if (!whole && more) collector.skip(reason::cut, place(row) + ": the text ends at " + scanner.place());
    }

    RawRow read(const Row& row) const override {
        bool mended = false;
        const json object = parse_row('{' + read_row(file(), row.at, row.length) + '}', mended);
        const auto entry = object.begin();
        RawRow result{.picture = folders().key_of(entry.key()), .bare = true};
        result.picture += kEndings[row.extra];
        result.turns.push_back({Role::assistant, caption_of(*entry), {}, {}});
        if (mended) result.notes.push_back(note::windows_1252);
        return result;
    }

private:
    static std::string caption_of(const json& value) {
        if (value.is_string()) return value.get<std::string>();
        if (!value.is_object()) throw Skip{reason::wrong_type, "neither an object nor a text"};
        if (!value.contains("caption") && !value.contains("tags")) throw Skip{reason::missing_caption, {}};
        std::string caption = text_of(value, "caption");
        return caption.empty() ? text_of(value, "tags") : caption;
    }

    // Sets the ending that leads to a picture. False when several do.
    bool find_picture(Row& row) const {
        row.extra = 0;
        try {
            const std::string key = read(row).picture;
            if (folders().contains(key)) return true;
            for (std::uint32_t ending = 1; ending < kEndings.size(); ++ending) {
                if (!folders().contains(key + std::string(kEndings[ending]))) continue;
                if (row.extra != 0) return false;
                row.extra = ending;
            }
        } catch (const Skip&) {
            // The collector meets the fault again, and lists it.
        }
        return true;
    }
};

}  // namespace

Format open_kohya(const Path& path, const Path& pictures) {
    return std::make_unique<Kohya>(path, pictures);
}

}  // namespace vitrine::dataset
