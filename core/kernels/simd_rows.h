#pragma once

#include "core/kernels/simd.h"

// Operations on one row, and on single elements.
namespace vitrine::kernels {
namespace {

template <class T>
void to_float(const T* from, float* to, int64_t n) {
    each_vector(n, [&](int64_t i, auto get, auto put) { put(to + i, get(from + i)); });
}

// 1 / sqrt(mean(x^2) + eps)
template <class T>
inline Vec inverse_rms(const T* x, int64_t n, float eps) {
    Vec squares = zero();
    each_vector(n, [&](int64_t i, auto get, auto) {
        const Vec value = get(x + i);
        squares = fma(value, value, squares);
    });
    return broadcast(1.0F / __builtin_sqrtf(sum(squares) / static_cast<float>(n) + eps));
}

template <class T>
void rms_norm(const T* x, const T* weight, T* out, int64_t n, float eps) {
    const Vec scale = inverse_rms(x, n, eps);
    each_vector(n, [&](int64_t i, auto get, auto put) {
        put(out + i, mul(round_to<T>(mul(get(x + i), scale)), get(weight + i)));
    });
}

template <class T>
void norm_rope(const T* x, const T* weight, const float* cos, const float* sin, T* out, int64_t n, float eps) {
    const Vec scale = weight == nullptr ? broadcast(1.0F) : inverse_rms(x, n, eps);
    const int64_t half = n / 2;
    each_vector(half, [&](int64_t i, auto get, auto put) {
        const auto normed = [&](int64_t at) {
            const Vec value = get(x + at);
            return weight == nullptr ? value : round_to<T>(mul(round_to<T>(mul(value, scale)), get(weight + at)));
        };
        const Vec low = normed(i);
        const Vec high = normed(half + i);
        put(out + i, sub(mul(low, get(cos + i)), mul(high, get(sin + i))));
        put(out + half + i, fma(high, get(cos + half + i), mul(low, get(sin + half + i))));
    });
}

template <class T>
void silu_mul(const T* gate, const T* up, T* out, int64_t n) {
    each_vector(n, [&](int64_t i, auto get, auto put) {
        const Vec value = get(gate + i);
        put(out + i, mul(round_to<T>(times_sigmoid(value, value)), get(up + i)));
    });
}

// x / 2 (1 + tanh(u)) = x sigmoid(2 u) with u = sqrt(2 / pi) (x + 0.044715 x^3)
template <class T>
void gelu_tanh(const T* x, T* out, int64_t n) {
    constexpr float twice_root = 1.5957691216057308F;
    each_vector(n, [&](int64_t i, auto get, auto put) {
        const Vec value = get(x + i);
        const Vec cubic =
            fma(mul(mul(value, value), broadcast(0.044715F * twice_root)), value, mul(value, broadcast(twice_root)));
        put(out + i, times_sigmoid(value, cubic));
    });
}

}  // namespace
}  // namespace vitrine::kernels
