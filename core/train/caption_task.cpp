#include "core/device.h"
#include "core/error.h"
#include "core/generate/generator.h"
#include "core/kernels/thread_pool.h"
#include "core/train/batch.h"
#include "core/train/feature_cache.h"
#include "core/train/model_writer.h"
#include "core/train/task.h"
#include "core/train/task_data.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <set>
#include <tuple>

namespace vitrine {
namespace {

struct CaptionRows : PreparedRows {
    TrainingBatch batch;
    at::Tensor features;  // [pictures, P, C], or undefined without pictures
    at::Tensor pixels;    // [pictures, 3, S, S] instead, where the tower is trained
};

// Answers are learned from pictures and the text before them. The tower runs without gradients where it is frozen, and
// only once a picture where its features are cached.
class CaptionTask final : public TrainingTask {
public:
    CaptionTask(const TrainingOptions& options, VisionLanguageModel model, TrainingData data, at::Device device,
                const TaskMessage& say)
        : options_(options),
          model_(std::move(model)),
          data_(std::move(data)),
          device_(device),
          report_(data_.skipped()) {
        trained_ = {
            .vision = options.trainable == "all", .projector = true, .language = options.trainable != "projector"};
        reload_in_full_precision();
        if (options.cache_features && !trained_.vision && !data_.endless()) open_cache(say);
    }

    ParameterList trainable() override {
        ParameterList list = model_.projector_parameters();
        const auto add = [&](const char* prefix, const ParameterList& more) {
            for (Parameter parameter : more) {
                parameter.name = prefix + parameter.name;
                list.push_back(std::move(parameter));
            }
        };
        if (trained_.language) add("language.", model_.language_parameters());
        if (trained_.vision) add("vision.", model_.vision_parameters());
        return list;
    }

    std::uint64_t rows() const override { return data_.training_rows(); }
    bool endless() const override { return data_.endless(); }
    std::uint64_t fingerprint() const override { return data_.training().fingerprint(); }
    const SkipReport& skipped() const override { return report_; }
    std::uint64_t validation_rows() const override { return data_.validation_rows(); }

    std::unique_ptr<PreparedRows> prepare(std::span<const std::uint64_t> rows, StepTimes& times) override {
        std::vector<std::pair<const Dataset*, std::uint64_t>> places;
        for (const std::uint64_t row : rows) places.emplace_back(&data_.training(), data_.training_index(row));
        return prepare_from(places, times);
    }

    at::Tensor losses(const PreparedRows& rows, StepTimes& times) override {
        const auto& prepared = static_cast<const CaptionRows&>(rows);
        return target_losses(prepared, prepared.features, times, nullptr);
    }

    EvaluationSums evaluate(std::uint64_t first, std::uint64_t count) override {
        std::vector<std::pair<const Dataset*, std::uint64_t>> places;
        for (std::uint64_t row = first; row < first + count; ++row)
            places.emplace_back(&data_.validation(), data_.validation_index(row));
        StepTimes times;
        const auto prepared = prepare_from(places, times);
        EvaluationSums sums;
        if (prepared->targets == 0) return sums;
        const c10::NoGradGuard guard;
        const auto& rows = static_cast<const CaptionRows&>(*prepared);
        sums.targets = static_cast<double>(rows.targets);
        at::Tensor features = rows.features;
        if (rows.pixels.defined()) features = model_.vision().forward(rows.pixels);
        sums.loss = target_losses(rows, features, times, &sums.correct).sum().item<double>();
        sums.shuffled_loss = sums.loss;
        if (features.defined() && features.size(0) > 1)
            sums.shuffled_loss = target_losses(rows, features.roll(1, 0), times, nullptr).sum().item<double>();
        return sums;
    }

