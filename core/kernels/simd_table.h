#pragma once

#include "core/kernels/simd_backward.h"

// The table of everything above, for the instruction set of the including file.
namespace vitrine::kernels {
namespace {

template <class T>
constexpr KernelTable<T> table_for() {
    return {.to_float = to_float<T>,
            .product_few = product_few<T>,
            .tile_rows = tile_rows,
            .chunk_columns = chunk_columns,
            .packed_bytes = packed_bytes<T>,
            .chunk_bytes = chunk_bytes<T>,
            .pack = pack<T>,
            .product_many = product_many<T>,
            .pack_columns = pack_columns<T>,
            .product_columns = product_columns<T>,
            .rms_norm = rms_norm<T>,
            .norm_rope = norm_rope<T>,
            .silu_mul = silu_mul<T>,
            .gelu_tanh = gelu_tanh<T>,
            .attend_few_bytes = attend_few_bytes<T>,
            .attend_few = attend_few<T>,
            .attend_many_bytes = attend_many_bytes<T>,
            .attend_many = attend_many<T>,
            .rms_norm_backward = rms_norm_backward<T>,
            .norm_rope_backward = norm_rope_backward<T>,
            .silu_mul_backward = silu_mul_backward<T>,
            .gelu_tanh_backward = gelu_tanh_backward<T>,
            .attend_backward_bytes = attend_backward_bytes<T>,
            .attend_backward = attend_backward<T>};
}

constexpr Kernels simd_kernels(const char* name) {
    return {.name = name, .fp32 = table_for<float>(), .bf16 = table_for<BF16>(), .fp16 = table_for<F16>()};
}

}  // namespace
}  // namespace vitrine::kernels
