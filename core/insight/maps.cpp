#include "core/insight/maps.h"

#include "core/error.h"
#include "core/insight/attention_rows.h"

#include <ATen/ATen.h>

#include <utility>

namespace vitrine::insight {
namespace {

double entropy_of(const at::Tensor& row) {  // in nats
    return -at::special_xlogy(row, row).sum(at::kDouble).item<double>();
}

AttentionMap finish(const Inside& inside, const MapRequest& request, const at::Tensor& values) {
    return {.request = request, .grid = {inside.grid(), inside.grid(), to_vector(values)}};
}

// Weights of one head or of all together, times what they carry where the method says so. -> [row + 1]
at::Tensor joined(const Inside& inside, const Past::Tensors& past, const at::Tensor& weights, int layer, int head,
                  MapMethod method) {
    const bool all = head == kAll;
    if (method != MapMethod::value_norm) return all ? weights.mean(0) : weights[head];
    const at::Tensor values = past.values[static_cast<std::size_t>(layer)].narrow(1, 0, weights.size(1));
    if (all) return joined_value_norms(weights, values, inside.output(layer));
    const std::int64_t dim = values.size(2), kv_head = head / (inside.heads() / values.size(0));
    return weights[head] *
           value_norms(values.narrow(0, kv_head, 1), inside.output(layer).narrow(1, head * dim, dim), 1)[0];
}

AttentionMap attention_map(const Inside& inside, const MapRequest& request) {
    const PictureSpan& s = inside.span(request.picture);
    const std::int64_t row = inside.row_for(request.position);
    const std::vector<int> chosen_layers = chosen("layer", request.layer, inside.layers());
    if (request.head != kAll) check_range("head", request.head, 0, inside.heads());
    const Past::Tensors past = inside.parts.past->tensors();
    const std::vector<at::Tensor>* plain = request.method == MapMethod::relative ? &inside.neutral_rows() : nullptr;
    at::Tensor raw, map, under;
    const auto add = [](at::Tensor& sum, const at::Tensor& more) { sum = sum.defined() ? sum + more : more; };
    for (const int layer : chosen_layers) {
        const at::Tensor weights = inside.rows(past, layer, row);
        add(raw, joined(inside, past, weights, layer, request.head, MapMethod::attention));
        if (request.method == MapMethod::value_norm)
            add(map, joined(inside, past, weights, layer, request.head, request.method));
        if (plain)
            add(under, joined(inside, past, (*plain)[static_cast<std::size_t>(layer)], layer, request.head,
                              MapMethod::attention));
    }
    const auto count = static_cast<double>(chosen_layers.size());
    raw = raw / count;
    at::Tensor on = inside.on_picture(map.defined() ? map / count : raw, s);
    if (plain)
        on = on /
             inside.on_picture(under / count, inside.parts.neutral.pictures[static_cast<std::size_t>(request.picture)])
                 .clamp_min(1e-12);
    AttentionMap result = finish(inside, request, on);
    result.masses = inside.masses(raw.unsqueeze(0), request.picture).front();
    result.entropy = entropy_of(raw);
    result.keys = raw.size(0);
    return result;
}

AttentionMap relevance_map(const Inside& inside, const MapRequest& request) {
    const PictureSpan& s = inside.span(request.picture);
    const TokenId token = inside.id_at(request.position);
    const at::Tensor row = relevance(inside.language(), inside.embeds(request.position), token);
    return finish(inside, request, inside.on_picture(row, s));
}

AttentionMap lens_map(const Inside& inside, const MapRequest& request) {
    const PictureSpan& s = inside.span(request.picture);
    const TokenId token = inside.id_at(request.position);
    const int layer = request.layer == kAll ? inside.layers() - 1 : request.layer;
    check_range("layer", layer, 0, inside.layers());
    const c10::InferenceMode inference;
    const at::Tensor at_patches =
        inside.hidden(s.begin + s.count)[static_cast<std::size_t>(layer)].narrow(0, s.begin, s.count);
    std::vector<at::Tensor> pieces;
    for (const at::Tensor& some : at_patches.split(kLensRows))
        pieces.push_back(lens(inside.language(), some).select(1, token).exp());
    return finish(inside, request, at::cat(pieces));
}

// Value-norm weights of the tower: weights [heads, T, P] -> [T, P].
at::Tensor carried(const at::Tensor& weights, const at::Tensor& values, const at::Tensor& output, int head) {
    if (head != kAll) {
        const std::int64_t dim = values.size(2);
        return weights[head] * value_norms(values.narrow(0, head, 1), output.narrow(1, head * dim, dim), 1);
    }
    std::vector<at::Tensor> queries;
    for (std::int64_t t = 0; t < weights.size(1); ++t)
        queries.push_back(joined_value_norms(weights.select(1, t), values, output));
    return at::stack(queries);
}

AttentionMap vision_map(const Inside& inside, const MapRequest& request) {
    const VisionPass& pass = inside.look(request.picture);
    const auto& tower = inside.tower();
    const int count = static_cast<int>(tower.size());
    const auto head_count = static_cast<int>(pass.queries.front().size(0));
    if (request.head != kAll) check_range("head", request.head, 0, head_count);
    if (request.patch != kAll) check_range("patch", request.patch, 0, inside.patches());
    const bool followed = request.method == MapMethod::rollout;
    std::vector<at::Tensor> maps;  // of each chosen layer [P, P]; only the row of the patch where that is enough
    for (const int layer : chosen("layer", followed ? kAll : request.layer, count)) {
        const auto index = static_cast<std::size_t>(layer);
        const at::Tensor& queries = pass.queries[index];
        const bool one = request.patch != kAll && !followed;
        const at::Tensor weights = attention_rows(one ? queries.narrow(1, request.patch, 1) : queries, pass.keys[index],
                                                  std::nullopt);  // [heads, T, P]
        if (followed || (request.method == MapMethod::attention && request.head == kAll))
            maps.push_back(weights.mean(0));
        else if (request.method == MapMethod::attention)
            maps.push_back(weights[request.head]);
        else
            maps.push_back(carried(weights, pass.values[index], tower[index].self_attn.out_proj.weight, request.head));
    }
    at::Tensor map = followed ? rollout(maps) : at::stack(maps).mean(0);
    if (followed && request.patch != kAll) map = map.narrow(0, request.patch, 1);
    map = map.mean(0);
    AttentionMap result = finish(inside, request, map);
    if (request.method != MapMethod::value_norm) result.entropy = entropy_of(map);
    result.keys = inside.patches();
    return result;
}

}  // namespace

AttentionMap make_map(const Inside& inside, const MapRequest& request) {
    const bool vision = request.tower == Tower::vision;
    const auto refuse = [&] {
        return InputError({.name = "method",
                           .expected = vision ? "attention, value-norm or rollout for the vision tower"
                                              : "any but rollout for the language model",
                           .found = std::string(name_of(request.method)),
                           .advice = vision ? "The others follow words, and the tower has none."
                                            : "In a causal decoder rollout carries a bias of position."});
    };
    switch (request.method) {
        case MapMethod::rollout:
            if (!vision) throw refuse();
            [[fallthrough]];
        case MapMethod::attention:
        case MapMethod::value_norm: {
            const c10::InferenceMode inference;
            return vision ? vision_map(inside, request) : attention_map(inside, request);
        }
        case MapMethod::relative: {
            if (vision) throw refuse();
            const c10::InferenceMode inference;
            return attention_map(inside, request);
        }
        case MapMethod::relevance:
            if (vision) throw refuse();
            return relevance_map(inside, request);
        case MapMethod::lens:
            if (vision) throw refuse();
            return lens_map(inside, request);
    }
    throw refuse();
}

HeadMaps head_maps(const Inside& inside, const MapRequest& request) {
    const c10::InferenceMode inference;
    if (request.method != MapMethod::attention && request.method != MapMethod::value_norm)
        throw InputError({.name = "method",
                          .expected = "attention or value-norm, which every head has",
                          .found = std::string(name_of(request.method))});
    const bool vision = request.tower == Tower::vision, normed = request.method == MapMethod::value_norm;
    const PictureSpan& s = inside.span(request.picture);
    HeadMaps result{.request = request, .rows = inside.grid(), .columns = inside.grid()};
    const auto append = [](std::vector<float>& all, const at::Tensor& more) {
        const std::vector<float> numbers = to_vector(more);
        all.insert(all.end(), numbers.begin(), numbers.end());
    };
    const auto entropies = [](const at::Tensor& weights) { return -at::special_xlogy(weights, weights).sum(-1); };
    if (vision) {
        const VisionPass& pass = inside.look(request.picture);
        result.layers = static_cast<int>(pass.queries.size());
        result.heads = static_cast<int>(pass.queries.front().size(0));
        if (request.patch != kAll) check_range("patch", request.patch, 0, inside.patches());
        for (std::size_t layer = 0; layer < pass.queries.size(); ++layer) {
            const at::Tensor queries =
                request.patch == kAll ? pass.queries[layer] : pass.queries[layer].narrow(1, request.patch, 1);
            at::Tensor weights = attention_rows(queries, pass.keys[layer], std::nullopt).mean(1);
            append(result.entropy, entropies(weights));
            if (normed)
                weights = weights * value_norms(pass.values[layer], inside.tower()[layer].self_attn.out_proj.weight,
                                                result.heads);
            append(result.values, weights);
        }
        return result;
    }
    result.layers = inside.layers();
    result.heads = inside.heads();
    const std::int64_t row = inside.row_for(request.position);
    const Past::Tensors past = inside.parts.past->tensors();
    for (int layer = 0; layer < result.layers; ++layer) {
        at::Tensor weights = inside.rows(past, layer, row);
        append(result.entropy, entropies(weights));
        const std::vector<Masses> masses = inside.masses(weights, request.picture);
        result.masses.insert(result.masses.end(), masses.begin(), masses.end());
        if (normed)
            weights = weights * value_norms(past.values[static_cast<std::size_t>(layer)].narrow(1, 0, row + 1),
                                            inside.output(layer), result.heads);
        append(result.values, inside.on_picture(weights, s));
    }
    return result;
}

}  // namespace vitrine::insight
