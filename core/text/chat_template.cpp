#include "core/text/chat_template.h"

#include "core/error.h"
#include "core/text/text_file.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace vitrine {
namespace {

constexpr std::string_view im_start = "<|im_start|>", im_end = "<|im_end|>";
constexpr std::string_view think = "<think>", end_think = "</think>";
constexpr std::string_view vision_start = "<|vision_start|>", image_pad = "<|image_pad|>",
                           vision_end = "<|vision_end|>";

std::string_view name_of(Role role) {
    switch (role) {
        case Role::system: return "system";
        case Role::user: return "user";
        case Role::assistant: return "assistant";
    }
    return "";
}

std::string_view without_leading_newlines(std::string_view text) {
    return text.substr(std::min(text.find_first_not_of('\n'), text.size()));
}
std::string_view without_trailing_newlines(std::string_view text) {
    return text.substr(0, text.find_last_not_of('\n') + 1);
}

// What an assistant turn holds: thoughts given apart, or found before the last </think> of the text.
struct Answer {
    std::string_view reasoning, content;
};

Answer answer_of(const Message& message) {
    const std::string_view text = message.text;
    if (message.reasoning) return {*message.reasoning, text};
    const std::size_t last_end = text.rfind(end_think);
    if (last_end == text.npos) return {"", text};
    std::string_view reasoning = without_trailing_newlines(text.substr(0, text.find(end_think)));
    if (const std::size_t begin = reasoning.rfind(think); begin != reasoning.npos)
        reasoning.remove_prefix(begin + think.size());
    return {without_leading_newlines(reasoning), without_leading_newlines(text.substr(last_end + end_think.size()))};
}

// The last turn in which a person asks: not the answer of a tool. Thoughts before it are dropped.
std::size_t last_query(std::span<const Message> messages) {
    for (std::size_t i = messages.size(); i-- > 0;) {
        const Message& m = messages[i];
        const bool is_tool_response =
            m.pictures.empty() && m.text.starts_with("<tool_response>") && m.text.ends_with("</tool_response>");
        if (m.role == Role::user && !is_tool_response) return i;
    }
    return messages.empty() ? 0 : messages.size() - 1;
}

// Walks the template in its order and hands each part to the sink: sink.control(token), sink.text(characters),
// sink.picture(picture).
template <class Sink>
void walk(std::span<const Message> messages, const PromptOptions& options, Sink& sink) {
    const auto begin_turn = [&](Role role) {
        sink.control(im_start);
        sink.text(name_of(role));
        sink.text("\n");
    };
    const auto thoughts = [&](std::string_view reasoning) {
        sink.control(think);
        sink.text("\n");
        sink.text(reasoning);
        sink.text("\n");
        sink.control(end_think);
        sink.text("\n\n");
    };

    const std::size_t query = last_query(messages);
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const Message& message = messages[i];
        std::string_view content = message.text;
        begin_turn(message.role);
        if (message.role == Role::assistant) {
            const Answer answer = answer_of(message);
            content = answer.content;
            if (i > query && (i + 1 == messages.size() || !answer.reasoning.empty())) {
                thoughts(without_trailing_newlines(without_leading_newlines(answer.reasoning)));
                content = without_leading_newlines(content);
            }
        }
        for (const ImagePtr& picture : message.pictures) sink.picture(picture);
        sink.text(content);
        sink.control(im_end);
        sink.text("\n");
    }
    if (options.add_generation_prompt) {
        begin_turn(Role::assistant);
        if (!options.thinking) thoughts("");
    }
}

struct TextSink {
    std::string out;
    int patches;

    void control(std::string_view token) { out += token; }
    void text(std::string_view characters) { out += characters; }
    void picture(const ImagePtr&) {
        out += vision_start;
        for (int i = 0; i < patches; ++i) out += image_pad;
        out += vision_end;
    }
};

// Between two control tokens the text is encoded in one go, so that words merge across the border of template and
// content exactly as in the rendered text; within it no control token is recognised, whoever wrote it.
struct PromptSink {
    const Tokenizer& tokenizer;
    int patches;
    Prompt prompt;
    std::string pending;

