#include "core/kernels/gradients.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/kernels/dispatch.h"
#include "core/kernels/fused.h"
#include "core/kernels/linear.h"
#include "core/kernels/thread_pool.h"

namespace vitrine::kernels::gradients {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

constexpr std::int64_t smallest_share = 4096;

using MaybeTensor = std::optional<at::Tensor>;  // what a Function takes where a tensor may be undefined

MaybeTensor maybe(const at::Tensor& tensor) {
    return tensor.defined() ? MaybeTensor(tensor) : std::nullopt;
}

at::Tensor rows_of(const at::Tensor& x) {
    return x.dim() == 2 && x.is_contiguous() ? x : x.reshape({-1, x.size(-1)}).contiguous();
}

// The gradient of a norm's weight is a sum over rows. It is taken in pieces that do not depend on how many threads
// there are, so that a run can be repeated bit by bit.
class WeightSum {
public:
    WeightSum(bool wanted, std::int64_t rows, std::int64_t n) : rows_(rows) {
        if (wanted) sums_ = at::zeros({pieces(), n}, at::kFloat);
    }
    std::int64_t pieces() const { return (rows_ + per_piece - 1) / per_piece; }
    float* of(std::int64_t piece) const {
        return sums_.defined() ? sums_.mutable_data_ptr<float>() + piece * sums_.size(1) : nullptr;
    }
    std::int64_t first(std::int64_t piece) const { return piece * per_piece; }
    std::int64_t last(std::int64_t piece) const { return std::min(rows_, (piece + 1) * per_piece); }
    at::Tensor total(at::ScalarType type) const { return sums_.defined() ? sums_.sum(0).to(type) : at::Tensor(); }

private:
    static constexpr std::int64_t per_piece = 64;
    std::int64_t rows_;
    at::Tensor sums_;
};

struct LinearFunction : Function<LinearFunction> {
    static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                              const MaybeTensor& bias) {
        context->save_for_backward({weight.requires_grad() ? x : at::Tensor(), weight});
        context->saved_data["shape"] = x.sizes();
        context->saved_data["bias"] = bias.has_value();
        return kernels::linear(x, weight, bias.value_or(at::Tensor()));
    }
    static variable_list backward(AutogradContext* context, const variable_list& grads) {
        const variable_list saved = context->get_saved_variables();
        const at::Tensor& weight = saved[1];
        const at::Tensor grad = rows_of(grads[0]);
        at::Tensor x_grad, weight_grad, bias_grad;
        if (context->needs_input_grad(0))
            x_grad = kernels::matmul(grad, weight).view(context->saved_data["shape"].toIntVector());
        if (context->needs_input_grad(1)) weight_grad = kernels::matmul(grad.t(), rows_of(saved[0]));
        if (context->saved_data["bias"].toBool() && context->needs_input_grad(2)) bias_grad = grad.sum(0);
        return {x_grad, weight_grad, bias_grad};
    }
};

struct RmsNormFunction : Function<RmsNormFunction> {
    static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight, double eps) {
        context->save_for_backward({x, weight});
        context->saved_data["eps"] = eps;
        return kernels::rms_norm(x, weight, eps);
    }
    static variable_list backward(AutogradContext* context, const variable_list& grads) {
        const variable_list saved = context->get_saved_variables();
        const at::Tensor x = saved[0].contiguous(), grad = grads[0].contiguous();
        const at::Tensor& weight = saved[1];
        const float eps = static_cast<float>(context->saved_data["eps"].toDouble());
        const std::int64_t n = x.size(-1);
        const at::Tensor x_grad = at::empty_like(x);
        const WeightSum sums(context->needs_input_grad(1), x.numel() / n, n);
        with_table(*processor_kernels(), x.scalar_type(), [&]<class T>(const KernelTable<T>& table) {
            parallel_for(0, sums.pieces(), 1, [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t piece = begin; piece < end; ++piece)
                    for (std::int64_t row = sums.first(piece); row < sums.last(piece); ++row)
                        table.rms_norm_backward(elements<T>(x) + row * n, elements<T>(weight),
                                                elements<T>(grad) + row * n, mutable_elements<T>(x_grad) + row * n,
                                                sums.of(piece), n, eps);
            });
        });
        return {x_grad, sums.total(weight.scalar_type()), at::Tensor()};
    }
};

