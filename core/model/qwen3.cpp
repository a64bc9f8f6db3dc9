#include "core/model/qwen3.h"

#include "core/error.h"
#include "core/kernels/fused.h"
#include "core/kernels/gradients.h"
#include "core/kernels/linear.h"
#include "core/kernels/plain.h"

#include <ATen/ATen.h>

#include <array>
#include <string_view>

namespace vitrine {
namespace {

constexpr std::string_view kPrefix = "model.";
constexpr std::string_view kHead = "lm_head.weight";

std::string grouped(std::int64_t value) {  // 1234567 -> "1,234,567"
    std::string digits = std::to_string(value);
    for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
    return digits;
}

}  // namespace

Attention::Attention(const Qwen3Config& config, std::int64_t layer_)
    : layer(layer_),
      head_dim(config.head_dim),
      q_proj(config.hidden_size, config.num_attention_heads * config.head_dim, config.attention_bias),
      k_proj(config.hidden_size, config.num_key_value_heads * config.head_dim, config.attention_bias),
      v_proj(config.hidden_size, config.num_key_value_heads * config.head_dim, config.attention_bias),
      o_proj(config.num_attention_heads * config.head_dim, config.hidden_size, config.attention_bias),
      q_norm(config.head_dim, config.rms_norm_eps),
      k_norm(config.head_dim, config.rms_norm_eps) {}

at::Tensor Attention::operator()(const at::Tensor& x, const DecoderContext& context) const {
    const std::array<const at::Tensor*, 3> weights{&q_proj.weight, &k_proj.weight, &v_proj.weight};
    const std::array<const at::Tensor*, 3> biases{&q_proj.bias, &k_proj.bias, &v_proj.bias};
    const auto qkv = kernels::linear_many(x, weights, biases);
    const auto heads = [&](const at::Tensor& t) {
        return t.view({t.size(0), t.size(1), -1, head_dim});
    };  // [B, T, heads, D]

    const at::Tensor q =
        kernels::norm_rope(heads(qkv[0]), q_norm.weight, q_norm.eps, context.cos, context.sin);  // [B, Hq, T, D]
    at::Tensor k =
        kernels::norm_rope(heads(qkv[1]), k_norm.weight, k_norm.eps, context.cos, context.sin);  // [B, Hkv, T, D]
    at::Tensor v = heads(qkv[2]).transpose(1, 2);                                                // [B, Hkv, T, D]
    if (context.cache != nullptr) std::tie(k, v) = context.cache->append(layer, k, v);
    const at::Tensor mixed = context.cut.defined() ? kernels::plain::attention_without(
                                                         context.cut, q, k, v, /*causal=*/true, context.key_start)
                                                   : kernels::attention(q, k, v, /*causal=*/true, context.key_start);
    if (context.observer != nullptr)
        context.observer->on_attention({Tower::language, static_cast<int>(layer), q, k, v, mixed});
    return o_proj(mixed);
}

void Attention::parameters(const std::string& prefix, ParameterList& list) {
    q_proj.parameters(prefix + "q_proj.", list);
    k_proj.parameters(prefix + "k_proj.", list);
    v_proj.parameters(prefix + "v_proj.", list);
    o_proj.parameters(prefix + "o_proj.", list);
    q_norm.parameters(prefix + "q_norm.", list);
    k_norm.parameters(prefix + "k_norm.", list);
}

DecoderLayer::DecoderLayer(const Qwen3Config& config, std::int64_t layer)
    : input_layernorm(config.hidden_size, config.rms_norm_eps),
      self_attn(config, layer),
      post_attention_layernorm(config.hidden_size, config.rms_norm_eps),
      mlp(config.hidden_size, config.intermediate_size) {}

at::Tensor DecoderLayer::operator()(const at::Tensor& x, const DecoderContext& context) const {
    const at::Tensor attended = x + self_attn(input_layernorm(x), context);
    return attended + mlp(post_attention_layernorm(attended));
}

void DecoderLayer::parameters(const std::string& prefix, ParameterList& list) {
    input_layernorm.parameters(prefix + "input_layernorm.", list);
    self_attn.parameters(prefix + "self_attn.", list);
    post_attention_layernorm.parameters(prefix + "post_attention_layernorm.", list);
    mlp.parameters(prefix + "mlp.", list);
}

Qwen3Model::Qwen3Model(const Qwen3Config& config)
    : config_(config),
      norm_(config.hidden_size, config.rms_norm_eps),
      lm_head_(config.hidden_size, config.vocab_size, false),
      rotary_(config) {
    for (std::int64_t i = 0; i < config.num_hidden_layers; ++i) layers_.emplace_back(config, i);
}

Qwen3Model Qwen3Model::from_config(const Qwen3Config& config) {
    return Qwen3Model(config);
}

Qwen3Model Qwen3Model::from_pretrained(const std::filesystem::path& folder, const WeightTarget& target) {
    Qwen3Model model(Qwen3Config::from_folder(folder));
    const Checkpoint checkpoint = Checkpoint::open(folder);
    load_parameters(model.parameters(), checkpoint, target,
                    [&](const std::string& name) { return actual_name(checkpoint, name); });
    return model;
}

at::Tensor Qwen3Model::embed(const at::Tensor& input_ids) const {
    return at::embedding(embed_tokens_, input_ids);
}

at::Tensor Qwen3Model::forward(const DecoderInput& input) const {
    const std::int64_t positions = input.inputs_embeds.size(1);
    const std::int64_t past = input.cache != nullptr ? input.cache->length() : 0;
    at::Tensor position_ids =
        at::arange(past, past + positions, at::TensorOptions(at::kLong).device(input.inputs_embeds.device()))
            .unsqueeze(0);
    if (input.padding.defined()) position_ids = (position_ids - input.padding.unsqueeze(1)).clamp_min(0);  // [B, T]

    DecoderContext context{
        .key_start = input.padding, .cache = input.cache, .observer = input.observer, .cut = input.cut};
    std::tie(context.cos, context.sin) = rotary_(position_ids);

    at::Tensor hidden = input.inputs_embeds;
    if (input.observer != nullptr) input.observer->on_stage("language.inputs_embeds", hidden);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        if (input.checkpointing)
            hidden = kernels::gradients::checkpointed(
                [&layer = layers_[i], context](const at::Tensor& x) { return layer(x, context); }, hidden);
        else
            hidden = layers_[i](hidden, context);
        if (input.observer != nullptr) input.observer->on_stage("language.layers." + std::to_string(i), hidden);
    }
    if (input.cache != nullptr) input.cache->advance(positions);
    hidden = norm_(hidden);
    if (input.observer != nullptr) input.observer->on_stage("language.norm", hidden);
    return hidden;
}