    std::vector<std::pair<std::string, std::string>> sample_captions(std::stop_token stop) override {
        const c10::NoGradGuard guard;
        std::vector<std::pair<std::string, std::string>> captions;
        const Dataset& dataset = data_.validation();
        for (std::uint64_t row = 0; row < data_.validation_rows() && !stop.stop_requested() &&
                                    captions.size() < static_cast<std::size_t>(options_.sample_pictures);
             ++row) {
            std::vector<Candidate> candidate(1);
            candidate[0].dataset = &dataset;
            candidate[0].index = data_.validation_index(row);
            read(candidate[0]);
            const Sample& sample = candidate[0].sample;
            if (sample.picture.empty() || !candidate[0].reason.empty()) continue;
            at::Tensor features;
            if (trained_.vision)
                features = model_.vision().forward(candidate[0].pixels.unsqueeze(0).to(device_))[0];
            else {
                look(candidate);
                features = candidate[0].features;
            }
            captions.emplace_back(sample.picture, caption_of(features, sample, stop));
        }
        return captions;
    }

    void write_model(const std::filesystem::path& folder, const std::string& training_note) override {
        write_model_folder(folder, model_, trained_, *dtype_from_name(options_.save_dtype), training_note);
    }

private:
    // What is trained starts from the files' own precision, not from what the frozen parts compute in.
    void reload_in_full_precision() {
        const WeightTarget target{at::kFloat, device_};
        const ModelFolder& folder = model_.folder();
        if (options_.initial_projector == "random")
            randomise_parameters(model_.projector_parameters(), target, options_.seed);
        else
            load_parameters(model_.projector_parameters(), Checkpoint::open(folder.projector), target,
                            [](const std::string& name) { return name; });
        if (trained_.language) {
            const Checkpoint files = Checkpoint::open(folder.language);
            load_parameters(model_.language_parameters(), files, target,
                            [&](const std::string& name) { return Qwen3Model::actual_name(files, name); });
        }
        if (trained_.vision) {
            const Checkpoint files = Checkpoint::open(folder.vision);
            load_parameters(model_.vision_parameters(), files, target,
                            [&](const std::string& name) { return VisionTransformer::actual_name(files, name); });
        }
    }

    void open_cache(const TaskMessage& say) {
        ContentKey tower;
        for (const Parameter& parameter : model_.vision_parameters()) {
            const at::Tensor data = parameter.tensor->to(at::kCPU).contiguous();
            tower.add({static_cast<const std::byte*>(data.const_data_ptr()), data.nbytes()});
        }
        const PreprocessConfig& preprocess = model_.preprocess();
        tower.add(std::as_bytes(std::span(preprocess.mean)));
        tower.add(std::as_bytes(std::span(preprocess.std)));
        const SiglipConfig& vision = model_.vision().config();
        const std::array<std::int64_t, 3> sizes{vision.image_size, vision.patch_size, vision.num_attention_heads};
        tower.add(std::as_bytes(std::span(sizes)));
        cache_ = std::make_unique<FeatureCache>(options_.cache.empty() ? default_cache_folder() : options_.cache, tower,
                                                vision.num_patches(), vision.hidden_size);
        const std::uint64_t pictures = data_.training_rows() + data_.validation_rows();
        say("Feature cache " + cache_->folder().string() + ": " + std::to_string(cache_->size()) +
            " pictures there; this data set needs up to " + size_text(pictures * cache_->record_bytes()) + " (" +
            size_text(cache_->record_bytes()) + " a picture)");
    }

    // One row on its way: what is known of it so far.
    struct Candidate {
        const Dataset* dataset = nullptr;
        std::uint64_t index = 0;
        Sample sample;
        TrainingRow row;
        ContentKey key;
        at::Tensor features;  // [P, C]
        at::Tensor pixels;    // [3, S, S]
        std::string fault;    // why the row is left out
        std::string reason;
    };

    std::unique_ptr<PreparedRows> prepare_from(std::span<const std::pair<const Dataset*, std::uint64_t>> places,
                                               StepTimes& times) {
        StepTimer timer;
        std::vector<Candidate> candidates(places.size());
        kernels::parallel_for(
            0, static_cast<std::int64_t>(places.size()), 1, [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin; i < end; ++i) {
                    Candidate& candidate = candidates[static_cast<std::size_t>(i)];
                    std::tie(candidate.dataset, candidate.index) = places[static_cast<std::size_t>(i)];
                    read(candidate);
                }
            });
        times.data += timer.lap();
        if (!trained_.vision) look(candidates);
        times.vision += timer.lap();

