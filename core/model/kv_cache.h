#pragma once

#include "core/weights/config.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace vitrine {

// Past keys (normed and rotated) and values of every decoder layer, in tensors allocated once: growing by concatenation
// costs more than the attention itself. Used by one job at a time; the model only writes through append().
class KvCache {
public:
    // Room for `capacity` positions of `batch` rows. dtype and device are the model's.
    KvCache(const Qwen3Config& config, std::int64_t batch, std::int64_t capacity, const at::TensorOptions& options);

    // Writes k and v [B, Hkv, T, D] behind the positions already there and returns all of them, [B, Hkv, length + T,
    // D], as views. Every layer appends once, then advance() makes the new positions part of the past.
    std::pair<at::Tensor, at::Tensor> append(std::int64_t layer, const at::Tensor& k, const at::Tensor& v);
    void advance(std::int64_t positions) { length_ += positions; }

    void truncate(std::int64_t length);   // forgets what stands behind
    void reserve(std::int64_t capacity);  // grows, keeping the past; costs a copy

    std::int64_t length() const { return length_; }
    std::int64_t capacity() const { return capacity_; }
    const at::Tensor& keys(std::int64_t layer) const {
        return keys_[static_cast<std::size_t>(layer)];
    }  // [B, Hkv, capacity, D]
    const at::Tensor& values(std::int64_t layer) const {
        return values_[static_cast<std::size_t>(layer)];
    }  // [B, Hkv, capacity, D]

    static std::uint64_t bytes(const Qwen3Config& config, std::int64_t batch, std::int64_t capacity,
                               std::size_t element_bytes);

private:
    std::vector<at::Tensor> keys_;
    std::vector<at::Tensor> values_;
    std::int64_t length_ = 0;
    std::int64_t capacity_ = 0;
};

}  // namespace vitrine
