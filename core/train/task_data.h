#pragma once

#include "core/model/vlm.h"
#include "core/train/dataset.h"
#include "core/train/task.h"

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

// What both tasks are made from: the rows to learn from, those held out, and the model.
namespace vitrine {

class StepTimer {
public:
    double lap() {
        const auto now = std::chrono::steady_clock::now();
        return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
    }

private:
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Rows by number, 0 to rows - 1: training rows and validation rows never overlap. A share of one data set is held out
// by a shuffle of its rows with the run's seed; scenes are held out by another seed.
class TrainingData {
public:
    // Throws Error; nullopt when stopped.
    static std::optional<TrainingData> open(const TrainingOptions& options, const TaskMessage& say,
                                            std::stop_token stop);

    const Dataset& training() const { return *training_; }
    const Dataset& validation() const { return *(validation_ ? validation_ : training_); }
    std::uint64_t training_rows() const { return endless_ ? training_->size() : training_order_.size(); }
    std::uint64_t validation_rows() const { return validation_rows_; }
    std::uint64_t training_index(std::uint64_t row) const { return endless_ ? row : training_order_[row]; }
    std::uint64_t validation_index(std::uint64_t row) const {
        return validation_order_.empty() ? row : validation_order_[row];
    }
    bool endless() const { return endless_; }
    SkipReport skipped() const { return training_->skipped(); }
    std::int64_t typical_text_tokens() const { return typical_text_tokens_; }

private:
    std::shared_ptr<Dataset> training_, validation_;
    std::vector<std::uint32_t> training_order_, validation_order_;
    std::uint64_t validation_rows_ = 0;
    bool endless_ = false;
    std::int64_t typical_text_tokens_ = 64;
};

// At the peak of a step, everything included; what decides is written beside it in the source.
std::uint64_t expected_training_bytes(const TrainingOptions& options, const Qwen3Config& language,
                                      const SiglipConfig& vision, std::int64_t text_tokens);

struct LoadedForTraining {
    VisionLanguageModel model;
    TrainingData data;
    at::Device device;
};
std::optional<LoadedForTraining> load_for_training(const TrainingOptions& options, const TaskMessage& say,
                                                   std::stop_token stop);

std::filesystem::path default_cache_folder();  // XDG_CACHE_HOME/vitrine/features

// A permutation of 0 to count - 1, the same for a seed on every machine.
std::vector<std::uint32_t> shuffled(std::uint64_t count, std::uint64_t seed);

}  // namespace vitrine
