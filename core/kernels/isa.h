#pragma once

#include <cstdint>

// The border between what knows tensors and threads (linear.cpp, fused.cpp) and what knows vector instructions
// (isa_*.cpp). Each isa_*.cpp is compiled for one instruction set and hands out one table of kernels on raw pointers;
// the choice is made at run time. Those files include no library headers: an inline function compiled there for AVX-512
// could be the copy the linker keeps for all.
namespace vitrine::kernels {

// Storage only; arithmetic is fp32.
struct BF16 {
    std::uint16_t bits;
};
struct F16 {
    std::uint16_t bits;
};

// One KV head of one sequence, with the query heads that read it. Strides count elements; the last dimension is
// contiguous.
template <class T>
struct HeadGroup {
    const T* q;  // [group, queries, dim]
    const T* k;  // [keys, dim]
    const T* v;  // [keys, dim]
    T* out;      // [group, queries, dim]
    std::int64_t q_head, q_row, k_row, v_row, out_head, out_row;
    std::int64_t group, queries, keys, dim;
    std::int64_t first_key;  // keys before it are padding
    bool causal;             // query t sees keys up to keys - queries + t
};

// The gradients of one HeadGroup: given that of out (laid out like it), those of q, k and v are written, contiguous.
template <class T>
struct HeadGradients {
    const T* out;  // [group, queries, dim], strides out_head and out_row of the group
    T* q;          // [group, queries, dim]
    T* k;          // [keys, dim]
    T* v;          // [keys, dim]
};

template <class T>
struct KernelTable {
    void (*to_float)(const T* from, float* to, std::int64_t n);

    // For up to few_rows rows of x: y[m, n] = x[m, :] . weight[n, :] + bias[n], reading each weight once. Rows of x and
    // y are ldx and ldy apart; weight is contiguous; bias may be null. The same holds below.
    void (*product_few)(const float* x, std::int64_t ldx, std::int64_t m, const T* weight, const T* bias,
                        std::int64_t n, std::int64_t k, T* y, std::int64_t ldy);

    // For many rows: x is packed once, panel by panel of tile_rows rows, into packed_bytes(m, k); then any piece of at
    // most chunk_columns columns can be computed by any thread with chunk_bytes(m) of scratch.
    std::int64_t tile_rows, chunk_columns;
    std::int64_t (*packed_bytes)(std::int64_t m, std::int64_t k);
    std::int64_t (*chunk_bytes)(std::int64_t m);
    void (*pack)(const T* x, std::int64_t ldx, std::int64_t m, std::int64_t k, void* packed, std::int64_t panel);
    void (*product_many)(const void* packed, std::int64_t m, const T* weight, const T* bias, std::int64_t n,
                         std::int64_t k, T* y, std::int64_t ldy, void* scratch);
    // The same for matrices that stand the other way round: x [k, m], and weight [k, n] with rows ldw apart. For
    // gradients.
    void (*pack_columns)(const T* x, std::int64_t ldx, std::int64_t m, std::int64_t k, void* packed,
                         std::int64_t panel);
    void (*product_columns)(const void* packed, std::int64_t m, const T* weight, std::int64_t ldw, std::int64_t n,
                            std::int64_t k, T* y, std::int64_t ldy, void* scratch);

    void (*rms_norm)(const T* x, const T* weight, T* out, std::int64_t n, float eps);
    // weight may be null; n is even.
    void (*norm_rope)(const T* x, const T* weight, const float* cos, const float* sin, T* out, std::int64_t n,
                      float eps);
    void (*silu_mul)(const T* gate, const T* up, T* out, std::int64_t n);
    void (*gelu_tanh)(const T* x, T* out, std::int64_t n);

    // All queries of the group at once, one pass over the keys: for decoding.
    std::int64_t (*attend_few_bytes)(const HeadGroup<T>& head);
    void (*attend_few)(const HeadGroup<T>& head, void* scratch);
    // Queries [begin, end) in tiles over blocks of keys, with the softmax carried along (FlashAttention, arXiv
    // 2205.14135).
    std::int64_t (*attend_many_bytes)(const HeadGroup<T>& head, std::int64_t queries);
    void (*attend_many)(const HeadGroup<T>& head, std::int64_t begin, std::int64_t end, void* scratch);

    // Gradients. `grad` is that of the forward function's result; what is written is that of its inputs.
    // weight_grad [n] fp32 is added to, or null.
    void (*rms_norm_backward)(const T* x, const T* weight, const T* grad, T* x_grad, float* weight_grad, std::int64_t n,
                              float eps);
    void (*norm_rope_backward)(const T* x, const T* weight, const float* cos, const float* sin, const T* grad,
                               T* x_grad, float* weight_grad, std::int64_t n, float eps);
    void (*silu_mul_backward)(const T* gate, const T* up, const T* grad, T* gate_grad, T* up_grad, std::int64_t n);
    void (*gelu_tanh_backward)(const T* x, const T* grad, T* x_grad, std::int64_t n);
    std::int64_t (*attend_backward_bytes)(const HeadGroup<T>& head);
    void (*attend_backward)(const HeadGroup<T>& head, const HeadGradients<T>& gradients, void* scratch);
};

struct Kernels {
    const char* name;
    KernelTable<float> fp32;
    KernelTable<BF16> bf16;
    KernelTable<F16> fp16;
};

constexpr std::int64_t few_rows = 8;

// Null where the compiler does not target the instruction set.
const Kernels* avx2_kernels();
const Kernels* avx512_kernels();
const Kernels* avx512_bf16_kernels();

// The best that this processor runs, or null.
const Kernels* processor_kernels();

}  // namespace vitrine::kernels
