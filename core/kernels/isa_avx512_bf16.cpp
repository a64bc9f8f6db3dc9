#include "core/kernels/isa.h"

#if defined(__AVX512F__) && defined(__AVX512BF16__)
#include "core/kernels/simd_table.h"
const vitrine::kernels::Kernels* vitrine::kernels::avx512_bf16_kernels() {
    static constexpr Kernels kernels = simd_kernels("AVX-512 BF16");
    return &kernels;
}
#else
const vitrine::kernels::Kernels* vitrine::kernels::avx512_bf16_kernels() {
    return nullptr;
}
#endif
