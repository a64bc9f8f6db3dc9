#include "core/kernels/linear.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>

#include <algorithm>

#include "core/kernels/dispatch.h"
#include "core/kernels/gradients.h"
#include "core/kernels/thread_pool.h"

namespace vitrine::kernels {
namespace {

// One of the products of an x with k columns.
template <class T>
struct Product {
    const T* weight;  // [n, k], or [k, n] with rows ldw apart
    const T* bias;    // [n] or null
    T* y;             // [m, n]
    std::int64_t n;
    std::int64_t ldw = 0;  // not 0: the weight stands in columns
};

// x rows [m, k], ldx elements apart; or columns: [k, m].
template <class T>
struct Rows {
    const T* x;
    std::int64_t ldx, m, k;
    bool columns = false;
};

// Work below this many multiply-adds is not worth waking a thread.
constexpr std::int64_t smallest_share = 65536;

// The rows of all weights, one after another, are dealt out to the threads.
template <class T>
void multiply_few(const KernelTable<T>& kernels, const Rows<T>& rows, std::span<const Product<T>> products) {
    const float* x = nullptr;
    std::int64_t ldx = rows.k;
    if constexpr (std::is_same_v<T, float>) {
        x = rows.x;
        ldx = rows.ldx;
    } else {
        float* const wide =
            static_cast<float*>(thread_scratch(static_cast<std::size_t>(rows.m * rows.k) * sizeof(float)));
        for (std::int64_t row = 0; row < rows.m; ++row)
            kernels.to_float(rows.x + row * rows.ldx, wide + row * rows.k, rows.k);
        x = wide;
    }
    std::int64_t total = 0;
    for (const auto& product : products) total += product.n;
    parallel_for(0, total, std::max<std::int64_t>(1, smallest_share / (rows.m * rows.k)),
                 [&](std::int64_t begin, std::int64_t end) {
                     for (const auto& product : products) {
                         const auto first = std::clamp<std::int64_t>(begin, 0, product.n);
                         const auto last = std::clamp<std::int64_t>(end, 0, product.n);
                         if (first < last)
                             kernels.product_few(x, ldx, rows.m, product.weight + first * rows.k,
                                                 product.bias ? product.bias + first : nullptr, last - first, rows.k,
                                                 product.y + first, product.n);
                         begin -= product.n;
                         end -= product.n;
                     }
                 });
}

// Blocks of rows of x are packed by all threads; then each thread takes pieces of columns of all products.
template <class T>
void multiply_many(const KernelTable<T>& kernels, const Rows<T>& rows, std::span<const Product<T>> products) {
    constexpr std::int64_t most_rows = 252;        // a block of x, tile_depth deep, stays in the second-level cache
    constexpr std::int64_t most_packed = 4 << 20;  // bytes of x packed at a time
    const std::int64_t fitting =
        std::max<std::int64_t>(8, most_packed / kernels.packed_bytes(kernels.tile_rows, rows.k));
    const std::int64_t most = std::min(most_rows, fitting * kernels.tile_rows);
    const std::int64_t blocks = (rows.m + most - 1) / most;
    const std::int64_t block_rows =
        ((rows.m + blocks - 1) / blocks + kernels.tile_rows - 1) / kernels.tile_rows * kernels.tile_rows;
    const auto pieces_of = [&](const Product<T>& product) {
        return (product.n + kernels.chunk_columns - 1) / kernels.chunk_columns;
    };
    std::int64_t pieces = 0;
    for (const auto& product : products) pieces += pieces_of(product);
    const at::Tensor packed = at::empty({kernels.packed_bytes(std::min(block_rows, rows.m), rows.k)}, at::kByte);

    for (std::int64_t row = 0; row < rows.m; row += block_rows) {
        const std::int64_t m = std::min(block_rows, rows.m - row);
        const std::int64_t panels = (m + kernels.tile_rows - 1) / kernels.tile_rows;
        const std::int64_t panel_elements = kernels.tile_rows * rows.k;
        parallel_for(
            0, panels, std::max<std::int64_t>(1, smallest_share / panel_elements),
            [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t panel = begin; panel < end; ++panel)
                    if (rows.columns)
                        kernels.pack_columns(rows.x + row, rows.ldx, m, rows.k, packed.mutable_data_ptr(), panel);
                    else
                        kernels.pack(rows.x + row * rows.ldx, rows.ldx, m, rows.k, packed.mutable_data_ptr(), panel);
            });
        const std::int64_t piece_work = m * rows.k * kernels.chunk_columns;
        parallel_for(0, pieces, std::max<std::int64_t>(1, smallest_share / piece_work),
                     [&](std::int64_t begin, std::int64_t end) {
                         void* const scratch = thread_scratch(static_cast<std::size_t>(kernels.chunk_bytes(m)));
                         for (const auto& product : products) {
                             const std::int64_t count = pieces_of(product);
                             for (std::int64_t piece = std::max<std::int64_t>(begin, 0); piece < std::min(end, count);
                                  ++piece) {
                                 const std::int64_t column = piece * kernels.chunk_columns;
                                 const std::int64_t n = std::min(kernels.chunk_columns, product.n - column);
                                 T* const y = product.y + row * product.n + column;
                                 if (product.ldw != 0)
                                     kernels.product_columns(packed.const_data_ptr(), m, product.weight + column,
                                                             product.ldw, n, rows.k, y, product.n, scratch);
                                 else
                                     kernels.product_many(packed.const_data_ptr(), m, product.weight + column * rows.k,
                                                          product.bias ? product.bias + column : nullptr, n, rows.k, y,
                                                          product.n, scratch);
                             }
                             begin -= count;
                             end -= count;
                         }
                     });
    }
}

// For a matrix with one contiguous dimension: elements from one line of it to the next, whichever dimension that is.
std::int64_t leading(const at::Tensor& matrix) {
    return matrix.stride(1) == 1 ? matrix.stride(0) : matrix.stride(1);
}

bool bias_supported(const at::Tensor& bias, const at::Tensor& weight) {
    return !bias.defined() ||
           (bias.dim() == 1 && bias.size(0) == weight.size(0) && bias.is_contiguous() && kernels_for({&weight, &bias}));
}

bool differentiable(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
    return x.dim() >= 1 && weight.dim() == 2 && x.size(-1) == weight.size(1) && x.stride(-1) == 1 &&
           weight.is_contiguous() && (!bias.defined() || bias.is_contiguous()) &&
           gradients::apply_to({&x, &weight, &bias});
}

}  // namespace

