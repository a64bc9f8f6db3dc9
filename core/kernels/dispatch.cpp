#include "core/kernels/dispatch.h"

#include <c10/core/GradMode.h>

#include <memory>
#include <new>

#include "core/kernels/plain.h"

namespace vitrine::kernels {
namespace {

constexpr std::align_val_t cache_line{64};

struct AlignedDelete {
    void operator()(std::byte* memory) const { operator delete[](memory, cache_line); }
};

}  // namespace

const Kernels* kernels_for(std::initializer_list<const at::Tensor*> tensors) {
    if (PlainGuard::active()) return nullptr;
    const at::Tensor& first = **tensors.begin();
    const at::ScalarType type = first.scalar_type();
    if (type != at::kFloat && type != at::kBFloat16 && type != at::kHalf) return nullptr;
    for (const at::Tensor* tensor : tensors) {
        if (!tensor->defined()) continue;
        if (!tensor->is_cpu() || tensor->scalar_type() != type || tensor->layout() != at::kStrided ||
            tensor->numel() == 0)
            return nullptr;
        if (c10::GradMode::is_enabled() && tensor->requires_grad()) return nullptr;
    }
    return processor_kernels();
}

std::vector<std::int64_t> first_keys(const at::Tensor& key_start) {
    if (!key_start.defined()) return {};
    const at::Tensor local = key_start.to(at::kCPU, at::kLong).contiguous();
    const auto* const first = local.const_data_ptr<std::int64_t>();
    return {first, first + local.numel()};
}

void* thread_scratch(std::size_t bytes) {
    thread_local std::unique_ptr<std::byte[], AlignedDelete> memory;
    thread_local std::size_t size = 0;
    if (bytes > size) {
        memory.reset();
        memory.reset(static_cast<std::byte*>(operator new[](bytes, cache_line)));
        size = bytes;
    }
    return memory.get();
}

}  // namespace vitrine::kernels
