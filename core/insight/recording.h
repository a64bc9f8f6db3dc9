#pragma once

#include "core/insight/values.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

namespace vitrine {

struct RecordingParts;

// One answer, open to view: everything about it can be asked while it is being made and afterwards, as long as the
// recording is held. It keeps queries, keys and values (shared with the engine as long as the conversation goes on) and
// computes the rest when it is asked, in fp32. Any thread may ask, one at a time does; the engine is never waited for.
// Positions, layers, heads, pictures and patches that do not exist throw InputError; what can take long returns nullopt
// when it was stopped.
class Recording {
public:
    explicit Recording(RecordingParts parts);
    ~Recording();
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

    InsightLayout layout() const;
    // From position `begin` to the end of what is known now.
    std::vector<InsightToken> tokens(std::int64_t begin = 0) const;
    const Image& picture(int picture) const;  // as it was given
    Image seen(int picture) const;            // as the vision tower sees it: resized to its square

    // Attention costs next to nothing; relevance, the lens and everything of the vision tower make a forward pass the
    // first time. relative makes one with the question replaced by `neutral_prompt()`.
    AttentionMap map(const MapRequest& request) const;
    HeadMaps heads(const MapRequest& request) const;  // attention and value_norm only
    const std::string& neutral_prompt() const;
    const std::string& question() const;  // the text that was answered

    // One weight of attention for each position of a row of one head, [position] numbers that sum to 1.
    std::vector<float> row(int layer, int head, std::int64_t position) const;
    // For each token of the answer: how much of the row that explains it lies on these patches (none: on all of them).
    std::vector<float> token_weights(const MapRequest& request, std::span<const int> patches) const;

    std::optional<PatchWords> patch_words(int picture, int layer, int count, std::stop_token stop = {}) const;
    WordRanks word_ranks(std::int64_t position) const;
    Sinks sinks(Tower tower, int picture) const;
    // Three other sets of as many patches are hidden too, to compare with; `seed` chooses them.
    std::optional<CausalCheck> causal(std::int64_t position, int picture, std::span<const int> patches,
                                      CausalCheck::Means means, std::uint64_t seed = 0,
                                      std::stop_token stop = {}) const;
    // Probability of the token at `position` with these patches hidden; the measure behind insertion and deletion.
    double probability_without(std::int64_t position, int picture, std::span<const int> patches,
                               CausalCheck::Means means) const;

    // By the engine, as the answer grows.
    void add_token(const TokenEvent& event);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace vitrine
