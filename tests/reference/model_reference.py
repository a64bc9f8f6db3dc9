"""Random-weight model folders of any shape, and the activations transformers computes with them.

A case is written the way people have it on disk (save_pretrained, then whatever its `rewrite` makes of the files), read
back by transformers and run on the CPU with eager attention. Weights are drawn so that every detail shows in the numbers:

- embeddings are small (std 0.02) beside the epsilon of the norms, so a wrong epsilon is seen in the first layer;
- norm weights and biases are random, so none of them can be left out;
- queries are scaled so that attention picks a few positions out, so masks, positions and the rotary base matter;
- logits spread like a trained model's (std about 3), so greedy decoding does not hang on rounding;
- control tokens have short rows in the head, so greedy text stays text.
"""

import contextlib
import dataclasses
import json
import math
import pathlib
import shutil

import torch
import transformers
from PIL import Image
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import nn

import common

QWEN3_TOKENIZER = common.TEST_DATA / "qwen3-tokenizer"
INPUTS = (__file__, QWEN3_TOKENIZER / "tokenizer.json", QWEN3_TOKENIZER / "tokenizer_config.json")
QWEN3_FIRST_CONTROL_ID = 151643
SHARED_KEYS = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "hidden_act")
VISION_KEYS = (*SHARED_KEYS, "num_channels", "image_size", "patch_size", "layer_norm_eps")
LANGUAGE_KEYS = (*SHARED_KEYS, "vocab_size", "num_key_value_heads", "head_dim", "max_position_embeddings", "rms_norm_eps",
                 "attention_bias", "tie_word_embeddings")  # fmt: skip
DTYPE_NAMES = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}

EMBEDDING_STD = 0.02
LOGIT_STD = 3.0
CONTROL_ROW_SCALE = 0.2
MIN_GREEDY_MARGIN = 2.5e-3  # two logits that are each off by the allowed 1e-3 still keep their order
NEW_TOKENS = 64
TAIL = 8
FULL_LOGITS_VOCAB = 4096  # larger vocabularies store the logits of the last TAIL positions only

torch.set_num_threads(1)  # the tiny models are all overhead: more threads only wait for each other
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()


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
    rewrite: object = None  # called with the model folder once the reference stands; may change files, never what they mean
    seed: int = 0
    notes: str = ""


# ---------------------------------------------------------------------------------------------------------------- weights


def draw_weights(model, seed, dtype, control_ids=range(0), attention_sharpness=1.0):
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
                value *= attention_sharpness
        elif "embed" in name:
            value *= EMBEDDING_STD
        elif name == "lm_head.weight":
            value *= LOGIT_STD / math.sqrt(fan_in)
        else:
            value /= math.sqrt(fan_in)
        if name == ("model.embed_tokens.weight" if tied else "lm_head.weight"):
            value[control_ids.start :] *= CONTROL_ROW_SCALE
        weights[name] = value.to(dtype)
    model.load_state_dict(weights, assign=True, strict=False)
    model.tie_weights()
    return model


def rewrite_json(path, change):
    content = json.loads(path.read_text())
    path.write_text(json.dumps(change(content) or content, indent=2) + "\n")


def rewrite_weights(path, rename):
    """Gives every tensor of a safetensors file the name that rename(name) says."""
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
    renamed = {rename(name): tensor.clone() for name, tensor in load_file(path).items()}
    save_file(renamed, path, metadata)


def save_language(folder, case):
    folder.mkdir()
    save_tokenizer(folder, case.real_tokenizer)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    first_control = tokenizer.convert_tokens_to_ids("<|endoftext|>")
    stop = tokenizer.convert_tokens_to_ids("<|im_end|>")
    vocabulary = 151936 if case.real_tokenizer else len(tokenizer) + 6  # a few rows without a token, as Qwen3 has
    config = transformers.Qwen3Config(
        vocab_size=vocabulary, bos_token_id=first_control, eos_token_id=stop, **case.language
    )
    with torch.device("meta"):
        model = transformers.Qwen3ForCausalLM(config)
    control_ids = range(first_control, vocabulary)
    draw_weights(model, case.seed, case.language_dtype, control_ids, case.attention_sharpness)
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
    weights = {}
    for name, parameter in Projector(vision_hidden, language_hidden).state_dict().items():
        scale = 0.1 if parameter.dim() == 1 else 1 / math.sqrt(parameter.shape[1])
        weights[name] = torch.randn(parameter.shape, generator=generator) * scale
    # Patches arrive among embeddings of std 0.02: let them be of that order, as a trained projector's are.
    weights["fc2.weight"] *= 4 * EMBEDDING_STD
    weights["fc2.bias"] *= 4 * EMBEDDING_STD
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


# --------------------------------------------------------------------------------------------------------------- pictures


