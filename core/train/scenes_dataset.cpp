#include "core/train/scenes_dataset.h"

#include "core/error.h"
#include "core/scenes/language.h"

#include <charconv>

namespace vitrine {
namespace {

using What = ScenesDatasetOptions::What;

constexpr std::string_view kKeyStart = "scene:";

class ScenesDataset final : public Dataset {
public:
    explicit ScenesDataset(const ScenesDatasetOptions& options) : options_(options) {}

    std::string format() const override { return "scenes"; }
    std::size_t size() const override { return options_.count; }

    Sample sample(std::size_t index) const override {
        const scenes::Scene scene = scenes::make_scene(options_.seed, index);
        const std::string key = key_of(index);
        return {"scene " + key.substr(kKeyStart.size()), key, messages(scene)};
    }

    Image picture(const std::string& key) const override {
        return scenes::draw(scenes::make_scene(options_.seed, index_of(key)), options_.size, options_.size);
    }

    std::string picture_identity(const std::string& key) const override {
        return key + ' ' + std::to_string(options_.size) + " generation " + std::to_string(scenes::kGeneration);
    }

    const SkipReport& skipped() const override { return skipped_; }

    // The samples follow from the options, so these stand for them.
    std::uint64_t fingerprint() const override {
        const std::uint64_t share = static_cast<std::uint64_t>(options_.caption_share * 0x1p32);
        std::uint64_t value = scenes::kGeneration;
        for (const std::uint64_t part :
             {options_.seed, options_.count, static_cast<std::uint64_t>(options_.size),
              static_cast<std::uint64_t>(options_.what), static_cast<std::uint64_t>(options_.turns), share}) {
            value = scenes::Random(value, part).next();
        }
        return value;
    }

private:
    std::vector<Message> messages(const scenes::Scene& scene) const {
        if (options_.what == What::captions) {
            return {{.role = Role::user, .text = std::string(scenes::caption_prompts().front())},
                    {.role = Role::assistant, .text = scenes::caption(scene)}};
        }
        scenes::Random random(scene.seed, scene.index, scenes::Stream::words);
        return scenes::converse(
            scene, random,
            {.turns = options_.turns, .caption_share = options_.what == What::mixed ? options_.caption_share : 0});
    }

    std::string key_of(std::uint64_t index) const {
        return std::string(kKeyStart) + std::to_string(options_.seed) + ':' + std::to_string(index);
    }

    std::uint64_t index_of(const std::string& key) const {
        std::uint64_t index = 0;
        const std::size_t colon = key.rfind(':');
        const char* const end = key.data() + key.size();
        if (colon != std::string::npos) std::from_chars(key.data() + colon + 1, end, index);
        if (index >= options_.count || key != key_of(index)) {
            throw FileError(
                {.name = "picture", .expected = key_of(0) + " to " + key_of(options_.count - 1), .found = key});
        }
        return index;
    }

    ScenesDatasetOptions options_;
    SkipReport skipped_;
};

}  // namespace

std::unique_ptr<Dataset> make_scenes_dataset(const ScenesDatasetOptions& options) {
    const auto require = [](bool good, const char* name, const char* expected, const std::string& found) {
        if (!good) throw OptionError({.name = name, .expected = expected, .found = found});
    };
    require(options.count > 0, "count", "at least 1", "0");
    require(options.size >= 16 && options.size <= 4096, "size", "16 to 4096 pixels", std::to_string(options.size));
    require(options.turns >= 1 && options.turns <= 64, "turns", "1 to 64", std::to_string(options.turns));
    require(options.caption_share >= 0 && options.caption_share <= 1, "caption share", "0 to 1", "a number outside");
    return std::make_unique<ScenesDataset>(options);
}

}  // namespace vitrine
