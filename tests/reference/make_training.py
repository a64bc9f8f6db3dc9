"""What PyTorch makes of a training step: ids and labels of rows, losses, gradients of every part, and AdamW's steps."""

import json
import math

import torch
from PIL import Image
from safetensors.torch import save_file
from torch import nn

import common
import model_folders
import model_reference
import training_chats
from model_folders import Case, save_folder
from model_reference import Loaded

LANGUAGE = {
    "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "head_dim": 16, "max_position_embeddings": 2048, "tie_word_embeddings": True, "rope_theta": 1e6,
}  # fmt: skip
VISION = {
    "hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 48, "patch_size": 16,
}  # fmt: skip
INPUTS = (*model_reference.INPUTS, training_chats.__file__, model_reference.__file__)

# Rows of the batch: of different lengths, one of several turns, one without a picture.
BATCH = ["caption", "text alone", "two turns", "Chinese and emoji", "an answer of one letter", "four turns"]

# The gradients that are kept of "all": one of each kind, in every layer where it matters how far it has come.
KEPT = [
    "language.model.layers.0.self_attn.q_proj.weight", "language.model.layers.0.self_attn.k_proj.weight",
    "language.model.layers.1.self_attn.v_proj.weight", "language.model.layers.0.self_attn.o_proj.weight",
    "language.model.layers.0.self_attn.q_norm.weight", "language.model.layers.1.self_attn.k_norm.weight",
    "language.model.layers.0.mlp.gate_proj.weight", "language.model.layers.1.mlp.up_proj.weight",
    "language.model.layers.0.mlp.down_proj.weight", "language.model.layers.0.input_layernorm.weight",
    "language.model.layers.1.post_attention_layernorm.weight", "language.model.norm.weight",
    "vision.embeddings.patch_embedding.weight", "vision.embeddings.patch_embedding.bias",
    "vision.embeddings.position_embedding.weight", "vision.encoder.layers.0.layer_norm1.weight",
    "vision.encoder.layers.0.self_attn.q_proj.weight", "vision.encoder.layers.0.self_attn.k_proj.weight",
    "vision.encoder.layers.1.self_attn.v_proj.bias", "vision.encoder.layers.0.self_attn.out_proj.weight",
    "vision.encoder.layers.0.mlp.fc1.weight", "vision.encoder.layers.1.mlp.fc2.bias", "vision.post_layernorm.weight",
]  # fmt: skip


class Batch:
    """The rows of BATCH as a data set in LLaVA's form, and as tensors."""

    def __init__(self, folder, model, builder):
        size = model.vision.config.image_size
        pictures = model_reference.draw_pictures(folder, size, len(BATCH), 11)
        rows, self.with_picture = [], []
        for index, name in enumerate(BATCH):
            chat = training_chats.CHATS[name]
            shown = any(message["picture"] for message in chat)
            turns = [
                {"from": "human" if message["role"] == "user" else "gpt",
                 "value": ("<image>\n" if message["picture"] else "") + message["text"]}
                for message in chat
            ]  # fmt: skip
            rows.append({"id": name, "conversations": turns} | ({"image": f"picture_{index}.png"} if shown else {}))
            if shown:
                self.with_picture.append(index)
        (folder / "data.json").write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
        self.pixels = pictures[self.with_picture]

        built = [builder.row(training_chats.CHATS[name]) for name in BATCH]
        self.ids, self.mask = model_reference.padded_on_the_left([row["ids"] for row in built], 0)
        self.targets, _ = model_reference.padded_on_the_left([row["targets"] for row in built], 0)

    def loss(self, model):
        """Mean over all targets of the batch, everything differentiable; logits of every position, as people have it."""
        features = model.vision(self.pixels).last_hidden_state
        projected = model.projector(features).flatten(0, 1)
        embeds = model.language.model.embed_tokens(self.ids)
        places = (self.ids == model.image_token).unsqueeze(-1)
        embeds = embeds.masked_scatter(places, projected)
        positions = (self.mask.cumsum(-1) - 1).clamp(min=0)
        logits = model.language(inputs_embeds=embeds, attention_mask=self.mask, position_ids=positions, use_cache=False).logits
        chosen = self.targets[:, 1:].bool()
        return nn.functional.cross_entropy(logits[:, :-1][chosen], self.ids[:, 1:][chosen])


def named_parameters(model):
    for prefix, module in (("", model.projector), ("language.", model.language), ("vision.", model.vision)):
        for name, parameter in module.named_parameters():
            yield prefix + name, parameter


