#include "core/scenes/export.h"

#include "core/error.h"
#include "core/scenes/language.h"
#include "core/weights/file.h"

#include <nlohmann/json.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace vitrine::scenes {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::array<std::string_view, 7> kFormatNames{"llava", "jsonl",    "coco",      "cc3m",
                                                       "kohya", "sidecars", "webdataset"};
constexpr std::uint64_t kScenesPerTar = 1000;

[[noreturn]] void fail(const fs::path& path, const std::string& found) {
    throw FileError({.name = "file", .where = path.string(), .expected = "to be writable", .found = found});
}

class OutputFile {
public:
    explicit OutputFile(fs::path path) : path_(std::move(path)), stream_(path_, std::ios::binary) {}

    void write(std::string_view text) {
        if (!stream_.write(text.data(), static_cast<std::streamsize>(text.size())))
            fail(path_, "an error while writing");
    }
    void close() {
        stream_.close();
        if (!stream_) fail(path_, "an error while writing");
    }

private:
    fs::path path_;
    std::ofstream stream_;
};

void write_file(const fs::path& path, std::string_view text) {
    OutputFile file(path);
    file.write(text);
    file.close();
}

// Values one after the other between brackets, so that a million of them need no memory.
class JsonList {
public:
    JsonList(const fs::path& path, std::string_view open, std::string_view close) : file_(path), close_(close) {
        file_.write(open);
    }
    void add(const std::string& text) {
        file_.write(first_ ? "\n" : ",\n");
        file_.write(text);
        first_ = false;
    }
    void close() {
        file_.write(close_);
        file_.close();
    }

private:
    OutputFile file_;
    std::string_view close_;
    bool first_ = true;
};

std::string png(const Scene& scene, int size) {
    Image image = draw(scene, size, size);
    cv::Mat picture(size, size, CV_8UC3, image.rgb.data());
    cv::cvtColor(picture, picture, cv::COLOR_RGB2BGR);  // as OpenCV wants it
    std::vector<unsigned char> bytes;
    cv::imencode(".png", picture, bytes);
    return {bytes.begin(), bytes.end()};
}

std::string digits(std::uint64_t number, std::size_t width = 6) {
    const std::string text = std::to_string(number);
    return std::string(width - std::min(width, text.size()), '0') + text;
}

ordered_json box_of(const SceneObject& object, int size) {
    const PixelBox box = pixel_box(object, size, size);
    return {box.x, box.y, box.width, box.height};
}

std::vector<Question> questions_about(const Scene& scene, std::size_t count) {
    Random random(scene.seed, scene.index, Stream::words);
    return ask(scene, random, count);
}

// One scene after the other, in order.
class Writer {
public:
    virtual ~Writer() = default;
    virtual void add(const Scene& scene) = 0;
    virtual void finish() = 0;
};

// Pictures in images/ and a table beside it.
class TableWriter : public Writer {
public:
    explicit TableWriter(const ExportOptions& options, const fs::path& folder) : options_(options), folder_(folder) {
        fs::create_directories(folder / "images");
    }

protected:
    std::string write_picture(const Scene& scene) const {  // its name in the table
        const std::string name = "images/" + digits(scene.index) + ".png";
        write_file(folder_ / name, png(scene, options_.size));
        return name;
    }

    const ExportOptions& options_;
    fs::path folder_;
};

class LlavaWriter final : public TableWriter {
public:
    LlavaWriter(const ExportOptions& options, const fs::path& folder)
        : TableWriter(options, folder), list_(folder / "scenes.json", "[", "\n]\n") {}

    void add(const Scene& scene) override {
        ordered_json turns = ordered_json::array();
        Random random(scene.seed, scene.index, Stream::words);
        for (const Message& message : converse(scene, random, {.turns = options_.turns})) {
            const bool user = message.role == Role::user;
            const char* mark = turns.empty() ? "<image>\n" : "";
            turns.push_back({{"from", user ? "human" : "gpt"}, {"value", mark + message.text}});
        }
        list_.add(ordered_json{{"id", digits(scene.index)}, {"image", write_picture(scene)}, {"conversations", turns}}
                      .dump());
    }
    void finish() override { list_.close(); }

private:
    JsonList list_;
};

