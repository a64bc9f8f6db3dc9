#include "core/insight/inside.h"

#include "core/error.h"
#include "core/insight/attention_rows.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>

namespace vitrine::insight {

void check_range(const char* name, std::int64_t value, std::int64_t begin, std::int64_t end) {
    if (value >= begin && value < end) return;
    throw InputError({.name = name,
                      .expected = end > begin
                                      ? "a number from " + std::to_string(begin) + " to " + std::to_string(end - 1)
                                      : "nothing: there is none",
                      .found = std::to_string(value)});
}

std::vector<int> chosen(const char* name, int value, int count) {
    if (value != kAll) {
        check_range(name, value, 0, count);
        return {value};
    }
    std::vector<int> all(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) all[static_cast<std::size_t>(i)] = i;
    return all;
}

std::vector<float> to_vector(const at::Tensor& tensor) {
    const at::Tensor flat = tensor.to(at::kCPU, at::kFloat).contiguous();
    return {flat.const_data_ptr<float>(), flat.const_data_ptr<float>() + flat.numel()};
}

at::Tensor indices(std::span<const int> numbers, std::int64_t offset) {
    std::vector<std::int64_t> shifted;
    for (const int number : numbers) shifted.push_back(number + offset);
    return at::tensor(shifted, at::kLong);
}

Inside::Inside(RecordingParts parts_) : parts(std::move(parts_)), vision_(parts.prompt.pictures.size()) {}

const PictureSpan& Inside::span(int picture) const {
    check_range("picture", picture, 0, static_cast<std::int64_t>(parts.prompt.pictures.size()));
    return parts.prompt.pictures[static_cast<std::size_t>(picture)];
}

void Inside::add(InsightToken token) {
    const std::lock_guard lock(answer_mutex_);
    token.position = prompt_length() + static_cast<std::int64_t>(answer_.size());
    token.text = tokenizer().decode(std::span(&token.id, 1), /*skip_special=*/false);
    token.place = TokenPlace::answer;
    answer_.push_back(std::move(token));
}

std::vector<InsightToken> Inside::answer() const {
    const std::lock_guard lock(answer_mutex_);
    return answer_;
}

std::vector<TokenId> Inside::ids() const {
    std::vector<TokenId> all = parts.prompt.ids;
    const std::lock_guard lock(answer_mutex_);
    for (const InsightToken& token : answer_) all.push_back(token.id);
    return all;
}

TokenId Inside::id_at(std::int64_t position) const {
    const std::vector<TokenId> all = ids();
    check_range("position", position, 1, static_cast<std::int64_t>(all.size()));
    return all[static_cast<std::size_t>(position)];
}

std::int64_t Inside::row_for(std::int64_t position) const {
    check_range("position", position, 1, std::min(parts.past->queries->length() + 1, known()));
    return position - 1;
}

std::int64_t Inside::known() const {
    const std::lock_guard lock(answer_mutex_);
    return prompt_length() + static_cast<std::int64_t>(answer_.size());
}

at::Tensor Inside::rows(const Past::Tensors& past, int layer, std::int64_t row) const {
    const auto index = static_cast<std::size_t>(layer);
    return attention_rows(past.queries[index].narrow(1, row, 1), past.keys[index].narrow(1, 0, row + 1), row)
        .select(1, 0);
}

std::vector<Masses> Inside::masses(const at::Tensor& weights, int picture) const {
    const std::int64_t length = weights.size(1);
    const auto share = [&](std::int64_t begin, std::int64_t end) {
        begin = std::min(begin, length), end = std::min(end, length);
        return weights.narrow(1, begin, std::max<std::int64_t>(0, end - begin)).sum(1);
    };
    const at::Tensor first = share(0, 1), prompt = share(1, prompt_length()),
                     answer_share = share(prompt_length(), length);
    at::Tensor asked = at::zeros_like(first), others = at::zeros_like(first);
    for (std::size_t i = 0; i < parts.prompt.pictures.size(); ++i) {
        const PictureSpan& s = parts.prompt.pictures[i];
        (static_cast<int>(i) == picture ? asked : others) += share(s.begin, s.begin + s.count);
    }
    const at::Tensor table =
        at::stack({asked, others, first, prompt - asked - others, answer_share}, 1).to(at::kCPU, at::kDouble);
    std::vector<Masses> result;
    const auto numbers = table.accessor<double, 2>();
    for (std::int64_t i = 0; i < table.size(0); ++i)
        result.push_back({numbers[i][0], numbers[i][1], numbers[i][2], numbers[i][3], numbers[i][4]});
    return result;
}

at::Tensor Inside::on_picture(const at::Tensor& weights, const PictureSpan& s) const {
    const std::int64_t seen = std::clamp<std::int64_t>(weights.size(-1) - s.begin, 0, s.count);
    if (seen == s.count) return weights.narrow(-1, s.begin, s.count);
    auto shape = weights.sizes().vec();
    shape.back() = s.count;
    at::Tensor result = at::full(shape, NAN, weights.options());
    if (seen > 0) result.narrow(-1, 0, seen).copy_(weights.narrow(-1, s.begin, seen));
    return result;
}

const VisionPass& Inside::look(int picture) const {
    const PictureSpan& s = span(picture);
    auto& kept = vision_[static_cast<std::size_t>(picture)];
    if (!kept) {
        const c10::InferenceMode inference;
        const std::int64_t side = parts.model->vision().config().image_size;
        std::vector<float> values = pixel_values(*s.picture, parts.model->preprocess());
        kept = look_again(parts.model->vision(), at::from_blob(values.data(), {1, 3, side, side}, at::kFloat));
    }
    return *kept;
}

at::Tensor Inside::embeds(std::int64_t length) const {
    return embedded({.ids = ids(), .pictures = parts.prompt.pictures}).narrow(1, 0, length);
}

at::Tensor Inside::embedded(const Prompt& prompt) const {
    std::vector<at::Tensor> projected;
    {
        const c10::InferenceMode inference;
        for (int picture = 0; picture < static_cast<int>(prompt.pictures.size()); ++picture)
            projected.push_back(parts.model->projector().forward(look(picture).features)[0]);
    }
    const c10::InferenceMode ordinary(false);  // relevance differentiates what comes out
    const c10::NoGradGuard guard;
    return embed_prompt(language(), prompt, projected);
}

const std::vector<at::Tensor>& Inside::hidden(std::int64_t length) const {
    if (hidden_.empty() || hidden_.front().size(0) < length) {
        const c10::InferenceMode inference;
        hidden_ = hidden_states(language(), embeds(known()));
    }
    return hidden_;
}

const std::vector<at::Tensor>& Inside::neutral_rows() const {
    if (neutral_.empty()) {
        const c10::InferenceMode inference;
        neutral_ = last_rows(language(), embedded(parts.neutral));
    }
    return neutral_;
}

at::Tensor Inside::log_probs_without(std::int64_t position, const PictureSpan& s, std::span<const int> hidden_patches,
                                     CausalCheck::Means means) const {
    const c10::InferenceMode inference;
    at::Tensor input = embeds(position);
    at::Tensor cut = at::zeros({position}, input.options().dtype(at::kBool));
    if (!hidden_patches.empty()) {
        const at::Tensor at_positions = indices(hidden_patches, s.begin).to(input.device());
        if (means == CausalCheck::Means::cut)
            cut.index_fill_(0, at_positions, 1);
        else
            input = input.index_copy(1, at_positions,
                                     input.narrow(1, s.begin, s.count)
                                         .to(at::kFloat)
                                         .mean(1, true)
                                         .to(input.scalar_type())
                                         .expand({1, at_positions.size(0), input.size(2)}));
    }
    return last_log_probs(language(), input, cut);
}

const PictureSpan& Inside::check_causal(std::int64_t position, int picture, std::span<const int> hidden_patches) const {
    const PictureSpan& s = span(picture);
    id_at(position);
    check_range("position", position, s.begin + s.count, known());
    for (const int patch : hidden_patches) check_range("patch", patch, 0, patches());
    return s;
}

}  // namespace vitrine::insight
