#include "core/generate/sampler.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "core/error.h"

// The two passes over the vocabulary are compiled a second time for AVX2. Both versions give the same bits: the order
// of every sum is fixed, and AVX2 alone brings no fused multiply-add.
#if defined(__x86_64__) && defined(__GNUC__)
#define VITRINE_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define VITRINE_WIDE
#endif

namespace vitrine {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr double kColdest = 1e-6;  // a lower temperature is greedy: every other token's probability rounds to nothing
constexpr std::size_t kBlock = 1024;

// Scores with what one pass over them tells: the largest of each block of kBlock, and of all. Nearly every later
// question (the best five, the nucleus, a draw) then has to look into a few blocks only.
struct Row {
    std::span<const float> scores;  // [vocab]
    std::vector<float> block_max;   // [ceil(vocab / kBlock)]
    float max = -kInfinity;

    std::span<const float> block(std::size_t index) const {
        return scores.subspan(index * kBlock, std::min(kBlock, scores.size() - index * kBlock));
    }
};

// Returns false where a score is NaN or +inf.
VITRINE_WIDE bool find_maxima(const float* scores, std::size_t count, float* block_max) {
    int broken = 0;
    for (std::size_t begin = 0; begin < count; begin += kBlock) {
        const std::size_t end = std::min(begin + kBlock, count);
        float max = -kInfinity;
#pragma omp simd reduction(max : max) reduction(| : broken)
        for (std::size_t i = begin; i < end; ++i) {
            max = scores[i] > max ? scores[i] : max;
            broken |= scores[i] < kInfinity ? 0 : 1;
        }
        *block_max++ = max;
    }
    return broken == 0;
}

// keep ? value : 0, without the branch that would keep a loop from being vectorised.
inline float only_if(bool keep, float value) {
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & (keep ? ~0U : 0U));
}

// exp(x) for x <= 0, 0 below -87: 2^n times the Taylor series of e^r, |r| <= ln2 / 2, relative error below 3e-7. Adding
// 1.5 * 2^23 rounds to the integer n and leaves it in the low bits. Written out, since libm's exp does not vectorise.
inline float exp_of(float x) {
    constexpr float kRound = 12582912.0F;
    constexpr auto kLeast = std::bit_cast<std::uint32_t>(-87.0F);
    const auto bits = std::bit_cast<std::uint32_t>(x);  // negative numbers order by their bits, the most negative last
    const float clamped = std::bit_cast<float>(bits < kLeast ? bits : kLeast);
    const float shifted = clamped * 1.44269504F + kRound;
    const float n = shifted - kRound;
    const float r = (clamped - n * 0.693359375F) + n * 2.12194440e-4F;
    float series = 1.0F / 720.0F;
    series = series * r + 1.0F / 120.0F;
    series = series * r + 1.0F / 24.0F;
    series = series * r + 1.0F / 6.0F;
    series = series * r + 0.5F;
    series = series * r + 1.0F;
    series = series * r + 1.0F;
    const float power = std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) << 23U) + 0x3F800000U);
    return only_if(bits < kLeast, series * power);
}

// How scores become weights: exp((score - max) / temperature), nothing below the floor.
struct Weighing {
    float max;
    float per_unit = 1.0F;  // 1 / temperature
    float floor = -kInfinity;

    float operator()(float score) const { return only_if(score >= floor, exp_of((score - max) * per_unit)); }
};

// Weights of up to kBlock scores, and their sum. Adding halves is exact to a few ulp and the same for any vector width.
VITRINE_WIDE float weigh_block(const float* scores, std::size_t count, Weighing weighing, float* weights) {
#pragma omp simd
    for (std::size_t i = 0; i < count; ++i) weights[i] = weighing(scores[i]);

    std::array<float, kBlock> sums{};
    std::copy_n(weights, count, sums.data());
    for (std::size_t half = kBlock / 2; half > 0; half /= 2) {
#pragma omp simd
        for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
    }
    return sums[0];
}

