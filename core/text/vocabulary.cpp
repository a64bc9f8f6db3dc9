#include "core/text/vocabulary.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace vitrine {
namespace {

// Eight bytes at a time through a folded 64x64 -> 128 bit product.
std::uint64_t hash(std::string_view bytes) {
    __extension__ using Wide = unsigned __int128;
    const auto mix = [](std::uint64_t a, std::uint64_t b) {
        const Wide product = static_cast<Wide>(a) * b;
        return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    };
    constexpr std::uint64_t odd = 0x9E3779B97F4A7C15U;
    std::uint64_t state = mix(bytes.size() + odd, 0xD1342543DE82EF95U), word;
    while (bytes.size() > sizeof word) {
        std::memcpy(&word, bytes.data(), sizeof word);
        state = mix(state ^ word, odd);
        bytes.remove_prefix(sizeof word);
    }
    word = 0;
    std::memcpy(&word, bytes.data(), bytes.size());
    return mix(state ^ word, odd);
}

}  // namespace

bool Vocabulary::add(TokenId id, std::string_view bytes) {
    if (at(id) >= tokens_.size()) tokens_.resize(at(id) + 1);
    if (holds(id)) return false;
    tokens_[at(id)] = {static_cast<std::uint32_t>(arena_.size()), static_cast<std::uint32_t>(bytes.size())};
    arena_ += bytes;
    return true;
}

std::optional<TokenId> Vocabulary::first_hole() const {
    const auto hole = std::find_if(tokens_.begin(), tokens_.end(), [](const Token& t) { return t.offset == none; });
    if (hole == tokens_.end()) return std::nullopt;
    return static_cast<TokenId>(hole - tokens_.begin());
}

std::optional<TokenId> Vocabulary::index() {
    slots_.assign(std::bit_ceil(tokens_.size() + tokens_.size() / 2 + 1), Slot());
    for (TokenId id = 0; at(id) < tokens_.size(); ++id) {
        if (!holds(id)) continue;
        const std::uint64_t h = hash(bytes(id));
        const auto tag = static_cast<std::uint32_t>(h >> 32);
        std::size_t slot = h & (slots_.size() - 1);
        for (; slots_[slot].id >= 0; slot = (slot + 1) & (slots_.size() - 1)) {
            if (slots_[slot].tag == tag && bytes(slots_[slot].id) == bytes(id)) return id;
        }
        slots_[slot] = {tag, id};
        longest_ = std::max(longest_, bytes(id).size());
    }
    return std::nullopt;
}

std::optional<TokenId> Vocabulary::find(std::string_view wanted) const {
    const std::uint64_t h = hash(wanted);
    const auto tag = static_cast<std::uint32_t>(h >> 32);
    for (std::size_t slot = h & (slots_.size() - 1); slots_[slot].id >= 0; slot = (slot + 1) & (slots_.size() - 1)) {
        if (slots_[slot].tag == tag && bytes(slots_[slot].id) == wanted) return slots_[slot].id;
    }
    return std::nullopt;
}

}  // namespace vitrine
