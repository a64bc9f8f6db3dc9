#include "core/eval/words.h"

#include "core/text/unicode.h"
#include "core/text/utf8.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace vitrine {
namespace {

using unicode::CharClass;

// Capitals first, first + step, ... to last; the small letter of each stands `offset` behind it.
struct Capitals {
    char32_t first;
    char32_t last;
    std::uint32_t step;
    std::int32_t offset;
};
constexpr std::array<Capitals, 31> kCapitals{{
    {'A', 'Z', 1, 32},          {0x00C0, 0x00D6, 1, 32}, {0x00D8, 0x00DE, 1, 32}, {0x0100, 0x012E, 2, 1},
    {0x0132, 0x0136, 2, 1},     {0x0139, 0x0147, 2, 1},  {0x014A, 0x0176, 2, 1},  {0x0178, 0x0178, 1, -121},
    {0x0179, 0x017D, 2, 1},     {0x01CD, 0x01DB, 2, 1},  {0x01DE, 0x01EE, 2, 1},  {0x01F8, 0x021E, 2, 1},
    {0x0222, 0x0232, 2, 1},     {0x0386, 0x0386, 1, 38}, {0x0388, 0x038A, 1, 37}, {0x038C, 0x038C, 1, 64},
    {0x038E, 0x038F, 1, 63},    {0x0391, 0x03A1, 1, 32}, {0x03A3, 0x03AB, 1, 32}, {0x0400, 0x040F, 1, 80},
    {0x0410, 0x042F, 1, 32},    {0x0460, 0x0480, 2, 1},  {0x048A, 0x04BE, 2, 1},  {0x04C0, 0x04C0, 1, 15},
    {0x04C1, 0x04CD, 2, 1},     {0x04D0, 0x052E, 2, 1},  {0x0531, 0x0556, 1, 48}, {0x1E00, 0x1E94, 2, 1},
    {0x1E9E, 0x1E9E, 1, -7615}, {0x1EA0, 0x1EFE, 2, 1},  {0xFF21, 0xFF3A, 1, 32},
}};

char32_t lower(char32_t code_point) {
    if (code_point == 0x0130) return 'i';  // the Turkish dotted capital: its dot is part of i
    const auto after = std::upper_bound(kCapitals.begin(), kCapitals.end(), code_point,
                                        [](char32_t value, const Capitals& range) { return value < range.first; });
    if (after == kCapitals.begin()) return code_point;
    const Capitals& range = *(after - 1);
    const bool capital = code_point <= range.last && (code_point - range.first) % range.step == 0;
    return capital ? code_point + static_cast<char32_t>(range.offset) : code_point;
}

bool within(char32_t code_point, char32_t first, char32_t last) {
    return first <= code_point && code_point <= last;
}

bool is_punctuation(char32_t c) {
    return c < 0xC0 || c == 0xD7 || c == 0xF7 || c == 0x060C || c == 0x061B || c == 0x061F || c == 0x0964 ||
           c == 0x0965 || within(c, 0x2000, 0x206F) || within(c, 0x2E00, 0x2E7F) || within(c, 0x3000, 0x303F) ||
           within(c, 0xFE30, 0xFE6F) || within(c, 0xFF01, 0xFF65);
}

bool is_ideograph(char32_t c) {
    return within(c, 0x3041, 0x30FF) || within(c, 0x3400, 0x4DBF) || within(c, 0x4E00, 0x9FFF) ||
           within(c, 0xF900, 0xFAFF) || within(c, 0x20000, 0x323AF);
}

enum class Kind : std::uint8_t { space, punctuation, symbol, joiner, number_joiner, ideograph, letter, number };

// What is neither letter, number, space nor punctuation (combining marks, emoji) counts as a letter.
Kind kind_of(char32_t c) {
    switch (unicode::char_class(c)) {
        case CharClass::space: return Kind::space;
        case CharClass::number: return Kind::number;
        case CharClass::letter: return is_ideograph(c) ? Kind::ideograph : Kind::letter;
        case CharClass::other: break;
    }
    if (c < 0x80) {
        const char ascii = static_cast<char>(c);
        if (std::string_view("$%&#+=*").find(ascii) != std::string_view::npos) return Kind::symbol;
        if (std::string_view("-'/_@").find(ascii) != std::string_view::npos) return Kind::joiner;
        if (std::string_view(".,:").find(ascii) != std::string_view::npos) return Kind::number_joiner;
    }
    return is_punctuation(c) ? Kind::punctuation : Kind::letter;
}

char32_t plain_joiner(char32_t c) {
    if (c == 0x2019 || c == 0x02BC) return '\'';  // typographic apostrophes
    if (c == 0x2010 || c == 0x2011) return '-';   // hyphens
    return c;
}

void append_split(std::vector<std::string>& words, std::string word) {
    constexpr std::array<std::string_view, 7> kClitics{"n't", "'s", "'re", "'ve", "'ll", "'d", "'m"};
    if (word == "cannot") {
        words.insert(words.end(), {"can", "not"});
        return;
    }
    for (const std::string_view clitic : kClitics) {
        if (word.size() > clitic.size() && word.ends_with(clitic)) {
            word.resize(word.size() - clitic.size());
            words.push_back(std::move(word));
            words.emplace_back(clitic);
            return;
        }
    }
    words.push_back(std::move(word));
}

std::u32string code_points(std::string_view text) {
    std::u32string points;
    for (std::size_t at = 0; at < text.size();) {
        const utf8::Decoded decoded = utf8::decode(text.data() + at);
        points.push_back(decoded.code_point);
        at += decoded.length;
    }
    return points;
}

}  // namespace

std::string normalised_text(std::string_view text) {
    std::string repaired;
    std::string composed;
    std::string result;
    bool space = false;
    for (const char32_t c : code_points(unicode::nfc(utf8::repaired(text, repaired), composed))) {
        if (unicode::char_class(c) == CharClass::space) {
            space = !result.empty();
            continue;
        }
        if (space) result += ' ';
        space = false;
        utf8::append(result, lower(c));
    }
    return result;
}

std::vector<std::string> caption_words(std::string_view text) {
    std::u32string points = code_points(normalised_text(text));
    std::transform(points.begin(), points.end(), points.begin(), plain_joiner);
    const auto kind_at = [&](std::size_t i) { return i < points.size() ? kind_of(points[i]) : Kind::space; };
    const auto in_word = [](Kind kind) { return kind == Kind::letter || kind == Kind::number; };

    std::vector<std::string> words;
    std::string word;
    for (std::size_t i = 0; i < points.size(); ++i) {
        const Kind kind = kind_at(i);
        const Kind before = word.empty() ? Kind::space : kind_at(i - 1);
        const Kind after = kind_at(i + 1);
        const bool joins = (kind == Kind::joiner && in_word(before) && in_word(after)) ||
                           (kind == Kind::number_joiner && before == Kind::number && after == Kind::number);
        if (in_word(kind) || joins) {
            utf8::append(word, points[i]);
            continue;
        }
        if (!word.empty()) append_split(words, std::move(word));
        word.clear();
        if (kind == Kind::symbol || kind == Kind::ideograph) utf8::append(words.emplace_back(), points[i]);
    }
    if (!word.empty()) append_split(words, std::move(word));
    return words;
}

}  // namespace vitrine
