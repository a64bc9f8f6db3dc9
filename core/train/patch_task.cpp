#include "core/kernels/linear.h"
#include "core/kernels/thread_pool.h"
#include "core/scenes/scene.h"
#include "core/train/model_writer.h"
#include "core/train/task.h"
#include "core/train/task_data.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace vitrine {
namespace {

// What is asked about each patch. The last class of each is the background.
struct Question {
    const char* name;
    std::int64_t classes;
    double weight;
};
constexpr std::int64_t kPlaces = 8;
constexpr std::array<Question, 5> kQuestions{{
    {"shape", scenes::kShapes + 1, 1.0},
    {"colour", scenes::kColours + 1, 1.0},
    {"size", 3, 1.0},
    {"column", kPlaces + 1, 0.5},  // where the centre of the whole object lies, in eighths of the picture
    {"row", kPlaces + 1, 0.5},
}};
constexpr double kBackgroundWeight = 0.2;  // most patches are background, and it is learned at once

using Answers = std::array<std::int64_t, kQuestions.size()>;

Answers answers_for(const scenes::SceneObject& object) {
    const auto place = [](double x) {
        return std::clamp<std::int64_t>(static_cast<std::int64_t>(x * static_cast<double>(kPlaces)), 0, kPlaces - 1);
    };
    return {static_cast<std::int64_t>(object.shape), static_cast<std::int64_t>(object.colour),
            static_cast<std::int64_t>(object.size), place(object.centre.x), place(object.centre.y)};
}

struct PatchRows : PreparedRows {
    at::Tensor pixels;                                 // [B, 3, S, S]
    std::array<at::Tensor, kQuestions.size()> labels;  // each [B * P] int64
};

// A tower learns by itself, before there is any language: what covers each patch of a scene and where that object lies,
// by linear heads that are thrown away afterwards. Towers of the real size come pretrained; a small one gets here what
// it needs. The places are there because a language model cannot see them: to it the patches are a line.
class PatchTask final : public TrainingTask {
public:
    PatchTask(const TrainingOptions& options, VisionLanguageModel model, at::Device device)
        : options_(options), model_(std::move(model)), device_(device) {
        for (const Question& question : kQuestions) heads_.emplace_back(width(), question.classes, true);
        const WeightTarget target{at::kFloat, device_};
        const Checkpoint files = Checkpoint::open(model_.folder().vision);
        load_parameters(model_.vision_parameters(), files, target,
                        [&](const std::string& name) { return VisionTransformer::actual_name(files, name); });
        randomise_parameters(head_parameters(), target, options.seed);
    }

    ParameterList trainable() override {
        ParameterList list = model_.vision_parameters();
        for (Parameter& head : head_parameters()) list.push_back(std::move(head));
        return list;
    }
    std::uint64_t rows() const override { return endless() ? std::uint64_t{1} << 40 : options_.data.scenes_count; }
    bool endless() const override { return options_.data.scenes_count == 0; }
    std::uint64_t fingerprint() const override {
        return options_.data.scenes_seed * 1'000'003 + options_.data.scenes_count * 257 + scenes::kGeneration;
    }
    const SkipReport& skipped() const override { return report_; }
    std::uint64_t validation_rows() const override { return options_.validation_samples; }

    std::unique_ptr<PreparedRows> prepare(std::span<const std::uint64_t> rows, StepTimes& times) override {
        return prepare_scenes(options_.data.scenes_seed, rows, times);
    }

    at::Tensor losses(const PreparedRows& rows, StepTimes& times) override {
        return patch_losses(static_cast<const PatchRows&>(rows), times, nullptr);
    }

    EvaluationSums evaluate(std::uint64_t first, std::uint64_t count) override {
        const c10::NoGradGuard guard;
        std::vector<std::uint64_t> rows(count);
        for (std::uint64_t i = 0; i < count; ++i) rows[i] = first + i;
        StepTimes times;
        const std::uint64_t seed = options_.validation_data.scenes ? options_.validation_data.scenes_seed
                                                                   : options_.data.scenes_seed + 1'000'000'007;
        const auto prepared = prepare_scenes(seed, rows, times);
        EvaluationSums sums{.targets = static_cast<double>(prepared->targets)};
        sums.loss = patch_losses(static_cast<const PatchRows&>(*prepared), times, &sums.correct).sum().item<double>();
        sums.shuffled_loss = sums.loss;  // there is no text to pair with another picture
        return sums;
    }

    std::vector<std::pair<std::string, std::string>> sample_captions(std::stop_token) override { return {}; }

