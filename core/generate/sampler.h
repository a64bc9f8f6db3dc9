#pragma once

#include "core/text/tokenizer.h"
#include "core/types.h"

#include <random>
#include <span>
#include <utility>
#include <vector>

namespace vitrine {

// Chooses the next token from one row of logits. The order is that of transformers' processors: repetition penalty,
// presence penalty, temperature, top-k, top-p, min-p, then one draw. Tokens tied with the last one that top-k or top-p
// keeps stay too. Owns its random state: one Sampler per job, same seed = same text.
class Sampler {
public:
    struct Choice {
        TokenId id = 0;
        float log_prob = 0.0F;  // under log softmax of the raw logits
        std::vector<std::pair<TokenId, float>>
            alternatives;  // most likely first (lower id first on ties), raw distribution
    };

    // Throws OptionError naming the option and its range.
    explicit Sampler(const SamplingOptions& options);

    // logits [vocab], fp32; generated: the answer so far (the penalties look at its last penalty_window tokens).
    // alternatives: how many to report; fewer come where fewer tokens are possible at all (-inf is never reported).
    // Throws InputError for NaN or +inf anywhere, for a row that is empty or all -inf, and for a seen id outside the
    // row.
    Choice sample(std::span<const float> logits, std::span<const TokenId> generated, int alternatives);

    // What sample() would draw from: the tokens that penalties and filters leave, by id, with probabilities that sum
    // to 1. Greedy decoding leaves one. Draws nothing.
    std::vector<std::pair<TokenId, double>> distribution(std::span<const float> logits,
                                                         std::span<const TokenId> generated);

private:
    bool greedy() const;
    bool penalises() const;
    std::span<const float> penalise(std::span<const float> logits, std::span<const TokenId> generated);

    SamplingOptions options_;
    std::mt19937_64 random_;
    std::vector<float> scores_;  // scratch [vocab]: the penalised scores
};

}  // namespace vitrine
