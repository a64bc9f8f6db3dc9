#include "core/model/verify.h"

#include "core/error.h"
#include "core/model/vlm.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

namespace vitrine {
namespace {

constexpr double kVisionTolerance = 1e-4;
constexpr double kLanguageTolerance = 1e-3;
constexpr double kHalfRelativeError = 0.1;
constexpr double kHalfAgreement = 0.99;
// .noise is the standard deviation of what bf16 does to one logit. A margin compares two logits of two computations,
// which together are off by twice that; it means something from three standard deviations on.
constexpr double kSureMarginPerNoise = 6.0;

struct Parts {
    std::optional<VisionTransformer> vision;
    std::optional<Projector> projector;
    std::optional<Qwen3Model> language;
    std::optional<TokenId> image_token;
};

Parts load_parts(const std::filesystem::path& model, const WeightTarget& target) {
    Parts parts;
    if (std::filesystem::exists(model / "vitrine.json")) {
        const ModelFolder folder = ModelFolder::open(model);
        parts.vision = VisionTransformer::from_pretrained(folder.vision, target);
        parts.projector = Projector::from_pretrained(folder.projector, target);
        parts.language = Qwen3Model::from_pretrained(folder.language, target);
        parts.image_token = Tokenizer::from_file(folder.language / "tokenizer.json").added_token("<|image_pad|>");
    } else if (VisionTransformer::is_in(Checkpoint::open(model))) {
        parts.vision = VisionTransformer::from_pretrained(model, target);
    } else {
        parts.language = Qwen3Model::from_pretrained(model, target);
    }
    return parts;
}

// The tensors of the reference file, read on demand.
class Reference {
public:
    explicit Reference(const std::filesystem::path& path) : file_(SafetensorsFile::open(path)) {}

    std::optional<at::Tensor> find(const std::string& name) const {
        const TensorInfo* info = file_.find(name);
        if (info == nullptr) return std::nullopt;
        const std::optional<at::ScalarType> type = info->dtype == "F32"   ? std::optional(at::kFloat)
                                                   : info->dtype == "I64" ? std::optional(at::kLong)
                                                                          : std::nullopt;
        if (!type) {
            throw WeightsError(
                {.name = name, .where = file_.path().string(), .expected = "dtype F32 or I64", .found = info->dtype});
        }
        const auto bytes = file_.bytes(*info);
        return at::from_blob(const_cast<std::byte*>(bytes.data()), info->shape, at::TensorOptions(*type)).clone();
    }

    at::Tensor require(const std::string& name) const {
        if (auto tensor = find(name)) return *tensor;
        throw WeightsError({.name = name,
                            .where = file_.path().string(),
                            .expected = "a tensor of that name, for others to be compared",
                            .found = "none"});
    }

    const std::filesystem::path& path() const { return file_.path(); }

private:
    SafetensorsFile file_;
};

// Compares as the stages come by, so that nothing is kept.
class Comparer : public ForwardObserver {
public:
    Comparer(const Reference& reference, at::ScalarType dtype,
             const std::function<void(const StageComparison&)>& on_stage)
        : reference_(reference), full_(dtype == at::kFloat), on_stage_(on_stage) {}

    void on_stage(std::string_view name, const at::Tensor& value) override {
        const std::string stage(name);
        if (const auto expected = reference_.find(stage)) compare(stage, value, *expected, is_output(stage));
    }

    // Logits [B, T, V], held against PREFIX.logits, or PREFIX.logits_tail for the last positions, and PREFIX.argmax,
    // where PREFIX.attention_mask (if any) says that a position is real.
    void compare_logits(const std::string& prefix, const std::string& stage, at::Tensor logits) {
        logits = logits.to(at::kCPU, at::kFloat);
        auto expected = reference_.find(prefix + ".logits");
        if (!expected) expected = reference_.find(prefix + ".logits_tail");
        if (!expected) return;
        const std::int64_t tail = std::min(expected->size(1), logits.size(1));
        if (const auto mask = reference_.find(prefix + ".attention_mask")) {
            const at::Tensor real = mask->unsqueeze(-1).to(at::kBool);
            logits = logits.where(real, at::zeros({}, at::kFloat));
            expected = expected->where(real.narrow(1, real.size(1) - expected->size(1), expected->size(1)),
                                       at::zeros({}, at::kFloat));
        }
        StageComparison result = measure(stage, logits.narrow(1, logits.size(1) - tail, tail),
                                         expected->narrow(1, expected->size(1) - tail, tail), /*output=*/true);
        std::tie(result.agreement, result.sure_positions) = agreement(prefix, logits, *expected);
        if (!full_)
            result.ok = result.agreement >= kHalfAgreement;
        else
            result.ok = result.ok && result.agreement >= kHalfAgreement;
        finish(std::move(result));
    }

