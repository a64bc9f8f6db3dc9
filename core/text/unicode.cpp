#include "core/text/unicode.h"

#include "core/text/unicode_tables.h"
#include "core/text/utf8.h"

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace vitrine::unicode {
namespace {

struct Property {
    CharClass char_class = CharClass::other;
    std::uint8_t combining_class = 0;
    bool nfc_may_change = false;  // NFC_Quick_Check is No or Maybe
    auto operator<=>(const Property&) const = default;
};

// Hangul syllables are computed, not listed (Unicode 3.12).
constexpr char32_t syllable_base = 0xAC00, lead_base = 0x1100, vowel_base = 0x1161, tail_base = 0x11A7;
constexpr char32_t lead_count = 19, vowel_count = 21, tail_count = 28;
constexpr char32_t syllable_count = lead_count * vowel_count * tail_count;

constexpr bool within(char32_t c, char32_t base, char32_t count) {
    return c - base < count;
}

// The generated ranges, spread out once into a two-stage table and two maps.
class Data {
public:
    static const Data& get() {
        static const Data data;
        return data;
    }

    const Property& property(char32_t c) const { return blocks_[block_of_[c / block_size]][c % block_size]; }

    // The full canonical decomposition, not yet in canonical order.
    void decompose(char32_t c, std::u32string& out) const {
        if (within(c, syllable_base, syllable_count)) {
            const char32_t index = c - syllable_base;
            out += lead_base + index / (vowel_count * tail_count);
            out += vowel_base + index / tail_count % vowel_count;
            if (index % tail_count) out += tail_base + index % tail_count;
        } else if (const auto step = steps_.find(c); step != steps_.end()) {
            decompose(step->second.first, out);
            if (step->second.second) decompose(step->second.second, out);
        } else {
            out += c;
        }
    }

    // What two characters make together in NFC, or 0.
    char32_t compose(char32_t a, char32_t b) const {
        if (within(a, lead_base, lead_count) && within(b, vowel_base, vowel_count))
            return syllable_base + ((a - lead_base) * vowel_count + (b - vowel_base)) * tail_count;
        if (within(a, syllable_base, syllable_count) && (a - syllable_base) % tail_count == 0 && b != tail_base &&
            within(b, tail_base, tail_count))
            return a + (b - tail_base);
        const auto found = pairs_.find(key(a, b));
        return found == pairs_.end() ? 0 : found->second;
    }

private:
    static constexpr std::size_t block_size = 128;
    using Block = std::array<Property, block_size>;

    static std::uint64_t key(char32_t a, char32_t b) { return std::uint64_t{a} << 32 | b; }

    Data() {
        std::vector<Property> flat(0x110000);
        const auto mark = [&](std::span<const Range> ranges, CharClass value) {
            for (const Range& r : ranges)
                for (char32_t c = r.first; c <= r.last; ++c) flat[c].char_class = value;
        };
        mark(letters, CharClass::letter);
        mark(numbers, CharClass::number);
        mark(spaces, CharClass::space);
        for (const ClassRange& r : combining_classes)
            for (char32_t c = r.first; c <= r.last; ++c) flat[c].combining_class = r.combining_class;
        for (const Decomposition& d : composing) {
            steps_[d.composite] = {d.first, d.second};
            pairs_[key(d.first, d.second)] = d.composite;
            flat[d.second].nfc_may_change = true;
        }
        for (const Decomposition& d : lasting) {
            steps_[d.composite] = {d.first, d.second};
            flat[d.composite].nfc_may_change = true;
        }
        for (char32_t i = 0; i < vowel_count; ++i) flat[vowel_base + i].nfc_may_change = true;
        for (char32_t i = 1; i < tail_count; ++i) flat[tail_base + i].nfc_may_change = true;

        std::map<Block, std::uint16_t> seen;
        for (std::size_t i = 0; i < block_of_.size(); ++i) {
            Block block;
            std::copy_n(flat.begin() + static_cast<std::ptrdiff_t>(i * block_size), block_size, block.begin());
            if (i > 0 && block == blocks_[block_of_[i - 1]]) {  // most of the code space is long runs of the same
                block_of_[i] = block_of_[i - 1];
                continue;
            }
            const auto [known, is_new] = seen.try_emplace(block, static_cast<std::uint16_t>(blocks_.size()));
            if (is_new) blocks_.push_back(block);
            block_of_[i] = known->second;
        }
    }

    std::array<std::uint16_t, 0x110000 / block_size> block_of_{};
    std::vector<Block> blocks_;
    std::unordered_map<char32_t, std::pair<char32_t, char32_t>> steps_;
    std::unordered_map<std::uint64_t, char32_t> pairs_;
};

// Appends the NFC of a stretch that starts and ends where nothing can reach across: decompose, order, compose.
void append_composed(std::string& out, std::string_view stretch) {
    const Data& data = Data::get();
    const auto combining_class = [&](char32_t c) { return data.property(c).combining_class; };

    std::u32string chars;
    for (std::size_t at = 0; at < stretch.size();) {
        const auto [c, length] = utf8::decode(stretch.data() + at);
        data.decompose(c, chars);
        at += length;
    }
    for (auto at = chars.begin(); at != chars.end();) {
        const auto is_starter = [&](char32_t c) { return combining_class(c) == 0; };
        const auto marks = std::find_if_not(at, chars.end(), is_starter);
        const auto end = std::find_if(marks, chars.end(), is_starter);
        std::stable_sort(marks, end, [&](char32_t a, char32_t b) { return combining_class(a) < combining_class(b); });
        at = end;
    }

    // A mark joins the last starter unless something between them, of its class or a higher one, stands in the way.
    constexpr std::size_t none = std::u32string::npos;
    std::size_t starter = none, size = 0;
    int between = -1;  // the class of what was last kept after the starter; -1 when nothing was
    for (const char32_t c : chars) {
        const int k = combining_class(c);
        if (starter != none && between < k) {
            if (const char32_t joined = data.compose(chars[starter], c)) {
                chars[starter] = joined;
                continue;
            }
        }
        if (k == 0) {
            starter = size;
            between = -1;
        } else {
            between = k;
        }
        chars[size++] = c;
    }
    for (std::size_t i = 0; i < size; ++i) utf8::append(out, chars[i]);
}

struct Scan {
    std::size_t anchor;  // the last character before stop that combines with nothing before it
    std::size_t stop;    // the first one that may break the form, or the end
};

// The quick check of Unicode annex 15.
Scan quick_check(std::string_view text, std::size_t at) {
    const Data& data = Data::get();
    Scan scan{at, at};
    std::uint8_t last = 0;
    while (scan.stop < text.size()) {
        if (static_cast<unsigned char>(text[scan.stop]) < 0x80) {
            scan.stop += utf8::ascii_prefix(text.substr(scan.stop));
            scan.anchor = scan.stop - 1;
            last = 0;
            continue;
        }
        const auto [c, length] = utf8::decode(text.data() + scan.stop);
        const Property& p = data.property(c);
        if (p.nfc_may_change || (p.combining_class && p.combining_class < last)) break;
        last = p.combining_class;
        if (last == 0) scan.anchor = scan.stop;
        scan.stop += length;
    }
    return scan;
}

// Where the stretch that must be composed ends: at the next starter that combines with nothing before it.
std::size_t next_anchor(std::string_view text, std::size_t at) {
    while (at < text.size()) {
        const auto [c, length] = utf8::decode(text.data() + at);
        const Property& p = Data::get().property(c);
        if (p.combining_class == 0 && !p.nfc_may_change) break;
        at += length;
    }
    return at;
}

}  // namespace

CharClass char_class(char32_t code_point) {
    return Data::get().property(code_point).char_class;
}

std::string_view nfc(std::string_view text, std::string& buffer) {
    Scan scan = quick_check(text, 0);
    if (scan.stop == text.size()) return text;

    std::string composed;
    composed.reserve(text.size());
    std::size_t at = 0;
    while (scan.stop < text.size()) {
        composed.append(text, at, scan.anchor - at);
        at = next_anchor(text, scan.stop);
        append_composed(composed, text.substr(scan.anchor, at - scan.anchor));
        scan = quick_check(text, at);
    }
    composed.append(text, at);
    buffer = std::move(composed);
    return buffer;
}

}  // namespace vitrine::unicode
