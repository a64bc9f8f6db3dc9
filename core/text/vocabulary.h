#pragma once

#include "core/text/tokenizer.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine {

// The tokens as bytes: by id from one arena, and by content through an open hash table. Filled once while loading: add
// all tokens that can be found by content, index them, then add those that are reached by id alone.
class Vocabulary {
public:
    bool add(TokenId id, std::string_view bytes);  // false when the id is taken
    bool holds(TokenId id) const {
        return static_cast<std::size_t>(id) < tokens_.size() && tokens_[at(id)].offset != none;
    }
    std::optional<TokenId> first_hole() const;  // the lowest id that no token has

    // Builds the hash table. Returns an id whose bytes another token has too, if there is one.
    std::optional<TokenId> index();

    std::optional<TokenId> find(std::string_view bytes) const;
    std::string_view bytes(TokenId id) const {
        return std::string_view(arena_).substr(tokens_[at(id)].offset, tokens_[at(id)].length);
    }
    std::size_t size() const { return tokens_.size(); }
    std::size_t longest() const { return longest_; }  // bytes, of what can be found

private:
    static constexpr std::uint32_t none = UINT32_MAX;
    struct Token {
        std::uint32_t offset = none, length = 0;
    };
    struct Slot {
        std::uint32_t tag = 0;  // the hash bits that did not choose the slot
        TokenId id = -1;
    };
    static std::size_t at(TokenId id) { return static_cast<std::size_t>(id); }

    std::string arena_;
    std::vector<Token> tokens_;  // by id
    std::vector<Slot> slots_;    // a power of two
    std::size_t longest_ = 0;
};

}  // namespace vitrine