// Everything there is to know about a scene; boxes are [x, y, width, height] in pixels.
ordered_json describe(const Scene& scene, const ExportOptions& options) {
    ordered_json questions = ordered_json::array();
    for (const Question& question : questions_about(scene, options.turns)) {
        questions.push_back(
            {{"kind", name_of(question.kind)}, {"question", question.text}, {"answer", question.answer}});
    }
    ordered_json objects = ordered_json::array();
    for (const SceneObject& object : scene.objects) {
        objects.push_back({{"shape", name_of(object.shape)},
                           {"colour", name_of(object.colour)},
                           {"size", name_of(object.size)},
                           {"box", box_of(object, options.size)},
                           {"rgb", object.rgb},
                           {"centre", {object.centre.x, object.centre.y}},
                           {"radius", object.radius},
                           {"aspect", object.aspect},
                           {"turn", object.turn}});
    }
    return {{"caption", caption(scene)},   {"questions", questions}, {"background", name_of(scene.background)},
            {"background_rgb", scene.rgb}, {"objects", objects},     {"noise", scene.noise},
            {"plain", scene.plain},        {"coarse", scene.coarse}, {"seed", scene.seed},
            {"index", scene.index}};
}

class JsonlWriter final : public TableWriter {
public:
    JsonlWriter(const ExportOptions& options, const fs::path& folder)
        : TableWriter(options, folder), file_(folder / "scenes.jsonl") {}

    void add(const Scene& scene) override {
        ordered_json line{{"image", write_picture(scene)}};
        line.update(describe(scene, options_));
        file_.write(line.dump() + '\n');
    }
    void finish() override { file_.close(); }

private:
    OutputFile file_;
};

// Two files as COCO itself has them, since an annotation holds either a caption or a box.
class CocoWriter final : public TableWriter {
public:
    using TableWriter::TableWriter;

    void add(const Scene& scene) override {
        const std::string name = write_picture(scene);
        images_.push_back(
            {{"id", scene.index}, {"file_name", name}, {"width", options_.size}, {"height", options_.size}});
        captions_.push_back({{"id", captions_.size() + 1}, {"image_id", scene.index}, {"caption", caption(scene)}});
        for (const SceneObject& object : scene.objects) {
            const PixelBox box = pixel_box(object, options_.size, options_.size);
            boxes_.push_back({{"id", boxes_.size() + 1},
                              {"image_id", scene.index},
                              {"category_id", static_cast<int>(object.shape) + 1},
                              {"bbox", box_of(object, options_.size)},
                              {"area", box.width * box.height},
                              {"iscrowd", 0},
                              {"attributes", {{"colour", name_of(object.colour)}, {"size", name_of(object.size)}}}});
        }
    }
    void finish() override {
        ordered_json categories = ordered_json::array();
        for (std::size_t i = 0; i < kShapes; ++i)
            categories.push_back({{"id", i + 1}, {"name", name_of(static_cast<Shape>(i))}, {"supercategory", "shape"}});
        const ordered_json info{{"description", "Vitrine scenes"}, {"seed", options_.seed}};
        const ordered_json captions{{"info", info}, {"images", images_}, {"annotations", captions_}};
        const ordered_json instances{
            {"info", info}, {"images", images_}, {"annotations", boxes_}, {"categories", categories}};
        write_file(folder_ / "captions.json", captions.dump() + '\n');
        write_file(folder_ / "instances.json", instances.dump() + '\n');
    }

private:
    ordered_json images_ = ordered_json::array();
    ordered_json captions_ = ordered_json::array();
    ordered_json boxes_ = ordered_json::array();
};

class Cc3mWriter final : public TableWriter {
public:
    Cc3mWriter(const ExportOptions& options, const fs::path& folder)
        : TableWriter(options, folder), file_(folder / "scenes.tsv") {}

    void add(const Scene& scene) override { file_.write(caption(scene) + '\t' + write_picture(scene) + '\n'); }
    void finish() override { file_.close(); }

private:
    OutputFile file_;
};

class KohyaWriter final : public TableWriter {
public:
    KohyaWriter(const ExportOptions& options, const fs::path& folder)
        : TableWriter(options, folder), list_(folder / "scenes.json", "{", "\n}\n") {}

    void add(const Scene& scene) override {
        std::string tags;
        for (const SceneObject& object : scene.objects) {
            for (const std::string_view tag : {name_of(object.colour), name_of(object.shape)})
                tags += (tags.empty() ? "" : ", ") + std::string(tag);
        }
        const ordered_json value{{"caption", caption(scene)}, {"tags", tags}};
        list_.add(ordered_json(write_picture(scene)).dump() + ": " + value.dump());
    }
    void finish() override { list_.close(); }

private:
    JsonList list_;
};

class SidecarWriter final : public Writer {
public:
    SidecarWriter(const ExportOptions& options, const fs::path& folder) : options_(options), folder_(folder) {}

    void add(const Scene& scene) override {
        write_file(folder_ / (digits(scene.index) + ".png"), png(scene, options_.size));
        write_file(folder_ / (digits(scene.index) + ".txt"), caption(scene) + '\n');
    }
    void finish() override {}

private:
    const ExportOptions& options_;
    fs::path folder_;
};

