#include "core/device.h"
#include "core/error.h"
#include "core/train/communicator.h"
#include "core/train/optimizer.h"
#include "core/train/run_report.h"
#include "core/train/task.h"
#include "core/train/task_data.h"
#include "core/training.h"
#include "core/weights/file.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <malloc.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <thread>
#include <type_traits>

namespace vitrine {
namespace fs = std::filesystem;

namespace {

constexpr double kEmaDecay = 0.98;
constexpr int kKeptAllocation = 1 << 30;  // bytes

// What travels behind the gradient in the one sum of a step.
enum Slot : std::int64_t { slot_loss, slot_targets, slot_tokens, slot_samples, slot_stop, slot_save, slots };

// Of several processes on a host each has a GPU of its own, unless one is named.
Device device_of(const TrainingOptions& options) {
    const Device device = choose_device(options.device);
    if (device.kind == Device::Kind::cpu || local_rank() == 0 || options.device.starts_with("cuda:")) return device;
    return choose_device("cuda:" + std::to_string(local_rank()));
}

// The loop. One object is one start of a run, on the thread that trains; every process of a run has one.
class Trainer {
public:
    Trainer(const TrainingOptions& options, std::unique_ptr<Communicator> communicator, std::optional<RunFolder> folder,
            TrainingObserver& observer, std::stop_token stop)
        : options_(options),
          communicator_(std::move(communicator)),
          report_(std::move(folder), observer),
          stop_(std::move(stop)) {}

    TrainingResult run(bool resume, const fs::path& path) {
        try {
            return run_to_its_end(resume, path);
        } catch (const std::exception& error) {
            if (RunFolder* const folder = report_.folder()) folder->log(std::string("Failed: ") + error.what());
            report_.status("failed", state_, steps_, error.what());
            throw;
        }
    }

private:
    TrainingResult run_to_its_end(bool resume, const fs::path& path) {
        const auto say = [this](const std::string& text) { report_.message(text); };
        report_.status("running", state_, 0, "opening data and model");
        TrainingOptions here = options_;
        here.device = name_of(device_of(options_));
        task_ = options_.task == "patches" ? make_patch_task(here, say, stop_) : make_caption_task(here, say, stop_);
        if (!task_) {
            report_.status("stopped", state_, 0);
            return {.end = TrainingEnd::stopped, .step = 0, .best_loss = 0.0, .checkpoint = {}};
        }
        if (task_->rows() == 0) throw ConfigError({.name = "data", .expected = "rows to learn from", .found = "none"});
        parameters_.emplace(task_->trainable(), scalar_type(*dtype_from_name(options_.dtype)));
        optimiser_.emplace(*parameters_, AdamWOptions{.weight_decay = options_.weight_decay,
                                                      .beta1 = options_.beta1,
                                                      .beta2 = options_.beta2,
                                                      .epsilon = options_.epsilon});
        const double rows = static_cast<double>(task_->rows());
        steps_ =
            options_.steps > 0
                ? options_.steps
                : static_cast<std::int64_t>(std::ceil(options_.epochs * rows / static_cast<double>(options_.batch)));
        if (!restore(resume, path)) return {.end = TrainingEnd::stopped};
        report_.message("Training " + std::to_string(parameters_->size()) + " numbers (" + options_.trainable +
                        "), steps " + std::to_string(state_.step) + " to " + std::to_string(steps_) + ", batch " +
                        std::to_string(options_.batch) + ", " + std::to_string(communicator_->size()) + " process(es)");
        if (const std::string remark = communicator_->remark(); !remark.empty()) report_.message(remark);
        report_.opened(task_->skipped());

        // Every step allocates the same large tensors: handing their pages back in between costs more than the sums on
        // them.
        ::mallopt(M_MMAP_THRESHOLD, kKeptAllocation);
        ::mallopt(M_TRIM_THRESHOLD, kKeptAllocation);
        last_checkpoint_ = Clock::now();
        TrainingEnd end = TrainingEnd::finished;
        while (state_.step < steps_) {
            wait_while_paused();
            const StepOutcome outcome = step();
            if (outcome.stopped) {
                end = TrainingEnd::stopped;
                break;
            }
            const bool last = state_.step == steps_;
            if (last || (options_.evaluate_every > 0 && state_.step % options_.evaluate_every == 0)) evaluate();
            const bool early = options_.early_stop > 0 && state_.without_improvement >= options_.early_stop;
            if (last || early || outcome.save || state_.step % options_.checkpoint_every == 0 || checkpoint_is_due())
                save();
            if (early) {
                end = TrainingEnd::early_stop;
                break;
            }
        }
        save_unsaved();
        const bool stopped = end == TrainingEnd::stopped;
        report_.end(stopped ? "stopped" : "finished", state_, steps_, name_of(end), !stopped);
        report_.message("Ended at step " + std::to_string(state_.step) + ": " + std::string(name_of(end)));
        return {.end = end,
                .step = state_.step,
                .best_loss = state_.best_step >= 0 ? state_.best_loss : 0.0,
                .checkpoint = checkpoint_};
    }

