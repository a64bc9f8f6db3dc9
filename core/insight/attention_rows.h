#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>

#include <cstdint>
#include <optional>

// Attention computed again from what a forward pass left behind, in fp32 whatever the model runs in. Query head h reads
// KV head floor(h / (heads / kv_heads)).
namespace vitrine::insight {

// softmax(q k^T / sqrt(D)). queries [heads, T, D], keys [kv_heads, S, D] -> [heads, T, S]. With `first`, the queries
// are those of the positions first, first + 1, ... and a query sees no key behind its own position (those weights are
// 0); without, every query sees every key.
at::Tensor attention_rows(const at::Tensor& queries, const at::Tensor& keys, std::optional<std::int64_t> first);

// The length of what each weight carries into the residual stream (arXiv 2004.10102): || W_O(h) v_j ||, where W_O(h)
// are the columns of the output projection [H, heads * D] that head h feeds. values [kv_heads, S, D] -> [heads, S].
at::Tensor value_norms(const at::Tensor& values, const at::Tensor& output, std::int64_t heads);

// All heads of a layer together: || sum_h A[h, j] W_O(h) v_j ||, the norm of the sum, not the sum of norms.
// weights [heads, S], values [kv_heads, S, D], output [H, heads * D] -> [S].
at::Tensor joined_value_norms(const at::Tensor& weights, const at::Tensor& values, const at::Tensor& output);

// Attention followed through the layers (arXiv 2005.00928): product over the layers, first to last, of
// rownorm(A + I). For a tower without causal mask. Each layer's A [P, P], the mean of its heads -> [P, P].
at::Tensor rollout(at::ArrayRef<at::Tensor> layers);

}  // namespace vitrine::insight
