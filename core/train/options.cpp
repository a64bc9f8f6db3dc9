#include "core/error.h"
#include "core/training.h"
#include "core/weights/json_file.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <type_traits>

namespace vitrine {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// The one list of the options, walked by whoever reads, writes or changes them: visit(key, member, check).
struct Any {
    template <class T>
    bool operator()(const T&) const {
        return true;
    }
};
struct AtLeast {
    double least;
    double most = std::numeric_limits<double>::infinity();
    template <class T>
    bool operator()(const T& value) const {
        if constexpr (std::is_arithmetic_v<T>)
            return static_cast<double>(value) >= least && static_cast<double>(value) <= most;
        else
            return false;
    }
    std::string text() const {
        const auto number = [](double value) {
            const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
            return whole ? std::to_string(static_cast<std::int64_t>(value)) : ordered_json(value).dump();
        };
        return most < 1e300 ? number(least) + " to " + number(most) : "at least " + number(least);
    }
};
struct OneOf {
    std::vector<std::string> words;
    template <class T>
    bool operator()(const T& value) const {
        if constexpr (std::is_same_v<T, std::string>) {
            for (const std::string& word : words)
                if (value == word) return true;
        }
        return false;
    }
    std::string text() const {
        std::string joined;
        for (const std::string& word : words) joined += (joined.empty() ? "" : ", ") + word;
        return "one of " + joined;
    }
};

template <class Options, class Visit>
void each_data_option(Options& options, Visit&& visit) {
    visit("path", options.path, Any{});
    visit("format", options.format, Any{});
    visit("pictures", options.pictures, Any{});
    visit("prompts", options.prompts, Any{});
    visit("limit", options.limit, Any{});
    visit("scenes", options.scenes, Any{});
    visit("scenes_seed", options.scenes_seed, Any{});
    visit("scenes_count", options.scenes_count, Any{});
    visit("scenes_content", options.scenes_content, OneOf{{"captions", "questions", "mixed"}});
    visit("scenes_turns", options.scenes_turns, AtLeast{1, 16});
    visit("scenes_caption_share", options.scenes_caption_share, AtLeast{0, 1});
}

template <class Options, class Visit>
void each_option(Options& options, Visit&& visit) {
    visit("model", options.model, Any{});
    visit("data", options.data, Any{});
    visit("validation_data", options.validation_data, Any{});
    visit("validation_samples", options.validation_samples, Any{});
    visit("task", options.task, OneOf{{"captions", "patches"}});
    visit("trainable", options.trainable, OneOf{{"projector", "projector+language", "all", "vision"}});
    visit("initial_projector", options.initial_projector, OneOf{{"model", "random"}});
    visit("dtype", options.dtype, OneOf{{"fp32", "bf16", "fp16"}});
    visit("save_dtype", options.save_dtype, OneOf{{"fp32", "bf16", "fp16"}});
    visit("device", options.device, Any{});
    visit("threads", options.threads, AtLeast{0, 1024});
    visit("steps", options.steps, AtLeast{0});
    visit("epochs", options.epochs, AtLeast{0});
    visit("batch", options.batch, AtLeast{1, 1 << 20});
    visit("micro_batch", options.micro_batch, AtLeast{0, 1 << 20});
    visit("max_length", options.max_length, AtLeast{8});
    visit("learning_rate", options.learning_rate, AtLeast{0, 10});
    visit("warmup", options.warmup, AtLeast{0, 1});
    visit("schedule", options.schedule, OneOf{{"cosine", "constant"}});
    visit("weight_decay", options.weight_decay, AtLeast{0, 1});
    visit("beta1", options.beta1, AtLeast{0, 0.99999});
    visit("beta2", options.beta2, AtLeast{0, 0.999999});
    visit("epsilon", options.epsilon, AtLeast{1e-20, 1});
    visit("clip", options.clip, AtLeast{0});
    visit("gradient_checkpointing", options.gradient_checkpointing, Any{});
    visit("seed", options.seed, Any{});
    visit("evaluate_every", options.evaluate_every, AtLeast{0});
    visit("checkpoint_every", options.checkpoint_every, AtLeast{1});
    visit("checkpoint_minutes", options.checkpoint_minutes, AtLeast{0});
    visit("keep", options.keep, AtLeast{1, 100000});
    visit("early_stop", options.early_stop, AtLeast{0});
    visit("sample_pictures", options.sample_pictures, AtLeast{0, 64});
    visit("cache_features", options.cache_features, Any{});
    visit("cache", options.cache, Any{});
}

template <class T>
const char* kind_of() {
    if constexpr (std::is_same_v<T, bool>) return "true or false";
    if constexpr (std::is_unsigned_v<T>) return "a whole number, not negative";
    if constexpr (std::is_integral_v<T>) return "a whole number";
    if constexpr (std::is_floating_point_v<T>) return "a number";
    if constexpr (std::is_same_v<T, std::vector<std::string>>) return "a list of texts";
    if constexpr (std::is_same_v<T, DataOptions>) return "an object";
    return "a text";
}

// nullopt where the JSON value is not of the member's kind; nothing is converted silently.
template <class T>
std::optional<T> value_of(const json& value) {
    if constexpr (std::is_same_v<T, bool>) {
        if (value.is_boolean()) return value.get<bool>();
    } else if constexpr (std::is_unsigned_v<T>) {
        if (value.is_number_unsigned()) return value.get<T>();
    } else if constexpr (std::is_integral_v<T>) {
        if (value.is_number_integer() && value >= std::numeric_limits<T>::min() &&
            value <= std::numeric_limits<T>::max())
            return value.get<T>();
    } else if constexpr (std::is_floating_point_v<T>) {
        if (value.is_number()) return value.get<T>();
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
        if (!value.is_array() || value.empty()) return std::nullopt;
        T texts;
        for (const json& text : value) {
            if (!text.is_string()) return std::nullopt;
            texts.push_back(text.get<std::string>());
        }
        return texts;
    } else {
        if (value.is_string()) return T(value.get<std::string>());
    }
    return std::nullopt;
}

template <class T, class Check>
void assign(const std::string& key, T& member, const json& value, const Check& check, const std::string& where) {
    const std::optional<T> read = value_of<T>(value);
    std::string expected = kind_of<T>();
    if constexpr (!std::is_same_v<Check, Any>) expected = check.text();
    if (!read || !check(*read))
        throw ConfigError({.name = key, .where = where, .expected = expected, .found = shown(value)});
    member = *read;
}

[[noreturn]] void unknown(const std::string& key, const std::string& where) {
    throw ConfigError({.name = key,
                       .where = where,
                       .expected = "an option of a training run",
                       .found = "a key of that name",
                       .advice = "The run.json of any run lists all of them."});
}

template <class Each>
void read_object(const json& object, const std::string& prefix, const std::string& where, Each&& each) {
    std::set<std::string> known;
    each([&](const char* key, auto& member, const auto& check) {
        known.insert(key);
        const auto found = object.find(key);
        if (found == object.end()) return;
        using T = std::remove_cvref_t<decltype(member)>;
        if constexpr (std::is_same_v<T, DataOptions>) {
            if (!found->is_object())
                throw ConfigError({.name = key, .where = where, .expected = "an object", .found = shown(*found)});
            read_object(*found, std::string(key) + ".", where, [&](auto&& visit) { each_data_option(member, visit); });
        } else {
            assign(prefix + key, member, *found, check, where);
        }
    });
    for (const auto& item : object.items())
        if (!known.contains(item.key()) && !item.key().starts_with("_"))
            unknown(prefix + shown_name(item.key()), where);
}

template <class T>
ordered_json json_of(const T& member) {
    if constexpr (std::is_same_v<T, std::filesystem::path>) {
        return member.string();
    } else if constexpr (std::is_same_v<T, DataOptions>) {
        ordered_json object = ordered_json::object();
        each_data_option(member,
                         [&](const char* key, const auto& value, const auto&) { object[key] = json_of(value); });
        return object;
    } else {
        return member;
    }
}

}  // namespace

