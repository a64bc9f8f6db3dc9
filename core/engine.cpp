#include "core/engine.h"

#include "core/error.h"
#include "core/generate/generator.h"
#include "core/kernels/thread_pool.h"
#include "core/model/description.h"
#include "core/model/vlm.h"

#include <ATen/ATen.h>

#include <pthread.h>

#include <algorithm>
#include <chrono>

namespace vitrine {
namespace {

constexpr std::int64_t kCacheStep = 256;  // positions by which the KV cache grows

class Stopwatch {
public:
    double lap() {  // milliseconds since the lap before
        const auto now = std::chrono::steady_clock::now();
        return std::chrono::duration<double, std::milli>(now - std::exchange(start_, now)).count();
    }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::uint64_t picture_key(const Image& image) {  // FNV-1a over size and pixels
    std::uint64_t hash = 14695981039346656037ULL;
    const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 1099511628211ULL; };
    mix(static_cast<std::uint64_t>(image.width));
    mix(static_cast<std::uint64_t>(image.height));
    for (const std::uint8_t value : image.rgb) mix(value);
    return hash;
}

// What stands at every position of a prompt: the token id, or which patch of which picture. Equal keys, equal
// embedding.
std::vector<std::uint64_t> position_keys(const Prompt& prompt) {
    std::vector<std::uint64_t> keys(prompt.ids.begin(), prompt.ids.end());
    for (const PictureSpan& span : prompt.pictures) {
        const std::uint64_t key = picture_key(*span.picture) | (1ULL << 63);
        for (std::int64_t i = 0; i < span.count; ++i)
            keys[static_cast<std::size_t>(span.begin + i)] = key + static_cast<std::uint64_t>(i);
    }
    return keys;
}

void refuse_if_too_large(const MemoryEstimate& estimate, const ModelFolder& folder, const Qwen3Config& language,
                         const SiglipConfig& vision, DType dtype, Device device, std::int64_t context) {
    const DeviceMemory memory = memory_of(device);
    if (estimate.total() <= memory.available) return;
    const bool half_fits = dtype == DType::float32 &&
                           estimate_memory(language, vision, DType::bfloat16, context).total() <= memory.available;
    const std::string advice = half_fits ? "With --dtype bf16 it would fit."
                               : estimate.weights <= memory.available && estimate.kv_cache > memory.available / 4
                                   ? "A smaller --context would need less."
                                   : "Close other programs, or take a smaller model.";
    throw MemoryError(
        {.name = folder.name + " in " + std::string(name_of(dtype)),
         .where = name_of(device),
         .expected = "at most " + size_text(memory.available) + " (free of " + size_text(memory.total) + ")",
         .found = size_text(estimate.total()) + " needed (weights " + size_text(estimate.weights) + ", KV cache for " +
                  std::to_string(context) + " positions " + size_text(estimate.kv_cache) + ", working memory " +
                  size_text(estimate.working) + ")",
         .advice = advice});
}

}  // namespace

struct Engine::Impl {
    std::optional<VisionLanguageModel> model;
    std::optional<ModelSummary> summary;
    std::optional<KvCache> cache;
    std::vector<std::uint64_t> cached_keys;  // one for each position in the cache

