#pragma once

#include "core/model/layers.h"
#include "core/model/observer.h"
#include "core/weights/config.h"

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

// SigLIP's vision tower (arXiv 2303.15343): a ViT without class token. The pooling head and the text tower are not part
// of it. N pictures, P patches, C = hidden_size.
namespace vitrine {

struct MultiHeadSelfAttention {
    MultiHeadSelfAttention(const SiglipConfig& config, std::int64_t layer);
    at::Tensor operator()(const at::Tensor& x, ForwardObserver* observer = nullptr) const;  // [N, P, C] -> [N, P, C]
    void parameters(const std::string& prefix, ParameterList& list);

    std::int64_t layer;
    std::int64_t num_heads;
    std::int64_t head_dim;
    Linear q_proj, k_proj, v_proj, out_proj;
};

struct MLP {
    explicit MLP(const SiglipConfig& config);
    at::Tensor operator()(const at::Tensor& x) const;  // C -> intermediate_size -> C
    void parameters(const std::string& prefix, ParameterList& list);

    Linear fc1, fc2;
    Activation activation;  // the tanh form of GELU for the checkpoints
};

struct EncoderLayer {
    EncoderLayer(const SiglipConfig& config, std::int64_t layer);
    // Pre-norm: x + attention(norm(x)), then x + mlp(norm(x)).
    at::Tensor operator()(const at::Tensor& x, ForwardObserver* observer = nullptr) const;
    void parameters(const std::string& prefix, ParameterList& list);

    LayerNorm layer_norm1;
    MultiHeadSelfAttention self_attn;
    LayerNorm layer_norm2;
    MLP mlp;
};

class VisionTransformer {
public:
    static VisionTransformer from_config(const SiglipConfig& config);  // empty weights
    // A checkpoint folder with config.json and safetensors. Throws ConfigError, WeightsError, FileError.
    static VisionTransformer from_pretrained(const std::filesystem::path& folder, const WeightTarget& target);

    // pixel_values [N, 3, image_size, image_size] in [-1, 1] -> patch features [N, P, C] after post_layernorm
    at::Tensor forward(const at::Tensor& pixel_values, ForwardObserver* observer = nullptr) const;

    ParameterList parameters();
    static bool is_in(const Checkpoint& checkpoint);  // by the tensor of the patch embedding
    // A checkpoint may be the whole SigLIP or the tower alone: "vision_model." or nothing in front.
    static std::string actual_name(const Checkpoint& checkpoint, const std::string& name);

    const SiglipConfig& config() const { return config_; }
    const std::vector<EncoderLayer>& layers() const { return layers_; }

private:
    explicit VisionTransformer(const SiglipConfig& config);

    SiglipConfig config_;
    at::Tensor patch_weight_;        // [C, 3, patch, patch]
    at::Tensor patch_bias_;          // [C]
    at::Tensor position_embedding_;  // [P, C]
    std::vector<EncoderLayer> layers_;
    LayerNorm post_layernorm_;
};

}  // namespace vitrine
