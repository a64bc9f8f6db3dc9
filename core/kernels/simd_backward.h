#pragma once

#include "core/kernels/simd_attention.h"

// Gradients of simd_rows.h and of attention. Intermediate results are fp32, whatever the tensors hold.
namespace vitrine::kernels {
namespace {

// y = x r w with r = 1 / rms(x):  dx = r (g w - n mean(g w n)), dw = g n, with n = x r.
template <class T>
void rms_norm_backward(const T* x, const T* weight, const T* grad, T* x_grad, float* weight_grad, int64_t n,
                       float eps) {
    const Vec scale = inverse_rms(x, n, eps);
    Vec products = zero();
    each_vector(n, [&](int64_t i, auto get, auto put) {
        const Vec normed = mul(get(x + i), scale);
        const Vec given = get(grad + i);
        products = fma(mul(given, get(weight + i)), normed, products);
        if (weight_grad != nullptr) put(weight_grad + i, fma(given, normed, get(weight_grad + i)));
    });
    const Vec mean = broadcast(sum(products) / static_cast<float>(n));
    each_vector(n, [&](int64_t i, auto get, auto put) {
        const Vec normed = mul(get(x + i), scale);
        put(x_grad + i, mul(scale, sub(mul(get(grad + i), get(weight + i)), mul(normed, mean))));
    });
}

// The rotation turned back, then the norm as above. The gradient behind the rotation is never stored.
template <class T>
void norm_rope_backward(const T* x, const T* weight, const float* cos, const float* sin, const T* grad, T* x_grad,
                        float* weight_grad, int64_t n, float eps) {
    const int64_t half = n / 2;
    const bool norm = weight != nullptr;
    const Vec scale = norm ? inverse_rms(x, n, eps) : broadcast(1.0F);
    const auto turned_back = [&](int64_t i, auto get, Vec& low, Vec& high) {
        const Vec first = get(grad + i);
        const Vec second = get(grad + half + i);
        low = fma(first, get(cos + i), mul(second, get(sin + half + i)));
        high = sub(mul(second, get(cos + half + i)), mul(first, get(sin + i)));
    };
    Vec products = zero();
    if (norm) {
        each_vector(half, [&](int64_t i, auto get, auto put) {
            Vec given[2];
            turned_back(i, get, given[0], given[1]);
            for (int part = 0; part < 2; ++part) {
                const int64_t at = i + part * half;
                const Vec normed = mul(get(x + at), scale);
                products = fma(mul(given[part], get(weight + at)), normed, products);
                if (weight_grad != nullptr) put(weight_grad + at, fma(given[part], normed, get(weight_grad + at)));
            }
        });
    }
    const Vec mean = broadcast(sum(products) / static_cast<float>(n));
    each_vector(half, [&](int64_t i, auto get, auto put) {
        Vec given[2];
        turned_back(i, get, given[0], given[1]);
        for (int part = 0; part < 2; ++part) {
            const int64_t at = i + part * half;
            put(x_grad + at,
                norm ? mul(scale, sub(mul(given[part], get(weight + at)), mul(mul(get(x + at), scale), mean)))
                     : given[part]);
        }
    });
}

// y = a s u with s = sigmoid(a):  da = g u s (1 + a (1 - s)), du = g a s.
template <class T>
void silu_mul_backward(const T* gate, const T* up, const T* grad, T* gate_grad, T* up_grad, int64_t n) {
    const Vec one = broadcast(1.0F);
    each_vector(n, [&](int64_t i, auto get, auto put) {
        const Vec a = get(gate + i);
        const Vec given = get(grad + i);
        const Vec s = times_sigmoid(one, a);
        put(up_grad + i, mul(given, mul(a, s)));
        put(gate_grad + i, mul(mul(given, get(up + i)), mul(s, fma(a, sub(one, s), one))));
    });
}

// y = x s with s = sigmoid(u), u = c (x + 0.044715 x^3):  dx = g s (1 + x (1 - s) u').
template <class T>
void gelu_tanh_backward(const T* x, const T* grad, T* x_grad, int64_t n) {
    constexpr float twice_root = 1.5957691216057308F;
    const Vec one = broadcast(1.0F);
    each_vector(n, [&](int64_t i, auto get, auto put) {
        const Vec value = get(x + i);
        const Vec square = mul(value, value);
        const Vec u = mul(value, fma(square, broadcast(0.044715F * twice_root), broadcast(twice_root)));
        const Vec slope = fma(square, broadcast(3.0F * 0.044715F * twice_root), broadcast(twice_root));
        const Vec s = times_sigmoid(one, u);
        put(x_grad + i, mul(get(grad + i), mul(s, fma(mul(value, sub(one, s)), slope, one))));
    });
}

// --- attention ---

// A matrix of fp32 in scratch, `ld` elements from row to row.
struct Matrix {
    float* data;
    int64_t ld;
};

// c [m, n] (+)= a b, with a [m, k] (or stored as [k, m]) and b [k, n] (or stored as [n, k]). c has room for whole
// tiles.
template <bool a_turned, bool b_turned>
inline void multiply(int64_t m, int64_t n, int64_t k, Matrix a, Matrix b, Matrix c, bool accumulate, float* scratch) {
    float* const packed = scratch;
    float* const panel = packed + round_up(m, tile_rows) * tile_depth;
    for (int64_t at = 0; at < k; at += tile_depth) {
        const int64_t depth = lesser(tile_depth, k - at);
        for (int64_t row = 0; row < m; row += tile_rows) {
            if constexpr (a_turned)
                cut_panel<tile_rows>(a.data + at * a.ld + row, a.ld, m - row, depth, packed + row * depth);
            else
                pack_panel<tile_rows>(a.data + row * a.ld + at, a.ld, m - row, depth, packed + row * depth);
        }
        for (int64_t column = 0; column < n; column += tile_columns) {
            if constexpr (b_turned)
                pack_panel<tile_columns>(b.data + column * b.ld + at, b.ld, n - column, depth, panel);
            else
                cut_panel<tile_columns>(b.data + at * b.ld + column, b.ld, n - column, depth, panel);
            for (int64_t row = 0; row < m; row += tile_rows)
                tile(depth, packed + row * depth, panel, c.data + row * c.ld + column, c.ld, accumulate || at > 0);
        }
    }
}

constexpr int64_t query_block = 256;  // rows of the two score matrices under way

// Where the parts of attend_backward's scratch begin, in floats.
struct BackwardLayout {
    int64_t width;    // dim filled up to whole tiles
    int64_t columns;  // keys filled up to whole tiles
    int64_t k, v, k_sums, v_sums, q, given, out, scores, slopes, packed, end;

