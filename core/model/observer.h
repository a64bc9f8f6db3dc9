#pragma once

#include "core/insight/values.h"

#include <ATen/core/Tensor.h>

#include <string_view>

namespace vitrine {

// What one attention layer computed. B rows, T queries, S keys; the vision tower has T = S = P and as many key heads as
// query heads.
struct AttentionStage {
    Tower tower;
    int layer;
    const at::Tensor& queries;  // [B, heads, T, head_dim], normed and rotated in the language model
    const at::Tensor& keys;     // [B, kv_heads, S, head_dim], past ones included
    const at::Tensor& values;   // [B, kv_heads, S, head_dim]
    const at::Tensor& mixed;    // [B, T, heads * head_dim], what the output projection gets
};

// The seam through which the inside of a forward pass is seen. Stages are named as in the reference files:
// "vision.embeddings", "vision.layers.0", "vision.post_layernorm", "projector", "language.inputs_embeds",
// "language.layers.0", "language.norm", "language.logits". Called on the thread that runs the model; the tensors are
// the model's own and must not be changed. A null observer costs nothing.
class ForwardObserver {
public:
    virtual ~ForwardObserver() = default;
    virtual void on_stage(std::string_view /*name*/, const at::Tensor& /*value*/) {}
    virtual void on_attention(const AttentionStage& /*stage*/) {}
};

}  // namespace vitrine