        auto prepared = std::make_unique<CaptionRows>();
        std::vector<TrainingRow> rows;
        std::vector<at::Tensor> features, pixels;
        for (Candidate& candidate : candidates) {
            if (!candidate.reason.empty()) {
                if (left_out_.emplace(candidate.dataset, candidate.index).second)  // once, not in every epoch
                    report_.add(candidate.reason, candidate.sample.id + ": " + candidate.fault);
                continue;
            }
            if (candidate.features.defined())
                features.push_back(candidate.features);
            else if (candidate.pixels.defined())
                pixels.push_back(candidate.pixels);
            rows.push_back(std::move(candidate.row));
            prepared->ids.push_back(candidate.sample.id);
        }
        if (!rows.empty()) {
            prepared->batch = make_batch(rows);
            TrainingBatch& batch = prepared->batch;
            for (at::Tensor* tensor :
                 {&batch.ids, &batch.padding, &batch.target_rows, &batch.target_ids, &batch.picture_rows})
                *tensor = tensor->to(device_);
            prepared->targets = batch.target_ids.numel();
            prepared->tokens = batch.tokens;
            if (!features.empty()) prepared->features = at::stack(features).to(device_, compute_type());
            if (!pixels.empty()) prepared->pixels = at::stack(pixels).to(device_);
        }
        times.data += timer.lap();
        return prepared;
    }

    // Ids, and the picture's features from the cache or its pixels. Runs on several threads.
    void read(Candidate& candidate) {
        candidate.sample = candidate.dataset->sample(candidate.index);
        Sample& sample = candidate.sample;
        try {
            if (!sample.picture.empty()) add_placeholder(sample.messages);
            candidate.row = make_training_row(model_.tokenizer(), sample.messages,
                                              static_cast<int>(model_.vision().config().num_patches()));
        } catch (const InputError& error) {
            candidate.reason = "unusable row";
            candidate.fault = error.what();
            return;
        }
        if (static_cast<std::int64_t>(candidate.row.ids.size()) > options_.max_length) {
            candidate.reason = "longer than max_length";
            candidate.fault = std::to_string(candidate.row.ids.size()) + " tokens";
            return;
        }
        if (sample.picture.empty()) return;
        try {
            if (cache_) {
                candidate.key.add(candidate.dataset->picture_identity(sample.picture));
                const std::lock_guard lock(cache_mutex_);
                if (auto found = cache_->find(candidate.key)) {
                    candidate.features = std::move(*found);
                    return;
                }
            }
            std::vector<float> values = pixel_values(candidate.dataset->picture(sample.picture), model_.preprocess());
            const std::int64_t side = model_.vision().config().image_size;
            candidate.pixels = at::from_blob(values.data(), {3, side, side}, at::kFloat).clone();
        } catch (const InputError& error) {
            candidate.reason = "broken picture";
            candidate.fault = error.what();
        }
    }

    // Runs the frozen tower over the pictures that have only pixels. With a cache, features are always rounded to bf16,
    // so that a run does not depend on what the cache held.
    void look(std::vector<Candidate>& candidates) {
        std::vector<Candidate*> unseen;
        for (Candidate& candidate : candidates)
            if (candidate.pixels.defined()) unseen.push_back(&candidate);
        constexpr std::size_t at_once = 32;
        const c10::NoGradGuard guard;
        for (std::size_t first = 0; first < unseen.size(); first += at_once) {
            const std::size_t count = std::min(at_once, unseen.size() - first);
            std::vector<at::Tensor> pixels;
            for (std::size_t i = 0; i < count; ++i) pixels.push_back(unseen[first + i]->pixels);
            const at::Tensor features = model_.vision().forward(at::stack(pixels).to(device_));
            for (std::size_t i = 0; i < count; ++i) {
                Candidate& candidate = *unseen[first + i];
                candidate.features = features[static_cast<std::int64_t>(i)];
                candidate.pixels.reset();
                if (!cache_) continue;
                candidate.features = candidate.features.to(at::kBFloat16);
                cache_->store(candidate.key, candidate.features);
            }
        }
        for (Candidate& candidate : candidates)
            if (candidate.features.defined()) candidate.features = candidate.features.to(device_, compute_type());
    }