    void compare(const std::string& stage, const at::Tensor& value, const at::Tensor& expected, bool output) {
        finish(measure(stage, value, expected, output));
    }

    Verification take() { return std::move(verification_); }

private:
    static bool is_output(const std::string& stage) {
        return stage == "vision.post_layernorm" || stage == "projector" || stage == "glue.inputs_embeds";
    }

    StageComparison measure(const std::string& stage, const at::Tensor& value, const at::Tensor& expected,
                            bool output) const {
        const at::Tensor ours = value.to(at::kCPU, at::kFloat);
        if (ours.sizes() != expected.sizes()) {
            throw WeightsError({.name = stage,
                                .where = reference_.path().string(),
                                .expected = "shape " + shape_text(ours.sizes()) + ", as the model computes it",
                                .found = shape_text(expected.sizes()),
                                .advice = "The reference belongs to another model."});
        }
        const at::Tensor error = (ours - expected).abs();
        const double magnitude = expected.abs().mean().item<double>();
        StageComparison result{
            .stage = stage, .max_abs = error.max().item<double>(), .mean_abs = error.mean().item<double>()};
        if (full_) {
            const double base = stage.starts_with("vision.") ? kVisionTolerance : kLanguageTolerance;
            result.tolerance = output ? base : base * std::max(1.0, magnitude);
            result.ok = result.max_abs <= result.tolerance;  // false for NaN, too
        } else {
            result.ok = result.mean_abs <= kHalfRelativeError * magnitude;
        }
        return result;
    }

    // At which share of the positions that the reference is sure of do we choose the same token?
    std::pair<double, std::int64_t> agreement(const std::string& prefix, const at::Tensor& logits,
                                              const at::Tensor& expected) const {
        at::Tensor theirs;
        at::Tensor margin;
        if (const auto argmax = reference_.find(prefix + ".argmax"); argmax && argmax->size(1) == logits.size(1)) {
            theirs = *argmax;
            margin = reference_.require(prefix + ".margin");
        } else {
            const auto top = expected.topk(2, -1);
            theirs = std::get<1>(top).select(-1, 0);
            margin = std::get<0>(top).select(-1, 0) - std::get<0>(top).select(-1, 1);
        }
        const at::Tensor ours = logits.narrow(1, logits.size(1) - theirs.size(1), theirs.size(1)).argmax(-1);
        at::Tensor threshold = at::full({}, full_ ? 2 * kLanguageTolerance : 0.0);
        if (const auto noise = reference_.find(prefix + ".noise"); noise && noise->sizes() == margin.sizes()) {
            threshold = *noise * kSureMarginPerNoise;
        } else if (const auto general = reference_.find("language.noise")) {
            threshold = general->mean() * kSureMarginPerNoise;
        }
        const at::Tensor sure = margin > threshold;
        const auto count = sure.sum().item<std::int64_t>();
        const auto same = ours.eq(theirs).logical_and(sure).sum().item<std::int64_t>();
        return {count == 0 ? 1.0 : static_cast<double>(same) / static_cast<double>(count), count};
    }

    void finish(StageComparison result) {
        const double used = result.tolerance > 0.0 ? result.max_abs / result.tolerance : result.mean_abs;
        if (verification_.worst.empty() || !(used <= worst_use_)) {
            verification_.worst = result.stage;
            worst_use_ = used;
        }
        if (!result.ok && verification_.first_difference.empty()) verification_.first_difference = result.stage;
        if (on_stage_) on_stage_(result);
        verification_.stages.push_back(std::move(result));
    }

