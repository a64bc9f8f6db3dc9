#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

// How close generated captions and answers come to what people wrote: the usual metrics, on the usual 0 to 1 scale
// (CIDEr: 0 to 10), with the values that COCO's caption evaluation gives for the same words (core/eval/words.h).
namespace vitrine {

struct ScoredText {
    std::string candidate;
    std::vector<std::string> references;  // at least one
    bool question = false;                // a question's answer, not a caption
    std::vector<std::string> kinds;       // further splits it counts in: "colour", "3 objects", ...
};

struct Metric {
    std::string metric;  // "exact_match", "bleu4", "rouge_l", "cider"
    std::string split;   // "captions", "questions", or a kind
    double value = 0.0;
    std::size_t n = 0;  // texts in the split
};

// Collects texts and scores each split by itself:
// - exact_match: the share of candidates whose normalised_text is that of one of their references; punctuation counts.
// - bleu4: corpus BLEU (Papineni et al. 2002) with n-grams of 1 to 4 words clipped at their largest count in one
//   reference, brevity against the reference of the closest length (the shorter of two), no smoothing. A split whose
//   candidates share no 4 words in a row with their references ends near 0 (below 0.04), short answers among them.
// - rouge_l: mean over texts of the F measure (beta = 1.2) of the longest common subsequence (Lin 2004), made of the
// best
//   precision and the best recall, each over all references. A text without words counts as one empty word.
// - cider: CIDEr-D (Vedantam et al. 2015; n = 1 to 4, sigma = 6), the mean over texts. A word sequence weighs by how
//   few texts of the split have it in their references, so one text alone gives 0, and values of different splits are
//   not comparable. The length that the penalty looks at counts word pairs, as the original program does.
// Not for use by several threads at once.
class CaptionMetrics {
public:
    CaptionMetrics();
    CaptionMetrics(CaptionMetrics&&) noexcept;
    CaptionMetrics& operator=(CaptionMetrics&&) noexcept;
    ~CaptionMetrics();

    void add(const ScoredText& text);  // throws InputError without a reference

    // "captions" and "questions" first, then the kinds by name; splits without texts are left out.
    std::vector<Metric> values() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace vitrine