bool available() {
    return processor_kernels() != nullptr;
}

bool linear_supported(const at::Tensor& x, const at::Tensor& weight) {
    return x.dim() >= 1 && weight.dim() == 2 && x.size(-1) == weight.size(1) && x.stride(-1) == 1 &&
           weight.is_contiguous() && kernels_for({&x, &weight}) != nullptr;
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
    const at::Tensor* const weights[] = {&weight};
    const at::Tensor* const biases[] = {&bias};
    return std::move(linear_many(x, weights, biases).front());
}

std::vector<at::Tensor> linear_many(const at::Tensor& x, std::span<const at::Tensor* const> weights,
                                    std::span<const at::Tensor* const> biases) {
    static const at::Tensor none;
    const auto bias_of = [&](std::size_t i) -> const at::Tensor& {
        return i < biases.size() && biases[i] ? *biases[i] : none;
    };
    bool supported = true;
    for (std::size_t i = 0; i < weights.size(); ++i)
        supported = supported && linear_supported(x, *weights[i]) && bias_supported(bias_of(i), *weights[i]);

    std::vector<at::Tensor> results;
    results.reserve(weights.size());
    if (!supported) {
        for (std::size_t i = 0; i < weights.size(); ++i) {
            if (differentiable(x, *weights[i], bias_of(i)))
                results.push_back(gradients::linear(x, *weights[i], bias_of(i)));
            else
                results.push_back(
                    at::linear(x, *weights[i], bias_of(i).defined() ? std::optional(bias_of(i)) : std::nullopt));
        }
        return results;
    }
    if (weights.empty()) return results;

    const std::int64_t k = x.size(-1);
    const at::Tensor rows = x.dim() == 2 ? x : x.reshape({-1, k});
    auto shape = x.sizes().vec();
    for (const at::Tensor* weight : weights) {
        shape.back() = weight->size(0);
        results.push_back(at::empty(shape, x.options()));
    }
    with_table(*kernels_for({&x}), x.scalar_type(), [&]<class T>(const KernelTable<T>& kernels) {
        std::vector<Product<T>> products;
        products.reserve(weights.size());
        for (std::size_t i = 0; i < weights.size(); ++i)
            products.push_back({elements<T>(*weights[i]), elements<T>(bias_of(i)), mutable_elements<T>(results[i]),
                                weights[i]->size(0)});
        const Rows<T> from{elements<T>(rows), rows.stride(0), rows.size(0), k};
        if (from.m <= few_rows)
            multiply_few<T>(kernels, from, products);
        else
            multiply_many<T>(kernels, from, products);
    });
    return results;
}

at::Tensor matmul(const at::Tensor& a, const at::Tensor& b) {
    const Kernels* const kernels = kernels_for({&a, &b});
    const auto lines_up = [](const at::Tensor& t) {
        return t.dim() == 2 && (t.stride(0) == 1 || t.stride(1) == 1) && leading(t) > 0;
    };
    if (!kernels || !lines_up(a) || !lines_up(b) || a.size(1) != b.size(0)) return at::matmul(a, b);
    const at::Tensor result = at::empty({a.size(0), b.size(1)}, a.options());
    with_table(*kernels, a.scalar_type(), [&]<class T>(const KernelTable<T>& table) {
        const Rows<T> from{elements<T>(a), leading(a), a.size(0), a.size(1), a.stride(1) != 1};
        // b in columns is what product_many calls a weight [n, k]; its rows must then lie side by side.
        const bool in_rows = b.stride(1) == 1;
        const at::Tensor weight = in_rows || b.stride(1) == b.size(0) ? b : b.t().contiguous().t();
        const Product<T> product{elements<T>(weight), nullptr, mutable_elements<T>(result), b.size(1),
                                 in_rows ? b.stride(0) : 0};
        multiply_many<T>(table, from, {&product, 1});
    });
    return result;
}

}  // namespace vitrine::kernels
