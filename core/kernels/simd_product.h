#pragma once

#include "core/kernels/simd.h"

// Matrix products of rows with rows, y = x W^T, both contiguous along the dimension that is summed.
namespace vitrine::kernels {
namespace {

// --- few rows of x: as fast as the weights can be read ---

// x rows [X, k] times w rows [n, k]: calls sink(row of w, row of x, dot product). Several rows of w at once, so that
// enough independent sums are under way to hide the latency of the multiply-add.
template <int X, int W, class T, class Sink>
inline void dot_rows(const float* x, int64_t ldx, const T* w, int64_t ldw, int64_t k, int64_t row, int64_t apart,
                     Sink& sink) {
    Vec sums[W][X];
#pragma GCC unroll 8
    for (int j = 0; j < W; ++j)
#pragma GCC unroll 8
        for (int i = 0; i < X; ++i) sums[j][i] = zero();

    const T* from = w + row * ldw;
    const int64_t stride = apart * ldw;
    int64_t at = 0;
    for (; at + lanes <= k; at += lanes) {
        Vec weights[W];
#pragma GCC unroll 8
        for (int j = 0; j < W; ++j) weights[j] = load(from + j * stride + at);
#pragma GCC unroll 8
        for (int i = 0; i < X; ++i) {
            const Vec values = load(x + i * ldx + at);
#pragma GCC unroll 8
            for (int j = 0; j < W; ++j) sums[j][i] = fma(weights[j], values, sums[j][i]);
        }
    }
    if (at < k) {
#pragma GCC unroll 8
        for (int j = 0; j < W; ++j) {
            const Vec weights = load_first(from + j * stride + at, k - at);
#pragma GCC unroll 8
            for (int i = 0; i < X; ++i) sums[j][i] = fma(weights, load_first(x + i * ldx + at, k - at), sums[j][i]);
        }
    }
#pragma GCC unroll 8
    for (int j = 0; j < W; ++j)
#pragma GCC unroll 8
        for (int i = 0; i < X; ++i) sink(row + j * apart, i, sum(sums[j][i]));
}

// w is read as several long streams, one row of each at a time: adjacent rows would be short streams, and the
// processor's prefetcher, starting anew with each of them, reaches only half the memory's speed.
template <int X, class T, class Sink>
inline void dot_all(const float* x, int64_t ldx, const T* w, int64_t ldw, int64_t n, int64_t k, Sink& sink) {
    constexpr int streams = X == 1 ? 8 : X <= 3 ? 4 : X <= 6 ? 2 : 1;
    const int64_t apart = n / streams;
    for (int64_t row = 0; row < apart; ++row) dot_rows<X, streams>(x, ldx, w, ldw, k, row, apart, sink);
    for (int64_t row = apart * streams; row < n; ++row) dot_rows<X, 1>(x, ldx, w, ldw, k, row, 1, sink);
}

// m <= few_rows rows of x.
template <class T, class Sink>
inline void dots(const float* x, int64_t ldx, int64_t m, const T* w, int64_t ldw, int64_t n, int64_t k, Sink sink) {
    static_assert(few_rows == 8);
    switch (m) {
        case 1: return dot_all<1>(x, ldx, w, ldw, n, k, sink);
        case 2: return dot_all<2>(x, ldx, w, ldw, n, k, sink);
        case 3: return dot_all<3>(x, ldx, w, ldw, n, k, sink);
        case 4: return dot_all<4>(x, ldx, w, ldw, n, k, sink);
        case 5: return dot_all<5>(x, ldx, w, ldw, n, k, sink);
        case 6: return dot_all<6>(x, ldx, w, ldw, n, k, sink);
        case 7: return dot_all<7>(x, ldx, w, ldw, n, k, sink);
        case 8: return dot_all<8>(x, ldx, w, ldw, n, k, sink);
        default: return;
    }
}

template <class T>
inline float scalar(const T* p) {
    return sum(load_first(p, 1));
}
inline float scalar(const float* p) {
    return *p;
}

template <class T>
void product_few(const float* x, int64_t ldx, int64_t m, const T* weight, const T* bias, int64_t n, int64_t k, T* y,
                 int64_t ldy) {
    dots(x, ldx, m, weight, k, n, k, [=](int64_t column, int64_t row, float value) {
        store_first(y + row * ldy + column, broadcast(bias == nullptr ? value : value + scalar(bias + column)), 1);
    });
}

// --- many rows: packed panels and a register tile, after Goto and van de Geijn, "Anatomy of high-performance matrix
// multiplication" (2008). A panel holds `width` rows of a matrix, transposed: [k][width], zeros for rows that are not
// there. ---

#if defined(__AVX512F__)
constexpr int tile_rows = 12;
#else
constexpr int tile_rows = 6;
#endif
constexpr int tile_vectors = 2;
constexpr int tile_columns = tile_vectors * lanes;
constexpr int64_t tile_depth = 256;  // words of k in a block: a panel of weights then fits the first-level cache
constexpr int64_t chunk_columns =
    128;  // columns of y under way in one thread: their sums then fit the second-level cache

// What one lane multiplies in a step of k: a float, or two bf16 where the processor multiplies pairs of them.
struct Pair {
    std::uint32_t bits;
};
template <class Word>
constexpr int64_t elements_in = 1;
template <>
constexpr int64_t elements_in<Pair> = 2;

template <class T>
struct Factor {
    using Word = float;
};
#if defined(__AVX512BF16__)
template <>
struct Factor<BF16> {
    using Word = Pair;
};
#endif
template <class T>
using WordOf = typename Factor<T>::Word;

inline Vec multiply_add(const float* a, const float* b, Vec c) {
    return fma(broadcast(*a), load(b), c);
}
template <class T>
inline __m256 load_words(const T* p, int64_t elements, float) {
    if (elements >= 8) return load8(p);
    T padded[8] = {};
    for (int64_t i = 0; i < elements; ++i) padded[i] = p[i];
    return load8(padded);
}

#if defined(__AVX512BF16__)
inline Vec multiply_add(const Pair* a, const Pair* b, Vec c) {
    return _mm512_dpbf16_ps(c, reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(a->bits))),
                            reinterpret_cast<__m512bh>(_mm512_loadu_si512(b)));
}
inline __m256 load_words(const BF16* p, int64_t elements, Pair) {
    if (elements >= 16) return _mm256_loadu_ps(reinterpret_cast<const float*>(p));
    BF16 padded[16] = {};
    for (int64_t i = 0; i < elements; ++i) padded[i] = p[i];
    return _mm256_loadu_ps(reinterpret_cast<const float*>(padded));
}
#endif

