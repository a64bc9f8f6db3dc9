#include <algorithm>
#include <array>
#include <cmath>
#include <system_error>

#include "core/error.h"
#include "core/weights/config.h"
#include "core/weights/config_reader.h"
#include "core/weights/json_file.h"

// Keys and defaults: the class Qwen3Config of transformers 5. Only rope_theta has no default here: transformers falls
// back to 10000, which is wrong for every Qwen3 checkpoint and costs quality without a word.
namespace vitrine {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;
using Source = ConfigReader::Source;

constexpr const char* kGenerationFile = "generation_config.json";

// The keys may stand in text_config, at the top, or some here and some there (tie_word_embeddings).
std::vector<Source> sources_of(const json& config, const std::string& where) {
    const std::string origin = fs::path(where).filename().string();
    std::vector<ConfigEntry> ignored;
    ConfigReader top(where, {{&config, origin}}, ignored);
    std::vector<Source> sources = inner_sources(top, "text_config");
    sources.push_back({&config, origin});
    return sources;
}

void refuse_other_models(const ConfigReader& reader) {
    const auto type = reader.look_up_first("model_type");
    if (type && type->value != "qwen3") {
        reader.fail("model_type", "\"qwen3\"", described(*type),
                    "The language model has to be a Qwen3 (dense, text only), for example Qwen/Qwen3-0.6B.");
    }
    const auto architectures = reader.look_up_first("architectures");
    if (!type && !architectures) {
        reader.fail("model_type", "\"qwen3\"", "none", "This config.json does not say which model it describes.");
    }
    // Around a text_config the architecture is that of the whole and says nothing about the language model.
    if (!architectures || reader.sources().size() > 1) return;
    constexpr std::array known{"Qwen3ForCausalLM", "Qwen3Model"};
    const json& list = architectures->value;
    const bool is_known =
        list.is_array() && std::all_of(list.begin(), list.end(), [&](const json& name) {
            return std::any_of(known.begin(), known.end(), [&](const char* one) { return name == one; });
        });
    if (!is_known) {
        reader.fail("architectures", "[\"Qwen3ForCausalLM\"]", described(*architectures),
                    "The language model has to be a Qwen3 (dense, text only), for example Qwen/Qwen3-0.6B.");
    }
}

void refuse_sliding_window(ConfigReader& reader, std::int64_t layers) {
    if (reader.boolean("use_sliding_window", false)) {
        reader.fail("use_sliding_window", "false", "true", "Sliding-window attention is not supported.");
    }
    const auto types = reader.look_up("layer_types");
    if (!types) return;
    const json& list = types->value;
    if (!list.is_array() || static_cast<std::int64_t>(list.size()) != layers) {
        reader.fail("layer_types", "a list of " + std::to_string(layers) + " (num_hidden_layers)", described(*types));
    }
    for (const json& type : list) {
        if (type != "full_attention") {
            reader.fail("layer_types", "\"full_attention\" in every layer", shown(type),
                        "Sliding-window attention is not supported.");
        }
    }
}

// Everything that says how positions are turned into angles: rope_parameters since transformers 5, rope_scaling before,
// both perhaps given for each kind of layer.
std::vector<Source> rope_sources(const ConfigReader& reader) {
    std::vector<Source> sources;
    for (const char* key : {"rope_parameters", "rope_scaling"}) {
        for (Source& source : inner_sources(reader, key)) {
            const auto nested = source.object->find("full_attention");
            if (nested != source.object->end() && nested->is_object()) {
                sources.push_back({&*nested, source.origin + " full_attention"});
            } else {
                sources.push_back(std::move(source));
            }
        }
    }
    return sources;
}

// transformers ignores what it does not know here; a scaling that is silently left out ruins long contexts.
void refuse_unknown_rope_keys(const ConfigReader& rope) {
    constexpr std::array known{"rope_type",
                               "type",
                               "rope_theta",
                               "factor",
                               "original_max_position_embeddings",
                               "beta_fast",
                               "beta_slow",
                               "mscale",
                               "mscale_all_dim",
                               "attention_factor",
                               "truncate",
                               "partial_rotary_factor"};
    for (const auto& [object, origin] : rope.sources()) {
        for (const auto& [key, value] : object->items()) {
            if (value.is_null() || std::find(known.begin(), known.end(), key) != known.end()) continue;
            rope.fail(shown_name(key), "no such key in " + origin, shown(value),
                      "This kind of rotary embedding is not supported.");
        }
    }
}

double optional_number(ConfigReader& reader, const std::string& key, double otherwise) {
    return reader.look_up(key) ? reader.number(key, std::nullopt) : otherwise;
}

void read_yarn(Qwen3Config& out, ConfigReader& rope) {
    out.rope_original_positions = rope.integer("original_max_position_embeddings", out.max_position_embeddings);
    // Without a factor it is the ratio of the two context lengths, as in transformers.
    out.rope_factor = rope.number(
        "factor", static_cast<double>(out.max_position_embeddings) / static_cast<double>(out.rope_original_positions));
    out.rope_beta_fast = rope.number("beta_fast", 32.0);
    out.rope_beta_slow = rope.number("beta_slow", 1.0);
    if (!rope.boolean("truncate", true)) {
        rope.fail("truncate", "true", "false", "Yarn without truncation is not supported.");
    }
    if (rope.look_up("attention_factor")) {
        out.rope_attention_factor = rope.number("attention_factor", std::nullopt);
    } else if (rope.look_up("mscale") && rope.look_up("mscale_all_dim")) {
        const double log_factor = 0.1 * std::log(std::max(out.rope_factor, 1.0));
        out.rope_attention_factor = (rope.number("mscale", std::nullopt) * log_factor + 1.0) /
                                    (rope.number("mscale_all_dim", std::nullopt) * log_factor + 1.0);
    }
}

void read_rope(Qwen3Config& out, const ConfigReader& reader, const std::string& where) {
    const std::vector<Source> scaling = rope_sources(reader);
    std::vector<Source> with_theta = scaling;
    with_theta.insert(with_theta.end(), reader.sources().begin(), reader.sources().end());
    ConfigReader rope(where, scaling, out.entries);
    ConfigReader theta(where, with_theta, out.entries);
    refuse_unknown_rope_keys(rope);

    if (!theta.look_up("rope_theta")) {
        reader.fail("rope_theta", "a number, at the top or in rope_parameters", "none",
                    "Add what the model was trained with; for the published Qwen3 models it is 1000000.");
    }
    out.rope_theta = theta.number("rope_theta", std::nullopt);
    if (optional_number(theta, "partial_rotary_factor", 1.0) != 1.0) {
        reader.fail("partial_rotary_factor", "1", described(*theta.look_up("partial_rotary_factor")),
                    "Qwen3 rotates whole heads.");
    }

    const std::string type_key = rope.look_up("rope_type") ? "rope_type" : "type";
    const std::string type = rope.text(type_key, "default");
    if (type == "default") {
        if (const auto factor = rope.look_up("factor"); factor && factor->value != 1.0) {
            reader.fail("factor", "none with rope type default", described(*factor), "Say which scaling is meant.");
        }
    } else if (type == "linear") {
        out.rope_scaling = RopeScaling::linear;
        out.rope_factor = rope.number("factor", std::nullopt);
    } else if (type == "yarn") {
        out.rope_scaling = RopeScaling::yarn;
        read_yarn(out, rope);
    } else {
        reader.fail(type_key, "default, linear or yarn", described(*rope.look_up(type_key)),
                    "This kind of rotary embedding is not supported.");
    }
}

std::vector<std::int32_t> read_stop_tokens(ConfigReader& reader, const ConfigReader& generation) {
    auto found = generation.look_up("eos_token_id");  // what the makers of the model generate with wins
    if (!found) found = reader.look_up_first("eos_token_id");
    if (!found) {
        reader.note("eos_token_id", nullptr, "class default");
        return {};
    }
    reader.note("eos_token_id", found->value, found->origin);
    const json list = found->value.is_array() ? found->value : json::array({found->value});
    std::vector<std::int32_t> ids;
    for (const json& id : list) {
        ids.push_back(static_cast<std::int32_t>(reader.as_integer("eos_token_id", {id, found->origin}, 0)));
    }
    return ids;
}

void check(const Qwen3Config& config, const ConfigReader& reader) {
    if (config.num_attention_heads % config.num_key_value_heads != 0) {
        reader.fail("num_key_value_heads",
                    "a divisor of num_attention_heads " + std::to_string(config.num_attention_heads),
                    reader.resolved("num_key_value_heads"));
    }
    if (config.head_dim % 2 != 0) {
        reader.fail("head_dim", "an even number (rotary embedding turns pairs)", reader.resolved("head_dim"));
    }
    if (config.rope_factor < 1.0) {
        reader.fail("factor", "at least 1", reader.resolved("factor"));
    }
    if (config.hidden_act != "silu") {
        reader.fail("hidden_act", "\"silu\"", reader.resolved("hidden_act"), "Qwen3 uses SwiGLU with SiLU.");
    }
}

}  // namespace

