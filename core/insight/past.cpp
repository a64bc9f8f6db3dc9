#include "core/insight/past.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace vitrine {
namespace {

at::Tensor grown(const at::Tensor& tensor, std::int64_t capacity, std::int64_t length) {
    at::Tensor larger = at::empty({tensor.size(0), capacity, tensor.size(2)}, tensor.options());
    larger.narrow(1, 0, length).copy_(tensor.narrow(1, 0, length));
    return larger;
}

}  // namespace

QueryRecorder::QueryRecorder(const Qwen3Config& config, std::int64_t capacity, const at::TensorOptions& options) {
    for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer)
        queries_.push_back(at::empty({config.num_attention_heads, capacity, config.head_dim}, options));
}

void QueryRecorder::on_attention(const AttentionStage& stage) {
    if (stage.tower != Tower::language) return;
    const std::int64_t count = stage.queries.size(2), past = length_.load(std::memory_order_relaxed);
    queries_[static_cast<std::size_t>(stage.layer)].narrow(1, past, count).copy_(stage.queries[0]);
    if (stage.layer + 1 == static_cast<int>(queries_.size())) length_.store(past + count, std::memory_order_release);
}

void QueryRecorder::truncate(std::int64_t length) {
    length_ = std::min(length_.load(), length);
}

void QueryRecorder::reserve(std::int64_t capacity) {
    for (at::Tensor& tensor : queries_)
        if (tensor.size(1) < capacity) tensor = grown(tensor, capacity, length_);
}

Past::Tensors Past::tensors() const {
    const std::lock_guard lock(mutex);
    Tensors all;
    if (queries) all.queries = queries->queries();
    for (std::size_t layer = 0; layer < all.queries.size(); ++layer) {
        all.keys.push_back(cache.keys(static_cast<std::int64_t>(layer))[0]);
        all.values.push_back(cache.values(static_cast<std::int64_t>(layer))[0]);
    }
    return all;
}

std::shared_ptr<Past> Past::copy(const Qwen3Config& config, std::int64_t length, std::int64_t capacity) const {
    auto other = std::make_shared<Past>(KvCache(config, 1, capacity, cache.keys(0).options()));
    if (queries) other->queries.emplace(config, capacity, queries->queries().front().options());
    for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
        const at::Tensor keys = cache.keys(layer).narrow(2, 0, length);
        other->cache.append(layer, keys, cache.values(layer).narrow(2, 0, length));
        if (!queries) continue;
        const at::Tensor past = queries->queries()[static_cast<std::size_t>(layer)].narrow(1, 0, length).unsqueeze(0);
        other->queries->on_attention({Tower::language, static_cast<int>(layer), past, keys, keys, keys});
    }
    other->cache.advance(length);
    return other;
}

}  // namespace vitrine