    using Clock = std::chrono::steady_clock;
    struct StepOutcome {
        bool stopped = false;
        bool save = false;
    };

    // The first process reads the checkpoint and hands it round. False: stopped meanwhile.
    bool restore(bool resume, const fs::path& path) {
        if (resume) {
            std::optional<RunState> state;
            if (RunFolder* const reader = report_.folder()) {
                if (const auto before = reader->read_fingerprint(); before && *before != task_->fingerprint())
                    throw ConfigError({.name = "data",
                                       .where = (path / "run.json").string(),
                                       .expected = "the rows this run was started with",
                                       .found = "others: files were added, removed or changed",
                                       .advice = "Restore the data, or start a new run from this run's model."});
                state = reader->read_checkpoint(*parameters_, *optimiser_);
            }
            if (!broadcast(state)) {
                report_.status("stopped", state_, 0);
                return false;
            }
            if (state) state_ = *state;
            saved_at_ = state_.step;
            if (state) checkpoint_ = path / "checkpoints" / ("step-" + std::to_string(saved_at_));
            report_.message(state ? "Resumed at step " + std::to_string(state_.step)
                                  : std::string("No whole checkpoint: begun again at step 0"));
        }
        report_.begin(options_, task_->fingerprint(), resume, state_, steps_);
        return true;
    }

    // The first process has read the checkpoint; to the others it comes as a sum in which they are zero.
    bool broadcast(std::optional<RunState>& state) {
        if (communicator_->size() == 1) return true;
        const bool first = communicator_->rank() == 0;
        for (const at::Tensor& tensor : {parameters_->values(), optimiser_->first_moment, optimiser_->second_moment}) {
            if (!first) tensor.zero_();
            if (!communicator_->sum(tensor)) return false;
        }
        // The state travels as its bytes, one number each: exact, so that all decide alike ever after.
        struct Parcel {
            RunState state;
            std::int64_t updates;
            std::int64_t found;
        } parcel{};
        static_assert(std::is_trivially_copyable_v<Parcel>);
        at::Tensor bytes = at::zeros({sizeof parcel}, at::kByte);
        if (first && state) {
            parcel = {*state, optimiser_->steps, 1};
            std::memcpy(bytes.data_ptr(), &parcel, sizeof parcel);
        }
        at::Tensor numbers = bytes.to(at::kFloat);
        if (!communicator_->sum(numbers)) return false;
        bytes = numbers.to(at::kByte);
        std::memcpy(&parcel, bytes.const_data_ptr(), sizeof parcel);
        if (parcel.found == 0) return true;
        state = parcel.state;
        optimiser_->steps = parcel.updates;
        return true;
    }

    void wait_while_paused() {
        RunFolder* const folder = report_.folder();
        if (folder == nullptr) return;
        RunFolder::Wish wish = folder->wish();
        if (wish == RunFolder::Wish::pause) {
            report_.status("paused", state_, steps_);
            report_.message("Paused at step " + std::to_string(state_.step));
            while (wish == RunFolder::Wish::pause && !stop_.stop_requested()) {
                std::this_thread::sleep_for(std::chrono::milliseconds(100));
                wish = folder->wish();
            }
            report_.status("running", state_, steps_);
            report_.message("Going on");
        }
        wants_stop_ = wants_stop_ || wish == RunFolder::Wish::stop;
        wants_save_ = wish == RunFolder::Wish::save;
    }

    // The training rows of this process's share of the step: the batch is cut into as many pieces as there are
    // processes.
    std::vector<std::uint64_t> rows_of_step() {
        const auto batch = static_cast<std::uint64_t>(options_.batch);
        const auto rank = static_cast<std::uint64_t>(communicator_->rank());
        const auto size = static_cast<std::uint64_t>(communicator_->size());
        const std::uint64_t begin = batch * rank / size, end = batch * (rank + 1) / size;
        std::vector<std::uint64_t> rows;
        for (std::uint64_t i = begin; i < end; ++i) {
            const std::uint64_t position = static_cast<std::uint64_t>(state_.step) * batch + i;
            if (task_->endless()) {
                rows.push_back(position);
                continue;
            }
            const std::uint64_t epoch = position / task_->rows();
            if (!epoch_ || *epoch_ != epoch) {
                order_ = shuffled(task_->rows(), options_.seed * 1'000'003 + epoch);
                epoch_ = epoch;
            }
            rows.push_back(order_[position % task_->rows()]);
        }
        return rows;
    }

