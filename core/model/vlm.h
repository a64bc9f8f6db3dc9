#pragma once

#include "core/image/preprocess.h"
#include "core/model/projector.h"
#include "core/model/qwen3.h"
#include "core/model/siglip.h"
#include "core/text/chat_template.h"
#include "core/text/tokenizer.h"
#include "core/weights/config.h"

#include <ATen/core/Tensor.h>

#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace vitrine {

// The glue: embeddings of the prompt's ids [T] with picture i's projected patches (projected[i], [P, H]) laid over its
// span, for the positions [first, T). -> [1, T - first, H]. Patches of a picture that stands wholly before `first` are
// not needed. Throws InputError when a span and its patches differ in length.
at::Tensor embed_prompt(const Qwen3Model& language, const Prompt& prompt, std::span<const at::Tensor> projected,
                        std::int64_t first = 0);

// The three parts of a model folder and what it takes to feed them. Const after loading.
class VisionLanguageModel {
public:
    // Reads configurations, checks that the parts fit together, then loads. nullopt when the stop token fired. Throws
    // ConfigError, WeightsError, TokenizerError, FileError.
    static std::optional<VisionLanguageModel> load(const ModelFolder& folder, const WeightTarget& target,
                                                   const LoadProgress& progress = {}, std::stop_token stop = {});

    const VisionTransformer& vision() const { return vision_; }
    const Projector& projector() const { return projector_; }
    const Qwen3Model& language() const { return language_; }
    const Tokenizer& tokenizer() const { return tokenizer_; }
    const PreprocessConfig& preprocess() const { return preprocess_; }
    const ModelFolder& folder() const { return folder_; }

    // For training, which alone changes weights after loading.
    ParameterList vision_parameters() { return vision_.parameters(); }
    ParameterList projector_parameters() { return projector_.parameters(); }
    ParameterList language_parameters() { return language_.parameters(); }

private:
    VisionLanguageModel(ModelFolder folder, VisionTransformer vision, Projector projector, Qwen3Model language,
                        Tokenizer tokenizer, PreprocessConfig preprocess);

    ModelFolder folder_;
    VisionTransformer vision_;
    Projector projector_;
    Qwen3Model language_;
    Tokenizer tokenizer_;
    PreprocessConfig preprocess_;
};

// What a model will need, from its configurations alone.
struct MemoryEstimate {
    std::uint64_t weights = 0;
    std::uint64_t kv_cache = 0;  // for `context` positions
    std::uint64_t working = 0;   // activations, logits, the program itself
    std::uint64_t total() const { return weights + kv_cache + working; }
};
MemoryEstimate estimate_memory(const Qwen3Config& language, const SiglipConfig& vision, DType dtype,
                               std::int64_t context);

}  // namespace vitrine
