#pragma once

#include "core/text/tokenizer.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine {

// Watches streamed text for stop strings. Text that may still turn into one is held back, so that nothing of a stop string
// is ever shown.
class StopStrings {
public:
    explicit StopStrings(std::vector<std::string> stops);  // empty strings are an OptionError

    std::string push(std::string_view text);  // what may be shown now; after a match nothing more comes
    std::string flush();                      // what was held back when the answer ended otherwise
    const std::optional<std::string>& matched() const { return matched_; }

private:
    std::vector<std::string> stops_;
    std::string held_;
    std::optional<std::string> matched_;
};

// Finds exact cycles at the end of a token stream: the same run of 1 to max_period tokens, repeated so often that it cannot
// be meant. Short periods need more repeats; lists and numbers such as "1, 2, 3" never match since their tokens differ.
class LoopDetector {
public:
    struct Cycle {
        std::size_t period = 0;   // tokens
        std::size_t repeats = 0;
    };
    explicit LoopDetector(std::size_t max_period = 64);

    std::optional<Cycle> push(TokenId id);  // set once the stream has become a loop

private:
    std::size_t max_period_;
    std::vector<TokenId> ids_;
    std::vector<std::size_t> run_;  // run_[p]: how many of the latest ids equal the one p places before
};

}  // namespace vitrine
