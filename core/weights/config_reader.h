#pragma once

#include "core/weights/config.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vitrine {

// Looks the keys of one part up in several JSON objects and writes down what each value is and where it came from. A null
// counts as absent, as transformers writes it. A key that stands in two of the objects must have one value.
class ConfigReader {
public:
    struct Source {
        const nlohmann::json* object;  // an object, and alive as long as the reader
        std::string origin;            // "config.json text_config"
    };
    struct Found {
        nlohmann::json value;
        std::string origin;
    };

    // `where` is the file, for messages. Resolved keys are appended to `entries`, which outlives the reader.
    ConfigReader(std::string where, std::vector<Source> sources, std::vector<ConfigEntry>& entries)
        : where_(std::move(where)), sources_(std::move(sources)), entries_(&entries) {}

    // The value of a key, or the default, written down either way. All throw ConfigError naming the key.
    std::int64_t integer(const std::string& key, std::int64_t fallback);  // 1 to 10^9; 3.0 is an integer
    double number(const std::string& key, std::optional<double> fallback);  // positive; without a default the key is needed
    bool boolean(const std::string& key, bool fallback);
    std::string text(const std::string& key, const std::string& fallback);

    // Without writing it down. The second takes the first source's value where two contradict each other.
    std::optional<Found> look_up(const std::string& key) const;
    std::optional<Found> look_up_first(const std::string& key) const;

    void note(const std::string& key, const nlohmann::json& value, const std::string& origin);
    [[noreturn]] void fail(const std::string& key, std::string expected, std::string found, std::string advice = {}) const;
    std::string resolved(const std::string& key) const;  // as written down: "32 (class default)"
    // The value of `found` as an integer from lowest to 10^9.
    std::int64_t as_integer(const std::string& key, const Found& found, std::int64_t lowest) const;

    const std::vector<Source>& sources() const { return sources_; }

private:
    Found resolve(const std::string& key, const nlohmann::json& fallback);

    std::string where_;
    std::vector<Source> sources_;
    std::vector<ConfigEntry>* entries_;
};

// The sub-objects called `key` of the sources that have one, in order. Throws ConfigError when one is no object.
std::vector<ConfigReader::Source> inner_sources(const ConfigReader& reader, const std::string& key);

// Refuses, by name of the method, weights that are stored quantised.
void refuse_quantized(const ConfigReader& reader);
std::string stored_dtype(ConfigReader& reader);  // of dtype or torch_dtype; empty when neither is there

std::string described(const ConfigReader::Found& found);  // "12 (config.json text_config)"

}  // namespace vitrine
