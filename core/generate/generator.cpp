#include "core/generate/generator.h"

#include "core/error.h"
#include "core/generate/sampler.h"
#include "core/generate/stop.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace vitrine {
namespace {

constexpr std::int64_t kPrefillStep = 256;

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Turns token ids into what is shown: whole characters, thoughts apart from the answer, nothing of a stop string.
class AnswerText {
public:
    AnswerText(const Tokenizer& tokenizer, const std::vector<std::string>& stops)
        : decoder_(tokenizer),
          stops_(stops),
          think_(tokenizer.added_token("<think>")),
          end_think_(tokenizer.added_token("</think>")) {}

    std::string push(TokenId id) {
        if (id == think_ || id == end_think_) {
            std::string rest = append(decoder_.flush());
            reasoning_ = id == think_;
            at_start_ = true;
            return rest;
        }
        return append(decoder_.push(id));
    }

    std::string flush() {
        std::string shown = append(decoder_.flush());
        const std::string held = stops_.flush();
        answer_ += held;
        return shown + held;
    }

    bool reasoning() const { return reasoning_; }
    const std::optional<std::string>& matched_stop() const { return stops_.matched(); }
    const std::string& answer() const { return answer_; }
    std::string thoughts() const { return thoughts_.substr(0, thoughts_.find_last_not_of('\n') + 1); }

private:
    std::string append(std::string text) {
        if (at_start_) {  // the template puts line breaks behind the think tags
            text.erase(0, std::min(text.find_first_not_of('\n'), text.size()));
            if (text.empty()) return text;
            at_start_ = false;
        }
        if (reasoning_) {
            thoughts_ += text;
            return text;
        }
        std::string shown = stops_.push(text);
        answer_ += shown;
        return shown;
    }

    StreamingDecoder decoder_;
    StopStrings stops_;
    std::optional<TokenId> think_;
    std::optional<TokenId> end_think_;
    bool reasoning_ = false;
    bool at_start_ = false;
    std::string answer_;
    std::string thoughts_;
};

}  // namespace

GenerationResult generate(const Qwen3Model& model, const Tokenizer& tokenizer, KvCache& cache,
                          const at::Tensor& inputs_embeds, const GenerationOptions& options, const TokenSink& sink,
                          std::stop_token stop, ForwardObserver* observer) {
    if (options.max_tokens < 1) {
        throw OptionError(
            {.name = "max_tokens", .expected = "at least 1", .found = std::to_string(options.max_tokens)});
    }
    const c10::InferenceMode inference;
    const auto start = Clock::now();
    Sampler sampler(options.sampling);
    AnswerText text(tokenizer, options.stop);
    LoopDetector loops;
    GenerationResult result;

    // Prefill
    at::Tensor hidden;
    for (std::int64_t first = 0; first < inputs_embeds.size(1); first += kPrefillStep) {
        if (stop.stop_requested()) {
            result.finish = FinishReason::stopped;
            result.prefill_ms = milliseconds_since(start);
            return result;
        }
        const std::int64_t count = std::min(kPrefillStep, inputs_embeds.size(1) - first);
        hidden = model.forward(
            {.inputs_embeds = inputs_embeds.narrow(1, first, count), .cache = &cache, .observer = observer});
    }
    at::Tensor logits = model.logits(hidden.narrow(1, hidden.size(1) - 1, 1));  // [1, 1, V]
    result.prefill_ms = milliseconds_since(start);

    // Decode
    const auto& stop_ids = model.config().eos_token_ids;
    Clock::time_point first_token = start;
    result.finish = FinishReason::length;
    while (true) {
        if (stop.stop_requested()) {
            result.finish = FinishReason::stopped;
            break;
        }
        const at::Tensor row = logits.reshape({-1}).to(at::kCPU, at::kFloat).contiguous();  // [V]
        const Sampler::Choice choice = sampler.sample({row.data_ptr<float>(), static_cast<std::size_t>(row.numel())},
                                                      result.ids, options.alternatives);
        if (result.ids.empty()) {
            first_token = Clock::now();
            result.first_token_ms = milliseconds_since(start);
        }
        if (std::find(stop_ids.begin(), stop_ids.end(), choice.id) != stop_ids.end()) {
            result.finish = FinishReason::stop_token;
            break;
        }

        TokenEvent event{.index = static_cast<int>(result.ids.size()), .id = choice.id, .log_prob = choice.log_prob};
        result.ids.push_back(choice.id);
        event.text = text.push(choice.id);
        event.reasoning = text.reasoning();
        for (const auto& [id, log_prob] : choice.alternatives) {
            const TokenId one[] = {id};
            event.alternatives.push_back({id, tokenizer.decode(one, /*skip_special=*/false), log_prob});
        }
        if (sink) sink(event);

        if (text.matched_stop()) {
            result.finish = FinishReason::stop_string;
            result.detail = *text.matched_stop();
            break;
        }
        if (options.detect_loops) {
            if (const auto cycle = loops.push(choice.id)) {
                result.finish = FinishReason::loop;
                result.detail = "the same " + std::to_string(cycle->period) + " token(s) " +
                                std::to_string(cycle->repeats) + " times";
                break;
            }
        }
        if (static_cast<int>(result.ids.size()) == options.max_tokens) break;

        const at::Tensor id = at::full({1, 1}, static_cast<std::int64_t>(choice.id), model.options().dtype(at::kLong));
        hidden = model.forward({.inputs_embeds = model.embed(id), .cache = &cache, .observer = observer});
        logits = model.logits(hidden);
    }

    if (std::string rest = text.flush(); !rest.empty() && sink) {
        sink({.index = static_cast<int>(result.ids.size()),
              .id = -1,
              .text = std::move(rest),
              .reasoning = text.reasoning()});
    }
    result.text = text.answer();
    result.reasoning = text.thoughts();
    if (result.ids.size() > 1) {
        result.decode_ms = milliseconds_since(first_token);
        result.tokens_per_s = static_cast<double>(result.ids.size() - 1) * 1000.0 / result.decode_ms;
    }
    return result;
}

