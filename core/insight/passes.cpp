#include "core/insight/passes.h"

#include "core/insight/attention_rows.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <string_view>

namespace vitrine::insight {
namespace {

class VisionKeeper : public ForwardObserver {
public:
    explicit VisionKeeper(VisionPass& pass) : pass_(pass) {}

    void on_stage(std::string_view name, const at::Tensor& value) override {
        if (name.starts_with("vision.layers.")) pass_.last_hidden = value[0];
    }
    void on_attention(const AttentionStage& stage) override {
        pass_.queries.push_back(stage.queries[0]);
        pass_.keys.push_back(stage.keys[0]);
        pass_.values.push_back(stage.values[0]);
    }

private:
    VisionPass& pass_;
};

class HiddenKeeper : public ForwardObserver {
public:
    void on_stage(std::string_view name, const at::Tensor& value) override {
        if (name.starts_with("language.layers.")) hidden.push_back(value[0]);
    }
    std::vector<at::Tensor> hidden;
};

class LastRowKeeper : public ForwardObserver {
public:
    void on_attention(const AttentionStage& stage) override {
        const std::int64_t last = stage.queries.size(2) - 1;
        rows.push_back(attention_rows(stage.queries[0].narrow(1, last, 1), stage.keys[0], last).select(1, 0));
    }
    std::vector<at::Tensor> rows;
};

// What relevance() needs of each layer.
class GradientKeeper : public ForwardObserver {
public:
    struct Layer {
        at::Tensor queries, keys, values;  // [heads, T, D], detached
        at::Tensor mixed;                  // [1, T, heads * D], in the graph
    };
    void on_attention(const AttentionStage& stage) override {
        layers.push_back({stage.queries[0].detach(), stage.keys[0].detach(), stage.values[0].detach(), stage.mixed});
    }
    std::vector<Layer> layers;
};

// Mean over the heads of relu(gradient * weights), [T, T]. gradient [T, heads * D] of the mixed values.
at::Tensor weighted_by_gradient(const GradientKeeper::Layer& layer, const at::Tensor& gradient) {
    const std::int64_t heads = layer.queries.size(0), length = layer.queries.size(1), dim = layer.queries.size(2);
    const std::int64_t group = heads / layer.keys.size(0);
    const at::Tensor by_head = gradient.to(at::kFloat).view({length, heads, dim});
    at::Tensor sum = at::zeros({length, length}, by_head.options());
    for (std::int64_t head = 0; head < heads; ++head) {  // one at a time: never all T x T weights together
        const at::Tensor keys = layer.keys.narrow(0, head / group, 1);
        const at::Tensor weights = attention_rows(layer.queries.narrow(0, head, 1), keys, 0)[0];
        const at::Tensor slope = at::mm(by_head.select(1, head), layer.values[head / group].to(at::kFloat).t());
        sum += at::relu(slope * weights);
    }
    return sum / static_cast<double>(heads);
}

}  // namespace

VisionPass look_again(const VisionTransformer& tower, const at::Tensor& pixel_values) {
    VisionPass pass;
    VisionKeeper keeper(pass);
    pass.features = tower.forward(pixel_values, &keeper);
    return pass;
}

std::vector<at::Tensor> hidden_states(const Qwen3Model& language, const at::Tensor& inputs_embeds) {
    HiddenKeeper keeper;
    language.forward({.inputs_embeds = inputs_embeds, .observer = &keeper});
    return std::move(keeper.hidden);
}

at::Tensor lens(const Qwen3Model& language, const at::Tensor& hidden) {
    return at::log_softmax(language.logits(language.final_norm(hidden)).to(at::kFloat), -1);
}

std::vector<at::Tensor> last_rows(const Qwen3Model& language, const at::Tensor& inputs_embeds) {
    LastRowKeeper keeper;
    language.forward({.inputs_embeds = inputs_embeds, .observer = &keeper});
    return std::move(keeper.rows);
}

at::Tensor last_log_probs(const Qwen3Model& language, const at::Tensor& inputs_embeds, const at::Tensor& cut) {
    const at::Tensor hidden = language.forward({.inputs_embeds = inputs_embeds, .cut = cut});  // normed already
    return at::log_softmax(language.logits(hidden[0][-1]).to(at::kFloat), -1);
}

at::Tensor relevance(const Qwen3Model& language, const at::Tensor& inputs_embeds, std::int64_t token) {
    const c10::InferenceMode ordinary(false);
    const at::AutoGradMode gradients(true);
    GradientKeeper keeper;
    const at::Tensor embeds = inputs_embeds.detach().set_requires_grad(true);
    const at::Tensor hidden = language.forward({.inputs_embeds = embeds, .observer = &keeper});
    const at::Tensor logit = language.logits(hidden[0][-1])[token];
    std::vector<at::Tensor> mixed;
    for (const GradientKeeper::Layer& layer : keeper.layers) mixed.push_back(layer.mixed);
    const std::vector<at::Tensor> slopes = torch::autograd::grad({logit}, mixed);

    const c10::NoGradGuard guard;
    at::Tensor row = at::zeros({hidden.size(1)}, hidden.options().dtype(at::kFloat));
    row[-1] = 1.0;
    // The last row of (I + Abar_L) ... (I + Abar_1), from the left: no T x T product is needed.
    for (std::size_t layer = keeper.layers.size(); layer-- > 0;)
        row = row + at::mv(weighted_by_gradient(keeper.layers[layer], slopes[layer][0]).t(), row);
    return row;
}

}  // namespace vitrine::insight