    // The weights change after a whole sum only, so that when a process is gone those of the last step are good.
    bool sum(const at::Tensor& values) {
        try {
            return communicator_->sum(values);
        } catch (const TrainingError&) {
            save_unsaved();
            throw;
        }
    }

    StepOutcome step() {
        const auto begun = Clock::now();
        StepTimes times;
        const std::vector<std::uint64_t> rows = rows_of_step();
        const std::size_t at_once = options_.micro_batch > 0 ? static_cast<std::size_t>(options_.micro_batch)
                                                             : std::max<std::size_t>(1, rows.size());
        at::Tensor gradient = parameters_->gradient();
        gradient.zero_();
        // Sums of losses, not means, so that rows count alike however they are dealt out; the constant keeps fp16 in
        // range.
        const double scale = 1.0 / (16.0 * static_cast<double>(options_.batch));
        double loss_sum = 0.0;
        std::int64_t targets = 0;
        std::uint64_t tokens = 0, samples = 0;
        bool stop_now = stop_.stop_requested() || wants_stop_;
        for (std::size_t first = 0; first < rows.size() && !stop_now; first += at_once) {
            const auto prepared =
                task_->prepare(std::span(rows).subspan(first, std::min(at_once, rows.size() - first)), times);
            if (prepared->targets == 0) continue;
            parameters_->bind();
            const at::Tensor loss = task_->losses(*prepared, times).sum();
            loss_sum += loss.item<double>();
            StepTimer timer;
            torch::autograd::backward({loss * scale}, {});
            (options_.task == "patches" ? times.vision : times.language) += timer.lap();
            targets += prepared->targets;
            tokens += prepared->tokens;
            samples += prepared->ids.size();
            stop_now = stop_.stop_requested();
        }
        StepTimer timer;
        if (communicator_->size() > 1) {
            at::Tensor slots_tensor =
                at::tensor({static_cast<float>(loss_sum), static_cast<float>(targets), static_cast<float>(tokens),
                            static_cast<float>(samples), stop_now ? 1.0F : 0.0F, wants_save_ ? 1.0F : 0.0F});
            at::Tensor all = at::cat({gradient, slots_tensor.to(gradient.device())});
            if (!sum(all)) return {.stopped = true};
            gradient.copy_(all.narrow(0, 0, gradient.numel()));
            const at::Tensor summed = all.narrow(0, gradient.numel(), slots).to(at::kCPU);
            const float* const slot = summed.const_data_ptr<float>();
            loss_sum = slot[slot_loss];
            targets = static_cast<std::int64_t>(slot[slot_targets]);
            tokens = static_cast<std::uint64_t>(slot[slot_tokens]);
            samples = static_cast<std::uint64_t>(slot[slot_samples]);
            stop_now = slot[slot_stop] > 0;
            wants_save_ = slot[slot_save] > 0;
        }
        if (stop_now) return {.stopped = true};
        check_usable(samples);

        StepMetrics metrics{.step = state_.step + 1, .steps = steps_};
        const double per_target = 1.0 / (scale * static_cast<double>(std::max<std::int64_t>(1, targets)));
        metrics.loss = loss_sum / static_cast<double>(std::max<std::int64_t>(1, targets));
        metrics.grad_norm = gradient.norm().item<double>() * per_target;
        if (!std::isfinite(metrics.loss) || !std::isfinite(metrics.grad_norm)) not_finite(rows, metrics);
        const double clip =
            options_.clip > 0 && metrics.grad_norm > options_.clip ? options_.clip / metrics.grad_norm : 1.0;
        const double progress = (static_cast<double>(state_.step) + 0.5) / static_cast<double>(steps_);
        metrics.learning_rate =
            scheduled_rate(options_.learning_rate, options_.warmup, options_.schedule == "cosine", progress);
        if (targets > 0) optimiser_->step(*parameters_, metrics.learning_rate, per_target * clip);
        times.optimiser += timer.lap();

        state_.step += 1;
        state_.samples += samples;
        state_.clipped += clip < 1.0 ? 1 : 0;
        state_.loss_ema = kEmaDecay * state_.loss_ema + (1.0 - kEmaDecay) * metrics.loss;
        const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
        state_.elapsed_s += seconds;
        report(metrics, times, seconds, tokens, samples);
        return {.stopped = false, .save = wants_save_};
    }

