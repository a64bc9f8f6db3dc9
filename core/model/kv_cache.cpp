#include "core/model/kv_cache.h"

#include "core/error.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace vitrine {

KvCache::KvCache(const Qwen3Config& config, std::int64_t batch, std::int64_t capacity, const at::TensorOptions& options)
    : capacity_(capacity) {
    for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
        keys_.push_back(at::empty({batch, config.num_key_value_heads, capacity, config.head_dim}, options));
        values_.push_back(at::empty_like(keys_.back()));
    }
}

std::pair<at::Tensor, at::Tensor> KvCache::append(std::int64_t layer, const at::Tensor& k, const at::Tensor& v) {
    const std::int64_t positions = k.size(2);
    if (length_ + positions > capacity_) {
        throw MemoryError({.name = "KV cache",
                           .expected = "at most " + std::to_string(capacity_) + " positions",
                           .found = std::to_string(length_ + positions),
                           .advice = "Reserve more before the forward pass."});
    }
    const auto index = static_cast<std::size_t>(layer);
    keys_[index].narrow(2, length_, positions).copy_(k);
    values_[index].narrow(2, length_, positions).copy_(v);
    return {keys_[index].narrow(2, 0, length_ + positions), values_[index].narrow(2, 0, length_ + positions)};
}

void KvCache::truncate(std::int64_t length) {
    length_ = std::min(length_, length);
}

void KvCache::reserve(std::int64_t capacity) {
    if (capacity <= capacity_) return;
    for (auto* tensors : {&keys_, &values_}) {
        for (at::Tensor& tensor : *tensors) {
            at::Tensor larger = at::empty({tensor.size(0), tensor.size(1), capacity, tensor.size(3)}, tensor.options());
            larger.narrow(2, 0, length_).copy_(tensor.narrow(2, 0, length_));
            tensor = std::move(larger);
        }
    }
    capacity_ = capacity;
}

std::uint64_t KvCache::bytes(const Qwen3Config& config, std::int64_t batch, std::int64_t capacity,
                             std::size_t element_bytes) {
    return static_cast<std::uint64_t>(2 * config.num_hidden_layers * batch * config.num_key_value_heads * capacity *
                                      config.head_dim) *
           element_bytes;
}

}  // namespace vitrine
