#pragma once

#include "core/insight/values.h"
#include "core/scenes/scene.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Words of an answer as people see them, found again among its tokens.
namespace vitrine {

// Tokens of the text [begin, end), in bytes of their joined texts. Given tokens must follow each other.
std::vector<InsightToken> tokens_at(std::span<const InsightToken> tokens, std::size_t begin, std::size_t end);
// Every time the word or words are spoken, as whole words, whatever their case: the tokens of each time.
std::vector<std::vector<InsightToken>> tokens_of(std::span<const InsightToken> tokens, std::string_view words);

// A word that names an object whose place is known.
struct SpokenObject {
    std::string word;           // "star"
    std::int64_t position = 0;  // of its first token
    scenes::Box box;
    std::vector<scenes::Box> others;  // of the rest of the picture
};
enum class SpokenPart : std::uint8_t { shape, colour };  // which word of "a large red star"
// In a recording whose answer is the scene's own caption (core/scenes/language.h).
std::vector<SpokenObject> spoken_objects(const scenes::Scene& scene, std::span<const InsightToken> tokens,
                                         SpokenPart part);

}  // namespace vitrine
