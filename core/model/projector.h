#pragma once

#include "core/model/layers.h"
#include "core/model/observer.h"

#include <ATen/core/Tensor.h>

#include <filesystem>

namespace vitrine {

// The bridge: Linear, exact GELU, Linear (LLaVA-1.5, arXiv 2310.03744), from the tower's width to the language model's.
// A safetensors file holds fc1.weight [H, C], fc1.bias [H], fc2.weight [H, H], fc2.bias [H].
class Projector {
public:
    static Projector from_config(std::int64_t vision_hidden, std::int64_t language_hidden);  // empty weights
    // The sizes come from the file. Throws WeightsError, FileError.
    static Projector from_pretrained(const std::filesystem::path& file, const WeightTarget& target);

    at::Tensor forward(const at::Tensor& features,
                       ForwardObserver* observer = nullptr) const;  // [N, P, C] -> [N, P, H]
    ParameterList parameters();

    std::int64_t vision_hidden() const { return fc1_.in_features; }
    std::int64_t language_hidden() const { return fc2_.out_features; }

private:
    Projector(std::int64_t vision_hidden, std::int64_t language_hidden);

    Linear fc1_;
    Linear fc2_;
};

}  // namespace vitrine