    // A run over nothing but broken rows would end without having learned anything.
    void check_usable(std::uint64_t samples) {
        constexpr std::uint64_t telling = 4096;
        const std::uint64_t looked_at =
            static_cast<std::uint64_t>(state_.step + 1) * static_cast<std::uint64_t>(options_.batch);
        const bool enough = looked_at >= std::min(task_->rows(), telling) || state_.step + 1 == steps_;
        if (state_.samples + samples > 0 || !enough) return;
        report_.left_out(task_->skipped());
        std::string reasons;
        for (const std::string& line : task_->skipped().lines()) reasons += (reasons.empty() ? "" : "; ") + line;
        throw TrainingError({.name = "data",
                             .where = options_.data.path.string(),
                             .expected = "rows that can be used",
                             .found = "none among the first " + std::to_string(std::min(looked_at, task_->rows())) +
                                      " (" + reasons + ")"});
    }

    void report(StepMetrics& metrics, const StepTimes& times, double seconds, std::uint64_t tokens,
                std::uint64_t samples) {
        const double steps_done = static_cast<double>(state_.step);
        metrics.loss_ema = state_.loss_ema / (1.0 - std::pow(kEmaDecay, steps_done));
        metrics.clipped_share = static_cast<double>(state_.clipped) / steps_done;
        metrics.tokens = tokens;
        metrics.samples = state_.samples;
        metrics.tokens_per_s = static_cast<double>(tokens) / seconds;
        metrics.samples_per_s = static_cast<double>(samples) / seconds;
        metrics.data_s = times.data;
        metrics.vision_s = times.vision;
        metrics.language_s = times.language;
        metrics.optimiser_s = times.optimiser;
        metrics.elapsed_s = state_.elapsed_s;
        metrics.eta_s = state_.elapsed_s / steps_done * static_cast<double>(steps_ - state_.step);
        metrics.resident_bytes = resident_bytes();
        metrics.peak_bytes = peak_resident_bytes();
        report_.step(metrics, state_);
    }

    // The weights have not changed yet. Leaves a checkpoint, finds the row by computing each one alone, and ends the
    // run.
    [[noreturn]] void not_finite(const std::vector<std::uint64_t>& rows, const StepMetrics& metrics) {
        save_unsaved();
        std::string culprit = communicator_->size() > 1 ? "a row of another process, or " : "";
        culprit += "all rows together";
        for (const std::uint64_t row : rows) {
            StepTimes times;
            const auto prepared = task_->prepare({&row, 1}, times);
            if (prepared->targets == 0) continue;
            parameters_->gradient().zero_();
            parameters_->bind();
            const at::Tensor loss = task_->losses(*prepared, times).sum();
            torch::autograd::backward({loss}, {});
            if (std::isfinite(loss.item<double>()) && std::isfinite(parameters_->gradient().norm().item<double>()))
                continue;
            culprit = prepared->ids.front();
            break;
        }
        at::Tensor nothing = at::zeros({1});
        (void)sum(nothing);  // the first to leave ends the job: none does while another is still looking
        const bool loss = !std::isfinite(metrics.loss);
        throw TrainingError({.name = loss ? "loss" : "gradient",
                             .where = "step " + std::to_string(state_.step + 1) + ", " + culprit,
                             .expected = "a finite number",
                             .found = std::to_string(loss ? metrics.loss : metrics.grad_norm),
                             .advice = "The weights are as before this step. Look at that row; else a lower "
                                       "learning_rate, or dtype fp32, often helps."});
    }

