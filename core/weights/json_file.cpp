#include "core/weights/json_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/weights/file.h"

namespace vitrine {
namespace {

using nlohmann::json;

constexpr std::size_t kDeepest = 64;
constexpr std::size_t kLongestShown = 100;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Builds the tree from the parser's events. The library's own builder keeps the last of two equal keys and nests
// without a limit (a deep tree overflows the stack later, when it is copied or printed); this one stops at either.
class TreeBuilder final : public json::json_sax_t {
public:
    bool null() override { return add(nullptr); }
    bool boolean(bool value) override { return add(value); }
    bool number_integer(number_integer_t value) override { return add(value); }
    bool number_unsigned(number_unsigned_t value) override { return add(value); }
    bool number_float(number_float_t value, const string_t&) override { return add(value); }
    bool string(string_t& value) override { return add(std::move(value)); }
    bool binary(binary_t& value) override { return add(std::move(value)); }
    bool start_object(std::size_t) override { return open(json::object()); }
    bool start_array(std::size_t) override { return open(json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }

    bool key(string_t& name) override {
        const auto [slot, is_new] = open_.back()->get_ref<json::object_t&>().try_emplace(std::move(name));
        slot_ = &slot->second;
        if (!is_new) fault = {.name = shown_name(slot->first), .found = "this key twice in one object"};
        return is_new;
    }

    bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& exception) override {
        fault_position = position;
        fault = {.name = {}, .found = exception.id == 406 ? "a number out of range" : "a mistake"};
        return false;
    }

    json tree;
    struct Fault {
        std::string name;
        std::string found;
    } fault;
    std::size_t fault_position = 0;  // 1-based; 0 where the parser did not say

private:
    json* place(json value) {
        if (open_.empty()) return &(tree = std::move(value));
        if (open_.back()->is_array()) return &open_.back()->get_ref<json::array_t&>().emplace_back(std::move(value));
        return &(*slot_ = std::move(value));
    }
    bool add(json value) { return place(std::move(value)) != nullptr; }
    bool open(json container) {
        open_.push_back(place(std::move(container)));
        if (open_.size() <= kDeepest) return true;
        fault = {.name = {}, .found = "nesting deeper than " + std::to_string(kDeepest) + " levels"};
        return false;
    }
    bool close() {
        open_.pop_back();
        return true;
    }

    std::vector<json*> open_;  // the containers being filled, outermost first
    json* slot_ = nullptr;     // where the value of the latest key goes
};

std::string line_and_column(std::string_view text, std::size_t position) {
    const std::string_view before = text.substr(0, std::min(position == 0 ? 0 : position - 1, text.size()));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
    return " at line " + std::to_string(line) + ", column " + std::to_string(before.size() - line_start + 1) +
           " (byte " + std::to_string(position) + ")";
}

std::string clipped(std::string text) {
    if (text.size() <= kLongestShown) return text;
    std::size_t end = kLongestShown;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // not inside a character
    return text.substr(0, end) + "...";
}

}  // namespace

json parse_json(std::string_view text, const std::string& where) {
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
        throw ConfigError({.name = {},
                           .where = where,
                           .expected = "JSON",
                           .found = "nothing",
                           .advice = "The file is empty: download it again."});
    }
    TreeBuilder builder;
    // The parser takes a zero byte for the end of the text; JSON never holds one.
    const std::size_t zero = text.find('\0');
    const bool is_json = json::sax_parse(text.substr(0, zero), &builder);
    if (is_json && zero == text.npos) return std::move(builder.tree);
    if (is_json) {
        builder.fault.found = "a zero byte";
        builder.fault_position = zero + 1;
    }

    const bool ends_early = builder.fault_position > text.size();
    std::string found = ends_early ? "the end of the text" : builder.fault.found;
    if (builder.fault_position > 0) found += line_and_column(text, builder.fault_position);
    throw ConfigError({.name = builder.fault.name,
                       .where = where,
                       .expected = builder.fault.name.empty() ? "JSON" : "",
                       .found = found,
                       .advice = ends_early ? "The text ends too early: it was cut, download it again."
                                            : "Mend the file in a text editor or download it again."});
}

json read_json_file(const std::filesystem::path& path) {
    return parse_json(ReadOnlyFile(path).read_all(), path.string());
}

std::string shown(const json& value) {
    return clipped(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

std::string shown_name(std::string_view name) {
    const std::string quoted = json(std::string(name)).dump(-1, ' ', false, json::error_handler_t::replace);
    return name.empty() ? quoted : clipped(quoted.substr(1, quoted.size() - 2));
}

}  // namespace vitrine
