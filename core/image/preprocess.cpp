#include "core/image/preprocess.h"

#include "core/error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace vitrine {
namespace {

using nlohmann::json;

// The image processor's settings of one file, with errors that name key and file.
class Settings {
public:
    Settings(json values, std::string file) : values_(std::move(values)), file_(std::move(file)) {
        if (!values_.is_object())
            fail({}, "a JSON object", values_.type_name(), "Copy the file from the checkpoint again.");
    }

    // Null is how transformers writes "not set".
    const json* find(const char* key) const {
        const auto it = values_.find(key);
        return it == values_.end() || it->is_null() ? nullptr : &*it;
    }

    bool flag(const char* key, bool absent) const {
        const json* value = find(key);
        if (value == nullptr) return absent;
        if (!value->is_boolean()) fail(key, "true or false", value->dump(), {});
        return value->get<bool>();
    }

    double positive(const char* key, double absent) const {
        const json* value = find(key);
        return value == nullptr ? absent : number(key, *value, true);
    }

    // One number stands for all three channels.
    std::array<float, 3> channels(const char* key, std::array<float, 3> absent, bool must_be_positive) const {
        const json* value = find(key);
        if (value == nullptr) return absent;
        std::array<float, 3> result{};
        if (value->is_array() && value->size() == result.size()) {
            std::transform(value->begin(), value->end(), result.begin(),
                           [&](const json& one) { return static_cast<float>(number(key, one, must_be_positive)); });
        } else if (value->is_number()) {
            result.fill(static_cast<float>(number(key, *value, must_be_positive)));
        } else {
            fail(key, "three numbers", value->dump(), {});
        }
        return result;
    }

    // {"height": h, "width": w} or one integer for both.
    std::optional<std::pair<int, int>> size(const char* key) const {
        const json* value = find(key);
        if (value == nullptr) return std::nullopt;
        const auto side = [&](const json& one) {
            if (!one.is_number_integer() || one.get<double>() < 1 || one.get<double>() > 16384) {
                fail(key, "sides of 1 to 16384 pixels", value->dump(), {});
            }
            return one.get<int>();
        };
        if (value->is_number()) return std::pair(side(*value), side(*value));
        if (!value->is_object() || !value->contains("height") || !value->contains("width")) {
            fail(key, R"(an integer or {"height", "width"})", value->dump(),
                 "Vitrine resizes to an exact square, as SigLIP was trained.");
        }
        return std::pair(side(value->at("height")), side(value->at("width")));
    }

    [[noreturn]] void fail(std::string key, std::string expected, std::string found, std::string advice) const {
        throw ConfigError({std::move(key), file_, std::move(expected), std::move(found), std::move(advice)});
    }

private:
    double number(const char* key, const json& value, bool must_be_positive) const {
        const double result = value.is_number() ? value.get<double>() : std::nan("");
        if (!std::isfinite(result) || (must_be_positive && result <= 0.0)) {
            fail(key, must_be_positive ? "a positive number" : "a finite number", value.dump(), {});
        }
        return result;
    }

    json values_;
    std::string file_;
};

std::optional<json> read_json(const std::filesystem::path& path) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) return std::nullopt;
    std::ifstream file(path, std::ios::binary);
    if (!file || std::filesystem::is_directory(path, error)) {
        throw FileError({{}, path.string(), "a readable file", {}, "Check its permissions."});
    }
    try {
        return json::parse(file);
    } catch (const json::exception& problem) {
        throw ConfigError(
            {{}, path.string(), "valid JSON", problem.what(), "Copy the file from the checkpoint again."});
    }
}

// Newer checkpoints keep the image processor's settings inside processor_config.json.
std::optional<Settings> find_settings(const std::filesystem::path& folder) {
    const auto own = folder / "preprocessor_config.json";
    if (auto values = read_json(own)) return Settings(std::move(*values), own.string());
    const auto shared = folder / "processor_config.json";
    const auto values = read_json(shared);
    if (!values || !values->is_object() || !values->contains("image_processor")) return std::nullopt;
    return Settings(values->at("image_processor"), shared.string());
}

