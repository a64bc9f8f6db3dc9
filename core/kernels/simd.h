#pragma once

#include <immintrin.h>

#include "core/kernels/isa.h"

// A vector of fp32 lanes for the instruction set that the including file is compiled for: 8 with AVX2, 16 with AVX-512.
// What is built on it (simd_product.h, simd_rows.h, simd_attention.h) is the same text for both. Everything is local to
// its file.
namespace vitrine::kernels {
namespace {

using std::int64_t;

// Not std::min and std::max: see isa.h.
constexpr int64_t lesser(int64_t a, int64_t b) {
    return a < b ? a : b;
}
constexpr int64_t greater(int64_t a, int64_t b) {
    return a > b ? a : b;
}
constexpr int64_t divide_up(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}
constexpr int64_t round_up(int64_t a, int64_t b) {
    return divide_up(a, b) * b;
}

// --- eight lanes: AVX2, which AVX-512 includes ---

inline __m256 load8(const float* p) {
    return _mm256_loadu_ps(p);
}
inline __m256 load8(const BF16* p) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}
inline __m256 load8(const F16* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}

// Rows become columns.
inline void transpose8(__m256 (&r)[8]) {
    __m256 pairs[8];
    for (int i = 0; i < 8; i += 2) {
        pairs[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        pairs[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    __m256 quads[8];
    for (int i = 0; i < 8; i += 4) {
        quads[i] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
        quads[i + 1] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xEE);
        quads[i + 2] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
        quads[i + 3] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xEE);
    }
    for (int i = 0; i < 4; ++i) {
        r[i] = _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x20);
        r[i + 4] = _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x31);
    }
}

// The first `count` lanes only; nothing behind them is touched.
template <int count>
inline void store_first(float* p, __m256 v) {
    static_assert(count == 8 || count == 6 || count == 4);
    if constexpr (count == 8) {
        _mm256_storeu_ps(p, v);
    } else {
        _mm_storeu_ps(p, _mm256_castps256_ps128(v));
        if constexpr (count == 6) _mm_storel_pi(reinterpret_cast<__m64*>(p + 4), _mm256_extractf128_ps(v, 1));
    }
}

#if defined(__AVX512F__)

using Vec = __m512;
constexpr int lanes = 16;

inline Vec zero() {
    return _mm512_setzero_ps();
}
inline Vec broadcast(float x) {
    return _mm512_set1_ps(x);
}
inline Vec load(const float* p) {
    return _mm512_loadu_ps(p);
}
inline Vec load(const BF16* p) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}
inline Vec load(const F16* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}

inline Vec add(Vec a, Vec b) {
    return _mm512_add_ps(a, b);
}
inline Vec sub(Vec a, Vec b) {
    return _mm512_sub_ps(a, b);
}
inline Vec mul(Vec a, Vec b) {
    return _mm512_mul_ps(a, b);
}
inline Vec div(Vec a, Vec b) {
    return _mm512_div_ps(a, b);
}
inline Vec min(Vec a, Vec b) {
    return _mm512_min_ps(a, b);
}  // a NaN in b stays, here and below
inline Vec max(Vec a, Vec b) {
    return _mm512_max_ps(a, b);
}
inline Vec fma(Vec a, Vec b, Vec c) {
    return _mm512_fmadd_ps(a, b, c);
}
inline Vec nearest(Vec x) {
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
// x * 2^n for integral n, with a normal result.
inline Vec scale_by_power(Vec x, Vec n) {
    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(x), _mm512_slli_epi32(_mm512_cvtps_epi32(n), 23)));
}
inline float sum(Vec x) {
    return _mm512_reduce_add_ps(x);
}
inline float largest(Vec x) {
    return _mm512_reduce_max_ps(x);
}