    // The cache with room for `positions`, holding as much of `keys` as the conversation before left in it.
    KvCache& prepare_cache(const std::vector<std::uint64_t>& keys, std::int64_t positions) {
        const auto mismatch = std::mismatch(keys.begin(), keys.end(), cached_keys.begin(), cached_keys.end()).first;
        // The last position is always computed: its logits choose the first token.
        const auto common = std::min<std::int64_t>(mismatch - keys.begin(), static_cast<std::int64_t>(keys.size()) - 1);
        const std::int64_t capacity = (positions + kCacheStep - 1) / kCacheStep * kCacheStep;
        if (!cache) cache.emplace(model->language().config(), 1, capacity, model->language().options());
        cache->truncate(common);
        cache->reserve(capacity);
        cached_keys.resize(static_cast<std::size_t>(cache->length()));
        return *cache;
    }
};

Engine::Engine() : impl_(std::make_unique<Impl>()) {}
Engine::~Engine() = default;

const std::optional<ModelSummary>& Engine::loaded() const {
    return impl_->summary;
}

void Engine::unload() {
    *impl_ = Impl{};
}

std::optional<ModelSummary> Engine::load(const std::filesystem::path& model_folder, const LoadOptions& options,
                                         EngineObserver& observer, std::stop_token stop) {
    unload();
    Stopwatch watch;
    use_threads(options.threads);
    const ModelFolder folder = ModelFolder::open(model_folder);
    const Qwen3Config language = Qwen3Config::from_folder(folder.language);
    const SiglipConfig vision = SiglipConfig::from_folder(folder.vision);

    ModelSummary summary;
    summary.name = folder.name;
    summary.device = choose_device(options.device);
    summary.dtype = options.dtype.value_or(default_dtype(language));
    summary.context = std::min(options.context, language.max_position_embeddings);
    const MemoryEstimate estimate = estimate_memory(language, vision, summary.dtype, summary.context);
    refuse_if_too_large(estimate, folder, language, vision, summary.dtype, summary.device, summary.context);

    const c10::InferenceMode inference;
    impl_->model = VisionLanguageModel::load(
        folder, {scalar_type(summary.dtype), torch_device(summary.device)},
        [&](std::uint64_t done, std::uint64_t total) { observer.on_load_progress(done, total); }, stop);
    if (!impl_->model) return std::nullopt;

    summary.threads = kernels::num_threads();
    summary.vision_parameters = count_elements(VisionTransformer::from_config(vision).parameters());
    summary.projector_parameters =
        count_elements(Projector::from_config(vision.hidden_size, language.hidden_size).parameters());
    summary.language_parameters = impl_->model->language().num_parameters();
    summary.weight_bytes = estimate.weights;
    summary.estimated_bytes = estimate.total();
    summary.image_size = static_cast<int>(vision.image_size);
    summary.patches_per_picture = static_cast<int>(vision.num_patches());
    summary.about = folder.about;
    summary.presets.assign(folder.presets.begin(), folder.presets.end());
    summary.warnings = impl_->model->preprocess().warnings;
    summary.load_ms = watch.lap();
    impl_->summary = summary;
    return summary;
}

GenerationResult Engine::generate(std::span<const Message> messages, const GenerationOptions& options,
                                  EngineObserver& observer, std::stop_token stop) {
    if (!impl_->model)
        throw InputError({.name = "model", .expected = "a loaded model", .found = "none", .advice = "Load one first."});
    if (messages.empty()) throw InputError({.name = "messages", .expected = "at least one message", .found = "none"});
    const c10::InferenceMode inference;
    const VisionLanguageModel& model = *impl_->model;
    const ModelSummary& summary = *impl_->summary;
    Stopwatch watch;
    const auto report = [&](std::string stage, const std::string& shape) {
        const double ms = watch.lap();
        observer.on_stage({std::move(stage), shape, ms});
        return ms;
    };

    const Prompt prompt =
        build_prompt(model.tokenizer(), messages,
                     {.thinking = options.thinking, .patches_per_picture = summary.patches_per_picture});
    const auto length = static_cast<std::int64_t>(prompt.ids.size());
    if (length >= summary.context) {
        throw InputError({.name = "prompt",
                          .expected = "fewer than " + std::to_string(summary.context) + " tokens, the context",
                          .found = std::to_string(length) + " tokens, " + std::to_string(summary.patches_per_picture) +
                                   " of them for each picture",
                          .advice = "Shorten the conversation, send fewer pictures or raise the context."});
    }
    GenerationOptions bounded = options;
    bounded.max_tokens = static_cast<int>(std::min<std::int64_t>(options.max_tokens, summary.context - length));
    std::vector<std::uint64_t> keys = position_keys(prompt);
    KvCache& cache = impl_->prepare_cache(keys, length + bounded.max_tokens);
    const std::int64_t first = cache.length();
    double first_ms = report("prompt", shape_text(std::vector<std::int64_t>{length}));

    // Only pictures that are not in the cache already are looked at.
    std::vector<at::Tensor> projected(prompt.pictures.size());
    double vision_ms = 0.0;
    for (std::size_t i = 0; i < projected.size(); ++i) {
        const PictureSpan& span = prompt.pictures[i];
        if (span.begin + span.count <= first || stop.stop_requested()) continue;
        const std::int64_t side = summary.image_size;
        std::vector<float> values = pixel_values(*span.picture, model.preprocess());
        const at::Tensor pixels = at::from_blob(values.data(), {1, 3, side, side}, at::kFloat);
        vision_ms += report("preprocess", shape_text(pixels.sizes()));
        const at::Tensor features = model.vision().forward(pixels);
        vision_ms += report("vision", shape_text(features.sizes()));
        projected[i] = model.projector().forward(features)[0];
        vision_ms += report("projector", shape_text(projected[i].sizes()));
    }

    GenerationResult result;
    if (stop.stop_requested()) {
        result.finish = FinishReason::stopped;
    } else {
        const at::Tensor embeds = embed_prompt(model.language(), prompt, projected, first);
        first_ms += vision_ms + report("glue", shape_text(embeds.sizes()));
        result = vitrine::generate(
            model.language(), model.tokenizer(), cache, embeds, bounded,
            [&](const TokenEvent& event) { observer.on_token(event); }, stop);
        observer.on_stage({"prefill", shape_text(embeds.sizes()), result.prefill_ms});
        observer.on_stage({"decode",
                           shape_text(std::vector<std::int64_t>{static_cast<std::int64_t>(result.ids.size())}),
                           result.decode_ms});
    }
    keys.insert(keys.end(), result.ids.begin(), result.ids.end());
    keys.resize(
        static_cast<std::size_t>(std::min<std::int64_t>(cache.length(), static_cast<std::int64_t>(keys.size()))));
    impl_->cached_keys = std::move(keys);

    result.prompt_tokens = static_cast<int>(length);
    result.cached_tokens = static_cast<int>(first);
    result.vision_ms = vision_ms;
    result.first_token_ms += first_ms;
    return result;
}

EngineThread::EngineThread() : thread_([this](std::stop_token quit) { run(quit); }) {}

EngineThread::~EngineThread() {
    thread_.request_stop();
    {
        const std::lock_guard lock(mutex_);
        waiting_.clear();  // their futures report a broken promise
        if (running_) running_->request_stop();
    }
    wake_.notify_all();
}

EngineThread::Handle EngineThread::submit(Job job) {
    std::stop_source stop;
    std::packaged_task<void(Engine&)> task(
        [job = std::move(job), token = stop.get_token()](Engine& engine) { job(engine, token); });
    Handle handle{stop, task.get_future().share()};
    {
        const std::lock_guard lock(mutex_);
        waiting_.push_back({std::move(task), stop});
    }
    wake_.notify_one();
    return handle;
}

void EngineThread::run(std::stop_token quit) {
    pthread_setname_np(pthread_self(), "engine");
    Engine engine;
    while (true) {
        std::optional<Entry> entry;
        {
            std::unique_lock lock(mutex_);
            if (!wake_.wait(lock, quit, [this] { return !waiting_.empty(); }) || quit.stop_requested()) return;
            entry.emplace(std::move(waiting_.front()));
            waiting_.pop_front();
            running_ = entry->stop;
        }
        entry->task(engine);
        const std::lock_guard lock(mutex_);
        running_.reset();
    }
}

}  // namespace vitrine
