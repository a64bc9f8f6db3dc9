#include "core/kernels/fused.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>

#include "core/kernels/dispatch.h"
#include "core/kernels/gradients.h"
#include "core/kernels/plain.h"
#include "core/kernels/thread_pool.h"

namespace vitrine::kernels {
namespace {

// Elements that one thread should have at least, for operations of a few cycles each.
constexpr std::int64_t smallest_share = 16384;

std::int64_t grain(std::int64_t cost_of_one) {
    return std::max<std::int64_t>(1, smallest_share / cost_of_one);
}

// fp32, contiguous, [batch or 1, queries, dim]
bool is_rotation(const at::Tensor& angles, const at::Tensor& x) {
    return angles.is_cpu() && angles.scalar_type() == at::kFloat && angles.is_contiguous() && angles.dim() == 3 &&
           (angles.size(0) == 1 || angles.size(0) == x.size(0)) && angles.size(1) == x.size(1) &&
           angles.size(2) == x.size(3);
}

bool is_vector(const at::Tensor& weight, std::int64_t n) {
    return weight.dim() == 1 && weight.size(0) == n && weight.is_contiguous();
}

// Up to this many queries go over the keys together, one pass; more of them are worth packing keys and values for.
constexpr std::int64_t few_queries = 4;
// Queries of all heads of a group that share one packing of keys and values.
constexpr std::int64_t queries_together = 192;

template <class T>
void attend(const KernelTable<T>& kernels, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
            const std::vector<std::int64_t>& key_start, const at::Tensor& out) {
    const std::int64_t kv_heads = k.size(1), queries = q.size(2), dim = q.size(3), group = q.size(1) / kv_heads;
    const auto head_of = [&](std::int64_t index) { return head_group<T>(q, k, v, out, index, causal, key_start); };
    const std::int64_t groups = q.size(0) * kv_heads;
    if (queries <= few_queries) {
        parallel_for(
            0, groups, grain(group * queries * k.size(2) * dim / 4), [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t index = begin; index < end; ++index) {
                    const HeadGroup<T> head = head_of(index);
                    kernels.attend_few(head, thread_scratch(static_cast<std::size_t>(kernels.attend_few_bytes(head))));
                }
            });
        return;
    }
    // Whole tiles, cut evenly.
    const std::int64_t tiles = (queries + kernels.tile_rows - 1) / kernels.tile_rows;
    const std::int64_t most = std::max<std::int64_t>(1, queries_together / group / kernels.tile_rows);
    const std::int64_t blocks = (tiles + most - 1) / most;
    const std::int64_t together = (tiles + blocks - 1) / blocks * kernels.tile_rows;
    parallel_for(
        0, groups * blocks, grain(group * together * k.size(2) * dim / 8), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t task = begin; task < end; ++task) {
                const HeadGroup<T> head = head_of(task / blocks);
                const std::int64_t first = task % blocks * together;
                const std::int64_t last = std::min(queries, first + together);
                if (first < last)
                    kernels.attend_many(
                        head, first, last,
                        thread_scratch(static_cast<std::size_t>(kernels.attend_many_bytes(head, last - first))));
            }
        });
}

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
    if (gradients::apply_to({&x, &weight})) return gradients::rms_norm(x, weight, eps);
    const Kernels* const kernels = kernels_for({&x, &weight});
    if (!kernels || !x.is_contiguous() || !is_vector(weight, x.size(-1))) return plain::rms_norm(x, weight, eps);
    const std::int64_t n = x.size(-1);
    const at::Tensor out = at::empty_like(x);
    with_table(*kernels, x.scalar_type(), [&]<class T>(const KernelTable<T>& table) {
        parallel_for(0, x.numel() / n, grain(n), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row)
                table.rms_norm(elements<T>(x) + row * n, elements<T>(weight), mutable_elements<T>(out) + row * n, n,
                               static_cast<float>(eps));
        });
    });
    return out;
}

