#pragma once

#include "core/kernels/simd_product.h"
#include "core/kernels/simd_rows.h"

// Attention of the query heads that share one KV head, so that its keys and values are read once for all of them.
namespace vitrine::kernels {
namespace {

template <class T>
inline int64_t visible_end(const HeadGroup<T>& head, int64_t query) {
    return head.causal ? greater(0, lesser(head.keys, head.keys - head.queries + query + 1)) : head.keys;
}

inline float row_largest(const float* row, int64_t n) {
    Vec top = broadcast(row[0]);
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) top = max(top, load(row + i));
    float result = largest(top);
    for (; i < n; ++i) result = row[i] > result ? row[i] : result;
    return result;
}

// row = e^(scale row - shift); returns its sum.
inline float row_exp(float* row, int64_t n, float scale, float shift) {
    Vec total = zero();
    float rest = 0.0F;
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        const Vec value = exp(fma(load(row + i), broadcast(scale), broadcast(-shift)));
        store(row + i, value);
        total = add(total, value);
    }
    for (; i < n; ++i) {
        row[i] = __builtin_expf(row[i] * scale - shift);
        rest += row[i];
    }
    return sum(total) + rest;
}

inline void fill(float* row, int64_t begin, int64_t end, float value) {
    for (int64_t i = begin; i < end; ++i) row[i] = value;
}

inline float score_scale(int64_t dim) {
    return 1.0F / __builtin_sqrtf(static_cast<float>(dim));
}

// --- few queries ---

// out[q, at : at + V vectors] (+)= sum over keys of weights[q, key] v[key, :]. `count` elements of a lone vector when
// partial.
template <int Q, int V, bool partial, class T>
inline void weigh_vectors(const float* weights, int64_t ldw, const T* v, int64_t v_row, int64_t keys, float* out,
                          int64_t ldo, bool accumulate, int64_t count) {
    Vec sums[Q][V];
#pragma GCC unroll 8
    for (int q = 0; q < Q; ++q)
#pragma GCC unroll 8
        for (int j = 0; j < V; ++j) sums[q][j] = accumulate ? load(out + q * ldo + j * lanes) : zero();
    for (int64_t key = 0; key < keys; ++key, v += v_row) {
        Vec values[V];
#pragma GCC unroll 8
        for (int j = 0; j < V; ++j) values[j] = partial ? load_first(v, count) : load(v + j * lanes);
#pragma GCC unroll 8
        for (int q = 0; q < Q; ++q) {
            const Vec weight = broadcast(weights[q * ldw + key]);
#pragma GCC unroll 8
            for (int j = 0; j < V; ++j) sums[q][j] = fma(weight, values[j], sums[q][j]);
        }
    }
#pragma GCC unroll 8
    for (int q = 0; q < Q; ++q)
#pragma GCC unroll 8
        for (int j = 0; j < V; ++j) store(out + q * ldo + j * lanes, sums[q][j]);
}

template <int Q, class T>
inline void weigh(const float* weights, int64_t ldw, const T* v, int64_t v_row, int64_t keys, int64_t dim, float* out,
                  int64_t ldo, bool accumulate) {
    constexpr int together = 8 / Q;
    int64_t at = 0;
    for (; at + together * lanes <= dim; at += together * lanes)
        weigh_vectors<Q, together, false>(weights, ldw, v + at, v_row, keys, out + at, ldo, accumulate, 0);
    for (; at + lanes <= dim; at += lanes)
        weigh_vectors<Q, 1, false>(weights, ldw, v + at, v_row, keys, out + at, ldo, accumulate, 0);
    if (at < dim) weigh_vectors<Q, 1, true>(weights, ldw, v + at, v_row, keys, out + at, ldo, accumulate, dim - at);
}

template <class T>
std::int64_t attend_few_bytes(const HeadGroup<T>& head) {
    return head.group * head.queries * (2 * round_up(head.dim, lanes) + round_up(head.keys, lanes)) * 4;
}

