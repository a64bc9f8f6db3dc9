#include "core/model/siglip.h"

#include "core/error.h"
#include "core/kernels/fused.h"
#include "core/kernels/linear.h"

#include <ATen/ATen.h>

#include <array>

namespace vitrine {
namespace {

constexpr const char* kPrefix = "vision_model.";
constexpr const char* kPatchWeight = "embeddings.patch_embedding.weight";

}  // namespace

MultiHeadSelfAttention::MultiHeadSelfAttention(const SiglipConfig& config, std::int64_t layer_)
    : layer(layer_),
      num_heads(config.num_attention_heads),
      head_dim(config.hidden_size / config.num_attention_heads),
      q_proj(config.hidden_size, config.hidden_size, true),
      k_proj(config.hidden_size, config.hidden_size, true),
      v_proj(config.hidden_size, config.hidden_size, true),
      out_proj(config.hidden_size, config.hidden_size, true) {}

at::Tensor MultiHeadSelfAttention::operator()(const at::Tensor& x, ForwardObserver* observer) const {
    const std::array<const at::Tensor*, 3> weights{&q_proj.weight, &k_proj.weight, &v_proj.weight};
    const std::array<const at::Tensor*, 3> biases{&q_proj.bias, &k_proj.bias, &v_proj.bias};
    const auto qkv = kernels::linear_many(x, weights, biases);  // each [N, P, C]
    const auto heads = [&](const at::Tensor& t) {               // [N, heads, P, head_dim]
        return t.view({t.size(0), t.size(1), num_heads, head_dim}).transpose(1, 2);
    };
    const at::Tensor q = heads(qkv[0]), k = heads(qkv[1]), v = heads(qkv[2]);
    const at::Tensor mixed = kernels::attention(q, k, v, /*causal=*/false);
    if (observer != nullptr) observer->on_attention({Tower::vision, static_cast<int>(layer), q, k, v, mixed});
    return out_proj(mixed);
}

void MultiHeadSelfAttention::parameters(const std::string& prefix, ParameterList& list) {
    q_proj.parameters(prefix + "q_proj.", list);
    k_proj.parameters(prefix + "k_proj.", list);
    v_proj.parameters(prefix + "v_proj.", list);
    out_proj.parameters(prefix + "out_proj.", list);
}

MLP::MLP(const SiglipConfig& config)
    : fc1(config.hidden_size, config.intermediate_size, true),
      fc2(config.intermediate_size, config.hidden_size, true),
      activation(config.hidden_act == "gelu" ? Activation::gelu : Activation::gelu_tanh) {}

at::Tensor MLP::operator()(const at::Tensor& x) const {
    return fc2(activate(fc1(x), activation));
}

void MLP::parameters(const std::string& prefix, ParameterList& list) {
    fc1.parameters(prefix + "fc1.", list);
    fc2.parameters(prefix + "fc2.", list);
}

EncoderLayer::EncoderLayer(const SiglipConfig& config, std::int64_t layer)
    : layer_norm1(config.hidden_size, config.layer_norm_eps),
      self_attn(config, layer),
      layer_norm2(config.hidden_size, config.layer_norm_eps),
      mlp(config) {}

at::Tensor EncoderLayer::operator()(const at::Tensor& x, ForwardObserver* observer) const {
    const at::Tensor attended = x + self_attn(layer_norm1(x), observer);
    return attended + mlp(layer_norm2(attended));
}

void EncoderLayer::parameters(const std::string& prefix, ParameterList& list) {
    layer_norm1.parameters(prefix + "layer_norm1.", list);
    self_attn.parameters(prefix + "self_attn.", list);
    layer_norm2.parameters(prefix + "layer_norm2.", list);
    mlp.parameters(prefix + "mlp.", list);
}

VisionTransformer::VisionTransformer(const SiglipConfig& config)
    : config_(config), post_layernorm_(config.hidden_size, config.layer_norm_eps) {
    for (std::int64_t i = 0; i < config.num_hidden_layers; ++i) layers_.emplace_back(config, i);
}

VisionTransformer VisionTransformer::from_config(const SiglipConfig& config) {
    return VisionTransformer(config);
}

VisionTransformer VisionTransformer::from_pretrained(const std::filesystem::path& folder, const WeightTarget& target) {
    VisionTransformer tower(SiglipConfig::from_folder(folder));
    const Checkpoint checkpoint = Checkpoint::open(folder);
    load_parameters(tower.parameters(), checkpoint, target,
                    [&](const std::string& name) { return actual_name(checkpoint, name); });
    return tower;
}

at::Tensor VisionTransformer::forward(const at::Tensor& pixel_values, ForwardObserver* observer) const {
    const std::int64_t side = config_.image_size;
    if (pixel_values.dim() != 4 || pixel_values.size(1) != config_.num_channels || pixel_values.size(2) != side ||
        pixel_values.size(3) != side) {
        throw InputError({.name = "pixel_values",
                          .expected = "shape [N, " + std::to_string(config_.num_channels) + ", " +
                                      std::to_string(side) + ", " + std::to_string(side) + "]",
                          .found = shape_text(pixel_values.sizes())});
    }
    // A convolution whose stride is its kernel is a product over patches; pixels that fill no whole patch are left out.
    const std::int64_t grid = config_.grid();
    const std::int64_t patch = config_.patch_size;
    const at::Tensor patches = pixel_values.to(patch_weight_.options())
                                   .narrow(2, 0, grid * patch)
                                   .narrow(3, 0, grid * patch)
                                   .reshape({-1, config_.num_channels, grid, patch, grid, patch})
                                   .permute({0, 2, 4, 1, 3, 5})
                                   .reshape({-1, config_.num_patches(), config_.num_channels * patch * patch});
    at::Tensor hidden =
        kernels::linear(patches, patch_weight_.flatten(1), patch_bias_) + position_embedding_;  // [N, P, C]
    if (observer != nullptr) observer->on_stage("vision.embeddings", hidden);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        hidden = layers_[i](hidden, observer);
        if (observer != nullptr) observer->on_stage("vision.layers." + std::to_string(i), hidden);
    }
    hidden = post_layernorm_(hidden);
    if (observer != nullptr) observer->on_stage("vision.post_layernorm", hidden);
    return hidden;
}

