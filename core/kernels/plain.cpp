#include "core/kernels/plain.h"

#include <ATen/ATen.h>

#include <cmath>

namespace vitrine::kernels {
namespace {

thread_local int plain_guards = 0;

}  // namespace

PlainGuard::PlainGuard() {
    ++plain_guards;
}
PlainGuard::~PlainGuard() {
    --plain_guards;
}
bool PlainGuard::active() {
    return plain_guards > 0;
}

}  // namespace vitrine::kernels

namespace vitrine::kernels::plain {
namespace {

// Where query t may not look: [B or 1, 1, T, S] bool, or undefined when it may look everywhere.
at::Tensor hidden_keys(const at::Tensor& like, std::int64_t queries, std::int64_t keys, bool causal,
                       const at::Tensor& key_start, const at::Tensor& cut) {
    const auto options = like.options().dtype(at::kLong);
    const at::Tensor key = at::arange(keys, options);
    at::Tensor hidden;
    if (causal && queries > 1) {
        const at::Tensor last = at::arange(keys - queries, keys, options);
        hidden = (key.unsqueeze(0) > last.unsqueeze(1)).unsqueeze(0).unsqueeze(0);  // [1, 1, T, S]
    }
    if (key_start.defined()) {
        const at::Tensor padding =
            (key.unsqueeze(0) < key_start.to(like.device()).unsqueeze(1)).unsqueeze(1).unsqueeze(1);  // [B, 1, 1, S]
        hidden = hidden.defined() ? hidden.logical_or(padding) : padding;
    }
    if (cut.defined()) {
        const at::Tensor own = at::arange(keys - queries, keys, options);
        const at::Tensor gone = cut.to(like.device())
                                    .unsqueeze(0)
                                    .logical_and(key.unsqueeze(0) != own.unsqueeze(1))
                                    .unsqueeze(0)
                                    .unsqueeze(0);  // [1, 1, T, S]
        hidden = hidden.defined() ? hidden.logical_or(gone) : gone;
    }
    return hidden;
}

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
    const at::Tensor wide = x.to(at::kFloat);
    const at::Tensor normed = wide * at::rsqrt(wide.square().mean(-1, true) + eps);
    return normed.to(x.scalar_type()) * weight;
}

at::Tensor norm_rope(const at::Tensor& x, const at::Tensor& weight, double eps, const at::Tensor& cos,
                     const at::Tensor& sin) {
    const at::Tensor normed =
        (weight.defined() ? plain::rms_norm(x, weight, eps) : x).to(at::kFloat);  // [B, T, heads, D]
    const auto halves = normed.chunk(2, -1);
    const at::Tensor rotated = at::cat({-halves[1], halves[0]}, -1);
    const at::Tensor turned = normed * cos.unsqueeze(2) + rotated * sin.unsqueeze(2);
    return turned.to(x.scalar_type()).transpose(1, 2).contiguous();
}

at::Tensor silu_mul(const at::Tensor& gate, const at::Tensor& up) {
    return at::silu(gate) * up;
}

at::Tensor gelu(const at::Tensor& x, bool tanh) {
    return at::gelu(x, tanh ? "tanh" : "none");
}

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                     const at::Tensor& key_start) {
    return attention_without({}, q, k, v, causal, key_start);
}

at::Tensor attention_without(const at::Tensor& cut, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                             bool causal, const at::Tensor& key_start) {
    const auto batch = q.size(0), heads = q.size(1), queries = q.size(2), dim = q.size(3);
    const auto kv_heads = k.size(1), keys = k.size(2);
    // The query heads of one KV head stand side by side, so that K and V need no copies: [B, Hkv, group, T, D].
    const at::Tensor grouped = q.to(at::kFloat).reshape({batch, kv_heads, heads / kv_heads, queries, dim});
    at::Tensor scores = at::matmul(grouped.reshape({batch, kv_heads, -1, dim}), k.to(at::kFloat).transpose(-1, -2));
    scores = scores.reshape({batch, heads, queries, keys}) * (1.0 / std::sqrt(static_cast<double>(dim)));

    const at::Tensor hidden = hidden_keys(q, queries, keys, causal, key_start, cut);
    if (hidden.defined()) scores = scores.masked_fill(hidden, -1e30);
    at::Tensor weights = at::softmax(scores, -1);
    if (hidden.defined()) weights = weights.masked_fill(hidden, 0.0);

    const at::Tensor mixed = at::matmul(weights.reshape({batch, kv_heads, -1, keys}), v.to(at::kFloat));
    return mixed.reshape({batch, heads, queries, dim})
        .transpose(1, 2)
        .reshape({batch, queries, heads * dim})
        .to(q.scalar_type());
}

}  // namespace vitrine::kernels::plain