Row scan(std::span<const float> scores) {
    Row row{.scores = scores, .block_max = std::vector<float>((scores.size() + kBlock - 1) / kBlock)};
    const bool sound = find_maxima(scores.data(), scores.size(), row.block_max.data());
    for (const float max : row.block_max) row.max = std::max(row.max, max);
    if (sound && row.max > -kInfinity) return row;

    std::string found = scores.empty() ? "no logits at all" : "-inf for every token";
    if (!sound) {
        const auto broken =
            std::find_if(scores.begin(), scores.end(), [](float score) { return !(score < kInfinity); });
        found = (std::isnan(*broken) ? "NaN at token " : "+inf at token ") + std::to_string(broken - scores.begin());
    }
    throw InputError({.name = "logits",
                      .where = {},
                      .expected = "numbers, at least one of them finite",
                      .found = std::move(found),
                      .advice = "The weights may be damaged, or fp16 too narrow for this model: try --dtype fp32."});
}

std::vector<double> block_masses(const Row& row, const Weighing& weighing) {
    std::vector<double> masses(row.block_max.size(), 0.0);
    std::array<float, kBlock> weights;
    for (std::size_t index = 0; index < masses.size(); ++index) {
        if (row.block_max[index] < weighing.floor) continue;
        const auto block = row.block(index);
        masses[index] = weigh_block(block.data(), block.size(), weighing, weights.data());
    }
    return masses;
}

double sum(const std::vector<double>& values) {
    double total = 0.0;
    for (const double value : values) total += value;
    return total;
}

// Calls visit(id, score) for every score of at least floor.
template <typename Visit>
void for_each_from(const Row& row, float floor, Visit visit) {
    for (std::size_t index = 0; index < row.block_max.size(); ++index) {
        if (row.block_max[index] < floor) continue;
        const auto block = row.block(index);
        for (std::size_t i = 0; i < block.size(); ++i) {
            if (block[i] >= floor) visit(static_cast<TokenId>(index * kBlock + i), block[i]);
        }
    }
}

// The count largest finite scores with their ids, largest first, lower id first on ties.
std::vector<std::pair<TokenId, float>> largest(const Row& row, std::size_t count) {
    std::vector<std::pair<TokenId, float>> best;
    if (count == 0) return best;
    float bound = std::numeric_limits<float>::lowest();
    if (count <= row.block_max.size()) {  // that many blocks reach their count-th best maximum, so that many tokens do
        std::vector<float> maxima = row.block_max;
        std::nth_element(maxima.begin(), maxima.begin() + static_cast<std::ptrdiff_t>(count - 1), maxima.end(),
                         std::greater<>());
        bound = std::max(bound, maxima[count - 1]);
    }
    for_each_from(row, bound, [&](TokenId id, float score) { best.emplace_back(id, score); });
    const auto better = [](const auto& a, const auto& b) {
        return a.second != b.second ? a.second > b.second : a.first < b.first;
    };
    if (best.size() > count) {
        std::nth_element(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(count), best.end(), better);
        best.resize(count);
    }
    std::sort(best.begin(), best.end(), better);
    return best;
}