    void write_model(const std::filesystem::path& folder, const std::string& training_note) override {
        write_model_folder(folder, model_, {.vision = true}, *dtype_from_name(options_.save_dtype), training_note);
    }

private:
    std::int64_t width() const { return model_.vision().config().hidden_size; }

    ParameterList head_parameters() {
        ParameterList list;
        for (std::size_t i = 0; i < heads_.size(); ++i)
            heads_[i].parameters(std::string("head.") + kQuestions[i].name + '.', list);
        return list;
    }

    std::unique_ptr<PreparedRows> prepare_scenes(std::uint64_t seed, std::span<const std::uint64_t> rows,
                                                 StepTimes& times) {
        StepTimer timer;
        const SiglipConfig& config = model_.vision().config();
        const auto side = static_cast<int>(config.image_size);
        const auto count = static_cast<std::int64_t>(rows.size());
        const std::int64_t patches = config.num_patches();
        auto prepared = std::make_unique<PatchRows>();
        prepared->pixels = at::empty({count, 3, side, side}, at::kFloat);
        for (at::Tensor& labels : prepared->labels) labels = at::empty({count * patches}, at::kLong);
        float* const pixels = prepared->pixels.mutable_data_ptr<float>();
        std::array<std::int64_t*, kQuestions.size()> labels{};
        for (std::size_t i = 0; i < labels.size(); ++i)
            labels[i] = prepared->labels[i].mutable_data_ptr<std::int64_t>();
        Answers background{};
        for (std::size_t i = 0; i < background.size(); ++i) background[i] = kQuestions[i].classes - 1;
        kernels::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row) {
                const scenes::Scene scene = scenes::make_scene(seed, rows[static_cast<std::size_t>(row)]);
                const std::vector<float> values = pixel_values(scenes::draw(scene, side, side), model_.preprocess());
                std::copy(values.begin(), values.end(), pixels + row * 3 * side * side);
                const std::vector<int> covering = scenes::patch_labels(scene, static_cast<int>(config.grid()));
                for (std::int64_t patch = 0; patch < patches; ++patch) {
                    const int object = covering[static_cast<std::size_t>(patch)];
                    const Answers answers =
                        object < 0 ? background : answers_for(scene.objects[static_cast<std::size_t>(object)]);
                    for (std::size_t i = 0; i < answers.size(); ++i) labels[i][row * patches + patch] = answers[i];
                }
            }
        });
        for (const std::uint64_t row : rows)
            prepared->ids.push_back("scene " + std::to_string(seed) + ":" + std::to_string(row));
        prepared->pixels = prepared->pixels.to(device_);
        for (at::Tensor& tensor : prepared->labels) tensor = tensor.to(device_);
        prepared->targets = count * patches;
        prepared->tokens = static_cast<std::uint64_t>(count * patches);
        times.data += timer.lap();
        return prepared;
    }

    // correct: how many patches of objects get the right shape, scaled so that dividing by all targets gives their
    // share.
    at::Tensor patch_losses(const PatchRows& rows, StepTimes& times, double* correct) {
        StepTimer timer;
        const at::Tensor features = model_.vision().forward(rows.pixels).reshape({-1, width()});  // [B * P, C]
        const at::Tensor is_object = rows.labels[0].ne(kQuestions[0].classes - 1).to(at::kFloat);
        at::Tensor losses;
        for (std::size_t i = 0; i < heads_.size(); ++i) {
            const at::Tensor logits = heads_[i](features).to(at::kFloat);
            const at::Tensor loss =
                at::cross_entropy_loss(logits, rows.labels[i], {}, at::Reduction::None) * kQuestions[i].weight;
            losses = losses.defined() ? losses + loss : loss;
            if (i == 0 && correct != nullptr) {
                const double right =
                    (logits.argmax(-1).eq(rows.labels[0]).to(at::kFloat) * is_object).sum().item<double>();
                const double objects = is_object.sum().item<double>();
                *correct = objects > 0 ? right / objects * static_cast<double>(rows.targets) : 0.0;
            }
        }
        times.vision += timer.lap();
        return losses * (is_object * (1.0 - kBackgroundWeight) + kBackgroundWeight);
    }

    TrainingOptions options_;
    VisionLanguageModel model_;
    at::Device device_;
    std::vector<Linear> heads_;  // one for each question
    SkipReport report_;
};

}  // namespace

std::unique_ptr<TrainingTask> make_patch_task(const TrainingOptions& options, const TaskMessage& say,
                                              std::stop_token stop) {
    std::optional<LoadedForTraining> loaded = load_for_training(options, say, stop);
    if (!loaded) return nullptr;
    return std::make_unique<PatchTask>(options, std::move(loaded->model), loaded->device);
}

}  // namespace vitrine