at::Tensor Qwen3Model::logits(const at::Tensor& hidden_states) const {
    return kernels::linear(hidden_states, config_.tie_word_embeddings ? embed_tokens_ : lm_head_.weight);
}

ParameterList Qwen3Model::parameters() {
    ParameterList list;
    list.push_back({std::string(kPrefix) + "embed_tokens.weight",
                    {config_.vocab_size, config_.hidden_size},
                    &embed_tokens_,
                    0.0,
                    0.02});
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        layers_[i].parameters(std::string(kPrefix) + "layers." + std::to_string(i) + ".", list);
    }
    norm_.parameters(std::string(kPrefix) + "norm.", list);
    if (!config_.tie_word_embeddings)
        list.push_back({std::string(kHead), {config_.vocab_size, config_.hidden_size}, &lm_head_.weight, 0.0, 0.02});
    return list;
}

std::string Qwen3Model::actual_name(const Checkpoint& checkpoint, const std::string& name) {
    if (name == kHead) {
        if (checkpoint.find(kHead) != nullptr) return name;
        throw WeightsError(
            {.name = name,
             .where = checkpoint.path().string(),
             .expected = "a head of its own, since tie_word_embeddings is false",
             .found = "no tensor of that name",
             .advice =
                 "Either the checkpoint is incomplete, or its config.json should say tie_word_embeddings: true."});
    }
    for (const std::string_view prefix : {"model.", "", "language_model.model.", "model.language_model."}) {
        if (checkpoint.find(std::string(prefix) + "embed_tokens.weight") != nullptr) {
            return std::string(prefix) + name.substr(kPrefix.size());
        }
    }
    return name;
}

std::int64_t Qwen3Model::num_parameters() const {
    return count_elements(Qwen3Model(config_).parameters());
}

std::ostream& operator<<(std::ostream& out, const Qwen3Model& model) {
    const Qwen3Config& config = model.config();
    return out << "Qwen3Model(" << config.num_hidden_layers << " layers, hidden " << config.hidden_size << ", heads "
               << config.num_attention_heads << '/' << config.num_key_value_heads << " x " << config.head_dim
               << ", MLP " << config.intermediate_size << ", vocab " << config.vocab_size << ", "
               << (config.tie_word_embeddings ? "tied" : "untied") << " head): " << grouped(model.num_parameters())
               << " parameters";
}

}  // namespace vitrine
