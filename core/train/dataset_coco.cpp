#include <nlohmann/json.hpp>
#include <unordered_map>

#include "core/train/dataset_file_format.h"
#include "core/train/dataset_formats.h"
#include "core/train/dataset_json.h"

namespace vitrine::dataset {
namespace {

using nlohmann::json;

// Where the pictures of captions_train2017.json may lie: beside it, or where COCO's archives unpack to.
std::vector<std::string> usual_folders(const Path& path) {
    const std::string stem = path.stem().string();
    const std::string split = stem.substr(stem.rfind('_') + 1);  // npos + 1 is 0
    return {"images", split, "../" + split, "../images", "../images/" + split};
}

// {"images": [{id, file_name}], "annotations": [{id, image_id, caption}]}, in any order; one row a caption.
class Coco final : public TextFileFormat {
public:
    Coco(const Path& path, const Path& pictures) : TextFileFormat(path, pictures, "annotation", usual_folders(path)) {}

    void scan(Collector& collector) override {
        collector.expect(2 * file().size());  // read twice, as the annotations may stand first
        bool more = true;
        Row row;
        const bool whole = each_element("images", [&](const JsonScanner::Value& value, std::uint64_t position) {
            ++row.number;
            row.at = value.at;
            row.length = row_length(value.length);
            try {
                add_image(row);
            } catch (const Skip& skip) {
                collector.skip(skip.reason.c_str(),
                               file().name() + " image " + std::to_string(row.number) + ": " + skip.detail);
            }
            return more = collector.go_on(position);
        });
        if (!more) return;

        row.number = 0;
        std::string end;
        each_element(
            "annotations",
            [&](const JsonScanner::Value& value, std::uint64_t position) {
                ++row.number;
                row.at = value.at;
                row.length = row_length(value.length);
                return more = collector.take(row, file().size() + position);
            },
            &end);
        ++row.number;
        if (!whole && more) collector.skip(reason::cut, place(row) + ": the text ends at " + end);
    }

    RawRow read(const Row& row) const override {
        bool mended = false;
        const json annotation = parse_row(read_row(file(), row.at, row.length), mended);
        if (!annotation.is_object()) throw Skip{reason::wrong_type, "the annotation is no object"};
        if (!annotation.contains("caption")) throw Skip{reason::missing_caption, {}};
        const std::string image = id_of(annotation, "image_id");
        const auto name = names_.find(image);
        if (name == names_.end()) throw Skip{reason::missing_picture, "no image has the id " + image};

        RawRow result{.identity = id_of(annotation, "id"), .picture = folders().key_of(name->second), .bare = true};
        result.turns.push_back({Role::assistant, text_of(annotation, "caption"), {}, {}});
        if (mended) result.notes.push_back(note::windows_1252);
        return result;
    }

private:
    // False when the text ends before its object does; `end` then tells where.
    template <class Visit>
    bool each_element(const char* list, Visit visit, std::string* end = nullptr) const {
        JsonScanner scanner(file());
        if (scanner.peek() != '{') return true;
        const bool whole = scanner.members([&](const JsonScanner::Value& key) {
            if (scanner.peek() != '[' || file().read(key.at, key.length) != '"' + std::string(list) + '"') {
                scanner.value();
                return true;
            }
            bool more = true;
            scanner.elements([&](const JsonScanner::Value& value) { return more = visit(value, scanner.position()); });
            return more;
        });
        if (end != nullptr) *end = scanner.place();
        return whole;
    }

    void add_image(const Row& row) {
        bool mended = false;
        const json image = parse_row(read_row(file(), row.at, row.length), mended);
        if (!image.is_object()) throw Skip{reason::wrong_type, "the image is no object"};
        names_.try_emplace(id_of(image, "id"), text_of(image, "file_name"));
    }

    std::unordered_map<std::string, std::string> names_;  // id -> file name
};

}  // namespace

Format open_coco(const Path& path, const Path& pictures) {
    return std::make_unique<Coco>(path, pictures);
}

}  // namespace vitrine::dataset
