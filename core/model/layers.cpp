#include "core/model/layers.h"

#include "core/kernels/fused.h"
#include "core/kernels/linear.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace vitrine {

at::Tensor activate(const at::Tensor& x, Activation activation) {
    switch (activation) {
        case Activation::silu: return at::silu(x);
        case Activation::relu: return at::relu(x);
        case Activation::gelu: return kernels::gelu(x, /*tanh=*/false);
        case Activation::gelu_tanh: return kernels::gelu(x, /*tanh=*/true);
    }
    return x;
}

Linear::Linear(std::int64_t in, std::int64_t out, bool bias_, double init_std_)
    : in_features(in), out_features(out), has_bias(bias_), init_std(init_std_) {}

at::Tensor Linear::operator()(const at::Tensor& x) const {
    return kernels::linear(x, weight, bias);
}

void Linear::parameters(const std::string& prefix, ParameterList& list) {
    list.push_back({prefix + "weight", {out_features, in_features}, &weight, 0.0, init_std});
    if (has_bias) list.push_back({prefix + "bias", {out_features}, &bias, 0.0, 0.0});
}

at::Tensor RMSNorm::operator()(const at::Tensor& x) const {
    return kernels::rms_norm(x, weight, eps);
}

void RMSNorm::parameters(const std::string& prefix, ParameterList& list) {
    list.push_back({prefix + "weight", {size}, &weight, 1.0, 0.0});
}

at::Tensor LayerNorm::operator()(const at::Tensor& x) const {
    return at::layer_norm(x, {size}, weight, bias, eps);
}

void LayerNorm::parameters(const std::string& prefix, ParameterList& list) {
    list.push_back({prefix + "weight", {size}, &weight, 1.0, 0.0});
    list.push_back({prefix + "bias", {size}, &bias, 0.0, 0.0});
}

RotaryEmbedding::RotaryEmbedding(const Qwen3Config& config) {
    const auto half = config.head_dim / 2;
    const at::Tensor exponents = at::arange(0, config.head_dim, 2, at::kFloat) / static_cast<double>(config.head_dim);
    const at::Tensor plain = at::pow(config.rope_theta, exponents).reciprocal();  // [head_dim/2]
    switch (config.rope_scaling) {
        case RopeScaling::none: inverse_frequencies_ = plain; break;
        case RopeScaling::linear: inverse_frequencies_ = plain / config.rope_factor; break;
        case RopeScaling::yarn: {
            // Dimensions that turn more than beta_fast times over the original context keep their frequency, those that
            // turn less than beta_slow times are stretched by the factor, with a ramp between.
            const auto dimension_of = [&](double rotations) {
                return static_cast<double>(config.head_dim) *
                       std::log(static_cast<double>(config.rope_original_positions) /
                                (rotations * 2.0 * std::numbers::pi)) /
                       (2.0 * std::log(config.rope_theta));
            };
            const double low = std::max(std::floor(dimension_of(config.rope_beta_fast)), 0.0);
            double high =
                std::min(std::ceil(dimension_of(config.rope_beta_slow)), static_cast<double>(config.head_dim - 1));
            if (high == low) high += 0.001;
            const at::Tensor stretched = at::clamp((at::arange(half, at::kFloat) - low) / (high - low), 0.0, 1.0);
            inverse_frequencies_ = plain / config.rope_factor * stretched + plain * (1.0 - stretched);
            attention_scaling_ = config.rope_attention_factor.value_or(0.1 * std::log(config.rope_factor) + 1.0);
            break;
        }
    }
}

std::pair<at::Tensor, at::Tensor> RotaryEmbedding::operator()(const at::Tensor& position_ids) const {
    const at::Tensor frequencies = inverse_frequencies_.to(position_ids.device());
    const at::Tensor half = position_ids.to(at::kFloat).unsqueeze(-1) * frequencies;  // [B, T, head_dim/2]
    const at::Tensor angles = at::cat({half, half}, -1);                              // [B, T, head_dim]
    if (attention_scaling_ == 1.0) return {at::cos(angles), at::sin(angles)};
    return {at::cos(angles) * attention_scaling_, at::sin(angles) * attention_scaling_};
}

SwiGLUFeedForward::SwiGLUFeedForward(std::int64_t d_model, std::int64_t d_ff, bool bias, Activation activation_)
    : gate_proj(d_model, d_ff, bias, std::sqrt(2.0 / static_cast<double>(d_model + d_ff))),
      up_proj(d_model, d_ff, bias, gate_proj.init_std),
      down_proj(d_ff, d_model, bias, gate_proj.init_std),
      activation(activation_) {}

at::Tensor SwiGLUFeedForward::operator()(const at::Tensor& x) const {
    const std::array<const at::Tensor*, 2> weights{&gate_proj.weight, &up_proj.weight};
    const std::array<const at::Tensor*, 2> biases{&gate_proj.bias, &up_proj.bias};
    const auto gate_up = kernels::linear_many(x, weights, biases);  // each [..., d_ff]
    if (activation == Activation::silu) return down_proj(kernels::silu_mul(gate_up[0], gate_up[1]));
    return down_proj(activate(gate_up[0], activation) * gate_up[1]);
}

void SwiGLUFeedForward::parameters(const std::string& prefix, ParameterList& list) {
    gate_proj.parameters(prefix + "gate_proj.", list);
    up_proj.parameters(prefix + "up_proj.", list);
    down_proj.parameters(prefix + "down_proj.", list);
}

void SwiGLUFeedForward::reset_parameters(std::uint64_t seed, const WeightTarget& target) {
    ParameterList list;
    parameters("", list);
    randomise_parameters(list, target, seed);
}

std::int64_t SwiGLUFeedForward::num_parameters() const {
    const std::int64_t weights = 3 * gate_proj.in_features * gate_proj.out_features;
    return weights + (gate_proj.has_bias ? 2 * gate_proj.out_features + down_proj.out_features : 0);
}

}  // namespace vitrine
