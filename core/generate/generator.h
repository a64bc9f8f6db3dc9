#pragma once

#include "core/model/kv_cache.h"
#include "core/model/observer.h"
#include "core/model/qwen3.h"
#include "core/text/tokenizer.h"
#include "core/types.h"

#include <ATen/core/Tensor.h>

#include <functional>
#include <span>
#include <stop_token>
#include <vector>

namespace vitrine {

// Called once per generated token, on the thread that generates. A last call with id -1 may bring text that was held
// back (half a stop string, half a character).
using TokenSink = std::function<void(const TokenEvent&)>;

// Prefill of inputs_embeds [1, T, H] behind what the cache holds, then one token at a time until a stop rule holds. The
// stop token is asked before every prefill step of 256 positions and before every token. On return the cache holds the
// prompt and every token of the answer but the last. The stop token of the model is not part of ids and text. Fills
// everything of the result but prompt_tokens, cached_tokens, vision_ms. Throws OptionError; the cache must have room
// for T + max_tokens.
GenerationResult generate(const Qwen3Model& model, const Tokenizer& tokenizer, KvCache& cache,
                          const at::Tensor& inputs_embeds, const GenerationOptions& options, const TokenSink& sink,
                          std::stop_token stop, ForwardObserver* observer = nullptr);

// The `count` likeliest words of log_probs [V], likeliest first.
std::vector<TokenAlternative> likeliest(const at::Tensor& log_probs, int count, const Tokenizer& tokenizer);

// A given answer instead of a generated one. The last answer.size() of inputs_embeds [1, T, H] are its tokens, with at
// least one position before them. One event for each token; text is the token's own, whole or not. Fewer events come
// when stopped.
std::vector<TokenEvent> follow(const Qwen3Model& model, const Tokenizer& tokenizer, KvCache& cache,
                               const at::Tensor& inputs_embeds, std::span<const TokenId> answer, int alternatives,
                               std::stop_token stop, ForwardObserver* observer = nullptr);

}  // namespace vitrine
