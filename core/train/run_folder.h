#pragma once

#include "core/train/optimizer.h"
#include "core/train/task.h"
#include "core/training.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace vitrine {

// Where a run stands, beside its weights.
struct RunState {
    std::int64_t step = 0;
    std::uint64_t samples = 0;
    double loss_ema = 0.0;  // not yet corrected for the start
    double elapsed_s = 0.0;
    std::int64_t clipped = 0;
    double best_loss = 1e300;
    std::int64_t best_step = -1;
    int without_improvement = 0;
};

// A run's folder, the whole interface between a training process and whoever watches it:
//   run.json        every option, and program version and fingerprint of the data under keys that begin with "_"
//   metrics.jsonl   a line a step, a line an evaluation ("validation_loss"), a line a start ("event")
//   log.txt         what happened, for people
//   status.json     state (running, paused, finished, stopped, failed), process id, step, reason
//   control         written by the watcher: one word, "pause", "run", "save" or "stop"
//   skipped.json    rows that were left out: how many for each reason, and the first of them
//   samples/        step-N.json: captions of the fixed pictures
//   checkpoints/    step-N/: a model folder, with `state` to resume from
//   model           link to the best checkpoint, or to the last where nothing is validated
// Every file is written whole or not at all, but for the ends of metrics.jsonl and log.txt. One process writes; a
// second one is refused. Throws FileError.
class RunFolder {
public:
    enum class Wish : std::uint8_t { none, pause, save, stop };

    static RunFolder create(const std::filesystem::path& folder);  // new or empty
    static RunFolder open(const std::filesystem::path& folder);
    RunFolder(RunFolder&& other) noexcept;
    RunFolder& operator=(RunFolder&&) = delete;
    ~RunFolder();

    const std::filesystem::path& path() const { return path_; }
    void write_options(const TrainingOptions& options, std::uint64_t fingerprint);  // 0: not known yet
    TrainingOptions read_options() const;
    std::optional<std::uint64_t> read_fingerprint() const;

    void append_metrics(const std::string& json_line);
    void log(std::string_view text);
    void status(std::string_view state, const RunState& run, std::int64_t steps, std::string_view reason = {});
    Wish wish();  // what the watcher asks for; "save" and "stop" are asked once
    void write_skipped(const SkipReport& report);
    void write_samples(std::int64_t step, const std::vector<std::pair<std::string, std::string>>& captions);

    // Makes checkpoints/step-N, points `model` at the right one, removes what `keep` does not cover. When the disk is
    // full the checkpoints before stay as they were.
    std::filesystem::path write_checkpoint(TrainingTask& task, const FlatParameters& parameters, const AdamW& optimiser,
                                           const RunState& state, int keep);
    // Fills parameters, optimiser and state from the newest whole checkpoint; nullopt when there is none.
    std::optional<RunState> read_checkpoint(FlatParameters& parameters, AdamW& optimiser);

private:
    explicit RunFolder(std::filesystem::path path);

    std::filesystem::path path_;
    int lock_ = -1, metrics_ = -1, log_ = -1;
};

}  // namespace vitrine
