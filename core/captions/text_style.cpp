#include "core/captions/text_style.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/text/utf8.h"
#include "core/train/dataset_text.h"

namespace vitrine::captions {
namespace {

constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";

TextEncoding encoding_of(std::string_view bytes) {
    if (bytes.starts_with(kUtf8Mark)) return TextEncoding::utf8_marked;
    if (bytes.starts_with("\xFF\xFE")) return TextEncoding::utf16_little;
    if (bytes.starts_with("\xFE\xFF")) return TextEncoding::utf16_big;
    return TextEncoding::utf8;
}

std::string with_line_ends(std::string_view text, const TextStyle& style) {
    const std::string_view line_end = style.crlf ? "\r\n" : "\n";
    std::string result;
    result.reserve(text.size() + 2 * style.final_newlines);
    for (const char c : text) c == '\n' ? result.append(line_end) : result.append(1, c);
    for (std::size_t i = 0; i < style.final_newlines; ++i) result += line_end;
    return result;
}

// Calls visit(code point) for each character; ill-formed parts arrive as U+FFFD.
template <class Visit>
void for_each_character(std::string_view text, Visit visit) {
    std::string buffer;
    const std::string_view whole = utf8::repaired(text, buffer);
    for (std::size_t at = 0; at < whole.size();) {
        const utf8::Decoded next = utf8::decode(whole.data() + at);
        visit(next.code_point);
        at += next.length;
    }
}

std::string to_utf16(std::string_view text, bool big) {
    std::string bytes;
    const auto put = [&](char32_t unit) {
        const char high = static_cast<char>(unit >> 8U & 0xFFU);
        const char low = static_cast<char>(unit & 0xFFU);
        bytes.append(1, big ? high : low).append(1, big ? low : high);
    };
    put(0xFEFF);
    for_each_character(text, [&](char32_t c) {
        if (c < 0x10000) return put(c);
        put(0xD800 + ((c - 0x10000) >> 10U));
        put(0xDC00 + ((c - 0x10000) & 0x3FFU));
    });
    return bytes;
}

// The upper half of Windows-1252, learned from its reader: what each byte alone is read as.
const std::map<char32_t, char>& windows_1252_bytes() {
    static const std::map<char32_t, char> table = [] {
        std::map<char32_t, char> bytes;
        for (int byte = 0x80; byte < 0x100; ++byte) {
            std::string text(1, static_cast<char>(byte));
            dataset::mend_utf8(text);
            const char32_t c = utf8::decode(text.data()).code_point;
            if (c != utf8::replacement) bytes.emplace(c, static_cast<char>(byte));
        }
        return bytes;
    }();
    return table;
}

std::optional<std::string> to_windows_1252(std::string_view text) {
    std::string bytes;
    bool fits = true;
    for_each_character(text, [&](char32_t c) {
        if (c < 0x80) return void(bytes += static_cast<char>(c));
        const auto found = windows_1252_bytes().find(c);
        fits = fits && found != windows_1252_bytes().end();
        if (fits) bytes += found->second;
    });
    return fits ? std::optional(std::move(bytes)) : std::nullopt;
}

}  // namespace

StyledText decode_text(std::string bytes) {
    StyledText result;
    TextStyle& style = result.style;
    style.encoding = encoding_of(bytes);
    std::string text = dataset::without_mark(std::move(bytes));
    if (dataset::mend_utf8(text) && style.encoding == TextEncoding::utf8) style.encoding = TextEncoding::windows_1252;

    std::size_t pairs = 0;
    result.text.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool pair = text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n';
        pairs += pair ? 1 : 0;
        if (!pair) result.text += text[i];
    }
    const auto lines = static_cast<std::size_t>(std::count(result.text.begin(), result.text.end(), '\n'));
    style.crlf = 2 * pairs > lines;
    const std::size_t end = result.text.find_last_not_of('\n') + 1;  // npos + 1 is 0
    style.final_newlines = result.text.size() - end;
    result.text.resize(end);
    return result;
}

std::string encode_text(std::string_view text, const TextStyle& style) {
    std::string spelled = with_line_ends(text, style);
    switch (style.encoding) {
        case TextEncoding::utf8: break;
        case TextEncoding::utf8_marked: return spelled.insert(0, kUtf8Mark);
        case TextEncoding::utf16_little: return to_utf16(spelled, false);
        case TextEncoding::utf16_big: return to_utf16(spelled, true);
        case TextEncoding::windows_1252: return to_windows_1252(spelled).value_or(spelled);
    }
    return spelled;
}

}  // namespace vitrine::captions
