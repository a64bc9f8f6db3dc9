#include "core/eval/metrics.h"

#include "core/error.h"
#include "core/eval/words.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

namespace vitrine {
namespace {

constexpr std::size_t kOrders = 4;  // n-grams of 1 to 4 words
constexpr std::int32_t kNoWord = -1;
using NGram = std::array<std::int32_t, kOrders>;  // ends in kNoWord where it is shorter

std::size_t order_of(const NGram& ngram) {  // 0: one word
    return static_cast<std::size_t>(std::find(ngram.begin(), ngram.end(), kNoWord) - ngram.begin()) - 1;
}

struct NGramHash {
    std::size_t operator()(const NGram& ngram) const {
        std::uint64_t hash = 0;
        for (const std::int32_t word : ngram) hash = (hash ^ static_cast<std::uint32_t>(word)) * 0x9E3779B97F4A7C15U;
        return hash ^ hash >> 32;
    }
};

// Lists sorted by n-gram, so that two of them are compared in one walk, in the same order on every machine.
template <class Value>
using PerNGram = std::vector<std::pair<NGram, Value>>;

template <class A, class B, class Visit>
void for_common(const PerNGram<A>& left, const PerNGram<B>& right, const Visit& visit) {
    auto at = right.begin();
    for (const auto& [ngram, value] : left) {
        while (at != right.end() && at->first < ngram) ++at;
        if (at == right.end()) return;
        if (at->first == ngram) visit(ngram, value, at->second);
    }
}

struct Sentence {
    std::vector<std::int32_t> words;
    PerNGram<int> counts;

    std::size_t size() const { return words.size(); }
};

PerNGram<int> count_ngrams(const std::vector<std::int32_t>& words) {
    std::vector<NGram> all;
    all.reserve(words.size() * kOrders);
    for (std::size_t start = 0; start < words.size(); ++start) {
        NGram ngram;
        ngram.fill(kNoWord);
        for (std::size_t i = 0; i < kOrders && start + i < words.size(); ++i) {
            ngram[i] = words[start + i];
            all.push_back(ngram);
        }
    }
    std::sort(all.begin(), all.end());
    PerNGram<int> counts;
    for (const NGram& ngram : all) {
        if (counts.empty() || counts.back().first != ngram) counts.emplace_back(ngram, 0);
        ++counts.back().second;
    }
    return counts;
}

struct Entry {
    Sentence candidate;
    std::vector<Sentence> references;
    bool exact = false;
};
using Split = std::vector<const Entry*>;

template <class Score>
double mean(const Split& split, const Score& score) {
    double sum = 0.0;
    for (const Entry* entry : split) sum += score(*entry);
    return sum / static_cast<double>(split.size());
}

double bleu4(const Split& split) {
    std::array<double, kOrders> matched{};
    std::array<double, kOrders> proposed{};
    double candidate_length = 0.0;
    double reference_length = 0.0;
    for (const Entry* entry : split) {
        const std::size_t size = entry->candidate.size();
        const auto closer = [size](const Sentence& a, const Sentence& b) {
            const auto distance = [size](const Sentence& s) {
                return std::max(s.size(), size) - std::min(s.size(), size);
            };
            return std::pair(distance(a), a.size()) < std::pair(distance(b), b.size());
        };
        candidate_length += static_cast<double>(size);
        reference_length +=
            static_cast<double>(std::min_element(entry->references.begin(), entry->references.end(), closer)->size());

        PerNGram<int> clipped = entry->candidate.counts;
        for (auto& [ngram, count] : clipped) count = 0;
        for (const Sentence& reference : entry->references) {
            std::size_t at = 0;
            for_common(entry->candidate.counts, reference.counts, [&](const NGram& ngram, int mine, int theirs) {
                while (clipped[at].first != ngram) ++at;
                clipped[at].second = std::max(clipped[at].second, std::min(mine, theirs));
            });
        }
        for (const auto& [ngram, count] : clipped) matched[order_of(ngram)] += count;
        for (std::size_t n = 0; n < kOrders && n < size; ++n) proposed[n] += static_cast<double>(size - n);
    }
    // The original's guards against division by zero, which show in splits that share almost nothing.
    constexpr double kTiny = 1e-15;
    constexpr double kSmall = 1e-9;
    double product = 1.0;
    for (std::size_t n = 0; n < kOrders; ++n) product *= (matched[n] + kTiny) / (proposed[n] + kSmall);
    const double ratio = (candidate_length + kTiny) / (reference_length + kSmall);
    return std::pow(product, 1.0 / kOrders) * (ratio < 1.0 ? std::exp(1.0 - 1.0 / ratio) : 1.0);
}

std::size_t longest_common_subsequence(const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b) {
    std::vector<std::size_t> row(b.size() + 1, 0);
    for (const std::int32_t word : a) {
        std::size_t diagonal = 0;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t above = row[j + 1];
            row[j + 1] = word == b[j] ? diagonal + 1 : std::max(above, row[j]);
            diagonal = above;
        }
    }
    return row.back();
}

double rouge_l(const Split& split) {
    constexpr double kBetaSquared = 1.2 * 1.2;
    const std::vector<std::int32_t> empty_word{kNoWord};
    const auto words = [&](const Sentence& s) -> const auto& {
        return s.words.empty() ? empty_word : s.words;
    };
    return mean(split, [&](const Entry& entry) {
        double precision = 0.0;
        double recall = 0.0;
        const auto& candidate = words(entry.candidate);
        for (const Sentence& sentence : entry.references) {
            const auto& reference = words(sentence);
            const auto common = static_cast<double>(longest_common_subsequence(candidate, reference));
            precision = std::max(precision, common / static_cast<double>(candidate.size()));
            recall = std::max(recall, common / static_cast<double>(reference.size()));
        }
        if (precision == 0.0) return 0.0;
        return (1.0 + kBetaSquared) * precision * recall / (recall + kBetaSquared * precision);
    });
}

// The tf-idf weights of a sentence and their length per order.
struct Weighted {
    PerNGram<double> weights;
    std::array<double, kOrders> norm{};
    double pairs = 0.0;  // of neighbouring words
};

class Cider {
public:
    explicit Cider(const Split& split) : log_texts_(std::log(static_cast<double>(split.size()))) {
        for (const Entry* entry : split) {
            std::set<NGram> seen;
            for (const Sentence& reference : entry->references)
                for (const auto& [ngram, count] : reference.counts) seen.insert(ngram);
            for (const NGram& ngram : seen) ++texts_with_[ngram];
        }
    }

