#include "core/text/bpe_trainer.h"

#include "core/text/pretokenizer.h"

#include <cstdint>
#include <map>
#include <string_view>

namespace vitrine {
namespace {

struct Piece {
    std::vector<std::string> symbols;
    std::uint64_t count = 0;
};

std::vector<Piece> count_pieces(const std::vector<std::string>& texts) {
    std::map<std::string_view, std::uint64_t> counts;
    for (const std::string& text : texts) {
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = piece_end(text, at);
            ++counts[std::string_view(text).substr(at, end - at)];
            at = end;
        }
    }
    std::vector<Piece> pieces;
    for (const auto& [bytes, count] : counts) {
        Piece piece{.symbols = {}, .count = count};
        for (const char byte : bytes) piece.symbols.emplace_back(1, byte);
        pieces.push_back(std::move(piece));
    }
    return pieces;
}

void join(std::vector<std::string>& symbols, const std::pair<std::string, std::string>& pair) {
    std::size_t kept = 0;
    for (std::size_t at = 0; at < symbols.size(); ++at, ++kept) {
        const bool joined = at + 1 < symbols.size() && symbols[at] == pair.first && symbols[at + 1] == pair.second;
        std::string symbol = joined ? symbols[at] + symbols[at + 1] : std::move(symbols[at]);
        symbols[kept] = std::move(symbol);
        if (joined) ++at;
    }
    symbols.resize(kept);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> learn_merges(const std::vector<std::string>& texts, std::size_t most) {
    std::vector<Piece> pieces = count_pieces(texts);
    std::vector<std::pair<std::string, std::string>> merges;
    while (merges.size() < most) {
        std::map<std::pair<std::string, std::string>, std::uint64_t> counts;
        for (const Piece& piece : pieces)
            for (std::size_t i = 0; i + 1 < piece.symbols.size(); ++i)
                counts[{piece.symbols[i], piece.symbols[i + 1]}] += piece.count;
        auto best = counts.end();
        for (auto it = counts.begin(); it != counts.end(); ++it)
            if (best == counts.end() || it->second > best->second) best = it;
        if (best == counts.end()) break;
        for (Piece& piece : pieces) join(piece.symbols, best->first);
        merges.push_back(best->first);
    }
    return merges;
}

}  // namespace vitrine