std::vector<TokenAlternative> likeliest(const at::Tensor& log_probs, int count, const Tokenizer& tokenizer) {
    const auto [values, ids] = at::topk(log_probs.to(at::kCPU), std::min<std::int64_t>(count, log_probs.size(-1)));
    std::vector<TokenAlternative> words;
    for (std::int64_t i = 0; i < values.size(0); ++i) {
        const auto id = static_cast<TokenId>(ids[i].item<std::int64_t>());
        words.push_back({id, tokenizer.decode(std::span(&id, 1), /*skip_special=*/false), values[i].item<float>()});
    }
    return words;
}

std::vector<TokenEvent> follow(const Qwen3Model& model, const Tokenizer& tokenizer, KvCache& cache,
                               const at::Tensor& inputs_embeds, std::span<const TokenId> answer, int alternatives,
                               std::stop_token stop, ForwardObserver* observer) {
    const c10::InferenceMode inference;
    const std::int64_t length = inputs_embeds.size(1), count = static_cast<std::int64_t>(answer.size());
    std::vector<TokenEvent> events;
    for (std::int64_t first = 0; first < length && !stop.stop_requested(); first += kPrefillStep) {
        const std::int64_t step = std::min(kPrefillStep, length - first);
        const at::Tensor hidden = model.forward(
            {.inputs_embeds = inputs_embeds.narrow(1, first, step), .cache = &cache, .observer = observer});
        // The position before a token predicts it.
        for (std::int64_t at = std::max(first, length - count - 1); at < std::min(first + step, length - 1); ++at) {
            const at::Tensor log_probs =
                at::log_softmax(model.logits(hidden[0][at - first]).to(at::kCPU, at::kFloat), -1);
            const auto index = static_cast<std::size_t>(at - (length - count - 1));
            TokenEvent event{.index = static_cast<int>(index),
                             .id = answer[index],
                             .text = tokenizer.decode(answer.subspan(index, 1), /*skip_special=*/false),
                             .log_prob = log_probs[answer[index]].item<float>()};
            event.alternatives = likeliest(log_probs, alternatives, tokenizer);
            events.push_back(std::move(event));
        }
    }
    return events;
}

}  // namespace vitrine