// bf16 bits in the upper half of each lane, rounded to nearest even; NaN stays NaN.
inline __m512i bf16_upper(Vec x) {
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
    return _mm512_mask_mov_epi32(rounded, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), _mm512_set1_epi32(0x7FC00000));
}
inline void store(float* p, Vec x) {
    _mm512_storeu_ps(p, x);
}
inline void store(BF16* p, Vec x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(_mm512_srli_epi32(bf16_upper(x), 16)));
}
inline void store(F16* p, Vec x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
template <class T>
inline Vec round_to(Vec x);  // to the precision of T
template <>
inline Vec round_to<float>(Vec x) {
    return x;
}
template <>
inline Vec round_to<BF16>(Vec x) {
    return _mm512_castsi512_ps(_mm512_and_si512(bf16_upper(x), _mm512_set1_epi32(static_cast<int>(0xFFFF0000U))));
}
template <>
inline Vec round_to<F16>(Vec x) {
    return _mm512_cvtph_ps(_mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

#else  // AVX2, FMA, F16C

using Vec = __m256;
constexpr int lanes = 8;

inline Vec zero() {
    return _mm256_setzero_ps();
}
inline Vec broadcast(float x) {
    return _mm256_set1_ps(x);
}
template <class T>
inline Vec load(const T* p) {
    return load8(p);
}

inline Vec add(Vec a, Vec b) {
    return _mm256_add_ps(a, b);
}
inline Vec sub(Vec a, Vec b) {
    return _mm256_sub_ps(a, b);
}
inline Vec mul(Vec a, Vec b) {
    return _mm256_mul_ps(a, b);
}
inline Vec div(Vec a, Vec b) {
    return _mm256_div_ps(a, b);
}
inline Vec min(Vec a, Vec b) {
    return _mm256_min_ps(a, b);
}
inline Vec max(Vec a, Vec b) {
    return _mm256_max_ps(a, b);
}
inline Vec fma(Vec a, Vec b, Vec c) {
    return _mm256_fmadd_ps(a, b, c);
}
inline Vec nearest(Vec x) {
    return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
inline Vec scale_by_power(Vec x, Vec n) {
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(x), _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23)));
}
inline float sum(Vec x) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
inline float largest(Vec x) {
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

inline __m256i bf16_upper(Vec x) {
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF)));
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    return _mm256_blendv_epi8(rounded, _mm256_set1_epi32(0x7FC00000), nan);
}
inline void store(float* p, Vec x) {
    _mm256_storeu_ps(p, x);
}
inline void store(BF16* p, Vec x) {
    const __m256i words = _mm256_srli_epi32(bf16_upper(x), 16);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                     _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
}
inline void store(F16* p, Vec x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
template <class T>
inline Vec round_to(Vec x);
template <>
inline Vec round_to<float>(Vec x) {
    return x;
}
template <>
inline Vec round_to<BF16>(Vec x) {
    return _mm256_castsi256_ps(_mm256_and_si256(bf16_upper(x), _mm256_set1_epi32(static_cast<int>(0xFFFF0000U))));
}
template <>
inline Vec round_to<F16>(Vec x) {
    return _mm256_cvtph_ps(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

#endif

// The first `count` < lanes elements, zeros behind them.
template <class T>
inline Vec load_first(const T* p, int64_t count) {
    T padded[lanes] = {};
    for (int64_t i = 0; i < count; ++i) padded[i] = p[i];
    return load(padded);
}
template <class T>
inline void store_first(T* p, Vec x, int64_t count) {
    T padded[lanes];
    store(padded, x);
    for (int64_t i = 0; i < count; ++i) p[i] = padded[i];
}

// Calls body(i, load, store) for each vector of n elements; the last one may be partial.
template <class Body>
inline void each_vector(int64_t n, Body body) {
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes)
        body(
            i, [](const auto* p) { return load(p); }, [](auto* p, Vec x) { store(p, x); });
    if (i < n) {
        const int64_t left = n - i;
        body(
            i, [left](const auto* p) { return load_first(p, left); },
            [left](auto* p, Vec x) { store_first(p, x, left); });
    }
}

// e^x to about 1e-7 relative: x = n ln 2 + r with |r| <= ln(2) / 2, then the series for e^r. Below -87 it is as small
// as fp32 can normally hold, not zero; above 88 it stays there.
inline Vec exp(Vec x) {
    x = max(broadcast(-87.0F), min(broadcast(88.0F), x));
    const Vec n = nearest(mul(x, broadcast(1.44269504F)));
    Vec r = fma(n, broadcast(-0.693359375F), x);  // ln 2 in two parts, the first exact in few bits
    r = fma(n, broadcast(2.12194440e-4F), r);
    constexpr float series[] = {1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F, 1.0F};
    Vec p = broadcast(1.0F / 5040);
    for (const float coefficient : series) p = fma(p, r, broadcast(coefficient));
    return scale_by_power(p, n);
}

// x * sigmoid(y): SiLU with y = x, and GELU's tanh form.
inline Vec times_sigmoid(Vec x, Vec y) {
    return div(x, add(broadcast(1.0F), exp(sub(zero(), y))));
}

}  // namespace
}  // namespace vitrine::kernels