// c[tile_rows, tile_columns] (+)= a[k, tile_rows]^T b[k, tile_columns]
template <class Word>
void tile(int64_t k, const Word* a, const Word* b, float* c, int64_t ldc, bool accumulate) {
    Vec sums[tile_rows][tile_vectors];
#pragma GCC unroll 12
    for (int i = 0; i < tile_rows; ++i)
#pragma GCC unroll 2
        for (int j = 0; j < tile_vectors; ++j) sums[i][j] = accumulate ? load(c + i * ldc + j * lanes) : zero();
    for (int64_t step = 0; step < k; ++step, a += tile_rows, b += tile_columns) {
#pragma GCC unroll 12
        for (int i = 0; i < tile_rows; ++i)
#pragma GCC unroll 2
            for (int j = 0; j < tile_vectors; ++j) sums[i][j] = multiply_add(a + i, b + j * lanes, sums[i][j]);
    }
#pragma GCC unroll 12
    for (int i = 0; i < tile_rows; ++i)
#pragma GCC unroll 2
        for (int j = 0; j < tile_vectors; ++j) store(c + i * ldc + j * lanes, sums[i][j]);
}

template <int width, int first, class Word, class T>
inline void pack_eight(const T* from, int64_t ld, int64_t rows, int64_t elements, Word* out) {
    constexpr int count = width - first < 8 ? width - first : 8;
    const int64_t words = divide_up(elements, elements_in<Word>);
    for (int64_t k = 0; k < words; k += 8) {
        __m256 block[8];
        for (int i = 0; i < 8; ++i) {
            const int64_t at = k * elements_in<Word>;
            block[i] = i < count && first + i < rows ? load_words(from + (first + i) * ld + at, elements - at, Word{})
                                                     : _mm256_setzero_ps();
        }
        transpose8(block);
        const int64_t left = lesser(8, words - k);
        for (int64_t i = 0; i < left; ++i)
            store_first<count>(reinterpret_cast<float*>(out + (k + i) * width + first), block[i]);
    }
}

template <int width, class Word, class T>
inline void pack_panel(const T* from, int64_t ld, int64_t rows, int64_t elements, Word* out) {
    pack_eight<width, 0>(from, ld, rows, elements, out);
    if constexpr (width > 8) pack_eight<width, 8>(from, ld, rows, elements, out);
    if constexpr (width > 16) pack_eight<width, 16>(from, ld, rows, elements, out);
    if constexpr (width > 24) pack_eight<width, 24>(from, ld, rows, elements, out);
    static_assert(width <= 32);
}

