#include "core/insight/attention_rows.h"

#include <ATen/ATen.h>

#include <cmath>

namespace vitrine::insight {

at::Tensor attention_rows(const at::Tensor& queries, const at::Tensor& keys, std::optional<std::int64_t> first) {
    const std::int64_t heads = queries.size(0), count = queries.size(1), dim = queries.size(2);
    const std::int64_t kv_heads = keys.size(0), length = keys.size(1);
    const at::Tensor grouped = queries.to(at::kFloat).reshape({kv_heads, heads / kv_heads * count, dim});
    at::Tensor scores = at::bmm(grouped, keys.to(at::kFloat).transpose(1, 2)).view({heads, count, length});
    scores *= 1.0 / std::sqrt(static_cast<double>(dim));
    if (!first) return at::softmax(scores, -1);
    if (*first + 1 == length && count == 1) return at::softmax(scores, -1);  // the last row sees everything
    const auto options = scores.options().dtype(at::kLong);
    const at::Tensor behind =
        at::arange(length, options).unsqueeze(0) > at::arange(*first, *first + count, options).unsqueeze(1);  // [T, S]
    return at::softmax(scores.masked_fill_(behind, -INFINITY), -1);
}

at::Tensor value_norms(const at::Tensor& values, const at::Tensor& output, std::int64_t heads) {
    const std::int64_t kv_heads = values.size(0), length = values.size(1), dim = values.size(2);
    const std::int64_t group = heads / kv_heads;
    const at::Tensor by_head = output.to(at::kFloat).view({-1, heads, dim}).permute({1, 2, 0});  // [heads, D, H]
    const at::Tensor spread =
        values.to(at::kFloat).unsqueeze(1).expand({kv_heads, group, length, dim}).reshape({heads, length, dim});
    at::Tensor norms = at::empty({heads, length}, spread.options());
    for (std::int64_t head = 0; head < heads; ++head)  // one at a time: [S, H] can be large
        norms[head].copy_(at::linalg_vector_norm(at::mm(spread[head], by_head[head]), 2, at::IntArrayRef{1}));
    return norms;
}

at::Tensor joined_value_norms(const at::Tensor& weights, const at::Tensor& values, const at::Tensor& output) {
    const std::int64_t heads = weights.size(0), length = weights.size(1), kv_heads = values.size(0);
    const std::int64_t dim = values.size(2);
    const at::Tensor carried =
        (weights.to(at::kFloat).view({kv_heads, heads / kv_heads, length, 1}) * values.to(at::kFloat).unsqueeze(1))
            .reshape({heads, length, dim})
            .transpose(0, 1)
            .reshape({length, heads * dim});
    return at::linalg_vector_norm(at::mm(carried, output.to(at::kFloat).t()), 2, at::IntArrayRef{1});
}

at::Tensor rollout(at::ArrayRef<at::Tensor> layers) {
    at::Tensor product;
    for (const at::Tensor& attention : layers) {
        at::Tensor step = attention.to(at::kFloat) + at::eye(attention.size(0), attention.options().dtype(at::kFloat));
        step /= step.sum(-1, true);
        product = product.defined() ? at::mm(step, product) : step;
    }
    return product;
}

}  // namespace vitrine::insight
