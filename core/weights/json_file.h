#pragma once

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>
#include <string_view>

// JSON as it comes from outside: nothing in it can crash the reader, and a fault is shown with its line.
namespace vitrine {

// Throws FileError when the file cannot be read, ConfigError when its text is refused (see parse_json).
nlohmann::json read_json_file(const std::filesystem::path& path);

// A byte order mark is skipped. Refused with a ConfigError that names `where`, line and column: what is no JSON, a key
// that stands twice in one object (other readers silently keep one of the two), nesting deeper than 64 levels.
nlohmann::json parse_json(std::string_view text, const std::string& where);

// For messages: a value as JSON text, a name from a file without its control characters; both cut to a readable length.
std::string shown(const nlohmann::json& value);
std::string shown_name(std::string_view name);

}  // namespace vitrine
