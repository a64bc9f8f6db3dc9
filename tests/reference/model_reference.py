"""What transformers computes with a model folder: activations at every stage, greedy texts, and what the folder holds.

Everything runs on the CPU with eager attention. reference.safetensors has, as float32 (ids and masks as int64):

    vision.pixel_values [N,3,S,S]   vision.embeddings, vision.layers.I, vision.post_layernorm [N,P,C]   projector [N,P,H]
    language.input_ids [1,T]        language.inputs_embeds, language.layers.I, language.norm [1,T,H]
    batch.input_ids, batch.attention_mask [B,T] (padded on the left; not in bf16)
    glue.input_ids [1,T] (a run of image tokens for each picture)   glue.inputs_embeds [1,T,H]
    language, batch, glue: .logits [1 or B,T,V], or .logits_tail (the last 8 positions) where the vocabulary is large
    language, glue: .argmax, .margin [1,T] (the best logit less the second)

reference_bf16.safetensors is computed in bf16 throughout, but for .argmax and .margin, which stay those of fp32; its .noise
[1,T] is how far bf16 moves a logit (standard deviation): a choice counts where the margin is several times that.
"""

import contextlib
import dataclasses
import json
import shutil

import torch
import transformers
from PIL import Image
from safetensors.torch import load_file, save_file
from torch import nn

import model_folders
from model_folders import QWEN3_TOKENIZER, Projector, language_names, read_tensors, save_folder, vision_names

INPUTS = (__file__, model_folders.__file__, QWEN3_TOKENIZER / "tokenizer.json", QWEN3_TOKENIZER / "tokenizer_config.json")
SHARED_KEYS = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "hidden_act")
VISION_KEYS = (*SHARED_KEYS, "num_channels", "image_size", "patch_size", "layer_norm_eps")
LANGUAGE_KEYS = (*SHARED_KEYS, "vocab_size", "num_key_value_heads", "head_dim", "max_position_embeddings", "rms_norm_eps",
                 "attention_bias", "tie_word_embeddings")  # fmt: skip
DTYPE_NAMES = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}

MIN_GREEDY_MARGIN = 2.5e-3  # two logits that are each off by the allowed 1e-3 still keep their order
NEW_TOKENS = 64
TAIL = 8
FULL_LOGITS_VOCAB = 4096  # larger vocabularies store the logits of the last TAIL positions only

torch.set_num_threads(1)  # more threads only wait for each other: tiny models are all overhead, and others compile meanwhile
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()


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


def margin_of(logits):
    top = logits.float().topk(2, dim=-1).values
    return top[..., 0] - top[..., 1]


def logit_tensors(prefix, logits):
    tensors = {}
    if prefix != "batch":  # at padding they would mean nothing
        tensors = {f"{prefix}.argmax": logits.argmax(-1), f"{prefix}.margin": margin_of(logits)}
    if logits.shape[-1] <= FULL_LOGITS_VOCAB:
        return tensors | {f"{prefix}.logits": logits}
    return tensors | {f"{prefix}.logits_tail": logits[:, -TAIL:].clone()}


def padded_on_the_left(rows, padding):
    length = max(map(len, rows))
    ids = torch.tensor([[padding] * (length - len(row)) + row for row in rows])
    mask = torch.tensor([[0] * (length - len(row)) + [1] * len(row) for row in rows])
    return ids, mask


def activations(model, pixel_values, text_ids, glue_ids, batch_rows=()):
    """The tensors of reference.safetensors as the model's dtype computes them, and {prefix: logits at all positions}."""
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
        logits = {"language": model.language(input_ids=text_ids, use_cache=False).logits}

    if batch_rows:
        ids, mask = padded_on_the_left(batch_rows, model.tokenizer.pad_token_id)
        tensors |= {"batch.input_ids": ids, "batch.attention_mask": mask}
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        batch = model.language(input_ids=ids, attention_mask=mask, position_ids=positions, use_cache=False)
        logits["batch"] = batch.logits

    embeds = model.embed(glue_ids, tensors["projector"])
    tensors |= {"glue.input_ids": glue_ids, "glue.inputs_embeds": embeds}
    logits["glue"] = model.language(inputs_embeds=embeds, use_cache=False).logits
    for prefix, values in logits.items():
        tensors |= logit_tensors(prefix, values)
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


def check_reads_back(folder, model):
    """Reads the folder's files by hand: rewriting them must not have changed what they say, and nothing in them is unknown."""

    def agree(tensors, module, config, keys):
        for key in keys:
            assert getattr(config, key) == getattr(module.config, key), key
        for name, parameter in module.named_parameters():
            if not name.startswith("head."):
                assert torch.equal(parameter, tensors.pop(name).to(model.dtype)), name
        assert not tensors, sorted(tensors)

    text = json.loads((folder / "language/config.json").read_text())
    config = transformers.Qwen3Config(**(text | text.pop("text_config", {})))
    stored = read_tensors(folder / "language")[0]
    tensors = {inner: stored[name] for name, inner in language_names(stored).items()}
    agree(tensors, model.language, config, (*LANGUAGE_KEYS, "rope_parameters"))

    config = transformers.AutoConfig.from_pretrained(folder / "vision")
    config = getattr(config, "vision_config", config)
    stored = read_tensors(folder / "vision")[0]
    tensors = {inner: stored[name] for name, inner in vision_names(stored).items()}
    agree(tensors, model.vision, config, VISION_KEYS)


# -------------------------------------------------------------------------------------------------------------- all of it


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
        "glue_ids": model.prompt(caption, case.pictures),
    }
    batch_rows = [model.prompt(text)[0].tolist() for text in texts]
    tensors, logits = activations(model, **inputs, batch_rows=batch_rows)
    save_reference(folder / "reference.safetensors", tensors, torch.float32)
    with_picture = greedy(model, model.prompt(caption, 1), tensors["projector"][:1])
    text_only = greedy(model, inputs["text_ids"])
    if case.also_bf16:
        tensors16, logits16 = activations(Loaded(folder, torch.bfloat16), **inputs)
        for prefix in ("language", "glue"):  # the choice is fp32's: two bf16 computations differ by their noise twice over
            tensors16[f"{prefix}.noise"] = (logits16[prefix].float() - logits[prefix]).std(-1)
            tensors16 |= {f"{prefix}.{name}": tensors[f"{prefix}.{name}"] for name in ("argmax", "margin")}
        save_reference(folder / "reference_bf16.safetensors", tensors16, torch.bfloat16)

    if case.rewrite:
        case.rewrite(folder)
    check_reads_back(folder, model)
    description = {
        "name": case.name,
        "notes": case.notes,
        "image_token_id": model.image_token,
        "patches": model.vision.embeddings.num_patches,
        "tokens": {"language": inputs["text_ids"].shape[1], "glue": inputs["glue_ids"].shape[1],
                   "batch": [len(row) for row in batch_rows]},
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
    for _ in range(attempts):
        shutil.rmtree(out / case.name, ignore_errors=True)
        save_folder(out / case.name, case)
        try:
            write_references(out / case.name, case)
            return
        except Unsuitable as reason:
            print(f"{case.name}: seed {case.seed} unsuitable ({reason})")
            case = dataclasses.replace(case, seed=case.seed + 100)
    raise SystemExit(f"{case.name}: no suitable weights in {attempts} attempts")
