#include "core/text/bpe.h"

#include <algorithm>
#include <bit>
#include <queue>
#include <utility>

namespace vitrine {
namespace {

// Up to this many bytes the pair to join is found by looking at all of them; beyond, a heap keeps the work n log n.
constexpr std::size_t short_piece = 64;

}  // namespace

Bpe::Bpe(Vocabulary vocabulary, std::span<const Merge> merges, bool ignore_merges, const std::vector<bool>& is_added)
    : vocabulary_(std::move(vocabulary)), whole_(vocabulary_.size()) {
    for (std::size_t byte = 0; byte < byte_token_.size(); ++byte) {
        const char c = static_cast<char>(byte);
        byte_token_[byte] = vocabulary_.find({&c, 1}).value();
    }
    for (std::size_t id = 0; id < whole_.size(); ++id) whole_[id] = is_added[id] ? no : ignore_merges ? yes : unknown;

    slots_.resize(std::bit_ceil(merges.size() + merges.size() / 2 + 2));
    shift_ = 64 - std::countr_zero(slots_.size());
    for (std::size_t rank = 0; rank < merges.size(); ++rank) {
        const auto [left, right, product] = merges[rank];
        if (is_added[static_cast<std::size_t>(product)]) continue;
        const std::uint64_t pair = pair_of(left, right);
        slots_[slot_of(pair)] = {pair,
                                 {static_cast<std::uint32_t>(rank), product}};  // a pair listed twice has its last rank
    }
}

std::size_t Bpe::slot_of(std::uint64_t pair) const {
    std::size_t at = (pair * 0x9E3779B97F4A7C15U) >> shift_;
    while (slots_[at].pair != UINT64_MAX && slots_[at].pair != pair) at = (at + 1) & (slots_.size() - 1);
    return at;
}

void Bpe::encode(std::string_view piece, std::vector<TokenId>& ids) const {
    const auto id = piece.size() <= vocabulary_.longest() ? vocabulary_.find(piece) : std::nullopt;
    if (!id) return merge(piece, ids);

    std::atomic<std::uint8_t>& whole = whole_[static_cast<std::size_t>(*id)];
    const std::uint8_t known = whole.load(std::memory_order_relaxed);
    if (known == yes) {
        ids.push_back(*id);
        return;
    }
    const std::size_t before = ids.size();
    merge(piece, ids);
    if (known == unknown) whole.store(ids.size() == before + 1 ? yes : no, std::memory_order_relaxed);
}

void Bpe::merge(std::string_view piece, std::vector<TokenId>& ids) const {
    piece.size() <= short_piece ? merge_short(piece, ids) : merge_long(piece, ids);
}

void Bpe::merge_short(std::string_view piece, std::vector<TokenId>& ids) const {
    std::array<TokenId, short_piece> token;
    std::array<Join, short_piece> join;  // of token i with its right neighbour
    std::size_t count = piece.size();
    for (std::size_t i = 0; i < count; ++i) token[i] = byte_token_[static_cast<unsigned char>(piece[i])];
    for (std::size_t i = 0; i + 1 < count; ++i) join[i] = join_of(token[i], token[i + 1]);

    while (count > 1) {
        std::size_t best = 0;
        for (std::size_t i = 1; i + 1 < count; ++i)
            if (join[i].rank < join[best].rank) best = i;
        if (join[best].rank == no_rank) break;

        token[best] = join[best].product;
        std::copy(token.begin() + best + 2, token.begin() + count, token.begin() + best + 1);
        std::copy(join.begin() + best + 1, join.begin() + count - 1, join.begin() + best);
        --count;
        if (best > 0) join[best - 1] = join_of(token[best - 1], token[best]);
        if (best + 1 < count) join[best] = join_of(token[best], token[best + 1]);
    }
    ids.insert(ids.end(), token.begin(), token.begin() + count);
}

void Bpe::merge_long(std::string_view piece, std::vector<TokenId>& ids) const {
    using Index = std::uint32_t;
    constexpr Index none = UINT32_MAX;
    struct Node {
        TokenId token;
        Index left, right;
        Join join;  // with the right neighbour
    };
    using Candidate = std::pair<std::uint32_t, Index>;  // rank, then place: the lowest rank, leftmost first

    std::vector<Node> nodes(piece.size());
    std::vector<Candidate> start;
    for (Index i = 0; i < nodes.size(); ++i)
        nodes[i] = {byte_token_[static_cast<unsigned char>(piece[i])], i - 1, i + 1, {}};
    nodes.front().left = nodes.back().right = none;
    for (Index i = 0; i + 1 < nodes.size(); ++i) {
        nodes[i].join = join_of(nodes[i].token, nodes[i + 1].token);
        if (nodes[i].join.rank != no_rank) start.emplace_back(nodes[i].join.rank, i);
    }
    std::priority_queue candidates(std::greater<>(), std::move(start));

    const auto rejoin = [&](Index i) {
        Node& node = nodes[i];
        node.join = node.right == none ? Join() : join_of(node.token, nodes[node.right].token);
        if (node.join.rank != no_rank) candidates.emplace(node.join.rank, i);
    };
    while (!candidates.empty()) {
        const auto [rank, i] = candidates.top();
        candidates.pop();
        Node& node = nodes[i];
        if (node.join.rank != rank) continue;  // one of the two has joined another since
        Node& gone = nodes[node.right];
        gone.join.rank = no_rank;
        node.token = node.join.product;
        node.right = gone.right;
        if (node.right != none) nodes[node.right].left = i;
        rejoin(i);
        if (node.left != none) rejoin(node.left);
    }
    for (Index i = 0; i != none; i = nodes[i].right) ids.push_back(nodes[i].token);
}

}  // namespace vitrine