Qwen3Config Qwen3Config::from_json(const json& config, const std::string& where, const json* generation_config) {
    Qwen3Config out;
    if (!config.is_object()) {
        throw ConfigError({.name = {}, .where = where, .expected = "an object", .found = shown(config), .advice = {}});
    }
    ConfigReader reader(where, sources_of(config, where), out.entries);
    refuse_other_models(reader);
    refuse_quantized(reader);

    out.vocab_size = reader.integer("vocab_size", 151936);
    out.hidden_size = reader.integer("hidden_size", 4096);
    out.intermediate_size = reader.integer("intermediate_size", 22016);
    out.num_hidden_layers = reader.integer("num_hidden_layers", 32);
    out.num_attention_heads = reader.integer("num_attention_heads", 32);
    // Absent is the class default, an explicit null means as many as attention heads: so does transformers read it.
    const bool is_null = std::any_of(reader.sources().begin(), reader.sources().end(), [](const Source& source) {
        return source.object->contains("num_key_value_heads");
    });
    out.num_key_value_heads = reader.integer("num_key_value_heads", is_null ? out.num_attention_heads : 32);
    out.head_dim = reader.integer("head_dim", 128);
    out.max_position_embeddings = reader.integer("max_position_embeddings", 32768);
    out.rms_norm_eps = reader.number("rms_norm_eps", 1e-6);
    out.hidden_act = reader.text("hidden_act", "silu");
    out.attention_bias = reader.boolean("attention_bias", false);
    out.tie_word_embeddings = reader.boolean("tie_word_embeddings", false);
    refuse_sliding_window(reader, out.num_hidden_layers);
    read_rope(out, reader, where);
    out.stored_dtype = vitrine::stored_dtype(reader);

    std::vector<Source> generation;
    if (generation_config != nullptr) generation.push_back({generation_config, kGenerationFile});
    out.eos_token_ids = read_stop_tokens(reader, ConfigReader(where, std::move(generation), out.entries));
    check(out, reader);
    return out;
}

Qwen3Config Qwen3Config::from_folder(const fs::path& folder) {
    const fs::path path = folder / "config.json";
    const json config = read_json_file(path);
    std::error_code ignored;
    const fs::path generation_path = folder / kGenerationFile;
    if (!fs::exists(generation_path, ignored)) return from_json(config, path.string());

    const json generation = read_json_file(generation_path);
    if (!generation.is_object()) {
        throw ConfigError({.name = {},
                           .where = generation_path.string(),
                           .expected = "an object",
                           .found = shown(generation),
                           .advice = {}});
    }
    return from_json(config, path.string(), &generation);
}

}  // namespace vitrine