// Filters that would give other pixels than the tower expects are refused, not replaced.
void check_geometry(const Settings& settings, int image_size) {
    constexpr int pillow_bicubic = 3;
    if (const json* resample = settings.find("resample");
        resample != nullptr && *resample != pillow_bicubic && *resample != "bicubic") {
        settings.fail("resample", "3 (bicubic)", resample->dump(),
                      "Vitrine resizes as SigLIP was trained, with Pillow's bicubic filter.");
    }
    if (!settings.flag("do_resize", true)) {
        settings.fail("do_resize", "true", "false", "The tower takes pictures of one size only.");
    }
    const std::string wanted = std::to_string(image_size) + " x " + std::to_string(image_size);
    const auto check = [&](const char* key, const char* advice) {
        const auto size = settings.size(key);
        if (size && *size != std::pair(image_size, image_size)) {
            settings.fail(key, wanted, std::to_string(size->first) + " x " + std::to_string(size->second), advice);
        }
    };
    check("size", "config.json and preprocessor_config.json disagree; take both from the same checkpoint.");
    if (settings.flag("do_center_crop", false))
        check("crop_size", "Cropping is not supported; SigLIP sees the whole picture.");
    if (settings.flag("do_pad", false))
        settings.fail("do_pad", "false", "true", "Padding is not supported; SigLIP sees the picture alone.");
}

std::string text_of(const std::array<float, 3>& values) {
    return json(values).dump();
}

void add_warnings(const Settings& settings, PreprocessConfig& config) {
    const PreprocessConfig usual;
    const auto warn = [&](std::string what) {
        config.warnings.push_back(std::move(what) + "; SigLIP was trained otherwise");
    };
    for (const char* key : {"image_processor_type", "feature_extractor_type"}) {
        const json* type = settings.find(key);
        if (type != nullptr && type->is_string() &&
            !type->get_ref<const std::string&>().starts_with("SiglipImageProcessor")) {
            warn(std::string(key) + " is " + type->get<std::string>());
        }
    }
    if (config.mean != usual.mean) warn("image_mean is " + text_of(config.mean) + " instead of " + text_of(usual.mean));
    if (config.std != usual.std) warn("image_std is " + text_of(config.std) + " instead of " + text_of(usual.std));
    if (std::abs(config.rescale_factor * 255.0 - 1.0) > 1e-6) {
        warn("rescale_factor is " + json(config.rescale_factor).dump() + " instead of 1/255");
    }
    if (!settings.flag("do_convert_rgb", true)) {
        config.warnings.emplace_back("do_convert_rgb is false; Vitrine converts every picture to RGB all the same");
    }
}

}  // namespace

PreprocessConfig read_preprocess_config(const std::filesystem::path& folder, int image_size) {
    PreprocessConfig config;
    config.image_size = image_size;
    const auto settings = find_settings(folder);
    if (!settings) return config;
    check_geometry(*settings, image_size);
    config.rescale_factor =
        settings->flag("do_rescale", true) ? settings->positive("rescale_factor", config.rescale_factor) : 1.0;
    if (settings->flag("do_normalize", true)) {
        config.mean = settings->channels("image_mean", config.mean, false);
        config.std = settings->channels("image_std", config.std, true);
    } else {
        config.mean.fill(0.0F);
        config.std.fill(1.0F);
    }
    add_warnings(*settings, config);
    return config;
}

std::vector<float> pixel_values(const Image& image, const PreprocessConfig& config) {
    const Image resized = resize_bicubic(image, config.image_size, config.image_size);
    const std::size_t plane = static_cast<std::size_t>(config.image_size) * static_cast<std::size_t>(config.image_size);
    std::vector<float> values(3 * plane);
    for (std::size_t c = 0; c < 3; ++c) {
        std::array<float, 256> of_byte{};
        for (std::size_t level = 0; level < of_byte.size(); ++level) {
            const double scaled = static_cast<double>(level) * config.rescale_factor;
            of_byte[level] =
                static_cast<float>((scaled - static_cast<double>(config.mean[c])) / static_cast<double>(config.std[c]));
        }
        for (std::size_t i = 0; i < plane; ++i) values[c * plane + i] = of_byte[resized.rgb[3 * i + c]];
    }
    return values;
}

}  // namespace vitrine
