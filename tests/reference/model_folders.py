"""Writes model folders with random weights the way people have them on disk.

Weights are drawn so that every detail of the model shows in its numbers:

- embeddings are small (std 0.02) beside the epsilon of the norms, so a wrong epsilon is seen in the first layer;
- GELU gets inputs out to where its two forms differ most, and the projector speaks louder than words, as trained ones
  do, so that the wrong form is seen;
- norm weights and biases are random, so none of them can be left out;
- queries are scaled so that attention picks a few positions out, so masks, positions and the rotary base matter;
- logits spread like a trained model's (std about 3), so greedy decoding does not hang on rounding;
- control tokens have short rows in the head, so greedy text stays text.
"""

import dataclasses
import json
import math
import pathlib
import shutil
from collections.abc import Callable

import torch
import transformers
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import nn

import common

QWEN3_TOKENIZER = common.TEST_DATA / "qwen3-tokenizer"
QWEN3_VOCABULARY = 151936
QWEN3_FIRST_CONTROL_ID = 151643

EMBEDDING_STD = 0.02
LOGIT_STD = 3.0
CONTROL_ROW_SCALE = 0.2
GELU_INPUT_STD = 2.0
PROJECTED_STD = 6.0


@dataclasses.dataclass
class Case:
    """One model folder. language: keys of Qwen3Config; vision: keys of SiglipVisionConfig, or a whole SiglipConfig."""

    name: str
    language: dict
    vision: dict | transformers.SiglipConfig
    real_tokenizer: bool = False
    language_dtype: torch.dtype = torch.float32
    vision_dtype: torch.dtype = torch.float32
    also_bf16: bool = False  # reference_bf16.safetensors beside the fp32 one
    max_shard_size: str = "5GB"
    pictures: int = 2
    text: str = "Name the colours you see, then say which is the brightest."
    attention_sharpness: float = 3.0  # spread of the attention scores
    attention_gain: float = 1.0  # of o_proj: over many layers a large one lets the context drown the token itself
    rewrite: Callable[[pathlib.Path], None] | None = None  # says the same in other words, once the reference stands
    seed: int = 0
    notes: str = ""


# ---------------------------------------------------------------------------------------------------------------- weights


def draw_weights(model, seed, dtype, control_ids=range(0), sharpness=1.0, gain=1.0):
    """Fills a model that lives on the meta device. The top of this file says why the scales are what they are."""
    generator = torch.Generator().manual_seed(seed)
    tied = getattr(model.config, "tie_word_embeddings", False) and hasattr(model, "lm_head")
    weights = {}
    for name, parameter in model.named_parameters():
        shape = parameter.shape
        fan_in = math.prod(shape[1:])
        value = torch.randn(shape, generator=generator)
        if "patch_embedding" in name:
            value *= EMBEDDING_STD if name.endswith("bias") else EMBEDDING_STD * math.sqrt(3 / fan_in)
        elif name.endswith("bias"):
            value *= 0.1
        elif len(shape) == 1:
            value.mul_(0.1).add_(1)
            if name == "model.norm.weight" and tied:
                value *= LOGIT_STD / (EMBEDDING_STD * math.sqrt(shape[0]))
            elif "q_norm" in name:
                value *= sharpness
        elif "embed" in name:
            value *= EMBEDDING_STD
        elif name == "lm_head.weight":
            value *= LOGIT_STD / math.sqrt(fan_in)
        else:
            value /= math.sqrt(fan_in)
            if "o_proj" in name:
                value *= gain
            elif "fc1" in name:
                value *= GELU_INPUT_STD
        if name == ("model.embed_tokens.weight" if tied else "lm_head.weight"):
            value[control_ids.start :] *= CONTROL_ROW_SCALE
        weights[name] = value.to(dtype)
    model.load_state_dict(weights, assign=True, strict=False)
    model.tie_weights()
    return model


