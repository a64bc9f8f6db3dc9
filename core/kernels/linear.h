#pragma once

#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

// Matrix products on the CPU. LibTorch's own are slow where this program lives: one row at a time, and
// bf16 or fp16 weights on processors without bf16 instructions. Accumulation is fp32; the result has the dtype of x.
namespace vitrine::kernels {

// True where this processor runs the hand-written kernels at all.
bool available();

// True where the hand-written product applies: CPU tensors, no gradient wanted, x contiguous in its last dimension,
// weight contiguous, fp32/bf16/fp16 weight with x of the same dtype, and a processor with AVX2 and FMA at least.
bool linear_supported(const at::Tensor& x, const at::Tensor& weight);

// x [..., in], weight [out, in], bias [out] or undefined -> [..., out]. The fast path where supported, else at::linear.
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {});

// Several products of one x in a single parallel region: weights [out_i, in] -> [..., out_i] each. For q, k, v and
// gate, up.
std::vector<at::Tensor> linear_many(const at::Tensor& x, std::span<const at::Tensor* const> weights,
                                    std::span<const at::Tensor* const> biases = {});

// a [m, k] times b [k, n] -> [m, n], without gradients. Either may be a transposed view; one of its dimensions must be
// contiguous for the fast path, else at::matmul does it.
at::Tensor matmul(const at::Tensor& a, const at::Tensor& b);

}  // namespace vitrine::kernels
