#include "core/train/task_data.h"

#include "core/device.h"
#include "core/error.h"
#include "core/scenes/random.h"
#include "core/train/scenes_dataset.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace vitrine {
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kEndless = std::uint64_t{1} << 40;
constexpr std::uint64_t kMostRows = std::uint64_t{1} << 31;  // of data that is shuffled

ScenesDatasetOptions scenes_options(const DataOptions& options, int picture_size, std::uint64_t count) {
    using What = ScenesDatasetOptions::What;
    return {.seed = options.scenes_seed,
            .count = count,
            .size = picture_size,
            .what = options.scenes_content == "captions"    ? What::captions
                    : options.scenes_content == "questions" ? What::questions
                                                            : What::mixed,
            .turns = static_cast<std::size_t>(options.scenes_turns),
            .caption_share = options.scenes_caption_share};
}

std::shared_ptr<Dataset> open_files(const DataOptions& options, const TaskMessage& say, std::stop_token stop) {
    std::shared_ptr<Dataset> dataset = open_dataset(
        options.path,
        {.format = options.format, .pictures = options.pictures, .prompts = options.prompts, .limit = options.limit},
        {}, stop);
    if (!dataset) return nullptr;
    say("Data " + options.path.string() + ": " + dataset->format() + ", " + std::to_string(dataset->size()) +
        " rows, " + std::to_string(dataset->skipped().total()) + " left out");
    for (const std::string& line : dataset->skipped().lines()) say("  left out, " + line);
    if (dataset->size() == 0)
        throw ConfigError({.name = "data.path",
                           .where = options.path.string(),
                           .expected = "at least one picture with a text",
                           .found = std::to_string(dataset->skipped().total()) + " rows, all left out"});
    if (dataset->size() > kMostRows)
        throw ConfigError({.name = "data.limit",
                           .where = options.path.string(),
                           .expected = "at most " + std::to_string(kMostRows) + " rows",
                           .found = std::to_string(dataset->size())});
    return dataset;
}

}  // namespace

std::vector<std::uint32_t> shuffled(std::uint64_t count, std::uint64_t seed) {
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    scenes::Random random(seed);
    random.shuffle(order);
    return order;
}

fs::path default_cache_folder() {
    if (const char* folder = std::getenv("XDG_CACHE_HOME"); folder != nullptr && *folder != '\0')
        return fs::path(folder) / "vitrine" / "features";
    const char* home = std::getenv("HOME");
    return fs::path(home != nullptr && *home != '\0' ? home : "/tmp") / ".cache" / "vitrine" / "features";
}

std::optional<TrainingData> TrainingData::open(const TrainingOptions& options, const TaskMessage& say,
                                               std::stop_token stop) {
    TrainingData data;
    const int picture_size = 128;  // scenes are drawn at this size; the tower's preprocessing does the rest
    if (options.data.scenes) {
        data.endless_ = options.data.scenes_count == 0;
        data.training_ = make_scenes_dataset(
            scenes_options(options.data, picture_size, data.endless_ ? kEndless : options.data.scenes_count));
    } else {
        data.training_ = open_files(options.data, say, stop);
        if (!data.training_) return std::nullopt;
    }

    const DataOptions& held_out = options.validation_data;
    const std::uint64_t wanted = options.validation_samples;
    if (wanted > 0 && held_out.scenes) {
        data.validation_ = make_scenes_dataset(scenes_options(held_out, picture_size, wanted));
        data.validation_rows_ = wanted;
    } else if (wanted > 0 && !held_out.path.empty()) {
        data.validation_ = open_files(held_out, say, stop);
        if (!data.validation_) return std::nullopt;
        data.validation_order_ = shuffled(data.validation_->size(), options.seed + 1);
        data.validation_rows_ = std::min<std::uint64_t>(wanted, data.validation_->size());
    } else if (wanted > 0 && data.endless_) {
        DataOptions others = options.data;
        others.scenes_seed += 1'000'000'007;
        data.validation_ = make_scenes_dataset(scenes_options(others, picture_size, wanted));
        data.validation_rows_ = wanted;
    }
    if (!data.endless_) {
        data.training_order_ = shuffled(data.training_->size(), options.seed + 1);
        if (wanted > 0 && !data.validation_) {
            // At most a tenth is held out, and nothing where there are too few rows to tell.
            data.validation_rows_ = std::min<std::uint64_t>(wanted, data.training_order_.size() / 10);
            const auto first = data.training_order_.end() - static_cast<std::ptrdiff_t>(data.validation_rows_);
            data.validation_order_.assign(first, data.training_order_.end());
            data.training_order_.erase(first, data.training_order_.end());
        }
    }
    // A look at some rows, for the estimate of memory.
    std::uint64_t characters = 0;
    const std::uint64_t looked = std::min<std::uint64_t>(64, data.training_rows());
    for (std::uint64_t row = 0; row < looked; ++row)
        for (const Message& message : data.training_->sample(data.training_index(row)).messages)
            characters += message.text.size() + 24;
    if (looked > 0) data.typical_text_tokens_ = static_cast<std::int64_t>(characters / looked / 3);
    return data;
}

