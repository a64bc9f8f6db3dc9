#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Plain values that cross the border between core and everything in front of it. No torch type, no Qt type.
namespace vitrine {

enum class DType : std::uint8_t { float32, bfloat16, float16 };

std::string_view name_of(DType dtype);  // "fp32", "bf16", "fp16"
std::optional<DType> dtype_from_name(std::string_view name);
std::size_t bytes_per_element(DType dtype);

// A decoded picture: upright (EXIF applied), opaque (alpha composed on white), 8-bit RGB.
struct Image {
    int width = 0;
    int height = 0;
    std::vector<std::uint8_t> rgb;  // [height, width, 3], row-major
    std::string format;             // "JPEG", "PNG", ...: by content, not by extension
    std::vector<std::string>
        notes;  // what was done that a person may want to know: "frame 1 of 12", "16-bit reduced to 8"
};
using ImagePtr = std::shared_ptr<const Image>;

enum class Role : std::uint8_t { system, user, assistant };

// One turn of a conversation. Pictures stand before the text of their turn, in order.
struct Message {
    Role role = Role::user;
    std::string text;
    std::vector<ImagePtr> pictures;
    std::optional<std::string> reasoning;  // assistant only: the thoughts, without their tags
};

enum class FinishReason : std::uint8_t {
    stop_token,   // the model ended its answer
    stop_string,  // one of GenerationOptions::stop appeared
    length,       // max_tokens, or the context is full
    loop,         // the loop detector saw an exact cycle
    stopped,      // the user asked for it
};
std::string_view name_of(FinishReason reason);

struct SamplingOptions {
    double temperature = 0.0;  // 0 is greedy
    int top_k = 0;             // 0 is off
    double top_p = 1.0;        // (0, 1]
    double min_p = 0.0;        // [0, 1): relative to the most likely token
    double repetition_penalty =
        1.0;  // CTRL (arXiv 1909.05858): divides positive, multiplies negative logits of seen tokens
    double presence_penalty = 0.0;  // subtracted once from the logit of every seen token
    int penalty_window = 256;       // how many of the latest generated tokens the two penalties look at; 0 is off
    std::uint64_t seed = 0;
};

struct GenerationOptions {
    SamplingOptions sampling;
    int max_tokens = 256;
    std::vector<std::string> stop;  // stop strings; the text ends before the first of them
    bool thinking = false;
    bool detect_loops = true;
    int alternatives = 5;  // how many of the most likely tokens each TokenEvent carries
    bool record = false;   // keep what it takes to see inside (core/insight/recording.h)
};

struct TokenAlternative {
    std::int32_t id = 0;
    std::string text;
    float log_prob = 0.0F;
};

// One generated token. log_prob and alternatives come from the model's own distribution (log softmax of the raw
// logits), before temperature, penalties and filters.
struct TokenEvent {
    int index = 0;  // 0-based position in the answer
    std::int32_t id = 0;
    std::string text;  // what this token lets be shown: whole UTF-8 characters only, may be empty
    float log_prob = 0.0F;
    std::vector<TokenAlternative> alternatives;  // most likely first
    bool reasoning = false;                      // part of the thoughts, not of the answer
};

struct GenerationResult {
    std::string text;       // the answer, without thoughts
    std::string reasoning;  // the thoughts, where the model was asked to think
    FinishReason finish = FinishReason::length;
    std::vector<std::int32_t> ids;
    std::string detail;  // names the stop string or the cycle
    int prompt_tokens = 0;
    int cached_tokens = 0;  // of the prompt, reused from the KV cache of the turn before
    double vision_ms = 0.0;
    double prefill_ms = 0.0;
    double first_token_ms = 0.0;  // from the start of the job
    double decode_ms = 0.0;
    double tokens_per_s = 0.0;  // decode only
};

}  // namespace vitrine
