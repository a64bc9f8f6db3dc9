#pragma once

#include <ATen/core/Tensor.h>

namespace vitrine::kernels {

// While one lives, the functions of linear.h and fused.h called on its thread take the plain way: to compare the two.
class PlainGuard {
public:
    PlainGuard();
    ~PlainGuard();
    PlainGuard(const PlainGuard&) = delete;
    PlainGuard& operator=(const PlainGuard&) = delete;

    static bool active();
};

}  // namespace vitrine::kernels

// The definitions of core/kernels/fused.h, written with LibTorch operations: any device, any dtype, gradients. Shapes
// and meanings stand there.
namespace vitrine::kernels::plain {

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);
at::Tensor norm_rope(const at::Tensor& x, const at::Tensor& weight, double eps, const at::Tensor& cos,
                     const at::Tensor& sin);
at::Tensor silu_mul(const at::Tensor& gate, const at::Tensor& up);
at::Tensor gelu(const at::Tensor& x, bool tanh);
// A query that sees no key at all (padding) gives zeros.
at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                     const at::Tensor& key_start = {});
// The same with some keys hidden from every query but the one at their own position. cut [S] bool.
at::Tensor attention_without(const at::Tensor& cut, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                             bool causal, const at::Tensor& key_start = {});

}  // namespace vitrine::kernels::plain