struct NormRopeFunction : Function<NormRopeFunction> {
    static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const MaybeTensor& maybe_weight,
                              double eps, const at::Tensor& cos, const at::Tensor& sin) {
        const at::Tensor weight = maybe_weight.value_or(at::Tensor());
        context->save_for_backward({x, weight, cos, sin});
        context->saved_data["eps"] = eps;
        return kernels::norm_rope(x, weight, eps, cos, sin);
    }
    static variable_list backward(AutogradContext* context, const variable_list& grads) {
        const variable_list saved = context->get_saved_variables();
        const at::Tensor x = saved[0].contiguous(), grad = grads[0].contiguous();  // [B, T, heads, D], [B, heads, T, D]
        const at::Tensor &weight = saved[1], &cos = saved[2], &sin = saved[3];
        const float eps = static_cast<float>(context->saved_data["eps"].toDouble());
        const std::int64_t positions = x.size(1), heads = x.size(2), n = x.size(3);
        const std::int64_t angle_batch = cos.size(0) == 1 ? 0 : positions * n;
        const at::Tensor x_grad = at::empty_like(x);
        const WeightSum sums(weight.defined() && context->needs_input_grad(1), x.size(0) * positions, n);
        with_table(*processor_kernels(), x.scalar_type(), [&]<class T>(const KernelTable<T>& table) {
            parallel_for(0, sums.pieces(), 1, [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t piece = begin; piece < end; ++piece)
                    for (std::int64_t at = sums.first(piece); at < sums.last(piece); ++at) {
                        const std::int64_t b = at / positions, t = at % positions;
                        const std::int64_t angle = b * angle_batch + t * n;
                        for (std::int64_t h = 0; h < heads; ++h) {
                            const std::int64_t here = (at * heads + h) * n;
                            table.norm_rope_backward(elements<T>(x) + here, elements<T>(weight),
                                                     elements<float>(cos) + angle, elements<float>(sin) + angle,
                                                     elements<T>(grad) + ((b * heads + h) * positions + t) * n,
                                                     mutable_elements<T>(x_grad) + here, sums.of(piece), n, eps);
                        }
                    }
            });
        });
        const at::Tensor weight_grad = weight.defined() ? sums.total(weight.scalar_type()) : at::Tensor();
        return {x_grad, weight_grad, at::Tensor(), at::Tensor(), at::Tensor()};
    }
};

struct SiluMulFunction : Function<SiluMulFunction> {
    static at::Tensor forward(AutogradContext* context, const at::Tensor& gate, const at::Tensor& up) {
        context->save_for_backward({gate, up});
        return kernels::silu_mul(gate, up);
    }
    static variable_list backward(AutogradContext* context, const variable_list& grads) {
        const variable_list saved = context->get_saved_variables();
        const at::Tensor gate = saved[0].contiguous(), up = saved[1].contiguous(), grad = grads[0].contiguous();
        const at::Tensor gate_grad = at::empty_like(gate), up_grad = at::empty_like(up);
        with_table(*processor_kernels(), gate.scalar_type(), [&]<class T>(const KernelTable<T>& table) {
            parallel_for(0, gate.numel(), smallest_share, [&](std::int64_t begin, std::int64_t end) {
                table.silu_mul_backward(elements<T>(gate) + begin, elements<T>(up) + begin, elements<T>(grad) + begin,
                                        mutable_elements<T>(gate_grad) + begin, mutable_elements<T>(up_grad) + begin,
                                        end - begin);
            });
        });
        return {gate_grad, up_grad};
    }
};

struct GeluTanhFunction : Function<GeluTanhFunction> {
    static at::Tensor forward(AutogradContext* context, const at::Tensor& x) {
        context->save_for_backward({x});
        return kernels::gelu(x, /*tanh=*/true);
    }
    static variable_list backward(AutogradContext* context, const variable_list& grads) {
        const at::Tensor x = context->get_saved_variables()[0].contiguous(), grad = grads[0].contiguous();
        const at::Tensor x_grad = at::empty_like(x);
        with_table(*processor_kernels(), x.scalar_type(), [&]<class T>(const KernelTable<T>& table) {
            parallel_for(0, x.numel(), smallest_share, [&](std::int64_t begin, std::int64_t end) {
                table.gelu_tanh_backward(elements<T>(x) + begin, elements<T>(grad) + begin,
                                         mutable_elements<T>(x_grad) + begin, end - begin);
            });
        });
        return {x_grad};
    }
};

