#pragma once

#include "core/train/run_folder.h"
#include "core/train/tensorboard.h"
#include "core/training.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace vitrine {

// Where a run's news goes: its folder, its TensorBoard file and the observer. Only the first process has a folder; in
// the others every call does nothing. Belongs to the thread that trains. Throws FileError.
class RunReport {
public:
    RunReport(std::optional<RunFolder> folder, TrainingObserver& observer)
        : folder_(std::move(folder)), observer_(observer) {}

    RunFolder* folder() { return folder_ ? &*folder_ : nullptr; }  // null in all processes but the first

    void message(const std::string& text);
    void status(std::string_view state, const RunState& run, std::int64_t steps, std::string_view reason = {});
    // Options and fingerprint are known, a checkpoint has been read or not: what follows is steps.
    void begin(const TrainingOptions& options, std::uint64_t fingerprint, bool resumed, const RunState& run,
               std::int64_t steps);
    // Rows that were left out while the data was opened, said there already.
    void opened(const SkipReport& report);
    void left_out(const SkipReport& report);  // says what has come since
    void step(const StepMetrics& metrics, const RunState& run);
    void evaluation(const EvaluationMetrics& metrics);
    void end(std::string_view state, const RunState& run, std::int64_t steps, std::string_view reason, bool for_good);

private:
    void open_board(const TrainingOptions& options, std::int64_t step);

    std::optional<RunFolder> folder_;
    TrainingObserver& observer_;
    std::unique_ptr<TensorBoardWriter> board_;
    std::uint64_t left_out_ = 0;
    std::chrono::steady_clock::time_point last_status_;
};

}  // namespace vitrine
