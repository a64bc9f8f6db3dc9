#include "core/weights/config_reader.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/weights/json_file.h"

namespace vitrine {
namespace {

using nlohmann::json;

constexpr std::int64_t kLargestInteger = 1'000'000'000;
constexpr const char* kClassDefault = "class default";

}  // namespace

std::optional<ConfigReader::Found> ConfigReader::look_up_first(const std::string& key) const {
    for (const Source& source : sources_) {
        const auto found = source.object->find(key);
        if (found != source.object->end() && !found->is_null()) return Found{*found, source.origin};
    }
    return std::nullopt;
}

std::optional<ConfigReader::Found> ConfigReader::look_up(const std::string& key) const {
    const auto first = look_up_first(key);
    if (!first) return first;
    for (const Source& source : sources_) {
        const auto other = source.object->find(key);
        if (other == source.object->end() || other->is_null() || *other == first->value) continue;
        fail(key, "one value", described(*first) + " and " + described({*other, source.origin}),
             "Remove the wrong one from the file.");
    }
    return first;
}

ConfigReader::Found ConfigReader::resolve(const std::string& key, const json& fallback) {
    auto found = look_up(key);
    if (!found) {
        if (fallback.is_null()) fail(key, "this key", "none", "The file is not complete: download it again.");
        found = Found{fallback, kClassDefault};
    }
    note(key, found->value, found->origin);
    return *found;
}

std::int64_t ConfigReader::as_integer(const std::string& key, const Found& found, std::int64_t lowest) const {
    // Also 1024.0, as some converters write it.
    const double value = found.value.is_number() ? found.value.get<double>() : std::nan("");
    const bool fits = value == std::floor(value) && value >= static_cast<double>(lowest) && value <= kLargestInteger;
    if (!fits) {
        fail(key, "an integer from " + std::to_string(lowest) + " to " + std::to_string(kLargestInteger),
             described(found));
    }
    return static_cast<std::int64_t>(value);
}

std::int64_t ConfigReader::integer(const std::string& key, std::int64_t fallback) {
    return as_integer(key, resolve(key, fallback), 1);
}

double ConfigReader::number(const std::string& key, std::optional<double> fallback) {
    const Found found = resolve(key, fallback ? json(*fallback) : json());
    if (!found.value.is_number() || found.value.get<double>() <= 0.0) fail(key, "a positive number", described(found));
    return found.value.get<double>();
}

bool ConfigReader::boolean(const std::string& key, bool fallback) {
    const Found found = resolve(key, fallback);
    if (!found.value.is_boolean()) fail(key, "true or false", described(found));
    return found.value.get<bool>();
}

std::string ConfigReader::text(const std::string& key, const std::string& fallback) {
    const Found found = resolve(key, fallback);
    if (!found.value.is_string()) fail(key, "a string", described(found));
    return found.value.get<std::string>();
}

void ConfigReader::note(const std::string& key, const json& value, const std::string& origin) {
    entries_->push_back({key, value.dump(-1, ' ', false, json::error_handler_t::replace), origin});
}

std::string ConfigReader::resolved(const std::string& key) const {
    const auto entry = std::find_if(entries_->rbegin(), entries_->rend(), [&](const auto& e) { return e.key == key; });
    return entry == entries_->rend() ? "none" : entry->value + " (" + entry->origin + ")";
}

void ConfigReader::fail(const std::string& key, std::string expected, std::string found, std::string advice) const {
    throw ConfigError({.name = key,
                       .where = where_,
                       .expected = std::move(expected),
                       .found = std::move(found),
                       .advice = std::move(advice)});
}

std::vector<ConfigReader::Source> inner_sources(const ConfigReader& reader, const std::string& key) {
    std::vector<ConfigReader::Source> inner;
    for (const auto& [object, origin] : reader.sources()) {
        const auto found = object->find(key);
        if (found == object->end() || found->is_null()) continue;
        if (!found->is_object()) reader.fail(key, "an object", described({*found, origin}));
        inner.push_back({&*found, origin + " " + key});
    }
    return inner;
}

void refuse_quantized(const ConfigReader& reader) {
    for (const char* key : {"quantization_config", "compression_config"}) {
        const auto found = reader.look_up_first(key);
        if (!found) continue;
        const auto method = found->value.find("quant_method");
        reader.fail(key, "weights in fp32, bf16 or fp16",
                    "weights quantised with " + (method != found->value.end() && method->is_string()
                                                     ? shown_name(method->get<std::string>())
                                                     : shown(found->value)),
                    "Get the original checkpoint; Vitrine can quantise it itself.");
    }
}

std::string stored_dtype(ConfigReader& reader) {
    for (const char* key : {"dtype", "torch_dtype"}) {
        const auto found = reader.look_up_first(key);
        if (!found) continue;
        if (!found->value.is_string()) reader.fail(key, "a string", described(*found));
        reader.note(key, found->value, found->origin);
        return found->value.get<std::string>();
    }
    return {};
}

std::string described(const ConfigReader::Found& found) {
    return shown(found.value) + " (" + found.origin + ")";
}

}  // namespace vitrine
