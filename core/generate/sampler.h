#pragma once

#include "core/text/tokenizer.h"
#include "core/types.h"

#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace vitrine {

// Chooses the next token from one row of logits. The order is that of transformers' processors: repetition penalty, presence
// penalty, temperature, top-k, top-p, min-p, then one draw. Owns its random state: one Sampler per job, same seed = same text.
class Sampler {
public:
    struct Choice {
        TokenId id = 0;
        float log_prob = 0.0F;                                 // under log softmax of the raw logits
        std::vector<std::pair<TokenId, float>> alternatives;   // most likely first, raw distribution
    };

    // Throws OptionError naming the option and its range.
    explicit Sampler(const SamplingOptions& options);

    // logits [vocab], fp32; generated: the answer so far (the penalties look at its last penalty_window tokens).
    Choice sample(std::span<const float> logits, std::span<const TokenId> generated, int alternatives);

private:
    SamplingOptions options_;
    std::mt19937_64 random_;
    std::vector<float> scores_;       // scratch [vocab]
    std::vector<TokenId> candidates_; // scratch
};

}  // namespace vitrine
