#include "core/engine.h"

#include "core/error.h"
#include "core/generate/generator.h"
#include "core/insight/recording.h"
#include "core/insight/recording_parts.h"
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
// What relative attention compares with, where the model's own prompts name none (arXiv 2502.17422).
constexpr const char* kNeutralPrompt = "Write a general description of the image.";

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

// As the model would have written it.
std::vector<TokenId> answer_ids(const Tokenizer& tokenizer, const Message& answer) {
    std::vector<TokenId> ids;
    if (answer.reasoning) {
        tokenizer.encode_to(ids, "<think>\n", Tokenizer::ControlTokens::recognise);
        tokenizer.encode_to(ids, *answer.reasoning, Tokenizer::ControlTokens::as_text);
        tokenizer.encode_to(ids, "\n</think>\n\n", Tokenizer::ControlTokens::recognise);
    }
    tokenizer.encode_to(ids, answer.text, Tokenizer::ControlTokens::as_text);
    return ids;
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

// Everything of a prompt up to the language model.
struct Ready {
    Prompt prompt;
    std::vector<std::uint64_t> keys;
    std::int64_t first = 0;  // positions before it are in the cache already
    at::Tensor embeds;       // of the others, [1, T - first, H]; undefined when stopped
    double vision_ms = 0.0;
    double total_ms = 0.0;
};

struct Engine::Impl {
    std::shared_ptr<const VisionLanguageModel> model;
    std::optional<ModelSummary> summary;
    std::shared_ptr<Past> past;              // shared with the recordings of its answers
    std::vector<std::uint64_t> cached_keys;  // one for each position in the cache

    // The cache with room for `positions`, holding as much of `keys`, but no more than `most`, as the conversation
    // before left in it; with queries from the first position on where `record` says so.
    KvCache& prepare_cache(const std::vector<std::uint64_t>& keys, std::int64_t most, std::int64_t positions,
                           bool record) {
        const auto mismatch = std::mismatch(keys.begin(), keys.end(), cached_keys.begin(), cached_keys.end()).first;
        auto common = std::min<std::int64_t>(mismatch - keys.begin(), most);
        const std::int64_t capacity = (positions + kCacheStep - 1) / kCacheStep * kCacheStep;
        const Qwen3Config& config = model->language().config();
        if (!past) past = std::make_shared<Past>(KvCache(config, 1, capacity, model->language().options()));
        if (record && (!past->queries || past->queries->length() < common)) common = 0;
        const bool others_read_it = past.use_count() > 1;
        if (others_read_it && (common < past->cache.length() || record != past->queries.has_value())) {
            past = past->copy(config, common, capacity);
        } else {
            const std::lock_guard lock(past->mutex);
            past->cache.truncate(common);
            past->cache.reserve(capacity);
            if (past->queries) {
                past->queries->truncate(common);
                past->queries->reserve(capacity);
            }
        }
        const std::lock_guard lock(past->mutex);
        if (!record) past->queries.reset();
        if (record && !past->queries) past->queries.emplace(config, capacity, model->language().options());
        cached_keys.resize(static_cast<std::size_t>(past->cache.length()));
        return past->cache;
    }

    Ready prepare(Prompt prompt, std::int64_t most, std::int64_t more, bool record, EngineObserver& observer,
                  const std::stop_token& stop);
    std::shared_ptr<Recording> open(std::span<const Message> messages, const Prompt& prompt, bool thinking) const;
    void remember(std::vector<std::uint64_t> keys, std::span<const TokenId> answer) {
        keys.insert(keys.end(), answer.begin(), answer.end());
        keys.resize(static_cast<std::size_t>(
            std::min<std::int64_t>(past->cache.length(), static_cast<std::int64_t>(keys.size()))));
        cached_keys = std::move(keys);
    }
    Prompt build(std::span<const Message> messages, bool thinking) const {
        return build_prompt(model->tokenizer(), messages,
                            {.thinking = thinking, .patches_per_picture = summary->patches_per_picture});
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

    // Not in inference mode: relevance goes backwards through the model.
    std::optional<VisionLanguageModel> model = VisionLanguageModel::load(
        folder, {scalar_type(summary.dtype), torch_device(summary.device)},
        [&](std::uint64_t done, std::uint64_t total) { observer.on_load_progress(done, total); }, stop);
    if (!model) return std::nullopt;
    impl_->model = std::make_shared<const VisionLanguageModel>(std::move(*model));

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

// Everything before the language model; `more` positions will follow the prompt. No more than `most` positions are
// taken from the cache: the model must see again those whose logits are wanted.
Ready Engine::Impl::prepare(Prompt prompt, std::int64_t most, std::int64_t more, bool record, EngineObserver& observer,
                            const std::stop_token& stop) {
    Stopwatch watch;
    Ready ready{.prompt = std::move(prompt)};
    const auto report = [&](std::string stage, const std::string& shape) {
        const double ms = watch.lap();
        ready.total_ms += ms;
        observer.on_stage({std::move(stage), shape, ms});
        return ms;
    };
    const auto length = static_cast<std::int64_t>(ready.prompt.ids.size());
    ready.keys = position_keys(ready.prompt);
    ready.first = prepare_cache(ready.keys, most, length + more, record).length();
    report("prompt", shape_text(std::vector<std::int64_t>{length}));

    // Only pictures that are not in the cache already are looked at.
    std::vector<at::Tensor> projected(ready.prompt.pictures.size());
    for (std::size_t i = 0; i < projected.size(); ++i) {
        const PictureSpan& span = ready.prompt.pictures[i];
        if (span.begin + span.count <= ready.first || stop.stop_requested()) continue;
        const std::int64_t side = summary->image_size;
        std::vector<float> values = pixel_values(*span.picture, model->preprocess());
        const at::Tensor pixels = at::from_blob(values.data(), {1, 3, side, side}, at::kFloat);
        ready.vision_ms += report("preprocess", shape_text(pixels.sizes()));
        const at::Tensor features = model->vision().forward(pixels);
        ready.vision_ms += report("vision", shape_text(features.sizes()));
        projected[i] = model->projector().forward(features)[0];
        ready.vision_ms += report("projector", shape_text(projected[i].sizes()));
    }
    if (stop.stop_requested()) return ready;
    ready.embeds = embed_prompt(model->language(), ready.prompt, projected, ready.first);
    report("glue", shape_text(ready.embeds.sizes()));
    return ready;
}

std::shared_ptr<Recording> Engine::Impl::open(std::span<const Message> messages, const Prompt& prompt,
                                              bool thinking) const {
    std::vector<Message> neutral(messages.begin(), messages.end());
    std::string text = kNeutralPrompt;
    if (!summary->presets.empty()) text = summary->presets.front().second;
    neutral.back().text = text;
    return std::make_shared<Recording>(RecordingParts{.model = model,
                                                      .past = past,
                                                      .prompt = prompt,
                                                      .neutral = build(neutral, thinking),
                                                      .neutral_text = text,
                                                      .question = messages.back().text});
}

void Engine::check_ready(std::span<const Message> messages) const {
    if (!impl_->model)
        throw InputError({.name = "model", .expected = "a loaded model", .found = "none", .advice = "Load one first."});
    if (messages.empty()) throw InputError({.name = "messages", .expected = "at least one message", .found = "none"});
}

void Engine::check_length(std::int64_t length) const {
    const ModelSummary& summary = *impl_->summary;
    if (length < summary.context) return;
    throw InputError({.name = "prompt",
                      .expected = "fewer than " + std::to_string(summary.context) + " tokens, the context",
                      .found = std::to_string(length) + " tokens, " + std::to_string(summary.patches_per_picture) +
                               " of them for each picture",
                      .advice = "Shorten the conversation, send fewer pictures or raise the context."});
}

GenerationResult Engine::generate(std::span<const Message> messages, const GenerationOptions& options,
                                  EngineObserver& observer, std::stop_token stop) {
    check_ready(messages);
    const c10::InferenceMode inference;
    Prompt prompt = impl_->build(messages, options.thinking);
    const auto length = static_cast<std::int64_t>(prompt.ids.size());
    check_length(length);
    GenerationOptions bounded = options;
    bounded.max_tokens = static_cast<int>(std::min<std::int64_t>(options.max_tokens, impl_->summary->context - length));
    Ready ready = impl_->prepare(std::move(prompt), length - 1, bounded.max_tokens, options.record, observer, stop);

    GenerationResult result;
    if (!ready.embeds.defined()) {
        result.finish = FinishReason::stopped;
    } else {
        std::shared_ptr<Recording> recording;
        if (options.record) {
            recording = impl_->open(messages, ready.prompt, options.thinking);
            observer.on_recording(recording);
        }
        Past& past = *impl_->past;
        result = vitrine::generate(
            impl_->model->language(), impl_->model->tokenizer(), past.cache, ready.embeds, bounded,
            [&](const TokenEvent& event) {
                if (recording && event.id >= 0) recording->add_token(event);
                observer.on_token(event);
            },
            stop, past.queries ? &*past.queries : nullptr);
        observer.on_stage({"prefill", shape_text(ready.embeds.sizes()), result.prefill_ms});
        observer.on_stage({"decode",
                           shape_text(std::vector<std::int64_t>{static_cast<std::int64_t>(result.ids.size())}),
                           result.decode_ms});
    }
    impl_->remember(std::move(ready.keys), result.ids);
    result.prompt_tokens = static_cast<int>(length);
    result.cached_tokens = static_cast<int>(ready.first);
    result.vision_ms = ready.vision_ms;
    result.first_token_ms += ready.total_ms;
    return result;
}

std::shared_ptr<const Recording> Engine::record(std::span<const Message> messages, EngineObserver& observer,
                                                std::stop_token stop) {
    check_ready(messages);
    const Message& last = messages.back();
    if (last.role != Role::assistant)
        throw InputError({.name = "messages", .expected = "an answer as the last one", .found = "a question"});
    const c10::InferenceMode inference;
    const VisionLanguageModel& model = *impl_->model;
    const std::span<const Message> asked = messages.first(messages.size() - 1);
    const Prompt prompt = impl_->build(asked, last.reasoning.has_value());
    const std::vector<TokenId> answer = answer_ids(model.tokenizer(), last);
    if (answer.empty())
        throw InputError({.name = "messages", .expected = "an answer with at least one word", .found = "an empty one"});
    Prompt all = prompt;
    all.ids.insert(all.ids.end(), answer.begin(), answer.end());
    check_length(static_cast<std::int64_t>(all.ids.size()));
    const auto asked_length = static_cast<std::int64_t>(prompt.ids.size());
    Ready ready = impl_->prepare(std::move(all), asked_length - 1, 0, /*record=*/true, observer, stop);
    if (!ready.embeds.defined()) {
        impl_->remember(std::move(ready.keys), {});
        return nullptr;
    }
    const std::shared_ptr<Recording> recording = impl_->open(asked, prompt, last.reasoning.has_value());
    Past& past = *impl_->past;
    const std::vector<TokenEvent> events = follow(model.language(), model.tokenizer(), past.cache, ready.embeds, answer,
                                                  GenerationOptions{}.alternatives, stop, &*past.queries);
    for (const TokenEvent& event : events) recording->add_token(event);
    impl_->remember(std::move(ready.keys), {});
    if (events.size() < answer.size()) return nullptr;
    return recording;
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