// The lowest score that top_p keeps: the fewest largest scores whose weights reach top_p of the total.
float nucleus_floor(const Row& row, Weighing weighing, double top_p) {
    const double total = sum(block_masses(row, weighing));
    double target = top_p * total;
    // Fewer than vocab tokens lie below any depth, so where each of them weighs less than spare / vocab they can all be
    // left out.
    const double spare = total - target;
    const double depth = std::min(std::log(static_cast<double>(row.scores.size()) / spare), 87.0);
    float low = std::max(weighing.floor, static_cast<float>(row.max - depth / weighing.per_unit));
    float high = kInfinity;
    double above = 0.0;  // the weight from high on
    // A pass over the blocks is far cheaper than ordering scores: a few halvings leave a small part of them between low
    // and high.
    for (int round = 0; round < 6; ++round) {
        weighing.floor = low + (std::min(high, row.max) - low) / 2.0F;
        const double mass = sum(block_masses(row, weighing));
        if (mass >= target) {
            low = weighing.floor;
        } else {
            high = weighing.floor;
            above = mass;
        }
    }
    weighing.floor = low;
    std::vector<float> scores;
    for_each_from(row, low, [&](TokenId, float score) {
        if (score < high) scores.push_back(score);
    });

    if (scores.empty()) return low;  // a top_p so near 1 that the target is lost in rounding

    // Quickselect by weight instead of rank: halve, and go on in the half where the target falls.
    target -= above;
    auto begin = scores.begin();
    auto end = scores.end();
    while (end - begin > 1) {
        const auto middle = begin + (end - begin) / 2;
        std::nth_element(begin, middle, end, std::greater<>());
        double upper = 0.0;
        for (auto score = begin; score != middle; ++score) upper += weighing(*score);
        if (upper >= target) {
            end = middle;
        } else {
            target -= upper;
            begin = middle;
        }
    }
    return *begin;
}

Weighing filtered(const Row& row, const SamplingOptions& options) {
    Weighing weighing{.max = row.max, .per_unit = static_cast<float>(1.0 / options.temperature)};
    if (options.top_k > 0 && static_cast<std::size_t>(options.top_k) < row.scores.size()) {
        weighing.floor = largest(row, static_cast<std::size_t>(options.top_k)).back().second;
    }
    if (options.top_p < 1.0) weighing.floor = nucleus_floor(row, weighing, options.top_p);
    if (options.min_p > 0.0) {
        weighing.floor =
            std::max(weighing.floor, static_cast<float>(row.max + options.temperature * std::log(options.min_p)));
    }
    return weighing;
}

TokenId argmax(const Row& row) {
    const auto block = std::find(row.block_max.begin(), row.block_max.end(), row.max) - row.block_max.begin();
    const auto from = row.scores.begin() + block * static_cast<std::ptrdiff_t>(kBlock);
    return static_cast<TokenId>(std::find(from, row.scores.end(), row.max) - row.scores.begin());
}

// The token at which the running sum of weights, by id, passes the share uniform (in [0, 1)) of the total.
TokenId at_share(const Row& row, const Weighing& weighing, double uniform) {
    const std::vector<double> masses = block_masses(row, weighing);
    double target = uniform * sum(masses);
    std::size_t index = 0;
    std::size_t last = 0;  // rounding may leave a remainder after the last block: then it is the last one that weighs
    for (; index < masses.size(); ++index) {
        if (masses[index] > 0.0) last = index;
        if (target < masses[index]) break;
        target -= masses[index];
    }
    const auto block = row.block(last);
    std::array<float, kBlock> weights;
    weigh_block(block.data(), block.size(), weighing, weights.data());
    std::size_t choice = 0;
    for (std::size_t i = 0; i < block.size(); ++i) {
        if (weights[i] == 0.0F) continue;
        choice = i;
        if (target < weights[i]) break;
        target -= weights[i];
    }
    return static_cast<TokenId>(last * kBlock + choice);
}

template <typename Value>
std::string shown(Value value) {
    std::array<char, 32> text{};
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

template <typename Value>
void require(bool sound, const char* name, Value value, const char* range) {
    if (sound) return;
    throw OptionError({.name = name, .where = {}, .expected = range, .found = shown(value), .advice = {}});
}

}  // namespace