template <class T>
void attend_few(const HeadGroup<T>& head, void* scratch) {
    const int64_t rows = head.group * head.queries;
    const int64_t width = round_up(head.dim, lanes);
    const int64_t first = lesser(head.first_key, head.keys);
    const int64_t keys = head.keys - first;
    const int64_t ld = round_up(head.keys, lanes);
    float* const q = static_cast<float*>(scratch);
    float* const sums = q + rows * width;
    float* const weights = sums + rows * width;
    const T* const k = head.k + first * head.k_row;
    const T* const v = head.v + first * head.v_row;

    for (int64_t row = 0; row < rows; ++row)
        to_float(head.q + row / head.queries * head.q_head + row % head.queries * head.q_row, q + row * width,
                 head.dim);
    for (int64_t row = 0; row < rows; row += few_rows) {
        float* const out = weights + row * ld;
        dots(q + row * width, width, lesser(few_rows, rows - row), k, head.k_row, keys, head.dim,
             [=](int64_t key, int64_t i, float value) { out[i * ld + key] = value; });
    }
    // Weights are normalised before they are used: rows are short, and no division is left for the sums.
    for (int64_t row = 0; row < rows; ++row) {
        float* const line = weights + row * ld;
        const int64_t end = greater(0, visible_end(head, row % head.queries) - first);
        if (end > 0) {
            const float scale = score_scale(head.dim);
            const Vec inverse = broadcast(1.0F / row_exp(line, end, scale, scale * row_largest(line, end)));
            each_vector(end, [&](int64_t i, auto get, auto put) { put(line + i, mul(get(line + i), inverse)); });
        }
        fill(line, end, keys, 0.0F);
    }
    // Blocks of keys whose values stay in the first-level cache while the pieces of dim pass over them.
    fill(sums, 0, rows * width, 0.0F);
    constexpr int64_t block = 64;
    for (int64_t key = 0; key < keys; key += block) {
        const int64_t count = lesser(block, keys - key);
        const T* const values = v + key * head.v_row;
        int64_t row = 0;
        for (; row + 4 <= rows; row += 4)
            weigh<4>(weights + row * ld + key, ld, values, head.v_row, count, head.dim, sums + row * width, width,
                     true);
        for (; row + 2 <= rows; row += 2)
            weigh<2>(weights + row * ld + key, ld, values, head.v_row, count, head.dim, sums + row * width, width,
                     true);
        for (; row < rows; ++row)
            weigh<1>(weights + row * ld + key, ld, values, head.v_row, count, head.dim, sums + row * width, width,
                     true);
    }
    for (int64_t row = 0; row < rows; ++row) {
        T* const out = head.out + row / head.queries * head.out_head + row % head.queries * head.out_row;
        each_vector(head.dim, [&](int64_t i, auto get, auto put) { put(out + i, get(sums + row * width + i)); });
    }
}

// --- many queries ---

constexpr int64_t key_block = 256;

// Where the parts of attend_many's scratch begin, in floats.
struct ManyLayout {
    int64_t rows;   // queries of all heads, each head filled up to whole tiles
    int64_t width;  // dim filled up to whole panels
    int64_t k, v, q, sums, tops, totals, scores, weights, end;

    ManyLayout(int64_t group, int64_t queries, int64_t dim)
        : rows(group * round_up(queries, tile_rows)), width(round_up(dim, tile_columns)) {
        k = 0;
        v = k + key_block * dim;
        q = v + key_block * width;
        sums = q + rows * dim;
        tops = sums + rows * width;
        totals = tops + rows;
        scores = round_up(totals + rows, lanes);
        weights = scores + tile_rows * key_block;
        end = weights + tile_rows * key_block;
    }
};

template <class T>
std::int64_t attend_many_bytes(const HeadGroup<T>& head, int64_t queries) {
    return ManyLayout(head.group, queries, head.dim).end * 4;
}

