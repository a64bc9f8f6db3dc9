#include "core/kernels/isa.h"

namespace vitrine::kernels {
namespace {

const Kernels* choose() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (avx512 && __builtin_cpu_supports("avx512bf16") && avx512_bf16_kernels() != nullptr)
        return avx512_bf16_kernels();
    if (avx512 && avx512_kernels() != nullptr) return avx512_kernels();
    if (avx2) return avx2_kernels();
#endif
    return nullptr;
}

}  // namespace

const Kernels* processor_kernels() {
    static const Kernels* const kernels = choose();
    return kernels;
}

}  // namespace vitrine::kernels
