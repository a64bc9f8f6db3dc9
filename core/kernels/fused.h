#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

// Small operations of a decoder layer, each fused into one pass on the CPU for inference. Every function has the same
// signature in core/kernels/plain.h, written with LibTorch operations only; the plain one is the definition, works on
// every device and carries gradients; a test holds the two together. The functions here fall back to it where they do
// not apply.
namespace vitrine::kernels {

// RMSNorm (arXiv 1910.07467) as Qwen3 computes it: square and mean in fp32, scale, cast back to x's dtype, then times
// weight. x [..., n], weight [n] -> [..., n]
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);

// RMSNorm over head_dim (q_norm, k_norm), then rotary embedding in the checkpoint's half-split convention:
// out = n * cos + rotate_half(n) * sin. x [B, T, heads, D], weight [D] or undefined (no norm), cos and sin [B or 1, T,
// D] fp32
// -> [B, heads, T, D], contiguous, x's dtype.
at::Tensor norm_rope(const at::Tensor& x, const at::Tensor& weight, double eps, const at::Tensor& cos,
                     const at::Tensor& sin);

// SwiGLU's middle: silu(gate) * up, same shapes.
at::Tensor silu_mul(const at::Tensor& gate, const at::Tensor& up);

// GELU, tanh form (tanh = true) or exact.
at::Tensor gelu(const at::Tensor& x, bool tanh);

// Attention with grouped queries: query head h reads KV head floor(h / (Hq / Hkv)). softmax(q k^T / sqrt(D) + mask) v
// in fp32. q [B, Hq, T, D]; k, v [B, Hkv, S, D] (views of a larger cache are fine: only the last dimension must be
// contiguous); key_start [B] int64 or undefined: keys before it are padding on the left; causal: query t (of T) sees
// keys up to S - T + t. -> [B, T, Hq * D], q's dtype.
at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                     const at::Tensor& key_start = {});

}  // namespace vitrine::kernels
