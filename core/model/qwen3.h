#pragma once

#include "core/model/kv_cache.h"
#include "core/model/layers.h"
#include "core/model/observer.h"
#include "core/weights/config.h"

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

// Qwen3 (arXiv 2505.09388), dense. B rows, T new positions, S past and new positions, H = hidden_size, V = vocab_size.
namespace vitrine {

// What every layer of one forward pass shares.
struct DecoderContext {
    at::Tensor cos;  // [B or 1, T, head_dim] fp32
    at::Tensor sin;
    at::Tensor key_start;      // [B] int64, or undefined: keys before it are left padding
    KvCache* cache = nullptr;  // null: attend to the T positions alone
    ForwardObserver* observer = nullptr;
    at::Tensor cut;  // as in DecoderInput
};

// Grouped-query attention (arXiv 2305.13245) with RMSNorm over head_dim on queries and keys (q_norm, k_norm).
// Query head h reads KV head floor(h / (num_attention_heads / num_key_value_heads)).
struct Attention {
    Attention(const Qwen3Config& config, std::int64_t layer);
    at::Tensor operator()(const at::Tensor& x, const DecoderContext& context) const;  // [B, T, H] -> [B, T, H]
    void parameters(const std::string& prefix, ParameterList& list);

    std::int64_t layer;
    std::int64_t head_dim;
    Linear q_proj, k_proj, v_proj, o_proj;
    RMSNorm q_norm, k_norm;
};

struct DecoderLayer {
    DecoderLayer(const Qwen3Config& config, std::int64_t layer);
    at::Tensor operator()(const at::Tensor& x, const DecoderContext& context) const;  // pre-norm residual blocks
    void parameters(const std::string& prefix, ParameterList& list);

    RMSNorm input_layernorm;
    Attention self_attn;
    RMSNorm post_attention_layernorm;
    SwiGLUFeedForward mlp;
};

struct DecoderInput {
    at::Tensor inputs_embeds;  // [B, T, H]
    at::Tensor padding;        // [B] int64: how many positions at the left of each row are padding; undefined: none
    KvCache* cache = nullptr;  // positions go on behind cache->length(); the pass advances it
    ForwardObserver* observer = nullptr;
    bool checkpointing = false;  // with gradients: keep each layer's input only, compute the rest again (no cache then)
    at::Tensor cut;              // [S] bool, undefined: none; keys that no query sees but the one at their own position
};

class Qwen3Model {
public:
    static Qwen3Model from_config(const Qwen3Config& config);  // empty weights
    static Qwen3Model from_pretrained(const std::filesystem::path& folder, const WeightTarget& target);

    at::Tensor embed(const at::Tensor& input_ids) const;       // [B, T] int64 -> [B, T, H]
    at::Tensor forward(const DecoderInput& input) const;       // -> hidden_states after the final norm, [B, T, H]
    at::Tensor logits(const at::Tensor& hidden_states) const;  // [..., H] -> [..., V]; take the rows you need first
    at::Tensor final_norm(const at::Tensor& hidden_states) const { return norm_(hidden_states); }
    const std::vector<DecoderLayer>& layers() const { return layers_; }

    ParameterList parameters();
    // How the checkpoint calls a parameter: with "model." in front, without, or nested. Throws WeightsError when the
    // flag tie_word_embeddings is false and lm_head.weight is absent.
    static std::string actual_name(const Checkpoint& checkpoint, const std::string& name);

    const Qwen3Config& config() const { return config_; }
    std::int64_t num_parameters() const;
    at::TensorOptions options() const { return embed_tokens_.options(); }

private:
    explicit Qwen3Model(const Qwen3Config& config);

    Qwen3Config config_;
    at::Tensor embed_tokens_;  // [V, H]
    std::vector<DecoderLayer> layers_;
    RMSNorm norm_;
    Linear lm_head_;  // used when untied; tied heads multiply by embed_tokens_
    RotaryEmbedding rotary_;
};

// "Qwen3Model(28 layers, hidden 1024, heads 16/8 x 128, MLP 3072, vocab 151936, tied head): 596,049,920 parameters"
std::ostream& operator<<(std::ostream& out, const Qwen3Model& model);

}  // namespace vitrine
