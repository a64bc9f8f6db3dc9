#pragma once

#include "core/text/tokenizer.h"
#include "core/types.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace vitrine {

struct PromptOptions {
    bool thinking = false;  // false adds the empty think block after the assistant tag
    bool add_generation_prompt = true;
    int patches_per_picture = 0;  // length of each run of <|image_pad|>
};

// A run of <|image_pad|> in the ids, to be overlaid with one picture's projected patches.
struct PictureSpan {
    std::int64_t begin = 0;
    std::int64_t count = 0;
    ImagePtr picture;
};

struct Prompt {
    std::vector<TokenId> ids;           // [T]
    std::vector<PictureSpan> pictures;  // in order of appearance
};

// The text of Qwen3's chat template (the one in the checkpoint's tokenizer_config.json), without tools.
std::string render_chat(std::span<const Message> messages, const PromptOptions& options);

// The ids of the same text: template pieces with control tokens recognised, what people wrote as plain text, each
// picture as <|vision_start|>, patches_per_picture times <|image_pad|>, <|vision_end|> before the text of its turn.
// Training and inference both build ids here. Throws TokenizerError when the tokenizer lacks one of the control tokens,
// OptionError when there are pictures but patches_per_picture is not positive.
Prompt build_prompt(const Tokenizer& tokenizer, std::span<const Message> messages, const PromptOptions& options);

// Throws TokenizerError when the checkpoint brings a chat template (chat_template.jinja, chat_template.json or in
// tokenizer_config.json) that is not one of the two revisions of Qwen3's. A checkpoint without a template is fine.
void check_chat_template(const std::filesystem::path& checkpoint_folder);

}  // namespace vitrine
