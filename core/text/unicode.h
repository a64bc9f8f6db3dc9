#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// What the tokenizer asks of Unicode: character classes and NFC, in the versions the `tokenizers` library works with.
namespace vitrine::unicode {

enum class CharClass : std::uint8_t { other, letter, number, space };

CharClass char_class(char32_t code_point);

// The NFC of well-formed text. Mostly that is text itself; where something changes, the result lives in buffer.
std::string_view nfc(std::string_view text, std::string& buffer);

}  // namespace vitrine::unicode