void check_training_options(const TrainingOptions& options, const std::string& where) {
    const bool patches = options.task == "patches";
    if (patches != (options.trainable == "vision"))
        throw ConfigError(
            {.name = "trainable",
             .where = where,
             .expected = patches ? "vision, since task is patches" : "projector, projector+language or all",
             .found = options.trainable});
    if (patches && !options.data.scenes)
        throw ConfigError({.name = "data.scenes",
                           .where = where,
                           .expected = "true, since only scenes know what covers each patch",
                           .found = "false"});
    if (options.data.scenes == !options.data.path.empty())
        throw ConfigError({.name = "data.path",
                           .where = where,
                           .expected = "a file or folder, or data.scenes true, not both",
                           .found = options.data.scenes ? "both" : "neither"});
    if (options.data.scenes && options.data.scenes_count == 0 && options.steps == 0)
        throw ConfigError({.name = "steps",
                           .where = where,
                           .expected = "a number of steps, since there is no end of fresh scenes",
                           .found = "0"});
}

TrainingOptions training_options_from_json(const std::string& text, const std::string& where) {
    const json object = parse_json(text, where);
    if (!object.is_object())
        throw ConfigError({.name = "run.json", .where = where, .expected = "an object", .found = shown(object)});
    TrainingOptions options;
    read_object(object, "", where, [&](auto&& visit) { each_option(options, visit); });
    return options;
}

std::string to_json(const TrainingOptions& options) {
    ordered_json object;
    each_option(options, [&](const char* key, const auto& value, const auto&) { object[key] = json_of(value); });
    return object.dump(2);
}

void set_training_option(TrainingOptions& options, const std::string& key, const std::string& value) {
    const std::string where = "the command line";
    // Whatever reads as JSON is taken as that, everything else as text: 100, true, fp32, /data/pictures.
    const auto as_json = [&](bool text) { return text || !json::accept(value) ? json(value) : json::parse(value); };
    bool found = false;
    const auto set = [&](const std::string& full, auto& member, const auto& check) {
        if (full != key) return;
        found = true;
        using T = std::remove_cvref_t<decltype(member)>;
        constexpr bool text = std::is_same_v<T, std::string> || std::is_same_v<T, std::filesystem::path>;
        assign(full, member, as_json(text), check, where);
    };
    each_option(options, [&](const char* name, auto& member, const auto& check) {
        using T = std::remove_cvref_t<decltype(member)>;
        if constexpr (std::is_same_v<T, DataOptions>)
            each_data_option(member, [&](const char* inner, auto& inner_member, const auto& inner_check) {
                set(std::string(name) + "." + inner, inner_member, inner_check);
            });
        else
            set(name, member, check);
    });
    if (!found) unknown(key, where);
}

void resolve_paths(TrainingOptions& options, const std::filesystem::path& base) {
    for (std::filesystem::path* path :
         {&options.model, &options.data.path, &options.data.pictures, &options.validation_data.path,
          &options.validation_data.pictures, &options.cache})
        if (!path->empty()) *path = std::filesystem::absolute(base / *path).lexically_normal();
}

}  // namespace vitrine
