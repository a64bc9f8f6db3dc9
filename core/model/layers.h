#pragma once

#include "core/model/parameters.h"
#include "core/weights/config.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>

// The layers both towers are built from. Every layer is a value: built empty from its sizes, filled through the
// parameters it lists, const afterwards and then usable from several threads. Names given to parameters() follow the
// checkpoint.
namespace vitrine {

enum class Activation : std::uint8_t { silu, relu, gelu, gelu_tanh };

at::Tensor activate(const at::Tensor& x, Activation activation);

// y = x W^T + b.  weight [out, in], bias [out]
struct Linear {
    Linear(std::int64_t in, std::int64_t out, bool bias, double init_std = 0.02);

    at::Tensor operator()(const at::Tensor& x) const;  // [..., in] -> [..., out]
    void parameters(const std::string& prefix, ParameterList& list);

    std::int64_t in_features;
    std::int64_t out_features;
    bool has_bias;
    double init_std;
    at::Tensor weight;
    at::Tensor bias;
};

// RMSNorm (arXiv 1910.07467), Qwen3's way: square and mean in fp32, cast back, then times weight.  weight [n]
struct RMSNorm {
    RMSNorm(std::int64_t size_, double eps_) : size(size_), eps(eps_) {}

    at::Tensor operator()(const at::Tensor& x) const;
    void parameters(const std::string& prefix, ParameterList& list);

    std::int64_t size;
    double eps;
    at::Tensor weight;
};

// LayerNorm with weight and bias [n].
struct LayerNorm {
    LayerNorm(std::int64_t size_, double eps_) : size(size_), eps(eps_) {}

    at::Tensor operator()(const at::Tensor& x) const;
    void parameters(const std::string& prefix, ParameterList& list);

    std::int64_t size;
    double eps;
    at::Tensor weight;
    at::Tensor bias;
};

// Rotary position embedding (arXiv 2104.09864) in the half-split convention of the checkpoints: dimension i turns with
// dimension i + head_dim/2. Angles in fp32: bf16 cannot hold positions above 256. Scaling: none, linear (positions
// divided by the factor) or YaRN (arXiv 2309.00071, the checkpoint's convention: cos and sin also times the attention
// factor).
class RotaryEmbedding {
public:
    explicit RotaryEmbedding(const Qwen3Config& config);

    // position_ids [B, T] int64 -> cos and sin, each [B, T, head_dim] fp32, on the same device
    std::pair<at::Tensor, at::Tensor> operator()(const at::Tensor& position_ids) const;

private:
    at::Tensor inverse_frequencies_;  // [head_dim/2] fp32
    double attention_scaling_ = 1.0;
};

// The gated feed-forward block of arXiv 2002.05202: down(act(gate(x)) * up(x)). With silu it is SwiGLU; relu gives
// ReGLU, gelu GeGLU. Takes a single vector [d_model], a batch [B, d_model] or a sequence [B, T, d_model]. Random
// weights are Xavier normal: std sqrt(2 / (d_model + d_ff)).
class SwiGLUFeedForward {
public:
    SwiGLUFeedForward(std::int64_t d_model, std::int64_t d_ff, bool bias = false,
                      Activation activation = Activation::silu);

    at::Tensor operator()(const at::Tensor& x) const;
    void parameters(const std::string& prefix, ParameterList& list);
    void reset_parameters(std::uint64_t seed, const WeightTarget& target = {});

    // 3 d_model d_ff, plus 2 d_ff + d_model with bias: 2,096,640 for 512 and 1365.
    std::int64_t num_parameters() const;

    Linear gate_proj;
    Linear up_proj;
    Linear down_proj;
    Activation activation;
};

}  // namespace vitrine
