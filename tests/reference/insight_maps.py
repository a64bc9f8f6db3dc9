"""The methods themselves, in float64 from weights as the files have them, attention and hidden states: no model code in here."""

import torch

from model_folders import language_names, read_tensors, vision_names


def read_weights(folder):
    """{name: tensor} of the two towers by their inner names, "language." or "vision." in front."""
    weights = {}
    for part, names in (("language", language_names), ("vision", vision_names)):
        tensors = read_tensors(folder / part)[0]
        weights |= {f"{part}.{inner}": tensors[name].double() for name, inner in names(tensors).items()}
    return weights


# -------------------------------------------------------------------------------------------------------- value norms


def rms_norm(x, weight, epsilon):
    return x / (x.pow(2).mean(-1, keepdim=True) + epsilon).sqrt() * weight


def layer_norm(x, weight, bias, epsilon):
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.pow(2).mean(-1, keepdim=True) + epsilon).sqrt() * weight + bias


def through_output(values, matrix):
    """[T, heads, head_dim] through each head's columns of the output projection, without its bias -> [heads, T, H]."""
    heads, size = values.shape[1:]
    return torch.stack([values[:, head] @ matrix[:, head * size : (head + 1) * size].T for head in range(heads)])


def carried_by_language(weights, config, layer, x, kv_head=None):
    """W_O(h) v_j(h) [heads, T, H], v with its bias, where it has one, of a layer's input x [T, H]."""
    prefix = f"language.model.layers.{layer}."
    heads, size = config.num_attention_heads, config.head_dim
    kv_head = kv_head or (lambda head: head // (heads // config.num_key_value_heads))
    normed = rms_norm(x.double(), weights[prefix + "input_layernorm.weight"], config.rms_norm_eps)
    values = normed @ weights[prefix + "self_attn.v_proj.weight"].T + weights.get(prefix + "self_attn.v_proj.bias", 0)
    values = values.unflatten(-1, (-1, size))[:, [kv_head(head) for head in range(heads)]]
    return through_output(values, weights[prefix + "self_attn.o_proj.weight"])


def carried_by_vision(weights, config, layer, x):
    """The same in the tower: [heads, P, C] of a layer's input x [P, C]."""
    prefix = f"vision.encoder.layers.{layer}."
    norm = (weights[prefix + "layer_norm1." + kind] for kind in ("weight", "bias"))
    values = layer_norm(x.double(), *norm, config.layer_norm_eps) @ weights[prefix + "self_attn.v_proj.weight"].T
    values = (values + weights[prefix + "self_attn.v_proj.bias"]).unflatten(-1, (config.num_attention_heads, -1))
    return through_output(values, weights[prefix + "self_attn.out_proj.weight"])


def joined_norm(attention, carried):
    """|| sum_h A[h,i,j] carried[h,j] || of attention [heads, R, T] -> [R, T]."""
    columns = [(weight.T.double() @ vectors).norm(dim=-1) for weight, vectors in zip(attention.unbind(-1), carried.unbind(1))]
    return torch.stack(columns, -1)


def summed(attention, carried):
    """What attention moves in all, [R, H]: the output projection's result, but for its bias."""
    return torch.einsum("hij,hjc->ic", attention.double(), carried)


# --------------------------------------------------------------------------------------------------- along the layers


def rollout(attentions):
    """[L, heads, P, P] -> [P, P]: row i says what patch i holds of each patch in the end (arXiv 2005.00928)."""
    total = identity = torch.eye(attentions.shape[-1], dtype=torch.float64)
    for attention in attentions.double().mean(1):
        step = attention + identity
        total = step / step.sum(-1, keepdim=True) @ total
    return total


def relevance(attentions, gradients):
    """[L, heads, T, T] twice -> R [T, T] (arXiv 2103.15679)."""
    total = torch.eye(attentions.shape[-1], dtype=torch.float64)
    for attention, gradient in zip(attentions.double(), gradients.double()):
        total = total + (attention * gradient).clamp(min=0).mean(0) @ total
    return total


def lens(weights, config, hidden):
    """Log-probabilities [..., V] of the residual stream [..., H] as if it were the last layer's (arXiv 2410.07149)."""
    head = weights.get("language.lm_head.weight", weights["language.model.embed_tokens.weight"])
    return (rms_norm(hidden.double(), weights["language.model.norm.weight"], config.rms_norm_eps) @ head.T).log_softmax(-1)


# ------------------------------------------------------------------------------------------------------------- numbers


def entropy(rows):
    rows = rows.double()
    return -torch.xlogy(rows, rows).sum(-1)


def masses(row, begins, patches, answer_begin):
    """Where rows [..., T] go, for each picture asked for: this, the other pictures, the first position, the rest of the
    prompt, the answer. -> [N, ..., 5]"""
    keys = torch.arange(row.shape[-1])
    inside = [(keys >= begin) & (keys < begin + patches) for begin in begins]
    first, answer = keys == 0, keys >= answer_begin
    found = []
    for this in inside:
        others = torch.stack(inside).any(0) & ~this
        parts = (this, others, first, ~(this | others | first | answer), answer)
        found.append(torch.stack([row[..., part].double().sum(-1) for part in parts], -1))
    return torch.stack(found)


def over_rms(x):
    """|x_d| / rms(x) of [..., H], with neither weight nor epsilon of a norm."""
    return x.double().abs() / x.double().pow(2).mean(-1, keepdim=True).sqrt()


def gap_to_neighbours(values, rank):
    """How far the value at each of these ranks (0: the largest) is from its neighbours. values [..., V], rank [..., K]."""
    falling = values.sort(-1, descending=True).values
    gaps = torch.cat([falling[..., :-1] - falling[..., 1:], torch.full_like(falling[..., :1], torch.inf)], -1)
    above = torch.cat([torch.full_like(gaps[..., :1], torch.inf), gaps[..., :-1]], -1)
    return torch.minimum(gaps, above).gather(-1, rank)