def save_language(folder, case):
    folder.mkdir()
    save_tokenizer(folder, case.real_tokenizer)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    first_control = tokenizer.convert_tokens_to_ids("<|endoftext|>")
    stop = tokenizer.convert_tokens_to_ids("<|im_end|>")
    vocabulary = QWEN3_VOCABULARY if case.real_tokenizer else len(tokenizer) + 6  # a few rows without a token, as Qwen3 has
    config = transformers.Qwen3Config(
        vocab_size=vocabulary, bos_token_id=first_control, eos_token_id=stop, **case.language
    )
    with torch.device("meta"):
        model = transformers.Qwen3ForCausalLM(config)
    control_ids = range(first_control, vocabulary)
    draw_weights(model, case.seed, case.language_dtype, control_ids, case.attention_sharpness, case.attention_gain)
    model.generation_config = transformers.GenerationConfig(
        bos_token_id=first_control, eos_token_id=[stop, first_control], pad_token_id=first_control
    )
    model.save_pretrained(folder, max_shard_size=case.max_shard_size)


def save_vision(folder, case):
    whole = isinstance(case.vision, transformers.SiglipConfig)
    config = case.vision if whole else transformers.SiglipVisionConfig(**case.vision)
    with torch.device("meta"):
        model = (transformers.SiglipModel if whole else transformers.SiglipVisionModel)(config)
    draw_weights(model, case.seed + 1, case.vision_dtype).save_pretrained(folder)
    if not whole:  # the checkpoints people have carry the prefix, though this version of transformers writes none
        rewrite_weights(folder / "model.safetensors", lambda name: "vision_model." + name)
    size = (config.vision_config if whole else config).image_size
    processor = {
        "do_normalize": True, "do_rescale": True, "do_resize": True, "image_mean": [0.5] * 3, "image_std": [0.5] * 3,
        "image_processor_type": "SiglipImageProcessor", "processor_class": "SiglipProcessor", "resample": 3,
        "rescale_factor": 1 / 255, "size": {"height": size, "width": size},
    }  # fmt: skip
    (folder / "preprocessor_config.json").write_text(json.dumps(processor, indent=2) + "\n")


class Projector(nn.Module):
    def __init__(self, vision_hidden, language_hidden):
        super().__init__()
        self.fc1 = nn.Linear(vision_hidden, language_hidden)
        self.fc2 = nn.Linear(language_hidden, language_hidden)

    def forward(self, patches):
        return self.fc2(nn.functional.gelu(self.fc1(patches)))


def save_projector(path, vision_hidden, language_hidden, seed):
    generator = torch.Generator().manual_seed(seed)
    gain = {"fc1": GELU_INPUT_STD, "fc2": PROJECTED_STD / GELU_INPUT_STD}
    weights = {}
    for name, parameter in Projector(vision_hidden, language_hidden).state_dict().items():
        scale = 0.1 if parameter.dim() == 1 else gain[name[:3]] / math.sqrt(parameter.shape[1])
        weights[name] = torch.randn(parameter.shape, generator=generator) * scale
    save_file(weights, path, {"format": "pt"})


# -------------------------------------------------------------------------------------------------------------- tokenizer


def save_tokenizer(folder, real):
    """Qwen3's tokenizer, or one that is built the same way over the 256 bytes and the first merges that fit among them."""
    names = ("tokenizer.json", "tokenizer_config.json")
    for name in names:
        shutil.copy(QWEN3_TOKENIZER / name, folder / name)
    if real:
        return
    content = json.loads((folder / names[0]).read_text())
    model = content["model"]
    by_id = sorted(model["vocab"], key=model["vocab"].get)
    pieces = by_id[:256]
    merges = model["merges"][:16]
    pieces += ["".join(merge) for merge in merges]
    model["vocab"] = {piece: id for id, piece in enumerate(pieces)}
    model["merges"] = merges
    shift = QWEN3_FIRST_CONTROL_ID - len(pieces)
    for token in content["added_tokens"]:
        token["id"] -= shift
    (folder / names[0]).write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n")

    def renumber(config):
        config["added_tokens_decoder"] = {
            str(int(id) - shift): token for id, token in config["added_tokens_decoder"].items()
        }

    rewrite_json(folder / names[1], renumber)


# ------------------------------------------------------------------------------------------------------------ the folder