// The same panels from a matrix that stands the other way round, [elements][rows]: cuts of its rows.
template <int width, class T>
inline void cut_panel(const T* from, int64_t ld, int64_t rows, int64_t elements, float* out) {
    for (int64_t k = 0; k < elements; ++k, out += width) {
        if (rows >= width && width % lanes == 0) {
            for (int64_t i = 0; i < width; i += lanes) store(out + i, load(from + k * ld + i));
        } else {
            float line[round_up(width, lanes)] = {};
            const int64_t count = lesser(rows, width);
            for (int64_t i = 0; i < count; i += lanes)
                store(line + i, load_first(from + k * ld + i, lesser(lanes, count - i)));
            for (int64_t i = 0; i < width; ++i) out[i] = line[i];
        }
    }
}
#if defined(__AVX512BF16__)
template <int width, class T>
inline void cut_panel(const T* from, int64_t ld, int64_t rows, int64_t elements, Pair* out) {
    const int64_t count = lesser(rows, width);
    for (int64_t k = 0; k < elements; k += 2, out += width)
        for (int64_t i = 0; i < width; ++i) {
            const std::uint32_t low = i < count ? from[k * ld + i].bits : 0U;
            const std::uint32_t high = i < count && k + 1 < elements ? from[(k + 1) * ld + i].bits : 0U;
            out[i] = {low | high << 16};
        }
}
#endif

// x packed: for each block of tile_depth words, all panels.
template <class T>
std::int64_t packed_bytes(int64_t m, int64_t k) {
    return round_up(m, tile_rows) * divide_up(k, elements_in<WordOf<T>>) * 4;
}

template <class T>
std::int64_t chunk_bytes(int64_t m) {
    return (tile_depth * tile_columns + round_up(m, tile_rows) * chunk_columns) * 4;
}

template <bool columns, class T>
inline void pack_any(const T* x, int64_t ldx, int64_t m, int64_t k, void* packed, int64_t panel) {
    using Word = WordOf<T>;
    constexpr int64_t depth = tile_depth * elements_in<Word>;
    const int64_t first = panel * tile_rows;
    for (int64_t at = 0; at < k; at += depth) {
        const int64_t elements = lesser(depth, k - at);
        const int64_t words = divide_up(elements, elements_in<Word>);
        Word* out = static_cast<Word*>(packed) + round_up(m, tile_rows) * (at / elements_in<Word>)+first * words;
        if constexpr (columns)
            cut_panel<tile_rows>(x + at * ldx + first, ldx, m - first, elements, out);
        else
            pack_panel<tile_rows>(x + first * ldx + at, ldx, m - first, elements, out);
    }
}
template <class T>
void pack(const T* x, int64_t ldx, int64_t m, int64_t k, void* packed, int64_t panel) {
    pack_any<false>(x, ldx, m, k, packed, panel);
}
template <class T>
void pack_columns(const T* x, int64_t ldx, int64_t m, int64_t k, void* packed, int64_t panel) {
    pack_any<true>(x, ldx, m, k, packed, panel);
}

template <bool columns, class T>
inline void product_any(const void* packed, int64_t m, const T* weight, int64_t ldw, const T* bias, int64_t n,
                        int64_t k, T* y, int64_t ldy, void* scratch) {
    using Word = WordOf<T>;
    constexpr int64_t depth = tile_depth * elements_in<Word>;
    Word* const panel = static_cast<Word*>(scratch);
    float* const sums = static_cast<float*>(scratch) + tile_depth * tile_columns;
    const int64_t ld = round_up(n, tile_columns);

    for (int64_t at = 0; at < k; at += depth) {
        const int64_t elements = lesser(depth, k - at);
        const int64_t words = divide_up(elements, elements_in<Word>);
        const Word* block = static_cast<const Word*>(packed) + round_up(m, tile_rows) * (at / elements_in<Word>);
        for (int64_t column = 0; column < n; column += tile_columns) {
            if constexpr (columns)
                cut_panel<tile_columns>(weight + at * ldw + column, ldw, n - column, elements, panel);
            else
                pack_panel<tile_columns>(weight + column * ldw + at, ldw, n - column, elements, panel);
            for (int64_t row = 0; row < m; row += tile_rows)
                tile(words, block + row * words, panel, sums + row * ld + column, ld, at > 0);
        }
    }
    for (int64_t row = 0; row < m; ++row)
        each_vector(n, [&](int64_t i, auto get, auto put) {
            const Vec value = get(sums + row * ld + i);
            put(y + row * ldy + i, bias == nullptr ? value : add(value, get(bias + i)));
        });
}
template <class T>
void product_many(const void* packed, int64_t m, const T* weight, const T* bias, int64_t n, int64_t k, T* y,
                  int64_t ldy, void* scratch) {
    product_any<false>(packed, m, weight, k, bias, n, k, y, ldy, scratch);
}
template <class T>
void product_columns(const void* packed, int64_t m, const T* weight, int64_t ldw, int64_t n, int64_t k, T* y,
                     int64_t ldy, void* scratch) {
    product_any<true, T>(packed, m, weight, ldw, nullptr, n, k, y, ldy, scratch);
}

}  // namespace
}  // namespace vitrine::kernels
