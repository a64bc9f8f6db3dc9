#include "core/text/json_cursor.h"

#include "core/error.h"
#include "core/text/utf8.h"

#include <algorithm>
#include <charconv>

namespace vitrine {

char JsonCursor::peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
        ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
}

void JsonCursor::take(char expected) {
    if (!take_if(expected)) fail(std::string("'") + expected + "'");
}

bool JsonCursor::take_if(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
}

void JsonCursor::end() {
    if (peek()) fail("the end of the file");
}

std::string_view JsonCursor::string() {
    take('"');
    const std::size_t from = at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\') ++at_;
    if (at_ < text_.size() && text_[at_] == '"') return text_.substr(from, at_++ - from);
    unescape(from);
    return unescaped_;
}

// The rest of a string from its first backslash on, or to the end of a text that was cut.
void JsonCursor::unescape(std::size_t from) {
    unescaped_.assign(text_, from, at_ - from);
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
        if (text_[at_] != '\\') {
            unescaped_ += text_[at_];
            continue;
        }
        constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
        const char letter = ++at_ < text_.size() ? text_[at_] : '\0';
        if (letter == 'u') {
            char32_t c = hex4();
            if (c >= 0xD800 && c < 0xDC00 && text_.substr(at_ + 1, 2) == "\\u") {
                at_ += 2;
                const char32_t low = hex4();
                c = low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00) : 0xD800;
            }
            if (c >= 0xD800 && c < 0xE000) fail("a whole surrogate pair");
            utf8::append(unescaped_, c);
        } else if (const std::size_t known = letters.find(letter); letter && known != letters.npos) {
            unescaped_ += meanings[known];
        } else {
            fail("an escape sequence of JSON");
        }
    }
    if (at_ >= text_.size()) fail("the end of a string");
    ++at_;
}

// Four digits after the 'u' at at_; leaves at_ on the last of them.
unsigned JsonCursor::hex4() {
    unsigned value = 0;
    const std::string_view digits = text_.substr(std::min(at_ + 1, text_.size()), 4);
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (error != std::errc() || digits.size() < 4 || stop != digits.data() + 4) fail("four hexadecimal digits");
    at_ += 4;
    return value;
}

std::int64_t JsonCursor::integer() {
    peek();
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("a whole number");
    at_ = static_cast<std::size_t>(stop - text_.data());
    return value;
}

std::string_view JsonCursor::raw() {
    peek();
    const std::size_t from = at_;
    std::size_t depth = 0;
    do {
        const char c = peek();
        if (c == '"') {
            string();
        } else if (c == '{' || c == '[') {
            ++depth, ++at_;
        } else if (c == '}' || c == ']') {
            if (depth == 0) fail("a value");
            --depth, ++at_;
        } else if (c == ',' || c == ':') {
            if (depth == 0) fail("a value");
            ++at_;
        } else {
            const std::size_t end = std::min(text_.find_first_of(",:]}[{\" \t\r\n", at_), text_.size());
            if (end == at_) fail("a value");
            at_ = end;
        }
    } while (depth > 0);
    return text_.substr(from, at_ - from);
}

void JsonCursor::fail(std::string expected) {
    const auto line =
        1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, text_.size())), '\n');
    const bool at_end = at_ >= text_.size();
    throw TokenizerError({.name = "JSON",
                          .where = file_->string() + ":" + std::to_string(line),
                          .expected = std::move(expected),
                          .found = at_end ? "the end of the file" : "\"" + std::string(text_.substr(at_, 20)) + "\"",
                          .advice = at_end ? "The file is cut short; copy or download it again." : ""});
}

}  // namespace vitrine
