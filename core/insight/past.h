#pragma once

#include "core/model/kv_cache.h"
#include "core/model/observer.h"

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace vitrine {

// The queries of every decoder layer, position by position, as a forward pass left them: with the keys of the KV cache
// beside them, every row of attention can be computed again. As large as the keys times heads / kv_heads.
class QueryRecorder : public ForwardObserver {
public:
    QueryRecorder(const Qwen3Config& config, std::int64_t capacity, const at::TensorOptions& options);

    void on_attention(const AttentionStage& stage) override;  // one row (B = 1); appends T positions

    void truncate(std::int64_t length);
    void reserve(std::int64_t capacity);
    // Positions that every layer has seen; may be asked from any thread, and what stands before it does not change.
    std::int64_t length() const { return length_.load(std::memory_order_acquire); }
    const std::vector<at::Tensor>& queries() const { return queries_; }  // each [heads, capacity, head_dim]

private:
    std::vector<at::Tensor> queries_;
    std::atomic<std::int64_t> length_ = 0;
};

// What a conversation left behind in the language model. The engine appends to it; a recording of an answer shares it
// and reads what stands before the length it knows, from any thread. It is never cut shorter than a recording needs:
// the engine then goes on with a copy.
struct Past {
    explicit Past(KvCache cache_) : cache(std::move(cache_)) {}

    // Keys, values and queries of all layers, as views of one row: [heads, capacity, head_dim] each.
    struct Tensors {
        std::vector<at::Tensor> keys, values, queries;
    };
    Tensors tensors() const;

    // The first `length` positions with room for `capacity`; queries too where there are any.
    std::shared_ptr<Past> copy(const Qwen3Config& config, std::int64_t length, std::int64_t capacity) const;

    mutable std::mutex mutex;  // held while tensors are replaced (growing) or their handles taken
    KvCache cache;
    std::optional<QueryRecorder> queries;
};

}  // namespace vitrine
