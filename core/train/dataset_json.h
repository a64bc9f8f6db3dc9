#pragma once

#include "core/train/dataset_rows.h"
#include "core/train/dataset_text.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>

// Rows of JSON: where each lies in a file of any size, and what it says.
namespace vitrine::dataset {

// Finds where the values of a large JSON text begin and end, without reading what is in them: a few bytes of memory for
// any size, and a broken value costs itself alone as long as its brackets are in pairs.
class JsonScanner {
public:
    struct Value {
        std::uint64_t at = 0;
        std::uint64_t length = 0;
        bool whole = true;  // false: the text ends inside it
    };

    explicit JsonScanner(const TextFile& file) : window_(file) {}

    char peek();    // the next character that is not white space; 0 at the end
    void take();    // that character
    Value value();  // what begins there; a stray bracket, colon or comma is a value of its own
    std::uint64_t position() const { return window_.position(); }
    std::string place() const;  // "line 3, byte 120"

    // Calls visit(value) for each element of the array that begins here until it says no. False when the text ends
    // before the array does.
    template <class Visit>
    bool elements(Visit visit) {
        take();
        for (char c = peek(); c != 0; c = peek()) {
            if (c == ',' || c == ']') take();
            if (c == ']') return true;
            if (c == ',') continue;
            const Value element = value();
            if (!element.whole) return false;
            if (!visit(element)) return true;
        }
        return false;
    }

    // Calls visit(key) for each member of the object that begins here, until it says no; visit takes the value. `key`
    // lies in the file as JSON.
    template <class Visit>
    bool members(Visit visit) {
        take();
        for (char c = peek(); c != 0; c = peek()) {
            if (c == '}') {
                take();
                return true;
            }
            const Value key = value();
            if (c != '"') continue;  // a comma, or what should not be there
            if (peek() != ':') continue;
            take();
            if (peek() != 0 && !visit(key)) return true;
        }
        return false;
    }

private:
    bool skip_nested();  // a string, an object or an array; false when the text ends inside it
    void skip_scalar();

    TextWindow window_;
    std::uint64_t line_ = 1;
};

// The value there. Throws Skip for what is no JSON, and for a row too long to be one. `mended` tells of Windows-1252.
nlohmann::json parse_row(std::string text, bool& mended);
std::string read_row(const TextFile& file, std::uint64_t at, std::uint64_t length);
// A length as a Row holds it: what does not fit is too long for a row anyway, and read_row says so.
std::uint32_t row_length(std::uint64_t length);

// {id, image, conversations} or {image|file_name|file, caption|text}, as LLaVA JSON and JSONL have them. The picture is
// the name as written. Throws Skip.
RawRow row_from_json(const nlohmann::json& object);
// A text, or nothing where the key is absent or null. Throws Skip for other types; an id may be a whole number.
std::string text_of(const nlohmann::json& object, const char* key);
std::string id_of(const nlohmann::json& object, const char* key);

}  // namespace vitrine::dataset
