#pragma once

#include "core/kernels/simd_attention.h"

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
            .rms_norm = rms_norm<T>,
            .norm_rope = norm_rope<T>,
            .silu_mul = silu_mul<T>,
            .gelu_tanh = gelu_tanh<T>,
            .attend_few_bytes = attend_few_bytes<T>,
            .attend_few = attend_few<T>,
            .attend_many_bytes = attend_many_bytes<T>,
            .attend_many = attend_many<T>};
}

constexpr Kernels simd_kernels(const char* name) {
    return {.name = name, .fp32 = table_for<float>(), .bf16 = table_for<BF16>(), .fp16 = table_for<F16>()};
}

}  // namespace
}  // namespace vitrine::kernels