at::Tensor norm_rope(const at::Tensor& x, const at::Tensor& weight, double eps, const at::Tensor& cos,
                     const at::Tensor& sin) {
    const bool angles_fit = x.dim() == 4 && is_rotation(cos, x) && is_rotation(sin, x) && cos.size(0) == sin.size(0);
    if (angles_fit && x.size(3) % 2 == 0 && gradients::apply_to({&x, &weight}))
        return gradients::norm_rope(x, weight, eps, cos, sin);
    const Kernels* const kernels = kernels_for({&x, &weight});
    const std::int64_t n = x.size(-1);
    if (!kernels || !angles_fit || x.stride(3) != 1 || n % 2 != 0 || (weight.defined() && !is_vector(weight, n)))
        return plain::norm_rope(x, weight, eps, cos, sin);
    const std::int64_t queries = x.size(1), heads = x.size(2);
    const std::int64_t angle_batch = cos.size(0) == 1 ? 0 : queries * n;
    const at::Tensor out = at::empty({x.size(0), heads, queries, n}, x.options());
    with_table(*kernels, x.scalar_type(), [&]<class T>(const KernelTable<T>& table) {
        parallel_for(0, x.size(0) * queries, grain(heads * n), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t position = begin; position < end; ++position) {
                const std::int64_t b = position / queries, t = position % queries;
                const T* const from = elements<T>(x) + b * x.stride(0) + t * x.stride(1);
                T* const to = mutable_elements<T>(out) + (b * heads * queries + t) * n;
                const std::int64_t angle = b * angle_batch + t * n;
                for (std::int64_t h = 0; h < heads; ++h)
                    table.norm_rope(from + h * x.stride(2), elements<T>(weight), elements<float>(cos) + angle,
                                    elements<float>(sin) + angle, to + h * queries * n, n, static_cast<float>(eps));
            }
        });
    });
    return out;
}

at::Tensor silu_mul(const at::Tensor& gate, const at::Tensor& up) {
    if (gate.sizes() == up.sizes() && gradients::apply_to({&gate, &up})) return gradients::silu_mul(gate, up);
    const Kernels* const kernels = kernels_for({&gate, &up});
    if (!kernels || !gate.is_contiguous() || !up.is_contiguous() || gate.sizes() != up.sizes())
        return plain::silu_mul(gate, up);
    const at::Tensor out = at::empty_like(gate);
    with_table(*kernels, gate.scalar_type(), [&]<class T>(const KernelTable<T>& table) {
        parallel_for(0, gate.numel(), smallest_share, [&](std::int64_t begin, std::int64_t end) {
            table.silu_mul(elements<T>(gate) + begin, elements<T>(up) + begin, mutable_elements<T>(out) + begin,
                           end - begin);
        });
    });
    return out;
}

at::Tensor gelu(const at::Tensor& x, bool tanh) {
    if (tanh && gradients::apply_to({&x})) return gradients::gelu_tanh(x);
    const Kernels* const kernels = tanh ? kernels_for({&x}) : nullptr;
    if (!kernels || !x.is_contiguous()) return plain::gelu(x, tanh);
    const at::Tensor out = at::empty_like(x);
    with_table(*kernels, x.scalar_type(), [&]<class T>(const KernelTable<T>& table) {
        parallel_for(0, x.numel(), smallest_share, [&](std::int64_t begin, std::int64_t end) {
            table.gelu_tanh(elements<T>(x) + begin, mutable_elements<T>(out) + begin, end - begin);
        });
    });
    return out;
}

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                     const at::Tensor& key_start) {
    const bool shapes_fit = q.dim() == 4 && k.dim() == 4 && v.sizes() == k.sizes() && k.size(0) == q.size(0) &&
                            k.size(3) == q.size(3) && k.size(1) > 0 && q.size(1) % k.size(1) == 0 && q.stride(3) == 1 &&
                            k.stride(3) == 1 && v.stride(3) == 1;
    if (shapes_fit && gradients::apply_to({&q, &k, &v})) return gradients::attention(q, k, v, causal, key_start);
    const Kernels* const kernels = kernels_for({&q, &k, &v});
    if (!kernels || !shapes_fit) return plain::attention(q, k, v, causal, key_start);
    const std::vector<std::int64_t> starts = first_keys(key_start);
    const at::Tensor out = at::empty({q.size(0), q.size(2), q.size(1) * q.size(3)}, q.options());
    with_table(*kernels, q.scalar_type(),
               [&]<class T>(const KernelTable<T>& table) { attend<T>(table, q, k, v, causal, starts, out); });
    return out;
}

}  // namespace vitrine::kernels