    const Reference& reference_;
    bool full_;
    const std::function<void(const StageComparison&)>& on_stage_;
    Verification verification_;
    double worst_use_ = 0.0;
};

// Prefill of the first half, then one position at a time, must give what one pass gives.
at::Tensor cached_logits(const Qwen3Model& language, const at::Tensor& embeds) {
    const std::int64_t length = embeds.size(1);
    const std::int64_t half = std::max<std::int64_t>(length - 8, length / 2);
    KvCache cache(language.config(), embeds.size(0), length, language.options());
    std::vector<at::Tensor> hidden{language.forward({.inputs_embeds = embeds.narrow(1, 0, half), .cache = &cache})};
    for (std::int64_t t = half; t < length; ++t) {
        hidden.push_back(language.forward({.inputs_embeds = embeds.narrow(1, t, 1), .cache = &cache}));
    }
    return language.logits(at::cat(hidden, 1));
}

void verify_language(const Qwen3Model& language, const Reference& reference, Comparer& comparer) {
    const at::Device device = language.options().device();
    if (const auto ids = reference.find("language.input_ids")) {
        const at::Tensor embeds = language.embed(ids->to(device));
        const at::Tensor hidden = language.forward({.inputs_embeds = embeds, .observer = &comparer});
        comparer.compare_logits("language", "language.logits", language.logits(hidden));
        comparer.compare_logits("language", "language.logits.cached", cached_logits(language, embeds));
    }
    if (const auto ids = reference.find("batch.input_ids")) {
        const at::Tensor padding = reference.require("batch.attention_mask").eq(0).sum(1).to(device);
        const at::Tensor hidden =
            language.forward({.inputs_embeds = language.embed(ids->to(device)), .padding = padding});
        comparer.compare_logits("batch", "batch.logits", language.logits(hidden));
    }
}

// The ids as a prompt: every run of image tokens belongs to the next picture.
Prompt prompt_of(const at::Tensor& ids, TokenId image_token, std::int64_t patches) {
    Prompt prompt;
    const auto* values = ids.const_data_ptr<std::int64_t>();
    for (std::int64_t t = 0; t < ids.numel(); ++t) {
        prompt.ids.push_back(static_cast<TokenId>(values[t]));
        const bool pad = prompt.ids.back() == image_token;
        const bool in_run = !prompt.pictures.empty() && t < prompt.pictures.back().begin + patches;
        if (pad && !in_run) prompt.pictures.push_back({.begin = t, .count = patches});
    }
    return prompt;
}

void verify_glue(const Parts& parts, const at::Tensor& projected, const Reference& reference, Comparer& comparer) {
    const auto ids = reference.find("glue.input_ids");
    if (!ids || !parts.image_token) return;
    const Prompt prompt = prompt_of(*ids, *parts.image_token, projected.size(1));
    const at::Tensor embeds = embed_prompt(*parts.language, prompt, projected.unbind(0));
    if (const auto expected = reference.find("glue.inputs_embeds")) {
        comparer.compare("glue.inputs_embeds", embeds, *expected, true);
    }
    comparer.compare_logits("glue", "glue.logits",
                            parts.language->logits(parts.language->forward({.inputs_embeds = embeds})));
}

}  // namespace

Verification verify(const std::filesystem::path& model, const std::filesystem::path& reference_path,
                    const WeightTarget& target, const std::function<void(const StageComparison&)>& on_stage) {
    const c10::InferenceMode inference;
    const Reference reference(reference_path);
    const Parts parts = load_parts(model, target);
    Comparer comparer(reference, target.dtype, on_stage);
    at::Tensor projected;
    if (const auto pixels = reference.find("vision.pixel_values"); pixels && parts.vision) {
        projected = parts.vision->forward(*pixels, &comparer);
        if (parts.projector) projected = parts.projector->forward(projected, &comparer);
    }
    if (parts.language) {
        verify_language(*parts.language, reference, comparer);
        if (projected.defined() && parts.projector) verify_glue(parts, projected, reference, comparer);
    }
    Verification verification = comparer.take();
    if (verification.stages.empty()) {
        throw WeightsError(
            {.name = "reference",
             .where = reference_path.string(),
             .expected = "activations named vision.*, projector, language.*, batch.* or glue.* with their inputs",
             .found = "none that this model computes"});
    }
    return verification;
}

}  // namespace vitrine