def draw_pictures(folder, size, count, seed):
    """Smooth colours and some grain as PNG files of exactly the model's size (so that no resize comes in), and their pixel_values."""
    generator = torch.Generator().manual_seed(seed)
    pictures = []
    for index in range(count):
        coarse = torch.rand(1, 3, 4, 4, generator=generator)
        smooth = nn.functional.interpolate(coarse, (size, size), mode="bicubic")[0]
        grainy = smooth + 0.1 * torch.randn(3, size, size, generator=generator)
        picture = (grainy.clamp(0, 1) * 255).round().to(torch.uint8)
        Image.fromarray(picture.permute(1, 2, 0).numpy()).save(folder / f"picture_{index}.png")
        pictures.append(picture)
    return (torch.stack(pictures).float() / 255 - 0.5) / 0.5  # [N, 3, size, size]


# -------------------------------------------------------------------------------------------------------------- reference


@contextlib.contextmanager
def recorded(modules, into):
    """Keeps what each module of {name: module} puts out while the block runs."""

    def keep(name):
        return lambda module, arguments, output: into.__setitem__(name, output)

    hooks = [module.register_forward_hook(keep(name)) for name, module in modules.items()]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


class Loaded:
    """A model folder as transformers reads it, in one dtype."""

    def __init__(self, folder, dtype):
        options = {"dtype": dtype, "attn_implementation": "eager"}
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder / "language")
        self.language = transformers.Qwen3ForCausalLM.from_pretrained(folder / "language", **options).eval()
        self.language.generation_config.eos_token_id = None  # the greedy texts never end early
        whole = json.loads((folder / "vision/config.json").read_text())["model_type"] == "siglip"
        if whole:
            self.vision = transformers.SiglipModel.from_pretrained(folder / "vision", **options).vision_model.eval()
        else:
            self.vision = transformers.SiglipVisionModel.from_pretrained(folder / "vision", **options).eval()
        self.projector = Projector(self.vision.config.hidden_size, self.language.config.hidden_size)
        self.projector.load_state_dict(load_file(folder / "projector.safetensors"))
        self.projector.to(dtype)
        self.dtype = dtype
        self.image_token = self.tokenizer.convert_tokens_to_ids("<|image_pad|>")

    def prompt(self, text, pictures=0):
        """Ids of one user turn: each picture's run between its marks, then the text; thinking off."""
        patches = self.vision.embeddings.num_patches
        content = f"<|vision_start|>{'<|image_pad|>' * patches}<|vision_end|>" * pictures + text
        rendered = self.tokenizer.apply_chat_template(
            [{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True, enable_thinking=False
        )
        return torch.tensor([self.tokenizer.encode(rendered, add_special_tokens=False)])

    def embed(self, ids, projected):
        """The embeddings of ids with the projected patches [N, P, H] laid over the image tokens in order."""
        embeds = self.language.model.embed_tokens(ids).clone()
        embeds[ids == self.image_token] = projected.flatten(0, 1)
        return embeds


def store_logits(tensors, prefix, logits):
    if logits.shape[-1] <= FULL_LOGITS_VOCAB:
        tensors[f"{prefix}.logits"] = logits
    else:
        tensors[f"{prefix}.logits_tail"] = logits[:, -TAIL:].clone()


def margin_of(logits):
    top = logits.float().topk(2, dim=-1).values
    return top[..., 0] - top[..., 1]


def activations(model, pixel_values, text_ids, batch_rows, glue_ids):
    """Every tensor that reference.safetensors holds, as the model's dtype computed it, and the logits at all text positions."""
    tensors = {"vision.pixel_values": pixel_values}
    vision = model.vision
    stages = {"vision.embeddings": vision.embeddings, "vision.post_layernorm": vision.post_layernorm}
    stages |= {f"vision.layers.{index}": layer for index, layer in enumerate(vision.encoder.layers)}
    with recorded(stages, tensors):
        vision(pixel_values.to(model.dtype))
    tensors["projector"] = model.projector(tensors["vision.post_layernorm"])

    decoder = model.language.model
    tensors["language.input_ids"] = text_ids
    stages = {"language.inputs_embeds": decoder.embed_tokens, "language.norm": decoder.norm}
    stages |= {f"language.layers.{index}": layer for index, layer in enumerate(decoder.layers)}
    with recorded(stages, tensors):
        logits = model.language(input_ids=text_ids, use_cache=False).logits
    store_logits(tensors, "language", logits)
    tensors["language.argmax"] = logits.argmax(-1)
    tensors["language.margin"] = margin_of(logits)

    length = max(map(len, batch_rows))
    padding = model.tokenizer.pad_token_id
    ids = torch.tensor([[padding] * (length - len(row)) + row for row in batch_rows])
    mask = torch.tensor([[0] * (length - len(row)) + [1] * len(row) for row in batch_rows])
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    tensors |= {"batch.input_ids": ids, "batch.attention_mask": mask}
    keep = 0 if model.language.config.vocab_size <= FULL_LOGITS_VOCAB else TAIL
    batch = model.language(
        input_ids=ids, attention_mask=mask, position_ids=positions, use_cache=False, logits_to_keep=keep
    )
    store_logits(tensors, "batch", batch.logits)

    embeds = model.embed(glue_ids, tensors["projector"])
    tensors |= {"glue.input_ids": glue_ids, "glue.inputs_embeds": embeds}
    glue = model.language(inputs_embeds=embeds, use_cache=False, logits_to_keep=keep)
    store_logits(tensors, "glue", glue.logits)
    return tensors, logits


def has_loop(ids):
    """Whether a run of tokens comes again and again: such a text would show little, and a loop detector would cut it."""
    for period in range(1, len(ids) // 3 + 1):
        run = 0
        for here, before in zip(ids[period:], ids):
            run = run + 1 if here == before else 0
            if run >= max(2 * period, 4):
                return True
    return False


class Unsuitable(Exception):
    """The drawn weights decode greedily into a text that hangs on rounding or says nothing; draw others."""


def greedy(model, ids, projected=None):
    options = {"max_new_tokens": NEW_TOKENS, "do_sample": False, "return_dict_in_generate": True, "output_logits": True}
    mask = torch.ones_like(ids)
    if projected is None:
        result = model.language.generate(input_ids=ids, attention_mask=mask, **options)
        new_ids = result.sequences[0, ids.shape[1] :].tolist()
    else:
        result = model.language.generate(inputs_embeds=model.embed(ids, projected), attention_mask=mask, **options)
        new_ids = result.sequences[0].tolist()
    margin = min(margin_of(logits).item() for logits in result.logits)
    assert len(new_ids) == NEW_TOKENS
    if margin < MIN_GREEDY_MARGIN:
        raise Unsuitable(f"margin {margin:.2g}")
    if len(set(new_ids)) < NEW_TOKENS // 3 or has_loop(new_ids):
        raise Unsuitable(f"{len(set(new_ids))} different tokens, or a loop")
    if max(new_ids) >= model.tokenizer.convert_tokens_to_ids("<|endoftext|>"):
        raise Unsuitable("a control token, or a row without a token")
    return {
        "prompt_ids": ids[0].tolist(),
        "ids": new_ids,
        "text": model.tokenizer.decode(new_ids, skip_special_tokens=True, clean_up_tokenization_spaces=False),
        "picture": projected is not None,
        "min_margin": margin,
    }


# ------------------------------------------------------------------------------------------------------------ ground truth


def read_tensors(folder):
    """{name: tensor} of a checkpoint folder, by its index where it has one, and the files that are not part of it."""
    index = folder / "model.safetensors.index.json"
    names = set(json.loads(index.read_text())["weight_map"].values()) if index.is_file() else {"model.safetensors"}
    tensors = {name: tensor for file in sorted(names) for name, tensor in load_file(folder / file).items()}
    return tensors, sorted(path.name for path in folder.glob("*.safetensors") if path.name not in names)


def language_names(tensors):
    return {name if name.startswith(("model.", "lm_head.")) else "model." + name: t for name, t in tensors.items()}


def vision_names(tensors):
    """The names inside the vision tower, by their names in the file; anything else of the file is ignored."""
    bare = {name: name.removeprefix("vision_model.") for name in tensors}
    return {name: inner for name, inner in bare.items() if inner.startswith(("embeddings.", "encoder.", "post_layernorm."))}


def expectations(folder, model):
    """What `inspect` has to say about the folder as it lies there after its rewriting."""

    def of(tensors, used, config, keys, strays=()):
        sizes = {}
        for tensor in tensors.values():
            dtype = DTYPE_NAMES[tensor.dtype]
            sizes[dtype] = sizes.get(dtype, 0) + tensor.numel() * tensor.element_size()
        return {
            "config": {key: getattr(config, key) for key in keys},
            "parameters": sum(tensors[name].numel() for name in used),
            "tensors": len(tensors),
            "tensors_used": len(used),
            "tensors_ignored": len(tensors) - len(used),
            "ignored": sorted(set(tensors) - set(used)),
            "strays": list(strays),
            "bytes": sizes,
        }

    language, strays = read_tensors(folder / "language")
    config = model.language.config
    expected = {"language": of(language, list(language), config, LANGUAGE_KEYS, strays)}
    expected["language"]["config"] |= {"rope_parameters": dict(config.rope_parameters)}
    vision, strays = read_tensors(folder / "vision")
    expected["vision"] = of(vision, list(vision_names(vision)), model.vision.config, VISION_KEYS, strays)
    projector = load_file(folder / "projector.safetensors")
    expected["projector"] = of(projector, list(projector), None, ())
    return expected


def check_reads_back(folder, model, tensors):
    """Reads the folder's files by hand into fresh modules: the rewriting must not have changed what the folder says."""
    text = json.loads((folder / "language/config.json").read_text())
    text |= text.pop("text_config", {})
    config = transformers.Qwen3Config(**text)
    weights = language_names(read_tensors(folder / "language")[0])
    if config.tie_word_embeddings:
        weights["lm_head.weight"] = weights["model.embed_tokens.weight"]
    language = transformers.Qwen3ForCausalLM._from_config(config, attn_implementation="eager", dtype=torch.float32)
    language.load_state_dict(weights)
    keep = TAIL if "language.logits_tail" in tensors else 0
    logits = language(input_ids=tensors["language.input_ids"], logits_to_keep=keep).logits
    torch.testing.assert_close(logits, tensors["language.logits_tail" if keep else "language.logits"], atol=1e-4, rtol=0)

    config = transformers.AutoConfig.from_pretrained(folder / "vision")
    config = getattr(config, "vision_config", config)
    for key in VISION_KEYS:
        assert getattr(config, key) == getattr(model.vision.config, key), key
    stored = read_tensors(folder / "vision")[0]
    inner = {name: stored[outer].to(model.dtype) for outer, name in vision_names(stored).items()}
    for name, parameter in model.vision.named_parameters():
        assert name.startswith("head.") or torch.equal(parameter, inner.pop(name)), name
    assert not inner, sorted(inner)


# -------------------------------------------------------------------------------------------------------------- the folder


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


def save_reference(path, tensors, dtype):
    whole = {name: t.float() if t.is_floating_point() else t for name, t in tensors.items()}
    save_file({name: t.contiguous() for name, t in whole.items()}, path, {"dtype": DTYPE_NAMES[dtype]})


@torch.inference_mode()
def write_references(folder, case):
    model = Loaded(folder, torch.float32)
    pixel_values = draw_pictures(folder, model.vision.config.image_size, case.pictures, case.seed + 3)
    texts = [case.text, "What is left of the door?", "Hello!"]
    caption = "Describe this picture."
    inputs = {
        "pixel_values": pixel_values,
        "text_ids": model.prompt(case.text),
        "batch_rows": [model.prompt(text)[0].tolist() for text in texts],
        "glue_ids": model.prompt(caption, case.pictures),
    }
    tensors, logits = activations(model, **inputs)
    save_reference(folder / "reference.safetensors", tensors, torch.float32)
    with_picture = greedy(model, model.prompt(caption, 1), tensors["projector"][:1])
    text_only = greedy(model, inputs["text_ids"])
    if case.also_bf16:
        tensors16, logits16 = activations(Loaded(folder, torch.bfloat16), **inputs)
        # How far bf16 alone moves a logit: what a margin has to exceed before an argmax means anything.
        tensors16["language.noise"] = (logits16.float() - logits).std(-1)
        save_reference(folder / "reference_bf16.safetensors", tensors16, torch.bfloat16)

    if case.rewrite:
        case.rewrite(folder)
    check_reads_back(folder, model, tensors)
    description = {
        "name": case.name,
        "notes": case.notes,
        "image_token_id": model.image_token,
        "patches": model.vision.embeddings.num_patches,
        "tokens": {"language": inputs["text_ids"].shape[1], "glue": inputs["glue_ids"].shape[1],
                   "batch": [len(row) for row in inputs["batch_rows"]]},
        "messages": {"language": case.text, "batch": texts, "glue": caption},
        "pictures": [f"picture_{index}.png" for index in range(case.pictures)],
        "greedy": [
            with_picture | {"message": caption, "pictures": ["picture_0.png"]},
            text_only | {"message": case.text, "pictures": []},
        ],
        "expect": expectations(folder, model),
    }  # fmt: skip
    (folder / "reference.json").write_text(json.dumps(description, indent=1, ensure_ascii=False) + "\n")


def make_case(out, case, attempts=20):
    """Writes out/NAME, drawing other weights while the greedy texts are unsuitable."""
    for attempt in range(attempts):
        shutil.rmtree(out / case.name, ignore_errors=True)
        save_folder(out / case.name, case)
        try:
            write_references(out / case.name, case)
            return
        except Unsuitable as reason:
            print(f"{case.name}: seed {case.seed} unsuitable ({reason})")
            case = dataclasses.replace(case, seed=case.seed + 100)
    raise SystemExit(f"{case.name}: no suitable weights in {attempts} attempts")
