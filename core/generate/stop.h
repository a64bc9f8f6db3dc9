#pragma once

#include "core/text/tokenizer.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine {

// Watches streamed text for stop strings. Text that may still turn into one is held back, so that nothing of a stop
// string is ever shown. The first stop string to become complete wins; where two end at the same byte, the longer one.
// So the outcome depends on the text alone, never on how it was cut into pushes.
class StopStrings {
public:
    // Empty strings and ill-formed UTF-8 are an OptionError.
    explicit StopStrings(std::vector<std::string> stops);

    // text: whole UTF-8 characters; so is what comes back. Linear in the text for a given set of stop strings.
    std::string push(std::string_view text);  // what may be shown now; after a match nothing more comes
    std::string flush();                      // what was held back when the answer ended otherwise
    const std::optional<std::string>& matched() const { return matched_; }

private:
    // Knuth-Morris-Pratt: one state per stop string, the length of its longest prefix that ends the text so far.
    struct Pattern {
        std::string text;
        std::vector<std::size_t> fallback;  // [length + 1] the next shorter state that ends the same text
        std::size_t state = 0;

        explicit Pattern(std::string stop);
        bool advance(char byte);  // true: complete
    };

    std::vector<Pattern> patterns_;
    std::string held_;
    std::optional<std::string> matched_;
};

// Finds exact cycles at the end of a token stream: the same run of 1 to max_period tokens, repeated so often that it
// cannot be meant. That is at least kMinRepeats times in full and over at least kMinTokens tokens, so short periods
// need more repeats: one token 80 times, two tokens 40 times, ten tokens 8 times, and from 20 tokens on 4 times. Table
// rulers, a few equal lines and "ha ha ha" stay below that; lists and numbers such as "1, 2, 3" never match since their
// tokens differ.
class LoopDetector {
public:
    static constexpr std::size_t kMinRepeats = 4;
    static constexpr std::size_t kMinTokens = 80;

    struct Cycle {
        std::size_t period = 0;   // tokens; the shortest that fits
        std::size_t repeats = 0;  // in full
    };
    explicit LoopDetector(std::size_t max_period = 64);

    std::optional<Cycle> push(TokenId id);  // set once the stream has become a loop; O(max_period)

private:
    std::vector<TokenId> ids_;      // the answer so far
    std::vector<std::size_t> run_;  // run_[p - 1]: how many of the latest ids equal the one p places before
};

}  // namespace vitrine
