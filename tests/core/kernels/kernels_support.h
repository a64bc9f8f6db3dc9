#pragma once

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include "core/kernels/thread_pool.h"

#include <string>

// What the kernel tests share: tensors, roundings, and comparisons that say where and by how much two results differ.
namespace vitrine::test {

constexpr at::ScalarType kernel_types[] = {at::kFloat, at::kBFloat16, at::kHalf};

// The largest relative error of rounding to the type.
inline double rounding(at::ScalarType type) {
    return type == at::kBFloat16 ? 0x1p-8 : type == at::kHalf ? 0x1p-11 : 0x1p-24;
}

inline at::Tensor normal(at::IntArrayRef shape, at::ScalarType type) {
    return at::randn(shape).to(type);
}

// Empty when |found - expected| <= bound everywhere and found is finite; else a description of the worst place.
inline std::string beyond(const at::Tensor& found, const at::Tensor& expected, const at::Tensor& bound,
                          const std::string& what) {
    if (found.sizes() != expected.sizes()) return what + ": shapes differ";
    const at::Tensor excess =
        ((found.to(at::kDouble) - expected.to(at::kDouble)).abs() - bound.to(at::kDouble)).flatten();
    if (at::isfinite(found).all().item<bool>() && excess.max().item<double>() <= 0.0) return {};
    const auto at_worst = at::isfinite(found).all().item<bool>() ? excess.argmax().item<std::int64_t>() : -1;
    if (at_worst < 0) return what + ": not finite";
    return what + ": element " + std::to_string(at_worst) + " is " +
           std::to_string(found.flatten()[at_worst].item<double>()) + ", expected " +
           std::to_string(expected.flatten()[at_worst].item<double>());
}

// Equal but for `units` last places of the found type, and what fp32 sums of numbers of the scale of the whole lose.
inline std::string differs(const at::Tensor& found, const at::Tensor& expected, double units, const std::string& what) {
    const double unit = units * 2 * rounding(found.scalar_type());
    const at::Tensor wide = expected.to(at::kDouble).abs();
    return beyond(found, expected, wide * unit + wide.max().clamp_min(1.0) * (unit * 0.01 + 4e-6), what);
}

// The share of elements that are not bit for bit the same.
inline double share_unequal(const at::Tensor& a, const at::Tensor& b) {
    return a.ne(b).to(at::kDouble).mean().item<double>();
}

// Runs body with 1 and with 2 threads.
template <class Body>
void with_threads(Body body) {
    const int before = kernels::num_threads();
    for (const int threads : {1, 2}) {
        kernels::set_num_threads(threads);
        body(std::to_string(threads) + " threads");
    }
    kernels::set_num_threads(before);
}

}  // namespace vitrine::test

#define VERIFY_SAME(expression)                 \
    do {                                        \
        const std::string fault = (expression); \
        QVERIFY2(fault.empty(), fault.c_str()); \
    } while (false)