struct AttentionFunction : Function<AttentionFunction> {
    static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                              bool causal, const MaybeTensor& maybe_start) {
        const at::Tensor key_start = maybe_start.value_or(at::Tensor());
        const at::Tensor out = kernels::attention(q, k, v, causal, key_start);
        context->save_for_backward({q, k, v, out, key_start});
        context->saved_data["causal"] = causal;
        return out;
    }
    static variable_list backward(AutogradContext* context, const variable_list& grads) {
        const variable_list saved = context->get_saved_variables();
        const at::Tensor &q = saved[0], &k = saved[1], &v = saved[2], &out = saved[3];
        const at::Tensor grad = grads[0].contiguous();
        const std::vector<std::int64_t> starts = first_keys(saved[4]);
        const auto contiguous_like = [](const at::Tensor& t) { return at::empty(t.sizes(), t.options()); };
        const at::Tensor q_grad = contiguous_like(q), k_grad = contiguous_like(k), v_grad = contiguous_like(v);
        const bool causal = context->saved_data["causal"].toBool();
        const std::int64_t kv_heads = k.size(1);
        with_table(*processor_kernels(), q.scalar_type(), [&]<class T>(const KernelTable<T>& table) {
            parallel_for(0, q.size(0) * kv_heads, 1, [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t index = begin; index < end; ++index) {
                    const HeadGroup<T> head = head_group<T>(q, k, v, out, index, causal, starts);
                    const std::int64_t out_offset = head.out - elements<T>(out);
                    const std::int64_t queries = head.group * head.queries * head.dim, keys = head.keys * head.dim;
                    const HeadGradients<T> gradients{.out = elements<T>(grad) + out_offset,
                                                     .q = mutable_elements<T>(q_grad) + index * queries,
                                                     .k = mutable_elements<T>(k_grad) + index * keys,
                                                     .v = mutable_elements<T>(v_grad) + index * keys};
                    table.attend_backward(head, gradients,
                                          thread_scratch(static_cast<std::size_t>(table.attend_backward_bytes(head))));
                }
            });
        });
        return {q_grad, k_grad, v_grad, at::Tensor(), at::Tensor()};
    }
};

struct Recomputed : torch::CustomClassHolder {
    explicit Recomputed(std::function<at::Tensor(const at::Tensor&)> f_) : f(std::move(f_)) {}
    std::function<at::Tensor(const at::Tensor&)> f;
};

struct CheckpointFunction : Function<CheckpointFunction> {
    static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                              const c10::intrusive_ptr<Recomputed>& recomputed) {
        context->save_for_backward({x});
        context->saved_data["f"] = c10::IValue::make_capsule(recomputed);
        return recomputed->f(x);
    }
    static variable_list backward(AutogradContext* context, const variable_list& grads) {
        const auto recomputed = c10::static_intrusive_pointer_cast<Recomputed>(context->saved_data["f"].toCapsule());
        const at::Tensor x = context->get_saved_variables()[0].detach().requires_grad_(true);
        const at::AutoGradMode on(true);
        const at::Tensor y = recomputed->f(x);
        torch::autograd::backward({y}, {grads[0]});
        return {x.grad(), at::Tensor()};
    }
};

}  // namespace

bool apply_to(std::initializer_list<const at::Tensor*> tensors) {
    if (!c10::GradMode::is_enabled()) return false;
    const bool wanted = std::any_of(tensors.begin(), tensors.end(), [](const at::Tensor* tensor) {
        return tensor->defined() && tensor->requires_grad();
    });
    if (!wanted) return false;
    const at::NoGradGuard guard;
    return kernels_for(tensors) != nullptr;
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
    return LinearFunction::apply(x, weight, maybe(bias));
}
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
    return RmsNormFunction::apply(x, weight, eps);
}
at::Tensor norm_rope(const at::Tensor& x, const at::Tensor& weight, double eps, const at::Tensor& cos,
                     const at::Tensor& sin) {
    return NormRopeFunction::apply(x, maybe(weight), eps, cos, sin);
}
at::Tensor silu_mul(const at::Tensor& gate, const at::Tensor& up) {
    return SiluMulFunction::apply(gate, up);
}
at::Tensor gelu_tanh(const at::Tensor& x) {
    return GeluTanhFunction::apply(x);
}
at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                     const at::Tensor& key_start) {
    return AttentionFunction::apply(q, k, v, causal, maybe(key_start));
}

at::Tensor checkpointed(const std::function<at::Tensor(const at::Tensor&)>& f, const at::Tensor& x) {
    return CheckpointFunction::apply(x, c10::make_intrusive<Recomputed>(f));
}

}  // namespace vitrine::kernels::gradients
