#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <initializer_list>
#include <utility>

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

// This thread's scratch memory, aligned to a cache line, kept for the next call. Valid until the thread asks again.
void* thread_scratch(std::size_t bytes);

}  // namespace vitrine::kernels