def write_gradients(path, model, batch):
    for module in (model.projector, model.language, model.vision):
        module.requires_grad_(True)
    loss = batch.loss(model)
    loss.backward()
    gradients = {name: parameter.grad for name, parameter in named_parameters(model) if parameter.grad is not None}
    tensors = {name: gradients[name] for name in KEPT}
    tensors |= {name: gradient for name, gradient in gradients.items() if name.startswith(("fc1.", "fc2."))}
    # Of the table of tokens, which is the head too: rows that were read, rows that were wanted, and some others.
    rows = torch.cat([batch.ids.unique(), torch.arange(1000, 1032)]).unique()
    tensors |= {"embed_rows": rows, "embed_gradient": gradients["language.model.embed_tokens.weight"][rows]}
    tensors |= {"loss": loss.detach(), "targets": batch.targets.sum()}
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path)
    model.language.requires_grad_(False), model.vision.requires_grad_(False)


def rate_at(step, options):
    progress = (step + 0.5) / options["steps"]
    if progress < options["warmup"]:
        return options["learning_rate"] * progress / options["warmup"]
    return options["learning_rate"] * 0.5 * (1 + math.cos(math.pi * (progress - options["warmup"]) / (1 - options["warmup"])))


def adamw(parameters, options):
    matrices = [parameter for parameter in parameters if parameter.dim() > 1]
    others = [parameter for parameter in parameters if parameter.dim() < 2]
    groups = [{"params": matrices, "weight_decay": options["weight_decay"]}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=1.0, betas=(options["beta1"], options["beta2"]), eps=options["epsilon"])


def write_run(folder, model, batch):
    """Five steps of the projector on the whole batch: clipped, warmed up, along a half cosine, with weight decay."""
    options = {"steps": 5, "learning_rate": 0.002, "warmup": 0.35, "weight_decay": 0.5, "beta1": 0.8, "beta2": 0.95,
               "epsilon": 1e-4}  # fmt: skip; epsilon is large, as the smallest gradients are mostly rounding
    parameters = list(model.projector.parameters())
    model.projector.zero_grad()
    batch.loss(model).backward()
    first = nn.utils.clip_grad_norm_(parameters, math.inf).item()
    options["clip"] = round(0.9 * first, 4)  # the first step is clipped; whether later ones are is seen in the norms
    optimiser = adamw(parameters, options)
    losses, norms, rates = [], [], []
    for step in range(options["steps"]):
        optimiser.zero_grad()
        loss = batch.loss(model)
        loss.backward()
        losses.append(loss.item())
        norms.append(nn.utils.clip_grad_norm_(parameters, options["clip"]).item())
        rates.append(rate_at(step, options))
        for group in optimiser.param_groups:
            group["lr"] = rates[-1]
        optimiser.step()
    assert any(norm > options["clip"] for norm in norms) and any(norm < options["clip"] for norm in norms), norms
    save_file({name: parameter.detach() for name, parameter in model.projector.named_parameters()}, folder / "after.safetensors")
    content = {"options": options, "losses": losses, "norms": norms, "rates": rates}
    (folder / "run.json").write_text(json.dumps(content, indent=1) + "\n")


def write_steps(path):
    """AdamW alone, in float64 beside the torch.optim.AdamW of float32, on given gradients of very different sizes."""
    options = {"weight_decay": 0.05, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}
    generator = torch.Generator().manual_seed(5)
    shapes = {"bias": [7], "matrix": [11, 13], "norm": [13], "second": [3, 5, 2]}
    values = {name: nn.Parameter(torch.randn(shape, generator=generator)) for name, shape in shapes.items()}
    tensors = {f"before.{name}": value.detach().clone() for name, value in values.items()}
    optimiser = adamw(list(values.values()), options)
    for step in range(7):
        for name, value in values.items():
            value.grad = torch.randn(value.shape, generator=generator) * 10.0 ** (step - 5)
            tensors[f"gradient.{step}.{name}"] = value.grad.clone()
        for group in optimiser.param_groups:
            group["lr"] = 0.02 / (1 + step)
        optimiser.step()
        tensors |= {f"after.{step}.{name}": value.detach().clone() for name, value in values.items()}
    save_file(tensors, path, {"options": json.dumps(options)})


def make(out):
    """Rows, losses, gradients and optimiser steps by transformers and PyTorch."""
    save_folder(out / "model", Case("model", LANGUAGE, VISION, real_tokenizer=True, seed=3))
    model = Loaded(out / "model", torch.float32)
    patches = model.vision.embeddings.num_patches
    builder = training_chats.Builder(model.tokenizer, patches)
    rows = [{"name": name, "messages": chat} | builder.row(chat) for name, chat in training_chats.CHATS.items()]
    (out / "rows.json").write_text(json.dumps({"patches": patches, "rows": rows}, ensure_ascii=False, indent=1) + "\n")

    (out / "data").mkdir()
    batch = Batch(out / "data", model, builder)
    write_gradients(out / "gradients.safetensors", model, batch)
    write_run(out, model, batch)
    write_steps(out / "adamw.safetensors")


if __name__ == "__main__":
    common.run(make, __file__, inputs=INPUTS)
