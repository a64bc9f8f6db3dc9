#pragma once

#include "core/model/parameters.h"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace vitrine {

// One stage of a forward pass beside the same stage computed by the reference.
struct StageComparison {
    std::string stage;     // as in ForwardObserver, or "glue.logits", "batch.logits", "language.logits.cached", ...
    double max_abs = 0.0;  // of ours minus theirs
    double mean_abs = 0.0;
    double tolerance = 0.0;           // what max_abs may be; 0 where another rule holds
    double agreement = -1.0;          // share of the sure positions with the reference's argmax; -1: not looked at
    std::int64_t sure_positions = 0;  // those where the reference's margin exceeds the noise
    bool ok = false;
};

struct Verification {
    std::vector<StageComparison> stages;  // in the order of computation
    std::string worst;                    // the stage that used most of its tolerance
    std::string first_difference;         // the first stage that is not ok; empty when all are
    bool ok() const { return first_difference.empty() && !stages.empty(); }
};

// Compares a model with reference activations, stage by stage and layer by layer. `model` is a model folder, or a
// vision or language checkpoint alone; `reference` is a safetensors file with inputs (vision.pixel_values,
// language.input_ids, batch.*, glue.*) and the activations computed from them, named as in ForwardObserver. What the
// file does not hold is not compared; a file that holds nothing comparable is a WeightsError.
//
// In fp32 every stage has a tolerance: 1e-4 for the tower, 1e-3 for projector and language model, both times the
// stage's mean magnitude where that exceeds 1 (inner layers only: the outputs' tolerance is absolute). In bf16 and fp16
// the logits count: the same argmax at 99 % of the positions where the reference's margin exceeds the noise, and inner
// stages may be off by 10 % of their magnitude on average. Besides, the cached pass (prefill, then one position at a
// time) is held against the same logits.
Verification verify(const std::filesystem::path& model, const std::filesystem::path& reference,
                    const WeightTarget& target, const std::function<void(const StageComparison&)>& on_stage = {});

}  // namespace vitrine
