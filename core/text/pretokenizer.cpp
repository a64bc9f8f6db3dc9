#include "core/text/pretokenizer.h"

#include "core/text/unicode.h"
#include "core/text/utf8.h"

#include <array>

namespace vitrine {
namespace {

using unicode::CharClass;

constexpr auto ascii_classes = [] {
    std::array<CharClass, 128> table{};
    for (int c = 'a'; c <= 'z'; ++c) table[c] = table[c - 'a' + 'A'] = CharClass::letter;
    for (int c = '0'; c <= '9'; ++c) table[c] = CharClass::number;
    for (const char c : {'\t', '\n', '\v', '\f', '\r', ' '}) table[static_cast<std::size_t>(c)] = CharClass::space;
    return table;
}();

struct Char {
    CharClass char_class;
    std::size_t length;
};

Char read(std::string_view text, std::size_t at) {
    const auto lead = static_cast<unsigned char>(text[at]);
    if (lead < 0x80) return {ascii_classes[lead], 1};
    const auto [c, length] = utf8::decode(text.data() + at);
    return {unicode::char_class(c), length};
}

std::size_t run_end(std::string_view text, std::size_t at, CharClass wanted) {
    while (at < text.size()) {
        const auto [found, length] = read(text, at);
        if (found != wanted) break;
        at += length;
    }
    return at;
}

bool is_newline(char c) {
    return c == '\r' || c == '\n';
}

// 's 't 'm 'd 're 've 'll in any case. The long s (U+017F) folds to s; no other character outside ASCII folds to these.
std::size_t contraction_length(std::string_view text) {
    if (text.size() < 2 || text[0] != '\'') return 0;
    const auto lower = [&](std::size_t i) { return i < text.size() ? static_cast<char>(text[i] | 0x20) : '\0'; };
    switch (lower(1)) {
        case 's':
        case 't':
        case 'm':
        case 'd': return 2;
        case 'r':
        case 'v': return lower(2) == 'e' ? 3 : 0;
        case 'l': return lower(2) == 'l' ? 3 : 0;
        default: return text.substr(1, 2) == "\u017F" ? 3 : 0;
    }
}

// \s*[\r\n]+ up to the last line end of the run; else \s+(?!\S), which leaves the last space to the word that follows;
// else \s+.
std::size_t space_end(std::string_view text, std::size_t at) {
    std::size_t after_newline = 0, last = at, end = at;
    while (end < text.size()) {
        const auto [found, length] = read(text, end);
        if (found != CharClass::space) break;
        last = end;
        end += length;
        if (is_newline(text[last])) after_newline = end;
    }
    if (after_newline) return after_newline;
    return end == text.size() || last == at ? end : last;
}

}  // namespace

std::size_t piece_end(std::string_view text, std::size_t at) {
    if (const std::size_t length = contraction_length(text.substr(at))) return at + length;

    const auto [first, length] = read(text, at);
    const std::size_t next = at + length;
    if (first == CharClass::letter) return run_end(text, next, CharClass::letter);
    if (first == CharClass::number) return next;

    const bool more = next < text.size();
    const CharClass second = more ? read(text, next).char_class : CharClass::space;
    if (more && second == CharClass::letter && !is_newline(text[at])) return run_end(text, next, CharClass::letter);
    if (first == CharClass::other || (text[at] == ' ' && second == CharClass::other)) {
        std::size_t end = run_end(text, next, CharClass::other);
        while (end < text.size() && is_newline(text[end])) ++end;
        return end;
    }
    return space_end(text, at);
}

}  // namespace vitrine