std::uint64_t expected_training_bytes(const TrainingOptions& options, const Qwen3Config& language,
                                      const SiglipConfig& vision, std::int64_t text_tokens) {
    const auto u = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
    const std::uint64_t element = bytes_per_element(*dtype_from_name(options.dtype));
    const std::uint64_t rows =
        u(options.micro_batch > 0 ? std::min(options.micro_batch, options.batch) : options.batch);
    const bool trains_vision = options.trainable == "all" || options.trainable == "vision";
    const bool trains_language = options.trainable == "all" || options.trainable == "projector+language";
    const std::uint64_t vision_parameters = u(count_elements(VisionTransformer::from_config(vision).parameters()));
    const std::uint64_t projector_parameters =
        u(count_elements(Projector::from_config(vision.hidden_size, language.hidden_size).parameters()));
    const std::uint64_t language_parameters = u(Qwen3Model::from_config(language).num_parameters());

    // Value, gradient, two moments and one passing vector of each trained number in fp32, and its copy to compute with.
    const std::uint64_t trained = (trains_vision ? vision_parameters : 0) +
                                  (trains_language ? language_parameters : 0) +
                                  (options.trainable == "vision" ? 0 : projector_parameters);
    std::uint64_t bytes = estimate_memory(language, vision, *dtype_from_name(options.dtype), 1).total() +
                          trained * (5 * 4 + (element < 4 ? element : 0));
    if (trains_vision) {
        const std::uint64_t kept =
            u(vision.num_hidden_layers * (12 * vision.hidden_size + 2 * vision.intermediate_size));
        bytes += rows * u(vision.num_patches()) * kept * element;
    }
    if (options.trainable == "vision") return bytes;

    // What a decoder layer keeps of a position for the backward pass: the inputs of both norms, q and k before and
    // after rotation, v, the mixed heads, gate and up; trained weights keep what they are multiplied with as well.
    const std::uint64_t positions = rows * u(vision.num_patches() + text_tokens);
    const std::uint64_t hidden = u(language.hidden_size), mlp = u(language.intermediate_size);
    const std::uint64_t q = u(language.num_attention_heads * language.head_dim);
    const std::uint64_t kv = u(language.num_key_value_heads * language.head_dim);
    const std::uint64_t kept = 3 * hidden + 3 * q + 3 * kv + 2 * mlp + (trains_language ? 2 * hidden + mlp : 0);
    const std::uint64_t layers = u(language.num_hidden_layers);
    bytes += positions * element * (options.gradient_checkpointing ? layers * hidden + kept : layers * kept);
    // Logits of the target positions: as computed, in fp32, their softmax and gradient.
    return bytes + rows * u(text_tokens) * u(language.vocab_size) * (2 * element + 12);
}

std::optional<LoadedForTraining> load_for_training(const TrainingOptions& options, const TaskMessage& say,
                                                   std::stop_token stop) {
    const Device device = choose_device(options.device);
    const at::Device place = torch_device(device);
    use_threads(options.threads);
    std::optional<TrainingData> data = TrainingData::open(options, say, stop);
    if (!data) return std::nullopt;
    const ModelFolder folder = ModelFolder::open(options.model);
    const std::uint64_t expected =
        expected_training_bytes(options, Qwen3Config::from_folder(folder.language),
                                SiglipConfig::from_folder(folder.vision), data->typical_text_tokens());
    const std::uint64_t available = memory_of(device).available;
    say("Memory: about " + size_text(expected) + " expected, " + size_text(available) + " available");
    if (expected > available)
        throw MemoryError({.name = "training",
                           .where = name_of(device),
                           .expected = "about " + size_text(expected) + " for this model and batch",
                           .found = size_text(available) + " available",
                           .advice = "Set micro_batch lower (the result stays the same), gradient_checkpointing to "
                                     "true, dtype to bf16, or close other programs."});
    std::optional<VisionLanguageModel> model =
        VisionLanguageModel::load(folder, {scalar_type(*dtype_from_name(options.dtype)), place}, {}, stop);
    if (!model) return std::nullopt;
    return LoadedForTraining{std::move(*model), std::move(*data), place};
}

}  // namespace vitrine
