#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vitrine::utf8 {

constexpr char32_t replacement = 0xFFFD;

// A character of text known to be well-formed.
struct Decoded {
    char32_t code_point;
    std::uint32_t length;  // bytes
};

inline Decoded decode(const char* at) {
    const auto byte = [at](int i) { return static_cast<char32_t>(static_cast<unsigned char>(at[i])); };
    const char32_t lead = byte(0);
    if (lead < 0x80) return {lead, 1};
    if (lead < 0xE0) return {(lead & 0x1F) << 6 | (byte(1) & 0x3F), 2};
    if (lead < 0xF0) return {(lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
    return {(lead & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F), 4};
}

// How the bytes at the start of a text read: a whole character, a maximal ill-formed subpart (Unicode 3.9, table 3-7),
// or the beginning of a character whose rest has not arrived.
enum class Form : std::uint8_t { whole, broken, unfinished };
struct Sequence {
    Form form;
    std::uint32_t length;
};
Sequence examine(std::string_view text);  // text is not empty

// The number of bytes at the start of text that are ASCII, eight at a time.
std::size_t ascii_prefix(std::string_view text);

void append(std::string& out, char32_t code_point);

// Appends text with each ill-formed part as U+FFFD, up to an unfinished character at its end. Returns the bytes read.
std::size_t append_repaired(std::string& out, std::string_view text);
// All of text, mostly itself; where a part is ill-formed, an unfinished end included, the result lives in buffer.
std::string_view repaired(std::string_view text, std::string& buffer);

}  // namespace vitrine::utf8
