#include "core/train/dataset_json.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/weights/json_file.h"

namespace vitrine::dataset {
namespace {

using nlohmann::json;

bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool is_mark(char c) {
    return c == ',' || c == ':' || c == '{' || c == '}' || c == '[' || c == ']' || c == '"';
}

std::string picture_of(const json& row) {
    for (const char* key : {"image", "file_name", "file"}) {
        const auto found = row.find(key);
        if (found == row.end() || found->is_null()) continue;
        if (!found->is_array()) return text_of(row, key);
        if (found->empty()) return {};
        if (found->size() > 1) throw Skip{reason::several_pictures, shown(*found)};
        if (!found->front().is_string()) throw Skip{reason::wrong_type, std::string(key) + " is " + shown(*found)};
        return found->front().get<std::string>();
    }
    return {};
}

Role role_of(const std::string& name) {
    if (name == "human" || name == "user") return Role::user;
    if (name == "gpt" || name == "assistant") return Role::assistant;
    if (name == "system") return Role::system;
    throw Skip{reason::wrong_type, "a turn of " + shown(name)};
}

Message turn_of(const json& turn) {
    if (!turn.is_object()) throw Skip{reason::wrong_type, "a turn is " + shown(turn)};
    const bool llava = turn.contains("from");
    return {role_of(text_of(turn, llava ? "from" : "role")), text_of(turn, llava ? "value" : "content"), {}, {}};
}

}  // namespace

char JsonScanner::peek() {
    for (;;) {
        const std::string_view rest = window_.rest();
        if (rest.empty()) return 0;
        std::size_t at = 0;
        for (; at < rest.size() && is_space(rest[at]); ++at) line_ += rest[at] == '\n' ? 1 : 0;
        window_.advance(at);
        if (at < rest.size()) return rest[at];
    }
}

void JsonScanner::take() {
    if (peek() != 0) window_.advance(1);
}

JsonScanner::Value JsonScanner::value() {
    const char first = peek();
    const std::uint64_t at = position();
    bool whole = first != 0;
    if (first == '"' || first == '{' || first == '[') {
        whole = skip_nested();
    } else if (is_mark(first)) {
        take();
    } else {
        skip_scalar();
    }
    return {.at = at, .length = position() - at, .whole = whole};
}

bool JsonScanner::skip_nested() {
    int depth = 0;
    bool in_string = false;
    bool escaped = false;
    for (std::string_view rest = window_.rest(); !rest.empty(); rest = window_.rest()) {
        for (std::size_t at = 0; at < rest.size(); ++at) {
            const char c = rest[at];
            if (c == '\n') ++line_;
            if (in_string) {
                // A string never holds a raw line break: a quote that was left out costs its own line, not the rest.
                in_string = c == '\n' ? false : escaped || c != '"';
                escaped = !escaped && c == '\\';
            } else if (c == '"') {
                in_string = true;
            } else if (c == '{' || c == '[') {
                ++depth;
            } else if (c == '}' || c == ']') {
                --depth;
            }
            if (depth <= 0 && !in_string) {
                window_.advance(at + 1);
                return true;
            }
        }
        window_.advance(rest.size());
    }
    return false;
}

void JsonScanner::skip_scalar() {
    for (std::string_view rest = window_.rest(); !rest.empty(); rest = window_.rest()) {
        const auto end = std::find_if(rest.begin(), rest.end(), [](char c) { return is_space(c) || is_mark(c); });
        window_.advance(static_cast<std::size_t>(end - rest.begin()));
        if (end != rest.end()) return;
    }
}

std::string JsonScanner::place() const {
    return "line " + std::to_string(line_) + ", byte " + std::to_string(position());
}

std::uint32_t row_length(std::uint64_t length) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(length, std::numeric_limits<std::uint32_t>::max()));
}

std::string read_row(const TextFile& file, std::uint64_t at, std::uint64_t length) {
    if (length > kLongestRow) {
        throw Skip{reason::broken_row, "longer than " + std::to_string(kLongestRow >> 20U) + " MiB"};
    }
    return file.read(at, length);
}

json parse_row(std::string text, bool& mended) {
    mended = mend_utf8(text);
    try {
        return parse_json(text, {});
    } catch (const ConfigError& error) {
        const ErrorParts& parts = error.parts();
        throw Skip{reason::broken_row, parts.name.empty() ? parts.found : parts.name + ": " + parts.found};
    }
}

std::string text_of(const json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) return {};
    if (!found->is_string()) throw Skip{reason::wrong_type, std::string(key) + " is " + shown(*found)};
    return found->get<std::string>();
}

std::string id_of(const json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number_integer() ? found->dump() : text_of(object, key);
}

RawRow row_from_json(const json& object) {
    if (!object.is_object()) throw Skip{reason::wrong_type, "the row is " + shown(object)};
    RawRow row;
    row.identity = id_of(object, "id");
    row.picture = picture_of(object);
    for (const char* key : {"conversations", "messages"}) {
        const auto turns = object.find(key);
        if (turns == object.end() || turns->is_null()) continue;
        if (!turns->is_array()) throw Skip{reason::wrong_type, std::string(key) + " is " + shown(*turns)};
        for (const json& turn : *turns) row.turns.push_back(turn_of(turn));
        return row;
    }
    for (const char* key : {"caption", "text"}) {
        if (!object.contains(key)) continue;
        row.turns.push_back({Role::assistant, text_of(object, key), {}, {}});
        row.bare = true;
        return row;
    }
    throw Skip{reason::missing_caption, {}};
}

}  // namespace vitrine::dataset
