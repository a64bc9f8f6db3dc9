"""Model folders with something to see inside, the conversations they are asked about, and passes with everything kept.

Plain random weights show little: attention near to even, no sink, no outlier. So, on top of model_folders, whose language
models pick positions out already, here

- the tower's queries are sharpened;
- in its last layer one unit of the MLP fires at a few patches only and writes loudly: outliers of norm;
- where the model is wide enough for 20 times the RMS to be reached, the token <|im_start|>, which comes first, and some
  patches of the projector have two extreme channels, which the layers hardly carry on: sinks of the language model.
"""

import dataclasses

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import model_folders
from model_reference import Loaded, draw_pictures, recorded

VISION_SHARPNESS = 3.0
SINK_CHANNELS = {5: 300.0, 11: 120.0}  # {channel: value}
SINK_CARRIED = 0.02  # of what the norm before attention lets through
FIRING = 10.0  # input of a GELU that fires, so far out that the dip of those that do not is nothing beside it


@dataclasses.dataclass
class Talk:
    """A conversation: (role, text, pictures) of its turns, and a neutral one about the same pictures."""

    name: str
    turns: list[tuple[str, str, int]]
    neutral: list[tuple[str, str, int]]
    ranks: tuple[int, ...] = (0, 2, 0, 5, 1, 3)  # of the answer's tokens among the words, by their logits
    pictures: int = 1


# ------------------------------------------------------------------------------------------------------------ the folder


def change_weights(path, changes):
    """Lets each of {name: change} rewrite its tensor of a safetensors file in place."""
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
    tensors = load_file(path)
    for name, change in changes.items():
        value = tensors[name].float()
        change(value)
        tensors[name] = value.to(tensors[name].dtype)
    save_file(tensors, path, metadata)


def single_out(path, name, inputs, share):
    """Makes one unit of this layer, which a GELU follows, fire at about this share of the patches. inputs: what the layer
    puts out, [N, P, units]. -> the unit: the one that stands out furthest in every picture."""
    levels = inputs.flatten(0, 1).quantile(1 - share, dim=0)
    unit = (inputs - levels).clamp(min=0).mean(1).min(0).values.argmax().item()
    level, chosen = levels[unit], inputs[..., unit]
    gain = FIRING / (chosen[chosen > level] - level).mean()

    def shift(bias):
        bias[unit] = (bias[unit] - level) * gain

    change_weights(path, {name + ".weight": lambda value: value[unit].mul_(gain), name + ".bias": shift})
    return unit


def add_outliers(folder, pixel_values):
    """Patches whose norm is several times the usual one behind the tower's last layer."""
    tower = Loaded(folder, torch.float32).vision
    layer, kept = tower.encoder.layers[-1], {}
    with recorded({"inputs": layer.mlp.fc1, "output": layer}, kept):
        tower(pixel_values)
    path, mlp = folder / "vision/model.safetensors", f"vision_model.encoder.layers.{len(tower.encoder.layers) - 1}.mlp."
    unit = single_out(path, mlp + "fc1", kept["inputs"], 0.1)
    length = 4 * kept["output"].norm(dim=-1).median() / FIRING
    change_weights(path, {mlp + "fc2.weight": lambda value: value[:, unit].mul_(length / value[:, unit].norm())})


def add_sinks(folder, pixel_values):
    model, kept = Loaded(folder, torch.float32), {}
    with recorded({"inputs": model.projector.fc1}, kept):
        model.projector(model.vision(pixel_values).last_hidden_state)
    channels, loud = list(SINK_CHANNELS), torch.tensor(list(SINK_CHANNELS.values()))

    def fill(value, index, content):
        value[index] = content

    path = folder / "projector.safetensors"
    unit = single_out(path, "fc1", kept["inputs"], 0.05)
    change_weights(path, {"fc2.weight": lambda value: fill(value, (channels, unit), loud / FIRING)})
    first = model.tokenizer.convert_tokens_to_ids("<|im_start|>")
    norms = [f"model.layers.{index}.input_layernorm.weight" for index in range(model.language.config.num_hidden_layers)]
    changes = {name: lambda value: fill(value, channels, SINK_CARRIED) for name in norms}
    changes["model.embed_tokens.weight"] = lambda value: fill(value, (first, channels), loud)
    change_weights(folder / "language/model.safetensors", changes)


