#include "core/weights/config.h"
#include "core/weights/weights_support.h"
#include "support/test_main.h"

#include <algorithm>
#include <cmath>

using namespace vitrine;
using namespace vitrine::test;
using nlohmann::json;

namespace {

const json kLanguage{{"model_type", "qwen3"}, {"rope_theta", 1000000}};

json with(json base, const json& changes) {
    base.update(changes);
    return base;
}
std::function<void(const Folder&)> language(const json& changes) {
    return [config = with(kLanguage, changes)](const Folder& folder) {
        folder.write("config.json", config.dump());
        Qwen3Config::from_folder(folder.path());
    };
}
std::function<void(const Folder&)> language_text(std::string text) {
    return [text = std::move(text)](const Folder& folder) {
        folder.write("config.json", text);
        Qwen3Config::from_folder(folder.path());
    };
}
std::function<void(const Folder&)> with_generation(std::string text) {
    return [text = std::move(text)](const Folder& folder) {
        folder.write("config.json", kLanguage.dump());
        folder.write("generation_config.json", text);
        Qwen3Config::from_folder(folder.path());
    };
}
std::function<void(const Folder&)> vision(const json& config) {
    return [config](const Folder& folder) {
        folder.write("config.json", config.dump());
        SiglipConfig::from_folder(folder.path());
    };
}

const json kYarn{{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 32768}};

const std::vector<BrokenInput>& inputs() {
    static const std::vector<BrokenInput> table{
        // The file.
        {"no config",
         [](const Folder& folder) { Qwen3Config::from_folder(folder.path()); },
         "file",
         {"config.json", "No such file"}},
        {"empty", language_text(" \n"), "config", {"config.json", "nothing", "download it again"}},
        {"a comma too many",
         language_text("{\n  \"model_type\": \"qwen3\",\n}"),
         "config",
         {"config.json", "line 3, column 1", "text editor"}},
        {"cut", language_text("{\"model_type\": \"qw"), "config", {"the end of the text at line 1", "cut"}},
        {"infinite", language_text("{\"rope_theta\": Infinity}"), "config", {"line 1, column 16"}},
        {"number out of range",
         language_text("{\"rope_theta\": 1e400}"),
         "config",
         {"a number out of range", "line 1"}},
        {"zero bytes", language_text(std::string(64, '\0')), "config", {"column 1"}},
        {"key twice",
         language_text(R"({"model_type":"qwen3","hidden_size":4,"hidden_size":8})"),
         "config",
         {"hidden_size", "twice"}},
        {"too deep", language_text(std::string(100'000, '[')), "config", {"nesting deeper than 64"}},
        {"a list", language_text("[]"), "config", {"an object", "[]"}},

        // Another model.
        {"qwen2",
         language({{"model_type", "qwen2"}}),
         "config",
         {"model_type", R"("qwen2" (config.json))", "Qwen/Qwen3-0.6B"}},
        {"llama", language({{"model_type", "llama"}}), "config", {"model_type", R"("llama")"}},
        {"mixture of experts", language({{"model_type", "qwen3_moe"}}), "config", {"model_type", R"("qwen3_moe")"}},
        {"inner llama",
         language({{"text_config", {{"model_type", "llama"}}}}),
         "config",
         {"model_type", R"("llama" (config.json text_config))"}},
        {"other class",
         language({{"architectures", {"LlamaForCausalLM"}}}),
         "config",
         {"architectures", "LlamaForCausalLM"}},
        {"no type", language({{"model_type", nullptr}}), "config", {"model_type", "none", "does not say which model"}},
        {"FP8",
         language({{"quantization_config", {{"quant_method", "fp8"}}}}),
         "config",
         {"quantization_config", "quantised with fp8", "original checkpoint"}},
        {"unnamed quantisation",
         language({{"quantization_config", {{"bits", 4}}}}),
         "config",
         {"quantised with {\"bits\":4}"}},

        // Numbers.
        {"no rope base", language({{"rope_theta", nullptr}}), "config", {"rope_theta", "rope_parameters", "1000000"}},
        {"rope base twice",
         language({{"rope_parameters", {{"rope_theta", 10000.0}}}}),
         "config",
         {"rope_theta", "one value", "10000.0 (config.json rope_parameters)", "1000000 (config.json)"}},
        {"rope base zero", language({{"rope_theta", 0}}), "config", {"rope_theta", "a positive number"}},
        {"size as text",
         language({{"hidden_size", "1024"}}),
         "config",
         {"hidden_size", "an integer from 1", R"("1024")"}},
        {"size negative", language({{"hidden_size", -1024}}), "config", {"hidden_size", "-1024"}},
        {"size zero", language({{"vocab_size", 0}}), "config", {"vocab_size", "0"}},
        {"size broken", language({{"intermediate_size", 3072.5}}), "config", {"intermediate_size", "3072.5"}},
        {"size absurd",
         language({{"num_hidden_layers", 4000000000}}),
         "config",
         {"num_hidden_layers", "to 1000000000", "4000000000"}},
        {"size true", language({{"num_attention_heads", true}}), "config", {"num_attention_heads", "true"}},
        {"size a list", language({{"head_dim", {64}}}), "config", {"head_dim", "[64]"}},
        {"epsilon negative", language({{"rms_norm_eps", -1e-6}}), "config", {"rms_norm_eps", "a positive number"}},
        {"epsilon text", language({{"rms_norm_eps", "1e-6"}}), "config", {"rms_norm_eps", R"("1e-6")"}},
        {"heads do not divide",
         language({{"num_attention_heads", 16}, {"num_key_value_heads", 3}}),
         "config",
         {"num_key_value_heads", "a divisor of num_attention_heads 16", "3 (config.json)"}},
        {"default does not divide",
         language({{"num_attention_heads", 16}}),
         "config",
         {"num_key_value_heads", "32 (class default)"}},
        {"odd head", language({{"head_dim", 65}}), "config", {"head_dim", "an even number", "65"}},
        {"two sizes",
         language({{"hidden_size", 8}, {"text_config", {{"hidden_size", 16}}}}),
         "config",
         {"hidden_size", "16 (config.json text_config) and 8 (config.json)"}},

        // Words.
        {"flag a word",
         language({{"tie_word_embeddings", "yes"}}),
         "config",
         {"tie_word_embeddings", "true or false", R"("yes")"}},
        {"flag a number", language({{"attention_bias", 1}}), "config", {"attention_bias", "true or false"}},
        {"activation",
         language({{"hidden_act", "gelu"}}),
         "config",
         {"hidden_act", R"("silu")", R"("gelu" (config.json))"}},
        {"activation a number", language({{"hidden_act", 3}}), "config", {"hidden_act", "a string"}},
        {"dtype a number", language({{"dtype", 16}}), "config", {"dtype", "a string", "16"}},
        {"sliding window", language({{"use_sliding_window", true}}), "config", {"use_sliding_window", "not supported"}},
        {"sliding layers",
         language({{"num_hidden_layers", 2}, {"layer_types", {"full_attention", "sliding_attention"}}}),
         "config",
         {"layer_types", "sliding_attention", "not supported"}},
        {"layers miscounted",
         language({{"num_hidden_layers", 3}, {"layer_types", {"full_attention"}}}),
         "config",
         {"layer_types", "a list of 3"}},
        {"text_config a word", language({{"text_config", "qwen3"}}), "config", {"text_config", "an object"}},

        // Stop tokens.
        {"stop token a word", language({{"eos_token_id", "<|im_end|>"}}), "config", {"eos_token_id", "<|im_end|>"}},
        {"stop token negative",
         language({{"eos_token_id", {1, -1}}}),
         "config",
         {"eos_token_id", "from 0", "-1 (config.json)"}},
        {"generated stop token broken",
         with_generation(R"({"eos_token_id": 1.5})"),
         "config",
         {"eos_token_id", "1.5 (generation_config.json)"}},
        {"generation cut", with_generation("{"), "config", {"generation_config.json", "cut"}},
        {"generation a list", with_generation("[1]"), "config", {"generation_config.json", "an object"}},

        // Rotary embedding.
        {"rope word", language({{"rope_scaling", "yarn"}}), "config", {"rope_scaling", "an object", "yarn"}},
        {"rope dynamic",
         language({{"rope_scaling", {{"type", "dynamic"}, {"factor", 2.0}}}}),
         "config",
         {"type", "default, linear or yarn", R"("dynamic" (config.json rope_scaling))"}},
        {"rope llama3",
         language({{"rope_scaling", {{"rope_type", "llama3"}, {"low_freq_factor", 1.0}}}}),
         "config",
         {"low_freq_factor", "not supported"}},
        {"rope sections",
         language({{"rope_parameters", {{"mrope_section", {24, 20, 20}}}}}),
         "config",
         {"mrope_section", "not supported"}},
        {"rope without factor", language({{"rope_scaling", {{"type", "linear"}}}}), "config", {"factor", "none"}},
        {"rope factor without type",
         language({{"rope_scaling", {{"factor", 4.0}}}}),
         "config",
         {"factor", "4.0", "which scaling"}},
        {"rope factor too small",
         language({{"rope_scaling", {{"type", "linear"}, {"factor", 0.5}}}}),
         "config",
         {"factor", "at least 1", "0.5"}},
        {"rope types differ",
         language({{"rope_scaling", kYarn}, {"rope_parameters", {{"rope_type", "linear"}}}}),
         "config",
         {"rope_type", "one value", "yarn", "linear"}},
        {"rope in part",
         language({{"partial_rotary_factor", 0.5}}),
         "config",
         {"partial_rotary_factor", "0.5", "whole heads"}},
        {"yarn untruncated",
         language({{"rope_scaling", with(kYarn, {{"truncate", false}})}}),
         "config",
         {"truncate", "not supported"}},
        {"yarn positions broken",
         language({{"rope_scaling", with(kYarn, {{"original_max_position_embeddings", "32k"}})}}),
         "config",
         {"original_max_position_embeddings", "32k"}},

        // The vision tower.
        {"CLIP",
         vision({{"model_type", "clip"}, {"vision_config", {{"model_type", "clip_vision_model"}}}}),
         "config",
         {"model_type", R"("clip_vision_model" (config.json vision_config))", "SigLIP"}},
        {"NaFlex",
         vision({{"model_type", "siglip2"}}),
         "config",
         {"model_type", "siglip2", "NaFlex", "google/siglip2-base-patch16-224"}},
        {"NaFlex inside",
         vision({{"model_type", "llava"}, {"vision_config", {{"model_type", "siglip2_vision_model"}}}}),
         "config",
         {"NaFlex"}},
        {"Qwen3 as vision", vision(kLanguage), "config", {"model_type", R"("qwen3")", "vision tower"}},
        {"vision a word", vision({{"vision_config", "siglip"}}), "config", {"vision_config", "an object"}},
        {"vision a list", vision(json::array()), "config", {"an object", "[]"}},
        {"vision heads",
         vision({{"num_attention_heads", 7}}),
         "config",
         {"num_attention_heads", "a divisor of hidden_size 768", "7 (config.json)"}},
        {"vision patch too large",
         vision({{"patch_size", 300}}),
         "config",
         {"patch_size", "at most image_size 224", "300"}},
        {"vision sizes a list", vision({{"image_size", {224, 224}}}), "config", {"image_size", "[224,224]"}},
        {"vision channels", vision({{"num_channels", 4}}), "config", {"num_channels", "RGB", "4"}},
        {"vision activation",
         vision({{"hidden_act", "quick_gelu"}}),
         "config",
         {"hidden_act", "gelu_pytorch_tanh", "quick_gelu"}},
        {"vision epsilon", vision({{"layer_norm_eps", 0}}), "config", {"layer_norm_eps", "a positive number"}},
        {"vision quantised",
         vision({{"quantization_config", {{"quant_method", "bitsandbytes"}}}, {"vision_config", json::object()}}),
         "config",
         {"quantised with bitsandbytes"}},
    };
    return table;
}

std::string origin_of(const std::vector<ConfigEntry>& entries, const std::string& key) {
    const auto found =
        std::find_if(entries.begin(), entries.end(), [&](const ConfigEntry& entry) { return entry.key == key; });
    return found == entries.end() ? "missing" : found->value + " from " + found->origin;
}

json as_json(const Qwen3Config& config) {
    json values{{"vocab_size", config.vocab_size},
                {"hidden_size", config.hidden_size},
                {"intermediate_size", config.intermediate_size},
                {"num_hidden_layers", config.num_hidden_layers},
                {"num_attention_heads", config.num_attention_heads},
                {"num_key_value_heads", config.num_key_value_heads},
                {"head_dim", config.head_dim},
                {"max_position_embeddings", config.max_position_embeddings},
                {"rms_norm_eps", config.rms_norm_eps},
                {"hidden_act", config.hidden_act},
                {"attention_bias", config.attention_bias},
                {"tie_word_embeddings", config.tie_word_embeddings},
                {"rope_theta", config.rope_theta},
                {"rope_type", config.rope_scaling == RopeScaling::none     ? "none"
                              : config.rope_scaling == RopeScaling::linear ? "linear"
                                                                           : "yarn"},
                {"rope_factor", config.rope_factor},
                {"eos", config.eos_token_ids},
                {"dtype", config.stored_dtype}};
    if (config.rope_scaling == RopeScaling::yarn) {
        values["original"] = config.rope_original_positions;
        values["beta_fast"] = config.rope_beta_fast;
        values["beta_slow"] = config.rope_beta_slow;
        values["attention_factor"] = config.rope_attention_factor.value_or(0.1 * std::log(config.rope_factor) + 1.0);
    }
    return values;
}

json as_json(const SiglipConfig& config) {
    return {{"hidden_size", config.hidden_size},
            {"intermediate_size", config.intermediate_size},
            {"num_hidden_layers", config.num_hidden_layers},
            {"num_attention_heads", config.num_attention_heads},
            {"num_channels", config.num_channels},
            {"image_size", config.image_size},
            {"patch_size", config.patch_size},
            {"layer_norm_eps", config.layer_norm_eps},
            {"hidden_act", config.hidden_act}};
}

bool same(const json& found, const json& expected) {
    if (!expected.is_number()) return found == expected;
    return std::abs(found.get<double>() - expected.get<double>()) <= 1e-12 * std::abs(expected.get<double>());
}

template <class Config>
void compare_with_transformers(const std::string& list) {
    int number = 0;
    for (const json& one : reference_json(list)) {
        const json found = as_json(Config::from_json(one["config"], "config.json"));
        for (const auto& [key, expected] : one["expected"].items()) {
            const QByteArray message =
                QByteArray::fromStdString("case " + std::to_string(number) + ", " + key + ": expected " +
                                          expected.dump() + ", found " + found.value(key, json()).dump());
            QVERIFY2(same(found.at(key), expected), message.constData());
        }
        ++number;
    }
    QVERIFY(number >= 6);
}

}  // namespace

class TestConfig : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void broken_ones_are_refused_data() { add_rows(inputs()); }
    void broken_ones_are_refused() { check_row(inputs()); }
    void qwen3_equals_transformers() { compare_with_transformers<Qwen3Config>("qwen3.json"); }
    void siglip_equals_transformers() { compare_with_transformers<SiglipConfig>("siglip.json"); }
    void keeps_the_origin_of_each_value();
    void reads_text_config();
    void generation_config_decides_the_stop_tokens();
    void siglip_keeps_the_origin_of_each_value();
    void siglip_drops_the_rest_of_a_patch();
};

void TestConfig::keeps_the_origin_of_each_value() {
    const Folder folder;
    folder.write("config.json",
                 "\xEF\xBB\xBF" + with(kLanguage, {{"hidden_size", 1024.0}, {"torch_dtype", "bfloat16"}}).dump());
    const auto config = Qwen3Config::from_folder(folder.path());
    QCOMPARE(config.hidden_size, 1024);
    QCOMPARE(origin_of(config.entries, "hidden_size"), std::string("1024.0 from config.json"));
    QCOMPARE(origin_of(config.entries, "head_dim"), std::string("128 from class default"));
    QCOMPARE(origin_of(config.entries, "rope_theta"), std::string("1000000 from config.json"));
    QCOMPARE(origin_of(config.entries, "torch_dtype"), std::string("\"bfloat16\" from config.json"));
    QCOMPARE(origin_of(config.entries, "eos_token_id"), std::string("null from class default"));
}

void TestConfig::reads_text_config() {
    const json config{
        {"model_type", "llava"},
        {"architectures", {"LlavaForConditionalGeneration"}},
        {"tie_word_embeddings", true},
        {"text_config",
         {{"model_type", "qwen3"},
          {"hidden_size", 64},
          {"rope_parameters", {{"full_attention", {{"rope_type", "default"}, {"rope_theta", 5000.0}}}}}}}};
    const auto read = Qwen3Config::from_json(config, "somewhere/config.json");
    QCOMPARE(read.hidden_size, 64);
    QCOMPARE(read.rope_theta, 5000.0);
    QVERIFY(read.tie_word_embeddings);
    QCOMPARE(origin_of(read.entries, "hidden_size"), std::string("64 from config.json text_config"));
    QCOMPARE(origin_of(read.entries, "tie_word_embeddings"), std::string("true from config.json"));
    QCOMPARE(origin_of(read.entries, "rope_theta"),
             std::string("5000.0 from config.json text_config rope_parameters full_attention"));
}

void TestConfig::generation_config_decides_the_stop_tokens() {
    const auto read = Qwen3Config::from_folder(reference_path("sharded"));
    QCOMPARE(read.eos_token_ids, (std::vector<std::int32_t>{3, 5}));
    QCOMPARE(origin_of(read.entries, "eos_token_id"), std::string("[3,5] from generation_config.json"));

    const json silent{{"eos_token_id", nullptr}};
    const auto kept = Qwen3Config::from_json(with(kLanguage, {{"eos_token_id", 9}}), "config.json", &silent);
    QCOMPARE(kept.eos_token_ids, std::vector<std::int32_t>{9});
}

void TestConfig::siglip_keeps_the_origin_of_each_value() {
    const json config{{"model_type", "siglip"},
                      {"torch_dtype", "float32"},
                      {"hidden_size", 5},
                      {"vision_config", {{"patch_size", 14}}}};
    const auto read = SiglipConfig::from_json(config, "config.json");
    QCOMPARE(read.patch_size, 14);
    QCOMPARE(read.hidden_size, 768);  // not that of the whole
    QCOMPARE(read.stored_dtype, std::string("float32"));
    QCOMPARE(origin_of(read.entries, "patch_size"), std::string("14 from config.json vision_config"));
    QCOMPARE(origin_of(read.entries, "hidden_size"), std::string("768 from class default"));

    const auto bare = SiglipConfig::from_json({{"patch_size", 32}}, "config.json");
    QCOMPARE(origin_of(bare.entries, "patch_size"), std::string("32 from config.json"));
}

void TestConfig::siglip_drops_the_rest_of_a_patch() {
    const auto read = SiglipConfig::from_json({{"image_size", 384}, {"patch_size", 14}}, "config.json");
    QCOMPARE(read.grid(), 27);
    QCOMPARE(read.num_patches(), 729);
}

VITRINE_TEST(TestConfig)
#include "test_config.moc"