    BackwardLayout(int64_t queries, int64_t keys, int64_t dim)
        : width(round_up(dim, tile_columns)), columns(round_up(keys, tile_columns)) {
        const int64_t rows = round_up(lesser(queries, query_block), tile_rows);
        const int64_t key_rows = round_up(keys, tile_rows);
        k = 0;
        v = k + keys * width;
        k_sums = v + keys * width;
        v_sums = k_sums + key_rows * width;
        q = v_sums + key_rows * width;
        given = q + rows * width;
        out = given + rows * width;
        scores = out + rows * width;
        slopes = scores + rows * columns;
        packed = slopes + rows * columns;
        end = packed + (greater(rows, key_rows) + tile_columns) * tile_depth;
    }
};

template <class T>
std::int64_t attend_backward_bytes(const HeadGroup<T>& head) {
    return BackwardLayout(head.queries, head.keys, head.dim).end * 4;
}

template <class T>
inline void widen(const T* from, int64_t ld, int64_t rows, int64_t n, Matrix to) {
    for (int64_t row = 0; row < rows; ++row) to_float(from + row * ld, to.data + row * to.ld, n);
}

// With P the weights, O = P V and D = dO V^T:  dS = P (D - rowsum(dO O)), dV = P^T dO, dQ = dS K / sqrt(dim),
// dK = dS^T Q / sqrt(dim). P is computed again from q and k, block of queries by block.
template <class T>
void attend_backward(const HeadGroup<T>& head, const HeadGradients<T>& gradients, void* scratch) {
    const BackwardLayout at(head.queries, head.keys, head.dim);
    float* const base = static_cast<float*>(scratch);
    const Matrix k{base + at.k, at.width}, v{base + at.v, at.width};
    const Matrix k_sums{base + at.k_sums, at.width}, v_sums{base + at.v_sums, at.width};
    const Matrix q{base + at.q, at.width}, given{base + at.given, at.width}, out{base + at.out, at.width};
    const Matrix scores{base + at.scores, at.columns}, slopes{base + at.slopes, at.columns};
    const float scale = score_scale(head.dim);
    const int64_t first = lesser(head.first_key, head.keys);

    widen(head.k, head.k_row, head.keys, head.dim, k);
    widen(head.v, head.v_row, head.keys, head.dim, v);
    fill(k_sums.data, 0, round_up(head.keys, tile_rows) * at.width, 0.0F);
    fill(v_sums.data, 0, round_up(head.keys, tile_rows) * at.width, 0.0F);

    for (int64_t h = 0; h < head.group; ++h) {
        for (int64_t begin = 0; begin < head.queries; begin += query_block) {
            const int64_t rows = lesser(query_block, head.queries - begin);
            const int64_t keys = visible_end(head, begin + rows - 1);  // none of these queries sees a later one
            widen(head.q + h * head.q_head + begin * head.q_row, head.q_row, rows, head.dim, q);
            widen(gradients.out + h * head.out_head + begin * head.out_row, head.out_row, rows, head.dim, given);
            widen(head.out + h * head.out_head + begin * head.out_row, head.out_row, rows, head.dim, out);
            multiply<false, true>(rows, keys, head.dim, q, k, scores, false, base + at.packed);
            multiply<false, true>(rows, keys, head.dim, given, v, slopes, false, base + at.packed);
            for (int64_t row = 0; row < rows; ++row) {
                float* const weights = scores.data + row * scores.ld;
                float* const slope = slopes.data + row * slopes.ld;
                const int64_t end = greater(first, visible_end(head, begin + row));
                if (end > first) {
                    const float total =
                        row_exp(weights + first, end - first, scale, scale * row_largest(weights + first, end - first));
                    Vec dot = zero();
                    each_vector(head.dim, [&](int64_t i, auto get, auto) {
                        dot = fma(get(given.data + row * at.width + i), get(out.data + row * at.width + i), dot);
                    });
                    const Vec mean = broadcast(sum(dot));
                    const Vec inverse = broadcast(1.0F / total);
                    each_vector(end - first, [&](int64_t i, auto get, auto put) {
                        const Vec weight = mul(get(weights + first + i), inverse);
                        put(weights + first + i, weight);
                        put(slope + first + i, mul(weight, mul(broadcast(scale), sub(get(slope + first + i), mean))));
                    });
                }
                fill(weights, 0, lesser(first, keys), 0.0F);
                fill(weights, lesser(end, keys), keys, 0.0F);
                fill(slope, 0, lesser(first, keys), 0.0F);
                fill(slope, lesser(end, keys), keys, 0.0F);
            }
            multiply<false, false>(rows, head.dim, keys, slopes, k, out, false, base + at.packed);  // dQ
            for (int64_t row = 0; row < rows; ++row) {
                T* const to = gradients.q + ((h * head.queries) + begin + row) * head.dim;
                each_vector(head.dim,
                            [&](int64_t i, auto get, auto put) { put(to + i, get(out.data + row * at.width + i)); });
            }
            multiply<true, false>(keys, head.dim, rows, slopes, q, k_sums, true, base + at.packed);
            multiply<true, false>(keys, head.dim, rows, scores, given, v_sums, true, base + at.packed);
        }
    }
    for (int64_t key = 0; key < head.keys; ++key)
        each_vector(head.dim, [&](int64_t i, auto get, auto put) {
            put(gradients.k + key * head.dim + i, get(k_sums.data + key * at.width + i));
            put(gradients.v + key * head.dim + i, get(v_sums.data + key * at.width + i));
        });
}

}  // namespace
}  // namespace vitrine::kernels
