#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>

namespace vitrine {

// The seam through which the inside of a forward pass is seen. Stages are named as in the reference files:
// "vision.embeddings", "vision.layers.0", "vision.post_layernorm", "projector", "language.inputs_embeds",
// "language.layers.0", "language.norm", "language.logits". Called on the thread that runs the model; the tensors are
// the model's own and must not be changed. A null observer costs nothing.
class ForwardObserver {
public:
    virtual ~ForwardObserver() = default;
    virtual void on_stage(std::string_view name, const at::Tensor& value) = 0;
    // Normed and rotated queries of one decoder layer, [B, heads, T, head_dim]; the matching keys stand in the KV
    // cache.
    virtual void on_queries(int /*layer*/, const at::Tensor& /*queries*/) {}
};

}  // namespace vitrine