    void control(std::string_view token) {
        flush();
        prompt.ids.push_back(id_of(token));
    }
    void text(std::string_view characters) { pending += characters; }
    void picture(const ImagePtr& picture) {
        control(vision_start);
        prompt.pictures.push_back({static_cast<std::int64_t>(prompt.ids.size()), patches, picture});
        prompt.ids.insert(prompt.ids.end(), static_cast<std::size_t>(patches), id_of(image_pad));
        control(vision_end);
    }
    void flush() {
        tokenizer.encode_to(prompt.ids, pending, Tokenizer::ControlTokens::as_text);
        pending.clear();
    }
    TokenId id_of(std::string_view token) const {
        if (const auto id = tokenizer.added_token(token)) return *id;
        throw TokenizerError({.name = std::string(token),
                              .where = "added_tokens",
                              .expected = "the control tokens of Qwen3's chat template",
                              .found = "none of this name",
                              .advice = "The tokenizer is not one of a Qwen3 chat model."});
    }
};

// ---- the checkpoint's own template ----------------------------------------------------------------------------------

std::uint64_t fnv1a(std::string_view bytes) {
    std::uint64_t hash = 0xCBF29CE484222325U;
    for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
    return hash;
}

// Qwen published two revisions. The second also takes contents that are not text; for text both render the same.
constexpr std::array<std::uint64_t, 2> known_templates = {0x2BFDB7AA9754484E, 0x959A4551391A6549};

// Line ends and the end of the file as an editor may have left them do not matter.
std::string tidy(std::string text) {
    std::erase(text, '\r');
    text.erase(text.find_last_not_of(" \t\n") + 1);
    return text;
}

nlohmann::json template_entry(const std::filesystem::path& file) {
    const auto root = nlohmann::json::parse(read_text_file(file), nullptr, false);
    if (!root.is_object())
        throw TokenizerError({.name = "JSON",
                              .where = file.string(),
                              .expected = "a JSON object",
                              .found = "something else",
                              .advice = ""});
    nlohmann::json entry = root.value("chat_template", nlohmann::json());
    if (entry.is_array()) {  // several by name
        for (const auto& named : nlohmann::json(entry)) {
            if (named.is_object() && named.value("name", nlohmann::json()) == "default")
                entry = named.value("template", nlohmann::json());
        }
    }
    return entry;
}

}  // namespace

std::string render_chat(std::span<const Message> messages, const PromptOptions& options) {
    TextSink sink{{}, options.patches_per_picture};
    walk(messages, options, sink);
    return std::move(sink.out);
}

Prompt build_prompt(const Tokenizer& tokenizer, std::span<const Message> messages, const PromptOptions& options) {
    const auto shows = [](const Message& message) { return !message.pictures.empty(); };
    if (options.patches_per_picture < 1 && std::any_of(messages.begin(), messages.end(), shows)) {
        throw OptionError({.name = "patches_per_picture",
                           .where = "",
                           .expected = "at least 1, as the conversation has pictures",
                           .found = std::to_string(options.patches_per_picture),
                           .advice = ""});
    }
    PromptSink sink{tokenizer, options.patches_per_picture, {}, {}};
    walk(messages, options, sink);
    sink.flush();
    return std::move(sink.prompt);
}

void check_chat_template(const std::filesystem::path& folder) {
    // In the order in which transformers lets them override each other.
    for (const char* name : {"chat_template.jinja", "chat_template.json", "tokenizer_config.json"}) {
        const std::filesystem::path file = folder / name;
        if (!std::filesystem::exists(file)) continue;
        std::string text;
        if (file.extension() == ".jinja") {
            text = read_text_file(file);
        } else {
            const nlohmann::json entry = template_entry(file);
            if (entry.is_null()) continue;
            text = entry.is_string() ? entry.get<std::string>() : entry.dump();
        }
        const std::uint64_t found = fnv1a(tidy(std::move(text)));
        if (std::find(known_templates.begin(), known_templates.end(), found) != known_templates.end()) return;
        throw TokenizerError({.name = "chat_template",
                              .where = file.string(),
                              .expected = "the chat template of Qwen3",
                              .found = "another text",
                              .advice = "The model was trained on prompts that Vitrine would not build."});
    }
}

}  // namespace vitrine
