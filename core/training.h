#pragma once

#include "core/types.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

// Training as everything in front of core sees it: the options of a run, what it reports, and how to start one. No
// torch type, no Qt type.
namespace vitrine {

// Where the pictures and texts come from: files (core/train/dataset.h), or scenes that Vitrine draws itself.
struct DataOptions {
    std::filesystem::path path;  // a file or folder; empty with scenes
    std::string format = "auto";
    std::filesystem::path pictures;
    std::vector<std::string> prompts{"Describe this picture."};
    std::uint64_t limit = 0;

    bool scenes = false;
    std::uint64_t scenes_seed = 1;
    std::uint64_t scenes_count = 0;        // 0: a fresh scene for every sample
    std::string scenes_content = "mixed";  // "captions", "questions", "mixed"
    int scenes_turns = 4;
    double scenes_caption_share = 0.5;
};

// All of run.json. Key names there are the member names.
struct TrainingOptions {
    std::filesystem::path model;  // a model folder; its parts are what is trained or stays frozen
    DataOptions data;
    DataOptions validation_data;             // neither path nor scenes: a share of `data` is held out
    std::uint64_t validation_samples = 256;  // how many rows an evaluation looks at; 0: no validation

    std::string task = "captions";        // "captions"; "patches": the tower learns what covers each patch of a scene
    std::string trainable = "projector";  // "projector", "projector+language", "all"; "vision" for the task "patches"
    std::string initial_projector = "model";  // "model": as it is; "random": from nothing
    std::string dtype = "bf16";       // of the computation and the frozen weights; what is trained is kept in fp32
    std::string save_dtype = "bf16";  // of trained towers in the checkpoints' model files; projectors stay fp32
    std::string device = "auto";
    int threads = 0;

    std::int64_t steps = 0;  // 0: `epochs` decides
    double epochs = 1.0;
    std::int64_t batch = 32;         // rows of a step, over all processes
    std::int64_t micro_batch = 0;    // rows at a time in one process; 0: as many as it has
    std::int64_t max_length = 2048;  // tokens of a row; longer ones are left out

    double learning_rate = 1e-3;
    double warmup = 0.03;             // share of the run in which the rate rises from 0
    std::string schedule = "cosine";  // then down to 0; or "constant"
    double weight_decay = 0.0;        // on matrices only
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    double clip = 1.0;  // of the gradient's norm; 0: off
    bool gradient_checkpointing = false;
    std::uint64_t seed = 0;

    std::int64_t evaluate_every = 200;    // steps; 0: only at the end
    std::int64_t checkpoint_every = 200;  // steps; the end always leaves one
    double checkpoint_minutes = 10.0;     // and after so many minutes; 0: off
    int keep = 3;                         // the last so many checkpoints, beside the best
    int early_stop = 0;                   // evaluations without improvement; 0: off
    int sample_pictures = 4;              // fixed pictures that are captioned at each evaluation

    bool cache_features = true;   // of the frozen tower, on disk
    std::filesystem::path cache;  // empty: the user's cache folder
};

// Throws ConfigError for an unknown key, a wrong type or a value out of range, naming key, file and what fits.
TrainingOptions training_options_from_json(const std::string& text, const std::string& where);
std::string to_json(const TrainingOptions& options);  // every option, readable
// What holds between options: ConfigError where two of them do not fit. train() and resume_training() ask it.
void check_training_options(const TrainingOptions& options, const std::string& where);
// Makes the paths absolute: relative ones start at `base`.
void resolve_paths(TrainingOptions& options, const std::filesystem::path& base);
// "steps", "100" -> sets the option as run.json would; dots reach into data: "data.path".
void set_training_option(TrainingOptions& options, const std::string& key, const std::string& value);

struct StepMetrics {
    std::int64_t step = 0;   // finished steps
    std::int64_t steps = 0;  // of the whole run, as far as known
    double loss = 0.0;       // mean over the target tokens of the step
    double loss_ema = 0.0;   // with weight 0.98 on the past, corrected for the start
    double learning_rate = 0.0;
    double grad_norm = 0.0;      // before clipping
    double clipped_share = 0.0;  // of all steps so far
    std::uint64_t tokens = 0;    // of this step, padding left out
    std::uint64_t samples = 0;   // so far
    double tokens_per_s = 0.0;
    double samples_per_s = 0.0;
    double data_s = 0.0;  // where the step's time went
    double vision_s = 0.0;
    double language_s = 0.0;  // forward and backward
    double optimiser_s = 0.0;
    double elapsed_s = 0.0;  // training, over all starts
    double eta_s = 0.0;
    std::uint64_t resident_bytes = 0;
    std::uint64_t peak_bytes = 0;
};

struct EvaluationMetrics {
    std::int64_t step = 0;
    double loss = 0.0;
    double shuffled_loss = 0.0;  // each text beside another row's picture; the gap is what pictures contribute
    double accuracy = 0.0;       // share of target tokens that come out on top
    bool best = false;
    std::vector<std::pair<std::string, std::string>> samples;  // picture key, caption
};

// The lines of metrics.jsonl.
std::string to_json(const StepMetrics& metrics);
std::string to_json(const EvaluationMetrics& metrics);

// Called on the thread that trains, of the first process only.
class TrainingObserver {
public:
    virtual ~TrainingObserver() = default;
    virtual void on_message(std::string_view /*text*/) {}  // for people: a line of log.txt
    virtual void on_step(const StepMetrics& /*metrics*/) {}
    virtual void on_evaluation(const EvaluationMetrics& /*metrics*/) {}
};

enum class TrainingEnd : std::uint8_t { finished, early_stop, stopped };
std::string_view name_of(TrainingEnd end);

struct TrainingResult {
    TrainingEnd end = TrainingEnd::finished;
    std::int64_t step = 0;
    double best_loss = 0.0;            // of the validation
    std::filesystem::path checkpoint;  // the last; a model folder
};

// Starts a run in `folder` (new or empty) or, with resume_training, goes on from its newest whole checkpoint: an fp32
// run on the CPU then ends bit-equal to an unbroken one. A stop leaves a checkpoint. Both throw Error: MemoryError with
// the numbers before anything large is allocated, TrainingError when a loss or gradient is not finite (the weights are
// then as before the step), FileError when the disk is full (the checkpoint before stays good).
TrainingResult train(const TrainingOptions& options, const std::filesystem::path& folder, TrainingObserver& observer,
                     std::stop_token stop = {});
// `changes` are applied to the options of run.json: {"steps", "2000"} extends a run.
TrainingResult resume_training(const std::filesystem::path& folder,
                               const std::vector<std::pair<std::string, std::string>>& changes,
                               TrainingObserver& observer, std::stop_token stop = {});

}  // namespace vitrine
