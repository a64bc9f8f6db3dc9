#pragma once

#include "core/insight/passes.h"
#include "core/insight/recording_parts.h"
#include "core/insight/values.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace vitrine::insight {

// Throws InputError unless begin <= value < end.
void check_range(const char* name, std::int64_t value, std::int64_t begin, std::int64_t end);
std::vector<int> chosen(const char* name, int value, int count);  // kAll: 0 to count - 1; else the one, checked
std::vector<float> to_vector(const at::Tensor& tensor);
at::Tensor indices(std::span<const int> numbers, std::int64_t offset);  // int64, each plus offset

// What is known of one answer, and what has been computed about it so far: rows of attention straight from what the
// engine left behind, everything else by passes made once and kept. One asker at a time (Recording sees to that); only
// tokens may be added meanwhile, by the engine.
class Inside {
public:
    explicit Inside(RecordingParts parts);

    const Qwen3Model& language() const { return parts.model->language(); }
    const Tokenizer& tokenizer() const { return parts.model->tokenizer(); }
    const std::vector<EncoderLayer>& tower() const { return parts.model->vision().layers(); }
    int layers() const { return static_cast<int>(language().config().num_hidden_layers); }
    int heads() const { return static_cast<int>(language().config().num_attention_heads); }
    int grid() const { return static_cast<int>(parts.model->vision().config().grid()); }
    int patches() const { return grid() * grid(); }
    const at::Tensor& output(int layer) const {  // W_O, [H, heads * head_dim]
        return language().layers()[static_cast<std::size_t>(layer)].self_attn.o_proj.weight;
    }

    std::int64_t prompt_length() const { return static_cast<std::int64_t>(parts.prompt.ids.size()); }
    std::int64_t known() const;        // positions of prompt and answer up to now
    std::vector<TokenId> ids() const;  // of them
    TokenId id_at(std::int64_t position) const;
    std::int64_t row_for(std::int64_t position) const;  // the row that explains the token at `position`
    const PictureSpan& span(int picture) const;
    // The same for a question of cause: the token must stand behind the picture, the patches in it.
    const PictureSpan& check_causal(std::int64_t position, int picture, std::span<const int> hidden_patches) const;

    void add(InsightToken token);
    std::vector<InsightToken> answer() const;

    at::Tensor rows(const Past::Tensors& past, int layer, std::int64_t row) const;  // [heads, row + 1]
    std::vector<Masses> masses(const at::Tensor& weights, int picture) const;       // of N rows [N, S]
    // The part of [..., S] that lies on a picture, as [..., P]; NaN where the rows do not reach.
    at::Tensor on_picture(const at::Tensor& weights, const PictureSpan& s) const;

    const VisionPass& look(int picture) const;
    at::Tensor embeds(std::int64_t length) const;                      // of the first positions, [1, length, H]
    const std::vector<at::Tensor>& hidden(std::int64_t length) const;  // of each layer, `length` positions or more
    const std::vector<at::Tensor>& neutral_rows() const;               // of each layer, [heads, T of that prompt]
    at::Tensor log_probs_without(std::int64_t position, const PictureSpan& s, std::span<const int> hidden_patches,
                                 CausalCheck::Means means) const;  // at the row for `position`, [V]

    const RecordingParts parts;

private:
    at::Tensor embedded(const Prompt& prompt) const;  // [1, T, H], ordinary tensors

    mutable std::mutex answer_mutex_;
    std::vector<InsightToken> answer_;  // guarded by answer_mutex_
    mutable std::vector<std::optional<VisionPass>> vision_;
    mutable std::vector<at::Tensor> hidden_;
    mutable std::vector<at::Tensor> neutral_;
};

}  // namespace vitrine::insight