    double operator()(const Entry& entry) const {
        const Weighted candidate = weigh(entry.candidate);
        double sum = 0.0;
        for (const Sentence& reference : entry.references) sum += similarity(candidate, weigh(reference));
        return 10.0 * sum / static_cast<double>(kOrders * entry.references.size());
    }

private:
    Weighted weigh(const Sentence& sentence) const {
        Weighted result;
        for (const auto& [ngram, count] : sentence.counts) {
            const auto found = texts_with_.find(ngram);
            const double log_with = found == texts_with_.end() ? 0.0 : std::log(static_cast<double>(found->second));
            const double weight = count * (log_texts_ - log_with);
            result.weights.emplace_back(ngram, weight);
            result.norm[order_of(ngram)] += weight * weight;
        }
        for (double& norm : result.norm) norm = std::sqrt(norm);
        result.pairs = static_cast<double>(std::max<std::size_t>(sentence.size(), 1) - 1);
        return result;
    }

    static double similarity(const Weighted& candidate, const Weighted& reference) {
        constexpr double kSigma = 6.0;
        std::array<double, kOrders> dot{};
        for_common(candidate.weights, reference.weights, [&](const NGram& ngram, double mine, double theirs) {
            dot[order_of(ngram)] += std::min(mine, theirs) * theirs;
        });
        double cosines = 0.0;
        for (std::size_t n = 0; n < kOrders; ++n) {
            const double norms = candidate.norm[n] * reference.norm[n];
            if (norms > 0.0) cosines += dot[n] / norms;
        }
        const double difference = candidate.pairs - reference.pairs;
        return cosines * std::exp(-difference * difference / (2.0 * kSigma * kSigma));
    }

    double log_texts_;
    std::unordered_map<NGram, int, NGramHash> texts_with_;
};

}  // namespace

struct CaptionMetrics::State {
    Sentence sentence(const std::string& text) {
        Sentence result;
        for (const std::string& word : caption_words(text)) {
            const auto next = static_cast<std::int32_t>(word_ids.size());
            result.words.push_back(word_ids.try_emplace(word, next).first->second);
        }
        result.counts = count_ngrams(result.words);
        return result;
    }

    std::unordered_map<std::string, std::int32_t> word_ids;
    std::vector<Entry> entries;
    std::map<std::string, std::vector<std::size_t>> splits;  // places in entries
};

CaptionMetrics::CaptionMetrics() : state_(std::make_unique<State>()) {}
CaptionMetrics::CaptionMetrics(CaptionMetrics&&) noexcept = default;
CaptionMetrics& CaptionMetrics::operator=(CaptionMetrics&&) noexcept = default;
CaptionMetrics::~CaptionMetrics() = default;

void CaptionMetrics::add(const ScoredText& text) {
    if (text.references.empty()) {
        throw InputError({.name = "\"" + text.candidate + "\"",
                          .expected = "at least one text to compare it with",
                          .found = "none"});
    }
    Entry entry;
    const std::string normalised = normalised_text(text.candidate);
    entry.candidate = state_->sentence(text.candidate);
    for (const std::string& reference : text.references) {
        entry.references.push_back(state_->sentence(reference));
        entry.exact = entry.exact || normalised_text(reference) == normalised;
    }
    std::set<std::string> splits(text.kinds.begin(), text.kinds.end());
    splits.insert(text.question ? "questions" : "captions");
    for (const std::string& split : splits) state_->splits[split].push_back(state_->entries.size());
    state_->entries.push_back(std::move(entry));
}

std::vector<Metric> CaptionMetrics::values() const {
    std::vector<Metric> metrics;
    const auto add_split = [&](const std::string& name, const std::vector<std::size_t>& places) {
        Split split;
        for (const std::size_t place : places) split.push_back(&state_->entries[place]);
        const auto add_metric = [&](const char* metric, double value) {
            metrics.push_back({metric, name, value, split.size()});
        };
        add_metric("exact_match", mean(split, [](const Entry& entry) { return entry.exact ? 1.0 : 0.0; }));
        add_metric("bleu4", bleu4(split));
        add_metric("rouge_l", rouge_l(split));
        add_metric("cider", mean(split, Cider(split)));
    };
    constexpr std::array kFirst{"captions", "questions"};
    for (const char* name : kFirst) {
        if (const auto found = state_->splits.find(name); found != state_->splits.end()) add_split(name, found->second);
    }
    for (const auto& [name, places] : state_->splits) {
        if (std::find(kFirst.begin(), kFirst.end(), name) == kFirst.end()) add_split(name, places);
    }
    return metrics;
}

}  // namespace vitrine
