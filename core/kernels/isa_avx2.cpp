#include "core/kernels/isa.h"

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include "core/kernels/simd_table.h"
const vitrine::kernels::Kernels* vitrine::kernels::avx2_kernels() {
    static constexpr Kernels kernels = simd_kernels("AVX2");
    return &kernels;
}
#else
const vitrine::kernels::Kernels* vitrine::kernels::avx2_kernels() {
    return nullptr;
}
#endif