ParameterList VisionTransformer::parameters() {
    ParameterList list;
    const std::string embeddings = std::string(kPrefix) + "embeddings.";
    list.push_back({std::string(kPrefix) + kPatchWeight,
                    {config_.hidden_size, config_.num_channels, config_.patch_size, config_.patch_size},
                    &patch_weight_,
                    0.0,
                    0.02});
    list.push_back({embeddings + "patch_embedding.bias", {config_.hidden_size}, &patch_bias_, 0.0, 0.0});
    list.push_back({embeddings + "position_embedding.weight",
                    {config_.num_patches(), config_.hidden_size},
                    &position_embedding_,
                    0.0,
                    0.02});
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        layers_[i].parameters(std::string(kPrefix) + "encoder.layers." + std::to_string(i) + ".", list);
    }
    post_layernorm_.parameters(std::string(kPrefix) + "post_layernorm.", list);
    return list;
}

bool VisionTransformer::is_in(const Checkpoint& checkpoint) {
    return checkpoint.find(std::string(kPrefix) + kPatchWeight) != nullptr || checkpoint.find(kPatchWeight) != nullptr;
}

std::string VisionTransformer::actual_name(const Checkpoint& checkpoint, const std::string& name) {
    const bool bare = checkpoint.find(std::string(kPrefix) + kPatchWeight) == nullptr && is_in(checkpoint);
    return bare ? name.substr(std::string_view(kPrefix).size()) : name;
}

}  // namespace vitrine
