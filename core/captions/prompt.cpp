#include "core/captions/prompt.h"

#include <algorithm>
#include <array>
#include <utility>

namespace vitrine::captions {

std::string expand_prompt(std::string_view prompt, const std::filesystem::path& picture, int length) {
    const std::array<std::pair<std::string_view, std::string>, 3> variables{
        {{"{name}", picture.stem().string()},
         {"{folder}", picture.parent_path().filename().string()},
         {"{length}", std::to_string(length)}}};
    std::string result;
    int open = 0;  // literal braces
    for (std::size_t at = 0; at < prompt.size();) {
        const std::string_view rest = prompt.substr(at);
        const auto variable = std::find_if(variables.begin(), variables.end(),
                                           [&](const auto& candidate) { return rest.starts_with(candidate.first); });
        if (rest.starts_with("{{") || (open > 0 && rest.starts_with("}}"))) {
            open += rest.front() == '{' ? 1 : -1;
            result += rest.front();
            at += 2;
        } else if (variable != variables.end()) {
            result += variable->second;
            at += variable->first.size();
        } else {
            result += rest.front();
            ++at;
        }
    }
    return result;
}

std::span<const Preset> presets() {
    static const std::array<Preset, 4> presets{{
        {"caption", "Describe this picture."},
        {"detailed", "Describe this picture in detail: what is shown, where each thing is, colours, light and mood."},
        {"tags", "List what is in this picture as short tags, parted by commas, the most important first."},
        {"alt text",
         "Write alt text for somebody who cannot see this picture: what matters in it, in one plain sentence of at "
         "most "
         "{length} words."},
    }};
    return presets;
}

}  // namespace vitrine::captions
