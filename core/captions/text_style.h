#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// A text and the way its file spells it, so that a file somebody edits elsewhere keeps its spelling.
namespace vitrine::captions {

enum class TextEncoding : std::uint8_t { utf8, utf8_marked, utf16_little, utf16_big, windows_1252 };

// What a new file gets: UTF-8, one LF at the end.
struct TextStyle {
    TextEncoding encoding = TextEncoding::utf8;
    bool crlf = false;
    std::size_t final_newlines = 1;
    bool operator==(const TextStyle&) const = default;
};

struct StyledText {
    std::string text;  // UTF-8, lines parted by LF, without the newlines at its end
    TextStyle style;
};

// Reads any bytes: UTF-16 by its mark, and what is no UTF-8 as Windows-1252.
StyledText decode_text(std::string bytes);
// The bytes of `text` in that style. A character that Windows-1252 lacks makes the whole text UTF-8.
std::string encode_text(std::string_view text, const TextStyle& style);

}  // namespace vitrine::captions