def save_folder(folder, case):
    folder.mkdir()
    save_vision(folder / "vision", case)
    save_language(folder / "language", case)
    vision = json.loads((folder / "vision/config.json").read_text())
    vision_hidden = vision.get("vision_config", vision)["hidden_size"]
    save_projector(folder / "projector.safetensors", vision_hidden, case.language["hidden_size"], case.seed + 2)
    model_json = {"name": case.name, "vision": "vision", "language": "language", "projector": "projector.safetensors",
                  "presets": {"caption": "Describe this picture."}}  # fmt: skip
    (folder / "vitrine.json").write_text(json.dumps(model_json, indent=2) + "\n")


# --------------------------------------------------------------------------------- the same thing said in other ways


def rewrite_json(path, change):
    content = json.loads(path.read_text())
    path.write_text(json.dumps(change(content) or content, indent=2) + "\n")


def rewrite_weights(path, rename):
    """Gives every tensor of a safetensors file the name that rename(name) says."""
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
    renamed = {rename(name): tensor.clone() for name, tensor in load_file(path).items()}
    save_file(renamed, path, metadata)


def to_older_rope_keys(config):
    """rope_theta and rope_scaling at the top level, as files of before transformers 5 have them."""
    rope = config.pop("rope_parameters")
    config["rope_theta"] = rope.pop("rope_theta")
    config["rope_scaling"] = None if rope["rope_type"] == "default" else rope
    config["torch_dtype"] = config.pop("dtype")


def with_older_rope_keys(folder):
    rewrite_json(folder / "language/config.json", to_older_rope_keys)


def with_text_config(folder):
    """The language keys inside text_config, the tensors without the leading "model.", as wrapped checkpoints have them."""

    def nest(config):
        outside = {key: config.pop(key) for key in ("architectures", "dtype", "transformers_version")}
        return outside | {"model_type": config["model_type"], "text_config": config}

    rewrite_json(folder / "language/config.json", nest)
    rewrite_weights(folder / "language/model.safetensors", lambda name: name.removeprefix("model."))


def with_partial_vision_config(folder):
    """Only what differs from SiglipVisionConfig's defaults, as the hub's files have it."""
    defaults = transformers.SiglipVisionConfig().to_dict()

    def drop_defaults(config):
        vision = config["vision_config"]
        config["vision_config"] = {
            key: value for key, value in vision.items()
            if key in ("model_type", "patch_size") or key in defaults and value != defaults[key]
        }  # fmt: skip

    rewrite_json(folder / "vision/config.json", drop_defaults)


def with_bare_vision_names(folder):
    """As transformers 5 itself writes a SiglipVisionModel: without the leading "vision_model."."""
    rewrite_weights(folder / "vision/model.safetensors", lambda name: name.removeprefix("vision_model."))


def with_stray_file(folder):
    """A file beside the shards that the index does not name, with a tensor that would do harm if it were merged."""
    assert len(list((folder / "language").glob("model-*.safetensors"))) >= 3
    size = json.loads((folder / "language/config.json").read_text())["hidden_size"]
    save_file({"model.norm.weight": torch.zeros(size), "extra.weight": torch.ones(2, 2)}, folder / "language/extra.safetensors")


# --------------------------------------------------------------------------------------------------------- reading back


def read_tensors(folder):
    """{name: tensor} of a checkpoint folder, by its index where it has one, and the files that are not part of it."""
    index = folder / "model.safetensors.index.json"
    names = set(json.loads(index.read_text())["weight_map"].values()) if index.is_file() else {"model.safetensors"}
    tensors = {name: tensor for file in sorted(names) for name, tensor in load_file(folder / file).items()}
    return tensors, sorted(path.name for path in folder.glob("*.safetensors") if path.name not in names)


def language_names(tensors):
    """The names inside Qwen3ForCausalLM, by their names in the file."""
    return {name: name if name.startswith(("model.", "lm_head.")) else "model." + name for name in tensors}


def vision_names(tensors):
    """The names inside the vision tower, by their names in the file; anything else of the file is ignored."""
    bare = {name: name.removeprefix("vision_model.") for name in tensors}
    return {name: inner for name, inner in bare.items() if inner.startswith(("embeddings.", "encoder.", "post_layernorm."))}
