#include "core/kernels/isa.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include "core/kernels/simd_table.h"
const vitrine::kernels::Kernels* vitrine::kernels::avx512_kernels() {
    static constexpr Kernels kernels = simd_kernels("AVX-512");
    return &kernels;
}
#else
const vitrine::kernels::Kernels* vitrine::kernels::avx512_kernels() {
    return nullptr;
}
#endif
