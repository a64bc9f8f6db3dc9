#include "core/insight/spoken.h"

#include <cctype>

namespace vitrine {
namespace {

bool is_letter(char byte) {  // bytes of other scripts count as letters
    return std::isalnum(static_cast<unsigned char>(byte)) != 0 || static_cast<unsigned char>(byte) >= 0x80;
}

std::string lower(std::string_view text) {
    std::string result(text);
    for (char& byte : result)
        if (byte >= 'A' && byte <= 'Z') byte = static_cast<char>(byte - 'A' + 'a');
    return result;
}

std::string joined(std::span<const InsightToken> tokens) {
    std::string text;
    for (const InsightToken& token : tokens) text += token.text;
    return text;
}

}  // namespace

std::vector<InsightToken> tokens_at(std::span<const InsightToken> tokens, std::size_t begin, std::size_t end) {
    std::vector<InsightToken> found;
    std::size_t at = 0;
    for (const InsightToken& token : tokens) {
        const std::size_t next = at + token.text.size();
        if (next > begin && at < end) found.push_back(token);
        at = next;
    }
    return found;
}

std::vector<std::vector<InsightToken>> tokens_of(std::span<const InsightToken> tokens, std::string_view words) {
    std::vector<std::vector<InsightToken>> times;
    const std::string text = lower(joined(tokens)), wanted = lower(words);
    if (wanted.empty()) return times;
    for (std::size_t at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1)) {
        const std::size_t end = at + wanted.size();
        const bool begins = at == 0 || !is_letter(text[at - 1]) || !is_letter(wanted.front());
        const bool ends = end == text.size() || !is_letter(text[end]) || !is_letter(wanted.back());
        if (begins && ends) times.push_back(tokens_at(tokens, at, end));
    }
    return times;
}

std::vector<SpokenObject> spoken_objects(const scenes::Scene& scene, std::span<const InsightToken> tokens,
                                         SpokenPart part) {
    std::vector<SpokenObject> spoken;
    const std::string text = joined(tokens);
    for (const scenes::SceneObject& object : scene.objects) {
        const std::string colour(name_of(object.colour)), shape(name_of(object.shape));
        const std::string phrase = std::string(name_of(object.size)) + ' ' + colour + ' ' + shape;
        const std::size_t at = text.find(phrase);
        if (at == std::string::npos) continue;
        const std::string& word = part == SpokenPart::shape ? shape : colour;
        const std::size_t begin =
            part == SpokenPart::shape ? at + phrase.size() - shape.size() : at + phrase.find(colour);
        SpokenObject found{.word = word, .box = object.box};
        found.position = tokens_at(tokens, begin, begin + word.size()).front().position;
        for (const scenes::SceneObject& other : scene.objects)
            if (&other != &object) found.others.push_back(other.box);
        spoken.push_back(std::move(found));
    }
    return spoken;
}

}  // namespace vitrine
