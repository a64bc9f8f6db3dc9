#pragma once

#include "core/device.h"
#include "core/types.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace vitrine {

struct LoadOptions {
    std::string device = "auto";
    std::optional<DType> dtype;   // absent: the dtype the language model is stored in
    int threads = 0;              // of the CPU; 0: as many as there are cores
    std::int64_t context = 8192;  // positions a conversation may fill, at most the model's own limit
};

// What was loaded, for people to read.
struct ModelSummary {
    std::string name;
    std::string about;  // what the model can and cannot do, as its folder says; may be empty
    Device device;
    DType dtype = DType::float32;
    int threads = 0;
    std::int64_t vision_parameters = 0;
    std::int64_t projector_parameters = 0;
    std::int64_t language_parameters = 0;
    std::uint64_t weight_bytes = 0;     // as loaded
    std::uint64_t estimated_bytes = 0;  // of everything, predicted before loading
    std::int64_t context = 0;
    int image_size = 0;
    int patches_per_picture = 0;
    double load_ms = 0.0;
    std::vector<std::pair<std::string, std::string>> presets;  // name, prompt
    std::vector<std::string> warnings;
};

class Recording;

struct StageTiming {
    std::string stage;  // "preprocess", "vision", "projector", "prompt", "prefill", "decode"
    std::string shape;  // of what the stage produced, "[1, 196, 768]"
    double ms = 0.0;
};

// Called on the thread that runs the job. Every function may be left as it is.
class EngineObserver {
public:
    virtual ~EngineObserver() = default;
    virtual void on_load_progress(std::uint64_t /*done*/, std::uint64_t /*total*/) {}
    virtual void on_stage(const StageTiming& /*timing*/) {}
    virtual void on_token(const TokenEvent& /*event*/) {}
    // With GenerationOptions::record, before the first token: the answer that is about to be made, open to view.
    virtual void on_recording(const std::shared_ptr<const Recording>& /*recording*/) {}
};

// One loaded model and the conversation whose keys and values are still at hand: a prompt that begins like the last one
// is not computed again. Not thread-safe: everything is called from one thread, normally an EngineThread's.
class Engine {
public:
    Engine();
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    // Refuses with MemoryError, naming the numbers and what would fit, before anything large is allocated. A model
    // loaded before is unloaded first. nullopt when stopped. Throws Error.
    std::optional<ModelSummary> load(const std::filesystem::path& model_folder, const LoadOptions& options,
                                     EngineObserver& observer, std::stop_token stop = {});
    void unload();
    const std::optional<ModelSummary>& loaded() const;

    // Answers the last message. Throws InputError when nothing is loaded, no message is given or the prompt is longer
    // than the context; a stop is a finish reason, not an error.
    GenerationResult generate(std::span<const Message> messages, const GenerationOptions& options,
                              EngineObserver& observer, std::stop_token stop = {});

    // Opens an answer that is there already, the last message, as if it had just been generated. nullptr when stopped.
    // Throws as generate() does.
    std::shared_ptr<const Recording> record(std::span<const Message> messages, EngineObserver& observer,
                                            std::stop_token stop = {});

private:
    void check_ready(std::span<const Message> messages) const;
    void check_length(std::int64_t length) const;

    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// Runs jobs on one Engine, in order, on a thread of its own named "engine". Destroying it stops the running job, drops
// the waiting ones and joins.
class EngineThread {
public:
    using Job = std::function<void(Engine&, std::stop_token)>;

    // One job's own stop switch and its end; an exception of the job comes out of finished.get().
    struct Handle {
        std::stop_source stop;
        std::shared_future<void> finished;
    };

    EngineThread();
    ~EngineThread();
    EngineThread(const EngineThread&) = delete;
    EngineThread& operator=(const EngineThread&) = delete;

    Handle submit(Job job);

private:
    struct Entry {
        std::packaged_task<void(Engine&)> task;
        std::stop_source stop;
    };
    void run(std::stop_token quit);

    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::deque<Entry> waiting_;
    std::optional<std::stop_source> running_;
    std::jthread thread_;  // last: joined before the rest goes
};

}  // namespace vitrine
