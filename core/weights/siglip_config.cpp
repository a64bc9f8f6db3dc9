#include "core/error.h"
#include "core/weights/config.h"
#include "core/weights/config_reader.h"
#include "core/weights/json_file.h"

// Keys and defaults: the class SiglipVisionConfig of transformers 5. The published checkpoints leave out what equals
// the default, some down to an empty vision_config.
namespace vitrine {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;
using Source = ConfigReader::Source;

void refuse_other_models(const ConfigReader& whole, bool has_vision_config) {
    const auto type = whole.look_up_first("model_type");  // of vision_config where it says one
    if (!type) return;
    const auto is = [&](const Source& source, const char* name) {
        const auto found = source.object->find("model_type");
        return found != source.object->end() && *found == name;
    };
    for (const Source& source : whole.sources()) {
        if (is(source, "siglip2") || is(source, "siglip2_vision_model")) {
            whole.fail(
                "model_type", "\"siglip\" or \"siglip_vision_model\"", described(*type),
                "SigLIP 2 in its NaFlex form is not supported; its checkpoints with a fixed picture size are, for "
                "example google/siglip2-base-patch16-224.");
        }
    }
    if (type->value == "siglip_vision_model" || type->value == "siglip") return;
    whole.fail("model_type", "\"siglip\" or \"siglip_vision_model\"", described(*type),
               has_vision_config ? "The vision tower has to be a SigLIP."
                                 : "The vision tower has to be a SigLIP, for example google/siglip-base-patch16-224.");
}

void check(const SiglipConfig& config, const ConfigReader& reader) {
    if (config.hidden_size % config.num_attention_heads != 0) {
        reader.fail("num_attention_heads", "a divisor of hidden_size " + std::to_string(config.hidden_size),
                    reader.resolved("num_attention_heads"));
    }
    if (config.patch_size > config.image_size) {
        reader.fail("patch_size", "at most image_size " + std::to_string(config.image_size),
                    reader.resolved("patch_size"));
    }
    if (config.num_channels != 3) {
        reader.fail("num_channels", "3 (pictures are RGB)", reader.resolved("num_channels"));
    }
    if (config.hidden_act != "gelu_pytorch_tanh" && config.hidden_act != "gelu") {
        reader.fail("hidden_act", "\"gelu_pytorch_tanh\" or \"gelu\"", reader.resolved("hidden_act"));
    }
}

}  // namespace

SiglipConfig SiglipConfig::from_json(const json& config, const std::string& where) {
    SiglipConfig out;
    if (!config.is_object()) {
        throw ConfigError({.name = {}, .where = where, .expected = "an object", .found = shown(config), .advice = {}});
    }
    const Source top{&config, fs::path(where).filename().string()};
    std::vector<Source> vision = inner_sources(ConfigReader(where, {top}, out.entries), "vision_config");
    const bool has_vision_config = !vision.empty();
    if (!has_vision_config) vision.push_back(top);  // the tower saved by itself has its keys at the top

    // Only what is said of the whole is looked for outside vision_config too.
    std::vector<Source> both = vision;
    if (has_vision_config) both.push_back(top);
    ConfigReader whole(where, both, out.entries);
    refuse_other_models(whole, has_vision_config);
    refuse_quantized(whole);

    ConfigReader reader(where, vision, out.entries);
    const SiglipConfig defaults;
    out.hidden_size = reader.integer("hidden_size", defaults.hidden_size);
    out.intermediate_size = reader.integer("intermediate_size", defaults.intermediate_size);
    out.num_hidden_layers = reader.integer("num_hidden_layers", defaults.num_hidden_layers);
    out.num_attention_heads = reader.integer("num_attention_heads", defaults.num_attention_heads);
    out.num_channels = reader.integer("num_channels", defaults.num_channels);
    out.image_size = reader.integer("image_size", defaults.image_size);
    out.patch_size = reader.integer("patch_size", defaults.patch_size);
    out.layer_norm_eps = reader.number("layer_norm_eps", defaults.layer_norm_eps);
    out.hidden_act = reader.text("hidden_act", defaults.hidden_act);
    out.stored_dtype = vitrine::stored_dtype(whole);
    check(out, reader);
    return out;
}

SiglipConfig SiglipConfig::from_folder(const fs::path& folder) {
    const fs::path path = folder / "config.json";
    return from_json(read_json_file(path), path.string());
}

}  // namespace vitrine
