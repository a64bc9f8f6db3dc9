#pragma once

#include "core/model/qwen3.h"
#include "core/model/siglip.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

// Forward passes made again to look at what an ordinary one does not keep. Both towers' weights are only read, so these
// may run beside an answer that is being made.
namespace vitrine::insight {

// The vision tower on one picture.
struct VisionPass {
    std::vector<at::Tensor> queries, keys, values;  // of each layer, [heads, P, head_dim]
    at::Tensor last_hidden;                         // output of the last layer, before post_layernorm, [P, C]
    at::Tensor features;                            // [1, P, C]
};
VisionPass look_again(const VisionTransformer& tower, const at::Tensor& pixel_values);  // [1, 3, side, side]

// The residual stream behind each decoder layer, [T, H] each. inputs_embeds [1, T, H].
std::vector<at::Tensor> hidden_states(const Qwen3Model& language, const at::Tensor& inputs_embeds);

// The logit lens (arXiv 2410.07149): log softmax of the head on the normed residual stream. hidden [N, H] -> [N, V] in
// fp32; N rows of a whole vocabulary, so ask for kLensRows at a time.
inline constexpr std::int64_t kLensRows = 32;
at::Tensor lens(const Qwen3Model& language, const at::Tensor& hidden);

// Attention of the last of T positions in every layer, [heads, T] each, without keeping anything else.
std::vector<at::Tensor> last_rows(const Qwen3Model& language, const at::Tensor& inputs_embeds);

// log softmax at the last position, [V] in fp32, with the keys of `cut` ([T] bool, may be undefined) hidden from every
// query but the one at their own position.
at::Tensor last_log_probs(const Qwen3Model& language, const at::Tensor& inputs_embeds, const at::Tensor& cut);

// Relevance of every position for the logit of `token` at the last one (arXiv 2103.15679): with
// Abar_l = mean over heads of relu(dlogit/dA * A), R starts as the identity and becomes R + Abar_l R, layer by layer;
// returned is its last row, [T]. The gradient of the weights is dlogit/dA[h, i, j] = (dlogit/d mixed[i, h]) . v_j, so
// no layer's weights are ever part of the graph. inputs_embeds must not be inference tensors.
at::Tensor relevance(const Qwen3Model& language, const at::Tensor& inputs_embeds, std::int64_t token);

}  // namespace vitrine::insight