    void evaluate() {
        if (task_->validation_rows() == 0) return;
        parameters_->bind_frozen();
        const std::uint64_t at_once = static_cast<std::uint64_t>(
            std::clamp<std::int64_t>(options_.micro_batch > 0 ? options_.micro_batch : options_.batch, 2, 64));
        const auto size = static_cast<std::uint64_t>(communicator_->size());
        EvaluationSums sums;
        std::uint64_t piece = 0;
        for (std::uint64_t first = 0; first < task_->validation_rows(); first += at_once, ++piece) {
            if (piece % size != static_cast<std::uint64_t>(communicator_->rank())) continue;
            const EvaluationSums part = task_->evaluate(first, std::min(at_once, task_->validation_rows() - first));
            sums.loss += part.loss;
            sums.shuffled_loss += part.shuffled_loss;
            sums.correct += part.correct;
            sums.targets += part.targets;
        }
        if (size > 1) {
            at::Tensor all = at::tensor({static_cast<float>(sums.loss), static_cast<float>(sums.shuffled_loss),
                                         static_cast<float>(sums.correct), static_cast<float>(sums.targets)});
            if (!sum(all)) return;
            const float* const at = all.const_data_ptr<float>();
            sums = {.loss = at[0], .shuffled_loss = at[1], .correct = at[2], .targets = at[3]};
        }
        if (sums.targets == 0) return;
        EvaluationMetrics metrics;
        metrics.step = state_.step;
        metrics.loss = sums.loss / sums.targets;
        metrics.shuffled_loss = sums.shuffled_loss / sums.targets;
        metrics.accuracy = sums.correct / sums.targets;
        metrics.best = metrics.loss < state_.best_loss;
        state_.without_improvement = metrics.best ? 0 : state_.without_improvement + 1;
        if (metrics.best) {
            state_.best_loss = metrics.loss;
            state_.best_step = state_.step;
        }
        improved_ = metrics.best;
        if (report_.folder() == nullptr) return;
        metrics.samples = task_->sample_captions(stop_);
        report_.evaluation(metrics);
    }

    bool checkpoint_is_due() {
        // Every process must come to the same answer only where saving takes part in a sum; it does not.
        return (improved_ && state_.best_step == state_.step) ||
               (options_.checkpoint_minutes > 0 &&
                Clock::now() - last_checkpoint_ > std::chrono::duration<double>(options_.checkpoint_minutes * 60.0));
    }

    void save_unsaved() {
        if (saved_at_ != state_.step) save();
    }

    void save() {
        last_checkpoint_ = Clock::now();
        improved_ = false;
        saved_at_ = state_.step;
        RunFolder* const folder = report_.folder();
        if (folder == nullptr) return;
        parameters_->bind_frozen();
        report_.left_out(task_->skipped());
        checkpoint_ = folder->write_checkpoint(*task_, *parameters_, *optimiser_, state_, options_.keep);
        report_.message("Checkpoint " + checkpoint_.filename().string());
    }

    TrainingOptions options_;
    std::unique_ptr<Communicator> communicator_;
    RunReport report_;
    std::stop_token stop_;
    std::unique_ptr<TrainingTask> task_;
    std::optional<FlatParameters> parameters_;
    std::optional<AdamW> optimiser_;
    RunState state_;
    std::int64_t steps_ = 0, saved_at_ = 0;
    std::vector<std::uint32_t> order_;
    std::optional<std::uint64_t> epoch_;
    bool wants_stop_ = false, wants_save_ = false, improved_ = false;
    Clock::time_point last_checkpoint_;
    fs::path checkpoint_;
};

}  // namespace

std::string_view name_of(TrainingEnd end) {
    switch (end) {
        case TrainingEnd::finished: return "finished";
        case TrainingEnd::early_stop: return "early_stop";
        case TrainingEnd::stopped: return "stopped";
    }
    return "?";
}

TrainingResult train(const TrainingOptions& options, const fs::path& folder, TrainingObserver& observer,
                     std::stop_token stop) {
    check_training_options(options, "run.json");
    auto communicator = make_communicator(torch_device(device_of(options)), stop);
    std::optional<RunFolder> run;
    if (communicator->rank() == 0) {
        run.emplace(RunFolder::create(folder));
        run->write_options(options, 0);  // what was asked for stands there even when the data cannot be opened
    }
    return Trainer(options, std::move(communicator), std::move(run), observer, std::move(stop)).run(false, folder);
}

TrainingResult resume_training(const fs::path& folder, const std::vector<std::pair<std::string, std::string>>& changes,
                               TrainingObserver& observer, std::stop_token stop) {
    const fs::path file = folder / "run.json";
    if (!fs::exists(file))
        throw FileError({.name = "run.json",
                         .where = folder.string(),
                         .expected = "a run to resume",
                         .found = "none",
                         .advice = "Start one without --resume first."});
    TrainingOptions options = training_options_from_json(ReadOnlyFile(file).read_all(), file.string());
    for (const auto& [key, value] : changes) set_training_option(options, key, value);
    check_training_options(options, file.string());
    auto communicator = make_communicator(torch_device(device_of(options)), stop);
    std::optional<RunFolder> run;
    if (communicator->rank() == 0) run.emplace(RunFolder::open(folder));
    return Trainer(options, std::move(communicator), std::move(run), observer, std::move(stop)).run(true, folder);
}

}  // namespace vitrine
