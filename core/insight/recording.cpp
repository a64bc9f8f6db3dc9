#include "core/insight/recording.h"

#include "core/error.h"
#include "core/generate/generator.h"
#include "core/insight/attention_rows.h"
#include "core/insight/inside.h"
#include "core/insight/maps.h"
#include "core/insight/recording_parts.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <random>
#include <utility>

namespace vitrine {
namespace {

constexpr double kSinkRms = 20.0;        // arXiv 2503.03321
constexpr int kSinkChannels = 2;         // how many extreme channels of the first position are followed
constexpr double kOutlierSpreads = 5.0;  // vision: robust standard deviations above the median norm
constexpr int kRandomSets = 3;
constexpr int kInstead = 5;

}  // namespace

struct Recording::Impl {
    explicit Impl(RecordingParts parts) : inside(std::move(parts)) {}
    insight::Inside inside;
    std::mutex work;  // one asker at a time
};

Recording::Recording(RecordingParts parts) : impl_(std::make_unique<Impl>(std::move(parts))) {}
Recording::~Recording() = default;

InsightLayout Recording::layout() const {
    const insight::Inside& inside = impl_->inside;
    const VisionTransformer& tower = inside.parts.model->vision();
    return {.layers = inside.layers(),
            .heads = inside.heads(),
            .vision_layers = static_cast<int>(tower.config().num_hidden_layers),
            .vision_heads = static_cast<int>(tower.config().num_attention_heads),
            .rows = inside.grid(),
            .columns = inside.grid(),
            .pictures = static_cast<int>(inside.parts.prompt.pictures.size()),
            .answer_begin = inside.prompt_length(),
            .length = inside.known()};
}

std::vector<InsightToken> Recording::tokens(std::int64_t begin) const {
    const insight::Inside& inside = impl_->inside;
    const Prompt& prompt = inside.parts.prompt;
    std::vector<InsightToken> all;
    for (std::int64_t position = begin; position < inside.prompt_length(); ++position) {
        const TokenId id = prompt.ids[static_cast<std::size_t>(position)];
        InsightToken token{.position = position, .id = id, .text = inside.tokenizer().decode(std::span(&id, 1), false)};
        for (std::size_t i = 0; i < prompt.pictures.size(); ++i) {
            const PictureSpan& s = prompt.pictures[i];
            if (position < s.begin || position >= s.begin + s.count) continue;
            token.place = TokenPlace::picture;
            token.picture = static_cast<int>(i);
        }
        all.push_back(std::move(token));
    }
    const std::vector<InsightToken> answer = inside.answer();
    const std::int64_t skip = std::max<std::int64_t>(0, begin - inside.prompt_length());
    if (skip < static_cast<std::int64_t>(answer.size())) all.insert(all.end(), answer.begin() + skip, answer.end());
    return all;
}

const Image& Recording::picture(int picture) const {
    return *impl_->inside.span(picture).picture;
}

Image Recording::seen(int picture) const {
    const insight::Inside& inside = impl_->inside;
    const int side = inside.parts.model->preprocess().image_size;
    return resize_bicubic(*inside.span(picture).picture, side, side);
}

const std::string& Recording::neutral_prompt() const {
    return impl_->inside.parts.neutral_text;
}

const std::string& Recording::question() const {
    return impl_->inside.parts.question;
}

void Recording::add_token(const TokenEvent& event) {
    impl_->inside.add({.id = event.id, .log_prob = event.log_prob, .alternatives = event.alternatives});
}

AttentionMap Recording::map(const MapRequest& request) const {
    const std::lock_guard lock(impl_->work);
    return insight::make_map(impl_->inside, request);
}

HeadMaps Recording::heads(const MapRequest& request) const {
    const std::lock_guard lock(impl_->work);
    return insight::head_maps(impl_->inside, request);
}

std::vector<float> Recording::row(int layer, int head, std::int64_t position) const {
    const insight::Inside& inside = impl_->inside;
    const std::lock_guard lock(impl_->work);
    const c10::InferenceMode inference;
    insight::check_range("layer", layer, 0, inside.layers());
    insight::check_range("head", head, 0, inside.heads());
    return insight::to_vector(inside.rows(inside.parts.past->tensors(), layer, inside.row_for(position))[head]);
}

std::vector<float> Recording::token_weights(const MapRequest& request, std::span<const int> patches) const {
    const insight::Inside& inside = impl_->inside;
    const std::lock_guard lock(impl_->work);
    const c10::InferenceMode inference;
    const PictureSpan& s = inside.span(request.picture);
    for (const int patch : patches) insight::check_range("patch", patch, 0, inside.patches());
    if (request.head != kAll) insight::check_range("head", request.head, 0, inside.heads());
    const std::int64_t first = inside.prompt_length() - 1;
    const std::int64_t count = std::min(inside.parts.past->queries->length(), inside.known() - 1) - first;
    if (count <= 0) return {};
    const Past::Tensors past = inside.parts.past->tensors();
    at::Tensor sum;
    const std::vector<int> layers = insight::chosen("layer", request.layer, inside.layers());
    for (const int layer : layers) {
        const auto index = static_cast<std::size_t>(layer);
        at::Tensor queries = past.queries[index].narrow(1, first, count), keys = past.keys[index];
        if (request.head != kAll) {
            const std::int64_t group = queries.size(0) / keys.size(0);
            queries = queries.narrow(0, request.head, 1);
            keys = keys.narrow(0, request.head / group, 1);
        }
        const at::Tensor weights =
            insight::attention_rows(queries, keys.narrow(1, 0, first + count), first).mean(0);  // [count, S]
        const at::Tensor on = weights.narrow(1, s.begin, s.count);
        const at::Tensor share =
            patches.empty() ? on.sum(1) : on.index_select(1, insight::indices(patches, 0).to(on.device())).sum(1);
        sum = sum.defined() ? sum + share : share;
    }
    return insight::to_vector(sum / static_cast<double>(layers.size()));
}

std::optional<PatchWords> Recording::patch_words(int picture, int layer, int count, std::stop_token stop) const {
    const insight::Inside& inside = impl_->inside;
    const std::lock_guard lock(impl_->work);
    const c10::InferenceMode inference;
    const PictureSpan& s = inside.span(picture);
    if (layer == kAll) layer = inside.layers() - 1;
    insight::check_range("layer", layer, 0, inside.layers());
    PatchWords result{.layer = layer};
    const at::Tensor at_patches =
        inside.hidden(s.begin + s.count)[static_cast<std::size_t>(layer)].narrow(0, s.begin, s.count);
    for (const at::Tensor& some : at_patches.split(insight::kLensRows)) {
        if (stop.stop_requested()) return std::nullopt;
        for (const at::Tensor& row : insight::lens(inside.language(), some).unbind(0))
            result.words.push_back(likeliest(row, count, inside.tokenizer()));
    }
    return result;
}

WordRanks Recording::word_ranks(std::int64_t position) const {
    const insight::Inside& inside = impl_->inside;
    const std::lock_guard lock(impl_->work);
    const c10::InferenceMode inference;
    const TokenId token = inside.id_at(position);
    WordRanks ranks{.position = position};
    for (const at::Tensor& hidden : inside.hidden(position)) {
        const at::Tensor log_probs = insight::lens(inside.language(), hidden.narrow(0, position - 1, 1))[0];
        const at::Tensor own = log_probs[token];
        ranks.rank.push_back((log_probs > own).sum().item<std::int64_t>());
        ranks.log_prob.push_back(own.item<float>());
        ranks.winner.push_back(likeliest(log_probs, 1, inside.tokenizer()).front());
    }
    return ranks;
}

Sinks Recording::sinks(Tower tower, int picture) const {
    const insight::Inside& inside = impl_->inside;
    const std::lock_guard lock(impl_->work);
    const c10::InferenceMode inference;
    const PictureSpan& s = inside.span(picture);
    Sinks sinks;
    if (tower == Tower::vision) {
        const at::Tensor norms =
            at::linalg_vector_norm(inside.look(picture).last_hidden.to(at::kFloat), 2, at::IntArrayRef{1});
        const at::Tensor middle = norms.median();
        sinks.threshold =
            middle.item<double>() + kOutlierSpreads * 1.4826 * (norms - middle).abs().median().item<double>();
        sinks.values = insight::to_vector(norms);
    } else {
        const at::Tensor stream =
            inside.hidden(inside.prompt_length())[static_cast<std::size_t>(inside.layers() / 2)].to(at::kFloat);
        const at::Tensor normed = stream * at::rsqrt(stream.square().mean(-1, true));
        const at::Tensor channels =
            std::get<1>(at::topk(normed[0].abs(), std::min<std::int64_t>(kSinkChannels, normed.size(1))));
        const at::Tensor measure = normed.index_select(1, channels).abs().amax(1);  // [T]
        sinks.threshold = kSinkRms;
        for (std::int64_t i = 0; i < channels.size(0); ++i) sinks.channels.push_back(channels[i].item<std::int64_t>());
        const std::vector<float> all = insight::to_vector(measure);
        for (std::size_t position = 0; position < all.size(); ++position)
            if (static_cast<double>(all[position]) > sinks.threshold)
                sinks.positions.push_back(static_cast<std::int64_t>(position));
        sinks.values.assign(all.begin() + s.begin, all.begin() + s.begin + s.count);
    }
    for (std::size_t patch = 0; patch < sinks.values.size(); ++patch)
        if (static_cast<double>(sinks.values[patch]) > sinks.threshold)
            sinks.patches.push_back(static_cast<int>(patch));
    return sinks;
}

std::optional<CausalCheck> Recording::causal(std::int64_t position, int picture, std::span<const int> patches,
                                             CausalCheck::Means means, std::uint64_t seed, std::stop_token stop) const {
    const insight::Inside& inside = impl_->inside;
    const std::lock_guard lock(impl_->work);
    const PictureSpan& s = inside.check_causal(position, picture, patches);
    const c10::InferenceMode inference;
    const TokenId token = inside.id_at(position);
    CausalCheck check{.position = position, .patches = {patches.begin(), patches.end()}};
    check.before = inside.log_probs_without(position, s, {}, means)[token].item<double>();
    const at::Tensor after = inside.log_probs_without(position, s, patches, means);
    check.after = after[token].item<double>();
    check.instead = likeliest(after, kInstead, inside.tokenizer());

    std::vector<int> others;
    for (int patch = 0; patch < inside.patches(); ++patch)
        if (std::find(patches.begin(), patches.end(), patch) == patches.end()) others.push_back(patch);
    std::mt19937_64 random(seed);
    const std::size_t count = std::min(patches.size(), others.size());
    double sum = 0.0;
    for (int set = 0; set < kRandomSets; ++set) {
        if (stop.stop_requested()) return std::nullopt;
        for (std::size_t i = 0; i < count; ++i) std::swap(others[i], others[i + random() % (others.size() - i)]);
        sum += inside.log_probs_without(position, s, std::span(others).first(count), means)[token].item<double>();
    }
    check.random = sum / kRandomSets;
    return check;
}

double Recording::probability_without(std::int64_t position, int picture, std::span<const int> patches,
                                      CausalCheck::Means means) const {
    const insight::Inside& inside = impl_->inside;
    const std::lock_guard lock(impl_->work);
    const PictureSpan& s = inside.check_causal(position, picture, patches);
    const c10::InferenceMode inference;
    return std::exp(inside.log_probs_without(position, s, patches, means)[inside.id_at(position)].item<double>());
}

}  // namespace vitrine