    // Pictures are not needed to build ids: one patch run looks like another.
    static void add_placeholder(std::vector<Message>& messages) {
        static const ImagePtr nothing = std::make_shared<const Image>();
        for (Message& message : messages) {
            if (message.role != Role::user) continue;
            message.pictures = {nothing};
            return;
        }
    }

    at::Tensor target_losses(const CaptionRows& rows, const at::Tensor& given_features, StepTimes& times,
                             double* correct) {
        StepTimer timer;
        const TrainingBatch& batch = rows.batch;
        const Qwen3Model& language = model_.language();
        at::Tensor embeds = language.embed(batch.ids);  // [B, T, H]
        const std::int64_t width = embeds.size(2);
        at::Tensor features = given_features;
        if (!features.defined() && rows.pixels.defined()) features = model_.vision().forward(rows.pixels);
        times.vision += timer.lap();
        if (features.defined()) {
            const at::Tensor projected = model_.projector().forward(features);  // [pictures, P, H]
            embeds = embeds.view({-1, width})
                         .index_copy(0, batch.picture_rows, projected.reshape({-1, width}))
                         .view(embeds.sizes());
        }
        const at::Tensor hidden =
            language.forward({.inputs_embeds = embeds,
                              .padding = batch.padding,
                              .checkpointing = options_.gradient_checkpointing && c10::GradMode::is_enabled()});
        const at::Tensor wanted = hidden.view({-1, width}).index_select(0, batch.target_rows);  // [N, H]
        const at::Tensor logits = language.logits(wanted).to(at::kFloat);                       // [N, V]
        if (correct != nullptr) *correct = logits.argmax(-1).eq(batch.target_ids).sum().item<double>();
        const at::Tensor losses = at::cross_entropy_loss(logits, batch.target_ids, {}, at::Reduction::None);
        times.language += timer.lap();
        return losses;
    }

    std::string caption_of(const at::Tensor& features, const Sample& sample, std::stop_token stop) {
        std::vector<Message> question;
        for (const Message& message : sample.messages) {
            if (message.role == Role::assistant) break;
            question.push_back(message);
        }
        add_placeholder(question);
        const Prompt prompt =
            build_prompt(model_.tokenizer(), question, {.patches_per_picture = static_cast<int>(features.size(0))});
        const std::vector<at::Tensor> projected{model_.projector().forward(features.unsqueeze(0).to(device_))[0]};
        const at::Tensor embeds = embed_prompt(model_.language(), prompt, projected);
        GenerationOptions generation;
        generation.max_tokens = 64;
        generation.alternatives = 0;
        KvCache cache(model_.language().config(), 1, embeds.size(1) + generation.max_tokens + 1,
                      model_.language().options());
        return generate(
                   model_.language(), model_.tokenizer(), cache, embeds, generation, [](const TokenEvent&) {}, stop)
            .text;
    }

    at::ScalarType compute_type() const { return scalar_type(*dtype_from_name(options_.dtype)); }

    TrainingOptions options_;
    VisionLanguageModel model_;
    TrainingData data_;
    at::Device device_;
    TrainedParts trained_;
    SkipReport report_;
    std::set<std::pair<const Dataset*, std::uint64_t>> left_out_;
    std::unique_ptr<FeatureCache> cache_;
    std::mutex cache_mutex_;
};

}  // namespace

std::unique_ptr<TrainingTask> make_caption_task(const TrainingOptions& options, const TaskMessage& say,
                                                std::stop_token stop) {
    std::optional<LoadedForTraining> loaded = load_for_training(options, say, stop);
    if (!loaded) return nullptr;
    return std::make_unique<CaptionTask>(options, std::move(loaded->model), std::move(loaded->data), loaded->device,
                                         say);
}

}  // namespace vitrine
