"""Files written by the safetensors and transformers libraries, and their verdicts on damaged headers and on configs."""

import json
import random
import struct

import safetensors
import torch
from safetensors.torch import save_file
from transformers import Qwen3Config, Qwen3ForCausalLM, SiglipConfig, SiglipVisionConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

import common

# Numpy-like types that torch can write; the rest of the format's types are covered by headers below.
DTYPES = {
    "BOOL": torch.bool, "U8": torch.uint8, "I8": torch.int8, "F8_E5M2": torch.float8_e5m2, "F8_E4M3": torch.float8_e4m3fn,
    "I16": torch.int16, "U16": torch.uint16, "F16": torch.float16, "BF16": torch.bfloat16, "I32": torch.int32,
    "U32": torch.uint32, "F32": torch.float32, "C64": torch.complex64, "F64": torch.float64, "I64": torch.int64,
    "U64": torch.uint64,
}


def make_types(folder):
    """One file with every type, a 0-rank and an empty tensor, and a list of what is in it."""
    tensors = {f"t.{name}": (torch.arange(6).reshape(2, 3) % 2).to(dtype) for name, dtype in DTYPES.items()}
    tensors["scalar"] = torch.tensor(1.5)
    tensors["empty"] = torch.zeros(0, 4)
    tensors['odd "name"\n\u00fc'] = torch.tensor([1, 2, 3], dtype=torch.uint8)
    save_file(tensors, folder / "types.safetensors", metadata={"format": "pt"})
    names = {dtype: name for name, dtype in DTYPES.items()}
    listing = {
        name: {"dtype": names[t.dtype], "shape": list(t.shape), "hex": bytes(t.reshape(-1).view(torch.uint8).tolist()).hex()
               if t.numel() else ""}
        for name, t in ((n, t.reshape(1) if t.dim() == 0 else t) for n, t in tensors.items())
    }
    listing["scalar"]["shape"] = []
    (folder / "types.json").write_text(json.dumps(listing))


