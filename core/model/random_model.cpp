#include "core/model/random_model.h"

#include "core/error.h"
#include "core/model/projector.h"
#include "core/model/qwen3.h"
#include "core/model/siglip.h"
#include "core/text/bpe_trainer.h"
#include "core/weights/file.h"

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include <array>

namespace vitrine {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::array<std::string_view, 4> kShapes{"demo", "qwen3-0.6b", "qwen3-4b", "siglip-base"};

// Qwen3's added tokens in the order of their ids; those behind the first 14 are not flagged special.
constexpr std::array<std::string_view, 26> kControlTokens{
    "<|endoftext|>",  "<|im_start|>",   "<|im_end|>",      "<|object_ref_start|>", "<|object_ref_end|>",
    "<|box_start|>",  "<|box_end|>",    "<|quad_start|>",  "<|quad_end|>",         "<|vision_start|>",
    "<|vision_end|>", "<|vision_pad|>", "<|image_pad|>",   "<|video_pad|>",        "<tool_call>",
    "</tool_call>",   "<|fim_prefix|>", "<|fim_middle|>",  "<|fim_suffix|>",       "<|fim_pad|>",
    "<|repo_name|>",  "<|file_sep|>",   "<tool_response>", "</tool_response>",     "<think>",
    "</think>"};
constexpr std::size_t kSpecialTokens = 14;
constexpr int kByteTokens = 256;
constexpr int kEndOfTurn = 2;  // <|im_end|>, among the control tokens
constexpr std::size_t kMostMerges = 4096;

void append_utf8(std::string& text, int code_point) {  // up to U+07FF
    if (code_point < 0x80) {
        text += static_cast<char>(code_point);
    } else {
        text += static_cast<char>(0xC0 | (code_point >> 6));
        text += static_cast<char>(0x80 | (code_point & 0x3F));
    }
}

// Byte-level BPE writes bytes as printable characters (the convention of GPT-2): those that are not printable by
// themselves become U+0100 onwards, in order.
std::array<std::string, kByteTokens> byte_characters() {
    std::array<std::string, kByteTokens> characters;
    int next = 0x100;
    for (int byte = 0; byte < kByteTokens; ++byte) {
        const bool printable =
            (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
        append_utf8(characters[static_cast<std::size_t>(byte)], printable ? byte : next++);
    }
    return characters;
}

// Behind the bytes and the merged tokens stand the control tokens.
ordered_json tokenizer_json(const std::vector<std::pair<std::string, std::string>>& merges) {
    const auto characters = byte_characters();
    const auto printed = [&](const std::string& bytes) {
        std::string text;
        for (const char byte : bytes) text += characters[static_cast<unsigned char>(byte)];
        return text;
    };
    ordered_json vocab, merge_list = ordered_json::array();
    for (int byte = 0; byte < kByteTokens; ++byte) vocab[characters[static_cast<std::size_t>(byte)]] = byte;
    int next = kByteTokens;
    for (const auto& [left, right] : merges) {
        vocab[printed(left + right)] = next++;
        merge_list.push_back({printed(left), printed(right)});
    }
    ordered_json added = ordered_json::array();
    for (std::size_t i = 0; i < kControlTokens.size(); ++i) {
        added.push_back({{"id", next + static_cast<int>(i)},
                         {"content", kControlTokens[i]},
                         {"single_word", false},
                         {"lstrip", false},
                         {"rstrip", false},
                         {"normalized", false},
                         {"special", i < kSpecialTokens}});
    }
    const ordered_json byte_level{
        {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", false}, {"use_regex", false}};
    const std::string words =
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
    return {{"version", "1.0"},
            {"truncation", nullptr},
            {"padding", nullptr},
            {"added_tokens", added},
            {"normalizer", {{"type", "NFC"}}},
            {"pre_tokenizer",
             {{"type", "Sequence"},
              {"pretokenizers",
               {{{"type", "Split"}, {"pattern", {{"Regex", words}}}, {"behavior", "Isolated"}, {"invert", false}},
                byte_level}}}},
            {"post_processor", byte_level},
            {"decoder", byte_level},
            {"model",
             {{"type", "BPE"},
              {"dropout", nullptr},
              {"unk_token", nullptr},
              {"continuing_subword_prefix", ""},
              {"end_of_word_suffix", ""},
              {"fuse_unk", false},
              {"byte_fallback", false},
              {"ignore_merges", false},
              {"vocab", vocab},
              {"merges", merge_list}}}};
}

const char* dtype_key(DType dtype) {
    return dtype == DType::float32 ? "float32" : dtype == DType::bfloat16 ? "bfloat16" : "float16";
}

ordered_json to_json(const Qwen3Config& config, DType dtype) {
    return {{"architectures", {"Qwen3ForCausalLM"}},
            {"model_type", "qwen3"},
            {"dtype", dtype_key(dtype)},
            {"vocab_size", config.vocab_size},
            {"hidden_size", config.hidden_size},
            {"intermediate_size", config.intermediate_size},
            {"num_hidden_layers", config.num_hidden_layers},
            {"num_attention_heads", config.num_attention_heads},
            {"num_key_value_heads", config.num_key_value_heads},
            {"head_dim", config.head_dim},
            {"hidden_act", config.hidden_act},
            {"max_position_embeddings", config.max_position_embeddings},
            {"rms_norm_eps", config.rms_norm_eps},
            {"rope_theta", config.rope_theta},
            {"attention_bias", config.attention_bias},
            {"tie_word_embeddings", config.tie_word_embeddings},
            {"bos_token_id", nullptr},
            {"eos_token_id", config.eos_token_ids.front()}};
}

ordered_json to_json(const SiglipConfig& config, DType dtype) {
    return {{"architectures", {"SiglipVisionModel"}},
            {"model_type", "siglip_vision_model"},
            {"dtype", dtype_key(dtype)},
            {"hidden_size", config.hidden_size},
            {"intermediate_size", config.intermediate_size},
            {"num_hidden_layers", config.num_hidden_layers},
            {"num_attention_heads", config.num_attention_heads},
            {"num_channels", config.num_channels},
            {"image_size", config.image_size},
            {"patch_size", config.patch_size},
            {"layer_norm_eps", config.layer_norm_eps},
            {"hidden_act", config.hidden_act}};
}

void write_json(const fs::path& path, const ordered_json& json) {
    write_file(path, json.dump(2) + "\n");
}

// Something to look at: a red circle left of a blue square.
void draw_sample(const fs::path& path) {
    cv::Mat picture(240, 320, CV_8UC3, cv::Scalar(235, 240, 245));
    cv::circle(picture, {100, 120}, 60, cv::Scalar(40, 40, 210), cv::FILLED, cv::LINE_AA);
    cv::rectangle(picture, cv::Rect(190, 80, 80, 80), cv::Scalar(200, 90, 30), cv::FILLED);
    std::vector<unsigned char> bytes;
    cv::imencode(".png", picture, bytes);
    write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

std::span<const std::string_view> shape_names() {
    return kShapes;
}

ModelShape shape_by_name(std::string_view name) {
    ModelShape shape;
    Qwen3Config& language = shape.language;
    language.rms_norm_eps = 1e-6;
    language.rope_theta = 1e6;
    language.head_dim = 128;
    language.num_key_value_heads = 8;
    language.max_position_embeddings = 40960;
    language.vocab_size = 151936;
    language.tie_word_embeddings = true;
    language.eos_token_ids = {kByteTokens + kEndOfTurn};
    language.stored_dtype = "bfloat16";
    const auto sizes = [&](std::int64_t hidden, std::int64_t layers, std::int64_t heads, std::int64_t mlp) {
        language.hidden_size = hidden;
        language.num_hidden_layers = layers;
        language.num_attention_heads = heads;
        language.intermediate_size = mlp;
    };
    if (name == "qwen3-0.6b") {
        sizes(1024, 28, 16, 3072);
    } else if (name == "qwen3-4b") {
        sizes(2560, 36, 32, 9728);
    } else if (name == "demo" || name == "siglip-base") {
        sizes(192, 4, 6, 576);
        language.num_key_value_heads = 3;
        language.head_dim = 32;
        language.max_position_embeddings = 2048;
        language.vocab_size = kByteTokens + static_cast<std::int64_t>(kControlTokens.size());
        if (name == "demo") {
            shape.vision = {.hidden_size = 192,
                            .intermediate_size = 768,
                            .num_hidden_layers = 4,
                            .num_attention_heads = 6,
                            .image_size = 128,
                            .patch_size = 16};
        }
    } else {
        throw OptionError(
            {.name = "--shape", .expected = "demo, qwen3-0.6b, qwen3-4b or siglip-base", .found = std::string(name)});
    }
    return shape;
}

void write_random_model(const ModelShape& wanted, DType dtype, std::uint64_t seed, const fs::path& folder,
                        const std::vector<std::string>& texts) {
    AtomicFolder whole(folder);
    const fs::path& part = whole.path();
    for (const char* inner : {"vision", "language"}) fs::create_directory(part / inner);
    ModelShape shape = wanted;
    std::vector<std::pair<std::string, std::string>> merges;
    if (!texts.empty()) {
        std::vector<std::string> all = texts;
        for (int i = 0; i < 4; ++i) all.insert(all.end(), {"user", "assistant", "system", "\n\n"});  // the template's
        merges = learn_merges(all, kMostMerges);
        const int tokens = kByteTokens + static_cast<int>(merges.size());
        shape.language.vocab_size =
            std::max(shape.language.vocab_size, tokens + static_cast<std::int64_t>(kControlTokens.size()));
        shape.language.eos_token_ids = {tokens + kEndOfTurn};
    }
    const WeightTarget target{scalar_type(dtype), at::kCPU};
    {
        Qwen3Model language = Qwen3Model::from_config(shape.language);
        randomise_parameters(language.parameters(), target, seed);
        save_parameters(part / "language" / "model.safetensors", language.parameters(), dtype);
        write_json(part / "language" / "config.json", to_json(shape.language, dtype));
        write_json(part / "language" / "tokenizer.json", tokenizer_json(merges));
    }
    VisionTransformer vision = VisionTransformer::from_config(shape.vision);
    randomise_parameters(vision.parameters(), target, seed + 1);
    save_parameters(part / "vision" / "model.safetensors", vision.parameters(), dtype);
    write_json(part / "vision" / "config.json", to_json(shape.vision, dtype));

    Projector projector = Projector::from_config(shape.vision.hidden_size, shape.language.hidden_size);
    randomise_parameters(projector.parameters(), {at::kFloat, at::kCPU}, seed + 2);
    save_parameters(part / "projector.safetensors", projector.parameters(), DType::float32);
    write_json(part / "vitrine.json", {{"name", folder.filename().string()},
                                       {"vision", "vision"},
                                       {"language", "language"},
                                       {"projector", "projector.safetensors"},
                                       {"presets", {{"caption", "Describe this picture."}}},
                                       {"training", {{"note", "random weights, never trained"}, {"seed", seed}}}});
    draw_sample(part / "sample.png");
    whole.commit();
}

}  // namespace vitrine