class TarWriter final : public Writer {
public:
    TarWriter(const ExportOptions& options, const fs::path& folder) : options_(options), folder_(folder) {}

    void add(const Scene& scene) override {
        if (scene.index % kScenesPerTar == 0) {
            finish();
            tar_ = std::make_unique<OutputFile>(folder_ / ("scenes-" + digits(scene.index / kScenesPerTar) + ".tar"));
        }
        const std::string key = digits(scene.index);
        add_member(key + ".png", png(scene, options_.size));
        add_member(key + ".txt", caption(scene));
        add_member(key + ".json", describe(scene, options_).dump());
    }
    void finish() override {
        if (!tar_) return;
        tar_->write(std::string(2 * kBlock, '\0'));
        tar_->close();
        tar_.reset();
    }

private:
    static constexpr std::size_t kBlock = 512;

    static std::string octal(std::uint64_t value, std::size_t width) {
        std::string text(width, '0');
        for (std::size_t i = width; i-- > 0; value /= 8) text[i] = static_cast<char>('0' + value % 8);
        return text;
    }

    void add_member(const std::string& name, const std::string& content) {
        std::string header(kBlock, '\0');  // POSIX ustar
        const auto put = [&](std::size_t at, std::string_view text) { header.replace(at, text.size(), text); };
        put(0, name);
        put(100, "0000644");
        put(108, "0000000");
        put(116, "0000000");
        put(124, octal(content.size(), 11));
        put(136, octal(0, 11));  // the same scenes make the same file
        put(148, "        ");    // the checksum, counted as spaces
        put(156, "0");
        put(257, std::string_view("ustar\00000", 8));
        std::uint64_t sum = 0;
        for (const char c : header) sum += static_cast<unsigned char>(c);
        put(148, octal(sum, 6) + '\0');
        tar_->write(header);
        tar_->write(content);
        tar_->write(std::string((kBlock - content.size() % kBlock) % kBlock, '\0'));
    }

    const ExportOptions& options_;
    fs::path folder_;
    std::unique_ptr<OutputFile> tar_;
};

std::unique_ptr<Writer> make_writer(const ExportOptions& options, const fs::path& folder) {
    switch (options.format) {
        case ExportFormat::llava: return std::make_unique<LlavaWriter>(options, folder);
        case ExportFormat::jsonl: return std::make_unique<JsonlWriter>(options, folder);
        case ExportFormat::coco: return std::make_unique<CocoWriter>(options, folder);
        case ExportFormat::cc3m: return std::make_unique<Cc3mWriter>(options, folder);
        case ExportFormat::kohya: return std::make_unique<KohyaWriter>(options, folder);
        case ExportFormat::sidecars: return std::make_unique<SidecarWriter>(options, folder);
        case ExportFormat::webdataset: return std::make_unique<TarWriter>(options, folder);
    }
    return nullptr;
}

void check(const ExportOptions& options) {
    if (options.count == 0) throw OptionError({.name = "--count", .expected = "at least 1", .found = "0"});
    if (options.size < 16 || options.size > 4096)
        throw OptionError({.name = "--size", .expected = "16 to 4096", .found = std::to_string(options.size)});
    if (options.turns < 1 || options.turns > 64)
        throw OptionError({.name = "--turns", .expected = "1 to 64", .found = std::to_string(options.turns)});
}

}  // namespace

std::string_view name_of(ExportFormat format) {
    return kFormatNames[static_cast<std::size_t>(format)];
}

std::span<const std::string_view> export_format_names() {
    return kFormatNames;
}

ExportFormat export_format_by_name(std::string_view name) {
    const auto at = std::ranges::find(kFormatNames, name);
    if (at == kFormatNames.end()) {
        std::string names;
        for (const std::string_view known : kFormatNames) names += (names.empty() ? "" : ", ") + std::string(known);
        throw OptionError({.name = "--format", .expected = "one of " + names, .found = std::string(name)});
    }
    return static_cast<ExportFormat>(at - kFormatNames.begin());
}

bool export_scenes(const ExportOptions& options,
                   const std::function<void(std::uint64_t done, std::uint64_t total)>& progress, std::stop_token stop) {
    try {
        check(options);
        AtomicFolder whole(options.folder);
        const std::unique_ptr<Writer> writer = make_writer(options, whole.path());
        for (std::uint64_t index = 0; index < options.count; ++index) {
            if (stop.stop_requested()) return false;
            writer->add(make_scene(options.seed, index));
            if (progress) progress(index + 1, options.count);
        }
        writer->finish();
        whole.commit();
    } catch (const fs::filesystem_error& error) {
        fail(error.path1().empty() ? options.folder : error.path1(), error.code().message());
    }
    return true;
}

}  // namespace vitrine::scenes