def header_variants(rng):
    """Small files around the rules of the format: for each the header's text and the data."""
    def entry(dtype="F32", shape=(1,), offsets=(0, 4)):
        return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}

    for dtype in ["F4", "F6_E2M3", "F6_E3M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "C128", "f32", "F128", ""]:
        for shape in [(4,), (8,), (3,)]:
            for size in (2, 3, 4, 6, 8):
                yield json.dumps({"a": entry(dtype, shape, (0, size))}), bytes(size)
    for shape in [(), (0,), (1, 1), (2,), (2**40, 2**40), (2**40, 2**40, 0), (2**62,), (2**63,), (0, 2**62), (-1,), (1.0,), ("1",)]:
        yield json.dumps({"a": entry(shape=shape)}), bytes(4)
        yield json.dumps({"a": entry(shape=shape, offsets=(0, 0))}), b""
    for offsets in [(0, 4, 4), (0,), (4, 0), (0, 3), (0, 5), (1, 5), (-4, 0), (0, 4.0), (0, 2**64), (0, "4"), (2**63, 2**63 + 4)]:
        yield json.dumps({"a": entry(offsets=offsets)}), bytes(4)
    a, b = entry(), entry(offsets=(4, 8))
    for tensors in [{}, {"a": a}, {"b": b, "a": a}, {"a": a, "b": entry(offsets=(2, 6))}, {"a": a, "b": entry(offsets=(8, 12))},
                    {"a": a, "b": a}, {"z": entry(shape=(0,), offsets=(0, 0)), "a": a}, {"": a},
                    {"a": a, "z": entry(shape=(0,), offsets=(4, 4))}, {"a": a, "z": entry(shape=(0,), offsets=(2, 2))},
                    {"a": {**a, "more": [1]}}, {"a": [1]}, {"a": None}, {"a": {}}]:
        for size in (0, 4, 8, 12, 13):
            yield json.dumps(tensors), bytes(size)
    for metadata in [None, {}, {"x": "y"}, {"x": 1}, {"x": None}, [], "x", 1]:
        yield json.dumps({"__metadata__": metadata, "a": a}), bytes(4)
    plain = json.dumps({"a": a})
    for text in [plain + " \t\r\n", plain + "\0", plain + ",", plain[:-1], "", "[]", "null", "{", "1", plain + plain]:
        yield text, bytes(4)
    for _ in range(200):  # one character replaced, removed or doubled
        at = rng.randrange(1, len(plain))
        change = rng.choice(['"', "{", "}", "[", "]", ":", ",", "9", "-", ".", "e", "\\", " ", "", plain[at] * 2])
        yield plain[:at] + change + plain[at + 1:], bytes(4)


def make_verdicts(folder):
    (folder / "verdicts").mkdir()
    verdicts = []
    for number, (text, data) in enumerate(header_variants(random.Random(7))):
        content = struct.pack("<Q", len(text.encode())) + text.encode() + data
        try:
            safetensors.deserialize(content)
            accepted = True
        except safetensors.SafetensorError:
            accepted = False
        name = f"{number}.safetensors"
        (folder / "verdicts" / name).write_bytes(content)
        verdicts.append({"file": name, "header": text, "accepted": accepted})
    (folder / "verdicts.json").write_text(json.dumps(verdicts))


def resolved(config):
    """What the C++ side should read from a Qwen3 config, in its own terms."""
    rope = dict(config.rope_parameters)
    kind = rope["rope_type"]
    values = {key: getattr(config, key) for key in (
        "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
        "head_dim", "max_position_embeddings", "rms_norm_eps", "hidden_act", "attention_bias", "tie_word_embeddings")}
    eos = config.eos_token_id
    values |= {
        "rope_theta": rope["rope_theta"], "rope_type": {"default": "none"}.get(kind, kind), "rope_factor": rope.get("factor", 1.0),
        "eos": [] if eos is None else [eos] if isinstance(eos, int) else eos,
        "dtype": str(config.dtype).removeprefix("torch.") if config.dtype else "",
    }
    if kind == "yarn":
        values |= {
            "original": rope["original_max_position_embeddings"], "beta_fast": rope.get("beta_fast") or 32,
            "beta_slow": rope.get("beta_slow") or 1, "attention_factor": ROPE_INIT_FUNCTIONS["yarn"](config, "cpu")[1],
        }
    return values


def make_configs(folder):
    base = {"model_type": "qwen3", "rope_theta": 1000000}
    sizes = {"hidden_size": 48, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 16, "num_hidden_layers": 2}
    yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
    language = [
        base,
        base | sizes | {"torch_dtype": "bfloat16", "eos_token_id": 7},
        base | sizes | {"dtype": "float16", "eos_token_id": [7, 9], "tie_word_embeddings": True, "attention_bias": True},
        base | {"num_attention_heads": 8, "num_key_value_heads": None},
        base | {"rope_scaling": None},
        base | {"rope_scaling": {"type": "linear", "factor": 2.0}},
        base | {"rope_scaling": yarn, "max_position_embeddings": 131072},
        base | {"rope_scaling": {"rope_type": "yarn", "factor": 2.0}},
        base | {"rope_scaling": yarn | {"beta_fast": 16, "beta_slow": 2, "attention_factor": 1.25}},
        base | {"rope_scaling": yarn | {"mscale": 0.5, "mscale_all_dim": 0.25}},
        base | {"rope_scaling": yarn | {"mscale": 0.5}},
        {"model_type": "qwen3", "rope_parameters": {"rope_type": "default", "rope_theta": 5e6}},
        {"model_type": "qwen3", "rope_parameters": yarn | {"rope_theta": 1e6}},
        base | {"layer_types": ["full_attention"] * 32, "use_sliding_window": False, "sliding_window": 4096},
    ]
    cases = [{"config": config, "expected": resolved(Qwen3Config.from_dict(json.loads(json.dumps(config))))} for config in language]
    for number, case in enumerate(list(cases)):  # the same, as transformers writes it today
        Qwen3Config.from_dict(json.loads(json.dumps(case["config"]))).save_pretrained(folder / "saved" / f"qwen3-{number}")
        saved = json.loads((folder / "saved" / f"qwen3-{number}" / "config.json").read_text())
        cases.append({"config": saved, "expected": case["expected"]})
    (folder / "qwen3.json").write_text(json.dumps(cases))

    keys = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_channels", "image_size",
            "patch_size", "layer_norm_eps", "hidden_act")
    whole = [{}, {"vision_config": {}}, {"vision_config": {"patch_size": 32, "model_type": "siglip_vision_model"}},
             {"vision_config": {"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "num_attention_heads": 16,
                                "image_size": 384, "patch_size": 14}}]
    cases = [{"config": {"model_type": "siglip"} | config, "expected": {key: getattr(SiglipConfig(**config).vision_config, key) for key in keys}}
             for config in whole]
    tower = {"image_size": 70, "patch_size": 16, "hidden_act": "gelu", "layer_norm_eps": 1e-5}
    cases.append({"config": {"model_type": "siglip_vision_model"} | tower,
                  "expected": {key: getattr(SiglipVisionConfig(**tower), key) for key in keys}})
    SiglipConfig(**whole[-1]).save_pretrained(folder / "saved" / "siglip")
    cases.append({"config": json.loads((folder / "saved" / "siglip" / "config.json").read_text()), "expected": cases[-2]["expected"]})
    (folder / "siglip.json").write_text(json.dumps(cases))


def make_shards(folder):
    torch.manual_seed(0)
    model = Qwen3ForCausalLM(Qwen3Config(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
                                         num_key_value_heads=2, head_dim=16, eos_token_id=3,
                                         rope_parameters={"rope_type": "default", "rope_theta": 1e6}))
    model.generation_config.eos_token_id = [3, 5]
    model.save_pretrained(folder / "sharded", max_shard_size="20KB")
    model.save_pretrained(folder / "single")
    shapes = {name: list(tensor.shape) for name, tensor in model.state_dict().items()}
    (folder / "shapes.json").write_text(json.dumps(shapes))


def make(folder):
    """Reference data of the area weights."""
    make_types(folder)
    make_verdicts(folder)
    make_configs(folder)
    make_shards(folder)


if __name__ == "__main__":
    common.run(make, __file__, packages=("torch", "transformers", "safetensors"))
