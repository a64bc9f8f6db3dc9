#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <initializer_list>

// The operations of linear.h and fused.h with gradients on the CPU: the same fast forward pass, and a backward pass
// written by hand beside it (simd_backward.h). Training goes through them; linear.h and fused.h call them when a
// gradient is wanted. A frozen weight keeps nothing for the backward pass and gets no gradient.
namespace vitrine::kernels::gradients {

// True where the functions below apply: a gradient is wanted of one of the tensors (undefined ones are skipped), and
// they are of one dtype (fp32, bf16, fp16), on the CPU, with a processor that runs the kernels.
bool apply_to(std::initializer_list<const at::Tensor*> tensors);

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);
at::Tensor norm_rope(const at::Tensor& x, const at::Tensor& weight, double eps, const at::Tensor& cos,
                     const at::Tensor& sin);
at::Tensor silu_mul(const at::Tensor& gate, const at::Tensor& up);
at::Tensor gelu_tanh(const at::Tensor& x);
at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                     const at::Tensor& key_start);

// f(x) without keeping what f computes on the way: the backward pass computes it again (gradient checkpointing, arXiv
// 1604.06174). f must be deterministic and have no other input that wants a gradient than x and leaf tensors.
at::Tensor checkpointed(const std::function<at::Tensor(const at::Tensor&)>& f, const at::Tensor& x);

}  // namespace vitrine::kernels::gradients