// v rows are already [key][dim]: a panel is a cut of tile_columns columns.
template <class T>
inline void cut_panels(const T* v, int64_t v_row, int64_t keys, int64_t dim, float* out) {
    for (int64_t at = 0; at < dim; at += tile_columns, out += keys * tile_columns)
        cut_panel<tile_columns>(v + at, v_row, dim - at, keys, out);
}

template <class T>
void attend_many(const HeadGroup<T>& head, int64_t begin, int64_t end, void* scratch) {
    const ManyLayout at(head.group, end - begin, head.dim);
    float* const base = static_cast<float*>(scratch);
    const int64_t head_rows = at.rows / head.group;
    const float scale = score_scale(head.dim);

    for (int64_t row = 0; row < at.rows; row += tile_rows) {
        const int64_t query = row % head_rows;
        pack_panel<tile_rows>(head.q + row / head_rows * head.q_head + (begin + query) * head.q_row, head.q_row,
                              end - begin - query, head.dim, base + at.q + row * head.dim);
    }
    fill(base + at.sums, 0, at.rows * at.width, 0.0F);
    fill(base + at.tops, 0, at.rows, -3.0e38F);
    fill(base + at.totals, 0, at.rows, 0.0F);

    const int64_t last_key = visible_end(head, end - 1);
    for (int64_t key = greater(0, head.first_key); key < last_key; key += key_block) {
        const int64_t count = lesser(key_block, last_key - key);
        for (int64_t i = 0; i < count; i += tile_columns)
            pack_panel<tile_columns>(head.k + (key + i) * head.k_row, head.k_row, count - i, head.dim,
                                     base + at.k + i * head.dim);
        cut_panels(head.v + key * head.v_row, head.v_row, count, head.dim, base + at.v);

        for (int64_t row = 0; row < at.rows; row += tile_rows) {
            const int64_t query = begin + row % head_rows;
            const int64_t seen = lesser(count, visible_end(head, lesser(end, query + tile_rows) - 1) - key);
            if (seen <= 0) continue;
            float* const scores = base + at.scores;
            for (int64_t i = 0; i < seen; i += tile_columns)
                tile(head.dim, base + at.q + row * head.dim, base + at.k + i * head.dim, scores + i, key_block, false);

            for (int64_t i = 0; i < tile_rows; ++i) {
                float* const line = scores + i * key_block;
                const int64_t visible =
                    query + i < end ? greater(0, lesser(count, visible_end(head, query + i) - key)) : 0;
                fill(line, visible, seen, 0.0F);
                if (visible == 0) continue;
                float& top = base[at.tops + row + i];
                float& total = base[at.totals + row + i];
                const float block_top = scale * row_largest(line, visible);
                if (block_top > top) {
                    const float shrink = __builtin_expf(top - block_top);
                    float* const sums = base + at.sums + (row + i) * at.width;
                    for (int64_t j = 0; j < at.width; j += lanes)
                        store(sums + j, mul(load(sums + j), broadcast(shrink)));
                    total *= shrink;
                    top = block_top;
                }
                total += row_exp(line, visible, scale, top);
            }
            pack_panel<tile_rows>(scores, key_block, tile_rows, seen, base + at.weights);
            for (int64_t j = 0; j < at.width; j += tile_columns)
                tile(seen, base + at.weights, base + at.v + j * count, base + at.sums + row * at.width + j, at.width,
                     true);
        }
    }
    for (int64_t row = 0; row < at.rows; ++row) {
        const int64_t query = row % head_rows;
        if (begin + query >= end) continue;
        const float total = base[at.totals + row];
        const Vec inverse = broadcast(total > 0.0F ? 1.0F / total : 0.0F);
        T* const out = head.out + row / head_rows * head.out_head + (begin + query) * head.out_row;
        const float* const sums = base + at.sums + row * at.width;
        each_vector(head.dim, [&](int64_t i, auto get, auto put) { put(out + i, mul(get(sums + i), inverse)); });
    }
}

}  // namespace
}  // namespace vitrine::kernels
