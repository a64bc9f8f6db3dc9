#include "core/model/vlm.h"

#include "core/error.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

namespace vitrine {
namespace {

// LibTorch, OpenCV, tokenizer and stacks, measured with a model of a few kilobytes.
constexpr std::uint64_t kProgramBytes = 250'000'000;
constexpr std::int64_t kPrefillPositions = 256;  // of one prefill step

[[noreturn]] void parts_do_not_fit(const ModelFolder& folder, const char* name, std::int64_t expected,
                                   std::int64_t found) {
    throw ConfigError(
        {.name = name,
         .where = folder.projector.string(),
         .expected = std::to_string(expected),
         .found = std::to_string(found),
         .advice =
             "This projector was trained for another tower or language model; name a fitting one in vitrine.json."});
}

}  // namespace

VisionLanguageModel::VisionLanguageModel(ModelFolder folder, VisionTransformer vision, Projector projector,
                                         Qwen3Model language, Tokenizer tokenizer, PreprocessConfig preprocess)
    : folder_(std::move(folder)),
      vision_(std::move(vision)),
      projector_(std::move(projector)),
      language_(std::move(language)),
      tokenizer_(std::move(tokenizer)),
      preprocess_(std::move(preprocess)) {}

std::optional<VisionLanguageModel> VisionLanguageModel::load(const ModelFolder& folder, const WeightTarget& target,
                                                             const LoadProgress& progress, std::stop_token stop) {
    // Everything that can be wrong without reading weights comes first.
    VisionTransformer vision = VisionTransformer::from_config(SiglipConfig::from_folder(folder.vision));
    Qwen3Model language = Qwen3Model::from_config(Qwen3Config::from_folder(folder.language));
    PreprocessConfig preprocess = read_preprocess_config(folder.vision, static_cast<int>(vision.config().image_size));
    check_chat_template(folder.language);
    Tokenizer tokenizer = Tokenizer::from_file(folder.language / "tokenizer.json");
    if (tokenizer.vocab_size() > language.config().vocab_size) {
        throw ConfigError({.name = "vocab_size",
                           .where = (folder.language / "config.json").string(),
                           .expected = "at least the tokenizer's " + std::to_string(tokenizer.vocab_size()),
                           .found = std::to_string(language.config().vocab_size),
                           .advice = "The tokenizer.json beside it belongs to another model."});
    }
    Projector projector = Projector::from_pretrained(folder.projector, target);
    if (projector.vision_hidden() != vision.config().hidden_size) {
        parts_do_not_fit(folder, "fc1.weight input width", vision.config().hidden_size, projector.vision_hidden());
    }
    if (projector.language_hidden() != language.config().hidden_size) {
        parts_do_not_fit(folder, "fc2.weight output width", language.config().hidden_size, projector.language_hidden());
    }

    const Checkpoint vision_files = Checkpoint::open(folder.vision);
    const Checkpoint language_files = Checkpoint::open(folder.language);
    const auto vision_name = [&](const std::string& name) {
        return VisionTransformer::actual_name(vision_files, name);
    };
    const auto language_name = [&](const std::string& name) { return Qwen3Model::actual_name(language_files, name); };
    match_parameters(language.parameters(), language_files,
                     language_name);  // a wrong name is found before minutes of loading

    std::uint64_t before = 0;
    const auto all = vision_files.bytes() + language_files.bytes();
    const LoadProgress part = [&](std::uint64_t done, std::uint64_t) {
        if (progress) progress(before + done, all);
    };
    if (load_parameters(vision.parameters(), vision_files, target, vision_name, part, stop).stopped)
        return std::nullopt;
    before = vision_files.bytes();
    if (load_parameters(language.parameters(), language_files, target, language_name, part, stop).stopped)
        return std::nullopt;
    if (progress) progress(all, all);
    return VisionLanguageModel(folder, std::move(vision), std::move(projector), std::move(language),
                               std::move(tokenizer), std::move(preprocess));
}

at::Tensor embed_prompt(const Qwen3Model& language, const Prompt& prompt, std::span<const at::Tensor> projected,
                        std::int64_t first) {
    const auto length = static_cast<std::int64_t>(prompt.ids.size());
    const at::Tensor ids = at::tensor(at::ArrayRef<TokenId>(prompt.ids), at::kInt).narrow(0, first, length - first);
    at::Tensor embeds =
        language.embed(ids.to(language.options().device(), at::kLong).unsqueeze(0));  // [1, T - first, H]
    for (std::size_t i = 0; i < prompt.pictures.size(); ++i) {
        const PictureSpan& span = prompt.pictures[i];
        const std::int64_t begin = std::max(span.begin, first);
        const std::int64_t end = span.begin + span.count;
        if (begin >= end) continue;
        if (i >= projected.size() || !projected[i].defined() || projected[i].size(0) != span.count) {
            throw InputError(
                {.name = "picture " + std::to_string(i + 1),
                 .expected = std::to_string(span.count) + " projected patches for its run of <|image_pad|>",
                 .found =
                     i < projected.size() && projected[i].defined() ? std::to_string(projected[i].size(0)) : "none"});
        }
        embeds.narrow(1, begin - first, end - begin)
            .copy_(projected[i].narrow(0, begin - span.begin, end - begin).unsqueeze(0));
    }
    return embeds;
}

MemoryEstimate estimate_memory(const Qwen3Config& language, const SiglipConfig& vision, DType dtype,
                               std::int64_t context) {
    const auto element = static_cast<std::uint64_t>(bytes_per_element(dtype));
    const std::int64_t weights =
        Qwen3Model::from_config(language).num_parameters() +
        count_elements(VisionTransformer::from_config(vision).parameters()) +
        count_elements(Projector::from_config(vision.hidden_size, language.hidden_size).parameters());
    // One layer's activations of a prefill step, generously: hidden, q, k, v, gate, up, in fp32; the scores of the
    // tower's attention; one row of logits with the sampler's copy.
    const std::int64_t widths = 4 * language.hidden_size + 4 * language.intermediate_size +
                                2 * (language.num_attention_heads + language.num_key_value_heads) * language.head_dim;
    const std::int64_t tower = vision.num_patches() * (8 * vision.hidden_size + 2 * vision.intermediate_size) +
                               vision.num_attention_heads * vision.num_patches() * vision.num_patches();
    return {.weights = static_cast<std::uint64_t>(weights) * element,
            .kv_cache = KvCache::bytes(language, 1, context, bytes_per_element(dtype)),
            .working = kProgramBytes +
                       4 * static_cast<std::uint64_t>(kPrefillPositions * widths + tower + 3 * language.vocab_size)};
}

}  // namespace vitrine
