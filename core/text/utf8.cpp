#include "core/text/utf8.h"

#include <cstring>
#include <utility>

namespace vitrine::utf8 {

Sequence examine(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(0);
    if (lead < 0x80) return {Form::whole, 1};
    if (lead < 0xC2 || lead > 0xF4) return {Form::broken, 1};

    const std::uint32_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    // The second byte has a narrower range after four leads: no overlong forms, no surrogates, nothing above U+10FFFF.
    unsigned low = 0x80, high = 0xBF;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
    for (std::uint32_t i = 1; i < length; ++i, low = 0x80, high = 0xBF) {
        if (i == text.size()) return {Form::unfinished, i};
        if (byte(i) < low || byte(i) > high) return {Form::broken, i};
    }
    return {Form::whole, length};
}

std::size_t ascii_prefix(std::string_view text) {
    std::size_t at = 0;
    for (std::uint64_t word; at + sizeof word <= text.size(); at += sizeof word) {
        std::memcpy(&word, text.data() + at, sizeof word);
        if (word & 0x8080808080808080U) break;
    }
    while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
    return at;
}

void append(std::string& out, char32_t c) {
    const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((c >> shift) & 0x3F)); };
    if (c < 0x80) {
        out += static_cast<char>(c);
    } else if (c < 0x800) {
        out += static_cast<char>(0xC0 | c >> 6);
        tail(0);
    } else if (c < 0x10000) {
        out += static_cast<char>(0xE0 | c >> 12);
        tail(6);
        tail(0);
    } else {
        out += static_cast<char>(0xF0 | c >> 18);
        tail(12);
        tail(6);
        tail(0);
    }
}

std::size_t append_repaired(std::string& out, std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        const Sequence next = examine(text.substr(at));
        if (next.form == Form::unfinished) break;
        if (next.form == Form::whole) {
            out.append(text, at, next.length);
        } else {
            append(out, replacement);
        }
        at += next.length;
    }
    return at;
}

std::string_view repaired(std::string_view text, std::string& buffer) {
    std::size_t at = 0;
    while ((at += ascii_prefix(text.substr(at))) < text.size()) {
        const Sequence next = examine(text.substr(at));
        if (next.form != Form::whole) break;
        at += next.length;
    }
    if (at == text.size()) return text;

    std::string whole(text.substr(0, at));
    whole.reserve(text.size());
    at += append_repaired(whole, text.substr(at));
    if (at < text.size()) append(whole, replacement);
    buffer = std::move(whole);
    return buffer;
}

}  // namespace vitrine::utf8
