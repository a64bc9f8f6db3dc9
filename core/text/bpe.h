#pragma once

#include "core/text/vocabulary.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace vitrine {

// Byte pair encoding of one pre-token: of all neighbouring pairs that have a merge, the one of lowest rank (the
// leftmost of these) is joined, until none is left. Sennrich et al. 2016 (arXiv 1508.07909) on bytes. Const after
// construction.
class Bpe {
public:
    struct Merge {
        TokenId left, right, product;
    };

    // merges in the order of their rank; all 256 bytes are tokens. With ignore_merges a pre-token that is itself a
    // token is that token. An id for which is_added is true never comes out.
    Bpe(Vocabulary vocabulary, std::span<const Merge> merges, bool ignore_merges, const std::vector<bool>& is_added);

    void encode(std::string_view piece, std::vector<TokenId>& ids) const;  // appends
    const Vocabulary& vocabulary() const { return vocabulary_; }

private:
    static constexpr std::uint32_t no_rank = UINT32_MAX;
    struct Join {
        std::uint32_t rank = no_rank;
        TokenId product = -1;
    };
    struct Slot {
        std::uint64_t pair = UINT64_MAX;
        Join join;
    };

    static std::uint64_t pair_of(TokenId left, TokenId right) {
        return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
    }
    std::size_t slot_of(std::uint64_t pair) const;  // where pair is, or would go
    Join join_of(TokenId left, TokenId right) const { return slots_[slot_of(pair_of(left, right))].join; }
    void merge_short(std::string_view piece, std::vector<TokenId>& ids) const;
    void merge_long(std::string_view piece, std::vector<TokenId>& ids) const;
    void merge(std::string_view piece, std::vector<TokenId>& ids) const;

    Vocabulary vocabulary_;
    std::array<TokenId, 256> byte_token_{};
    std::vector<Slot> slots_;  // a power of two
    int shift_ = 0;            // leaves as many hash bits as there are slots

    // By id: whether a piece with the bytes of the token encodes to just this token, as most words of a text do. Found
    // out when the piece is first met; threads that meet it at once find out the same.
    enum Whole : std::uint8_t { unknown, yes, no };
    mutable std::vector<std::atomic<std::uint8_t>> whole_;
};

}  // namespace vitrine
