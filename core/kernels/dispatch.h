#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

#include "core/kernels/isa.h"

// What linear.cpp and fused.cpp share: when the raw kernels apply, for which element type, and their scratch memory.
namespace vitrine::kernels {

// The kernels for these tensors (undefined ones are skipped), or null where the plain way must be taken: not on the
// CPU, not one of fp32, bf16 and fp16 for all, empty, a gradient wanted, a PlainGuard alive, or a processor without
// AVX2.
const Kernels* kernels_for(std::initializer_list<const at::Tensor*> tensors);

template <class T>
const T* elements(const at::Tensor& tensor) {
    return tensor.defined() ? static_cast<const T*>(tensor.const_data_ptr()) : nullptr;
}
template <class T>
T* mutable_elements(const at::Tensor& tensor) {
    return static_cast<T*>(tensor.mutable_data_ptr());
}

// Calls body(table) with the KernelTable<T> of the dtype; kernels_for has seen to it that there is one.
template <class Body>
void with_table(const Kernels& kernels, at::ScalarType type, Body&& body) {
    switch (type) {
        case at::kBFloat16: return std::forward<Body>(body)(kernels.bf16);
        case at::kHalf: return std::forward<Body>(body)(kernels.fp16);
        default: return std::forward<Body>(body)(kernels.fp32);
    }
}

// KV head `index` (of all rows, one after another) of attention's tensors, shaped as in fused.h, out [B, T, Hq * D].
template <class T>
HeadGroup<T> head_group(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& out,
                        std::int64_t index, bool causal, const std::vector<std::int64_t>& key_start) {
    const std::int64_t kv_heads = k.size(1), queries = q.size(2), dim = q.size(3), heads = q.size(1);
    const std::int64_t group = heads / kv_heads, b = index / kv_heads, h = index % kv_heads;
    return {.q = elements<T>(q) + b * q.stride(0) + h * group * q.stride(1),
            .k = elements<T>(k) + b * k.stride(0) + h * k.stride(1),
            .v = elements<T>(v) + b * v.stride(0) + h * v.stride(1),
            .out = mutable_elements<T>(out) + (b * queries * heads + h * group) * dim,
            .q_head = q.stride(1),
            .q_row = q.stride(2),
            .k_row = k.stride(2),
            .v_row = v.stride(2),
            .out_head = dim,
            .out_row = heads * dim,
            .group = group,
            .queries = queries,
            .keys = k.size(2),
            .dim = dim,
            .first_key = key_start.empty() ? 0 : std::max<std::int64_t>(0, key_start[static_cast<std::size_t>(b)]),
            .causal = causal};
}
// One number a row of the batch; empty for an undefined tensor.
std::vector<std::int64_t> first_keys(const at::Tensor& key_start);

// This thread's scratch memory, aligned to a cache line, kept for the next call. Valid until the thread asks again.
void* thread_scratch(std::size_t bytes);

}  // namespace vitrine::kernels
