#pragma once

#include <string>
#include <utility>
#include <vector>

namespace vitrine {

// Learns byte-level BPE merges (Sennrich et al. 2016, arXiv 1508.07909) from texts, cut into pieces as Qwen does: again
// and again the most frequent pair of neighbours is joined (the one of lower bytes on a tie), until there are `most`
// merges or every piece is one token. For small models with a vocabulary of their own; time grows with merges x
// different pieces.
std::vector<std::pair<std::string, std::string>> learn_merges(const std::vector<std::string>& texts, std::size_t most);

}  // namespace vitrine
