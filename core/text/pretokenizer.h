#pragma once

#include <cstddef>
#include <string_view>

namespace vitrine {

// The one regex that pretokenizer.cpp implements: that of Qwen2 and Qwen3.
inline constexpr std::string_view qwen_split_regex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// The end of the match of that regex at `at` in well-formed UTF-8; every character belongs to some match.
std::size_t piece_end(std::string_view text, std::size_t at);

}  // namespace vitrine
