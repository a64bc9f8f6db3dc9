#pragma once

#include "core/model/parameters.h"
#include "core/train/dataset.h"
#include "core/training.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace vitrine {

// Where the time of a step goes, in seconds.
struct StepTimes {
    double data = 0.0;
    double vision = 0.0;
    double language = 0.0;
    double optimiser = 0.0;
};

// Rows of a data set, made ready: what a task computes its loss from.
struct PreparedRows {
    virtual ~PreparedRows() = default;
    std::vector<std::string> ids;  // of the samples, for messages
    std::int64_t targets = 0;      // what the loss is a mean over
    std::uint64_t tokens = 0;      // positions computed, padding left out
};

// Sums over targets, to be divided by their number.
struct EvaluationSums {
    double loss = 0.0;
    double shuffled_loss = 0.0;
    double correct = 0.0;
    double targets = 0.0;
};

// What is learned from what. The loop (trainer.cpp) knows batches, gradients, schedules and checkpoints; a task knows
// pictures, texts and the model. Belongs to the thread that trains.
class TrainingTask {
public:
    virtual ~TrainingTask() = default;

    virtual ParameterList trainable() = 0;
    virtual std::uint64_t rows() const = 0;  // of the training data; endless data has more than a run can ask for
    virtual bool endless() const = 0;        // fresh rows in order, instead of epochs in random order
    virtual std::uint64_t fingerprint() const = 0;  // of the training data
    virtual const SkipReport& skipped() const = 0;  // grows while rows turn out to be unusable

    // Rows that cannot be used (a picture that cannot be decoded, a text that is too long) are left out and reported;
    // the result may be empty.
    virtual std::unique_ptr<PreparedRows> prepare(std::span<const std::uint64_t> rows, StepTimes& times) = 0;
    // Of each target, [N] fp32, differentiable in the trainable parameters.
    virtual at::Tensor losses(const PreparedRows& rows, StepTimes& times) = 0;

    virtual std::uint64_t validation_rows() const = 0;
    virtual EvaluationSums evaluate(std::uint64_t first, std::uint64_t count) = 0;  // of the validation rows
    virtual std::vector<std::pair<std::string, std::string>> sample_captions(std::stop_token stop) = 0;

    // Writes the parts of a model folder into `folder`, which exists: what was trained as files, the rest by name.
    virtual void write_model(const std::filesystem::path& folder, const std::string& training_note) = 0;
};

using TaskMessage = std::function<void(const std::string&)>;

// Opens the data, checks that the run fits into memory (MemoryError), then loads the model. Throws Error; nullptr when
// stopped.
std::unique_ptr<TrainingTask> make_caption_task(const TrainingOptions& options, const TaskMessage& say,
                                                std::stop_token stop);
std::unique_ptr<TrainingTask> make_patch_task(const TrainingOptions& options, const TaskMessage& say,
                                              std::stop_token stop);

}  // namespace vitrine