Sampler::Sampler(const SamplingOptions& options) : options_(options), random_(options.seed) {
    const auto within = [](double value, double low, double high) {
        return value >= low && value <= high;
    };  // false for NaN
    const SamplingOptions& o = options_;
    require(within(o.temperature, 0.0, 100.0), "temperature", o.temperature, "0 (greedy) to 100");
    require(o.top_k >= 0, "top_k", o.top_k, "0 (off) or more");
    require(within(o.top_p, 0.0, 1.0) && o.top_p > 0.0, "top_p", o.top_p, "more than 0, up to 1 (off)");
    require(within(o.min_p, 0.0, 1.0) && o.min_p < 1.0, "min_p", o.min_p, "0 (off) or more, below 1");
    require(within(o.repetition_penalty, 0.01, 100.0), "repetition_penalty", o.repetition_penalty,
            "0.01 to 100 (1 is off)");
    require(within(o.presence_penalty, -100.0, 100.0), "presence_penalty", o.presence_penalty,
            "-100 to 100 (0 is off)");
    require(o.penalty_window >= 0, "penalty_window", o.penalty_window, "0 (off) or more");
}

bool Sampler::greedy() const {
    return options_.temperature < kColdest;
}

bool Sampler::penalises() const {
    return options_.penalty_window > 0 && (options_.repetition_penalty != 1.0 || options_.presence_penalty != 0.0);
}

std::span<const float> Sampler::penalise(std::span<const float> logits, std::span<const TokenId> generated) {
    if (!penalises() || generated.empty()) return logits;
    const std::size_t window = std::min(generated.size(), static_cast<std::size_t>(options_.penalty_window));
    std::vector<TokenId> seen(generated.end() - static_cast<std::ptrdiff_t>(window), generated.end());
    std::sort(seen.begin(), seen.end());
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    if (seen.front() < 0 || static_cast<std::size_t>(seen.back()) >= logits.size()) {
        throw InputError({.name = "generated",
                          .where = {},
                          .expected = "token ids below " + shown(logits.size()),
                          .found = shown(seen.front() < 0 ? seen.front() : seen.back()),
                          .advice = "The tokenizer and the model's vocabulary do not belong together."});
    }
    scores_.assign(logits.begin(), logits.end());
    for (const TokenId id : seen) {
        float& score = scores_[static_cast<std::size_t>(id)];
        const double penalised =
            score > 0.0F ? score / options_.repetition_penalty : score * options_.repetition_penalty;
        score = static_cast<float>(penalised - options_.presence_penalty);
    }
    return scores_;
}

Sampler::Choice Sampler::sample(std::span<const float> logits, std::span<const TokenId> generated, int alternatives) {
    const Row raw = scan(logits);
    const auto scores = penalise(logits, generated);
    const Row penalised = scores.data() == logits.data() ? raw : scan(scores);

    Choice choice;
    if (greedy()) {
        choice.id = argmax(penalised);
    } else {
        // The top 53 bits make a double in [0, 1). The standard's distributions differ from library to library.
        const double uniform = static_cast<double>(random_() >> 11U) * 0x1p-53;
        choice.id = at_share(penalised, filtered(penalised, options_), uniform);
    }
    const double normaliser = raw.max + std::log(sum(block_masses(raw, {.max = raw.max})));
    choice.log_prob = static_cast<float>(logits[static_cast<std::size_t>(choice.id)] - normaliser);
    choice.alternatives = largest(raw, static_cast<std::size_t>(std::max(alternatives, 0)));
    for (auto& [id, value] : choice.alternatives) value = static_cast<float>(value - normaliser);
    return choice;
}

std::vector<std::pair<TokenId, double>> Sampler::distribution(std::span<const float> logits,
                                                              std::span<const TokenId> generated) {
    scan(logits);
    const Row row = scan(penalise(logits, generated));
    if (greedy()) return {{argmax(row), 1.0}};
    const Weighing weighing = filtered(row, options_);
    std::vector<std::pair<TokenId, double>> kept;
    double total = 0.0;
    for_each_from(row, weighing.floor, [&](TokenId id, float score) {
        const double weight = weighing(score);
        if (weight > 0.0) kept.emplace_back(id, weight);
        total += weight;
    });
    for (auto& [id, weight] : kept) weight /= total;
    return kept;
}

}  // namespace vitrine