def save_insight_folder(folder, case, sinks):
    """Writes the folder with its pictures; returns their pixel_values [N, 3, S, S]."""
    model_folders.save_folder(folder, case)
    pixel_values = draw_pictures(folder, case.vision["image_size"], case.pictures, case.seed + 3)
    layers = range(case.vision["num_hidden_layers"])
    queries = [f"vision_model.encoder.layers.{index}.self_attn.q_proj.{kind}" for index in layers for kind in ("weight", "bias")]
    change_weights(folder / "vision/model.safetensors", {name: lambda value: value.mul_(VISION_SHARPNESS) for name in queries})
    add_outliers(folder, pixel_values)
    if sinks:
        add_sinks(folder, pixel_values)
    return pixel_values


# ---------------------------------------------------------------------------------------------------------------- passes


def prompt_ids(model, turns):
    """Ids [1, T] of the chat, thinking off, and where the picture's patches begin [N]."""
    patches = model.vision.embeddings.num_patches
    run = f"<|vision_start|>{'<|image_pad|>' * patches}<|vision_end|>"
    chat = [{"role": role, "content": run * pictures + text} for role, text, pictures in turns]
    rendered = model.tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True, enable_thinking=False)
    ids = torch.tensor([model.tokenizer.encode(rendered, add_special_tokens=False)])
    return ids, (ids[0] == model.image_token).nonzero().flatten()[::patches]


@dataclasses.dataclass
class Seen:
    """One pass. layers: what the layers put out; mixed: what their attention did, its output projection included."""

    attentions: torch.Tensor  # language [L, heads, T, T], vision [N, L, heads, P, P]
    inputs: list[torch.Tensor]  # [L] x [T, H] or [N, P, C]
    layers: list[torch.Tensor]
    mixed: list[torch.Tensor]
    output: torch.Tensor  # logits [T, V], or features after post_layernorm [N, P, C]


def watch(layers):
    names = {("layer", index): layer for index, layer in enumerate(layers)}
    return names | {("mixed", index): layer.self_attn for index, layer in enumerate(layers)}


def see_language(model, embeds):
    kept = {}
    layers = model.language.model.layers
    with recorded(watch(layers), kept):
        result = model.language(inputs_embeds=embeds, use_cache=False, output_attentions=True)
    outputs = [kept["layer", index][0] for index in range(len(layers))]
    mixed = [kept["mixed", index][0][0] for index in range(len(layers))]
    return Seen(torch.cat(result.attentions), [embeds[0], *outputs[:-1]], outputs, mixed, result.logits[0])


def see_vision(model, pixel_values):
    kept = {}
    layers = model.vision.encoder.layers
    with recorded(watch(layers) | {"embeddings": model.vision.embeddings}, kept):
        result = model.vision(pixel_values, output_attentions=True)
    outputs = [kept["layer", index] for index in range(len(layers))]
    mixed = [kept["mixed", index][0] for index in range(len(layers))]
    inputs = [kept["embeddings"], *outputs[:-1]]
    return Seen(torch.stack(result.attentions, 1), inputs, outputs, mixed, result.last_hidden_state)


def speak(model, embeds, ranks):
    """Says the word of each rank in turn, step by step on a cache. -> ids, and the attention [L, heads, keys] of every step."""
    words = model.tokenizer.convert_tokens_to_ids("<|endoftext|>")  # control tokens are no words
    ids, rows = [], []
    result = model.language(inputs_embeds=embeds, use_cache=True)
    for rank in ranks:
        ids.append(result.logits[0, -1, :words].argsort(descending=True)[rank].item())
        result = model.language(input_ids=torch.tensor([ids[-1:]]), cache=result.cache, use_cache=True, output_attentions=True)
        rows.append(torch.cat(result.attentions)[:, :, 0])
    return ids, rows


def gradients(model, embeds, position, token):
    """dy/dA [L, heads, T, T] and dy/d(what attention did) [L, T, H], where y is the logit of the token at this position."""
    kept = {}
    layers = model.language.model.layers
    with torch.enable_grad(), recorded(watch(layers), kept):
        result = model.language(inputs_embeds=embeds, use_cache=False, output_attentions=True)
        mixed = [kept["mixed", index][0] for index in range(len(layers))]
        found = torch.autograd.grad(result.logits[0, position - 1, token], [*result.attentions, *mixed])
    return torch.cat(found[: len(layers)]), torch.cat(found[len(layers) :])
