#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vitrine {

// One resolved key with where its value came from: "config.json", "config.json text_config", "class default", "generation_config.json".
struct ConfigEntry {
    std::string key;
    std::string value;  // as JSON text
    std::string origin;
};

enum class RopeScaling { none, linear, yarn };

// Qwen3ForCausalLM. Field names are config.json's.
struct Qwen3Config {
    std::int64_t vocab_size = 0;
    std::int64_t hidden_size = 0;
    std::int64_t intermediate_size = 0;
    std::int64_t num_hidden_layers = 0;
    std::int64_t num_attention_heads = 0;
    std::int64_t num_key_value_heads = 0;
    std::int64_t head_dim = 0;                 // its own key, not hidden/heads
    std::int64_t max_position_embeddings = 0;
    double rms_norm_eps = 0.0;
    double rope_theta = 0.0;
    RopeScaling rope_scaling = RopeScaling::none;
    double rope_factor = 1.0;
    std::int64_t rope_original_positions = 0;  // yarn
    double rope_beta_fast = 32.0;              // yarn
    double rope_beta_slow = 1.0;               // yarn
    std::optional<double> rope_attention_factor;  // yarn; absent: 0.1 ln(factor) + 1
    bool attention_bias = false;
    bool tie_word_embeddings = false;
    std::string hidden_act = "silu";
    std::vector<std::int32_t> eos_token_ids;
    std::string stored_dtype;                  // "bfloat16", from dtype or torch_dtype; may be empty
    std::vector<ConfigEntry> entries;          // every key with value and origin

    // Throws ConfigError naming the key: missing, of the wrong type, inconsistent, unsupported (quantisation, sliding
    // window, ...); FileError when there is no config.json. Missing keys get transformers' defaults, except rope_theta.
    static Qwen3Config from_folder(const std::filesystem::path& folder);
    static Qwen3Config from_json(const nlohmann::json& config, const std::string& where,
                                 const nlohmann::json* generation_config = nullptr);
};

// SiglipVisionModel. Field names are those of config.json's vision_config; a plain siglip_vision_model config has them at the top.
struct SiglipConfig {
    std::int64_t hidden_size = 768;
    std::int64_t intermediate_size = 3072;
    std::int64_t num_hidden_layers = 12;
    std::int64_t num_attention_heads = 12;
    std::int64_t num_channels = 3;
    std::int64_t image_size = 224;
    std::int64_t patch_size = 16;
    double layer_norm_eps = 1e-6;
    std::string hidden_act = "gelu_pytorch_tanh";
    std::string stored_dtype;
    std::vector<ConfigEntry> entries;

    std::int64_t grid() const { return image_size / patch_size; }
    std::int64_t num_patches() const { return grid() * grid(); }

    static SiglipConfig from_folder(const std::filesystem::path& folder);
    static SiglipConfig from_json(const nlohmann::json& config, const std::string& where);
};

// vitrine.json: which three parts make up the model.
struct ModelFolder {
    std::filesystem::path path;
    std::string name;
    std::filesystem::path vision;     // resolved folders
    std::filesystem::path language;
    std::filesystem::path projector;  // safetensors file with fc1.*, fc2.*
    std::map<std::string, std::string> presets;  // name -> prompt; "caption" is always there
    std::string about;                // what the model can and cannot do, for people; may be empty
    std::string training;             // JSON text: who trained the projector on what; may be empty

    // A part is a folder relative to vitrine.json, an absolute folder, or a hub id ("Qwen/Qwen3-0.6B") resolved in the
    // Hugging Face cache (HF_HUB_CACHE, HF_HOME/hub, ~/.cache/huggingface/hub: refs/main -> snapshots). Throws ConfigError
    // saying where it looked, FileError when there is no vitrine.json.
    static ModelFolder open(const std::filesystem::path& folder);
};
// Where huggingface_hub keeps its downloads: HF_HUB_CACHE, HF_HOME/hub, ~/.cache/huggingface/hub.
std::filesystem::path hub_cache_folder();
std::optional<std::filesystem::path> find_in_hub_cache(const std::string& hub_id);

}  // namespace vitrine
