#pragma once

#include <cstdint>
#include <span>

// Raw facts, made by generate_unicode_tables.py; unicode.h is what the rest of the room uses.
namespace vitrine::unicode {

struct Range {
    char32_t first, last;
};
struct ClassRange {
    char32_t first, last;
    std::uint8_t combining_class;
};
// One step of canonical decomposition; second is 0 for singletons. Hangul syllables are arithmetic and not listed.
struct Decomposition {
    char32_t composite, first, second;
};

extern const std::span<const Range> letters;                 // \p{L}
extern const std::span<const Range> numbers;                 // \p{N}
extern const std::span<const Range> spaces;                  // \s
extern const std::span<const ClassRange> combining_classes;  // all that are not 0
extern const std::span<const Decomposition> composing;       // NFC puts these together again
extern const std::span<const Decomposition> lasting;         // and these not

}  // namespace vitrine::unicode
