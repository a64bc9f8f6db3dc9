"""Tiny random model folders of many shapes, each with what transformers computes with it."""

import torch
import transformers

import common
from model_folders import (
    Case,
    with_bare_vision_names,
    with_older_rope_keys,
    with_partial_vision_config,
    with_stray_file,
    with_text_config,
)
from model_reference import INPUTS, make_case

VISION = {
    "hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4, "image_size": 64, "patch_size": 16,
}  # fmt: skip
LANGUAGE = {
    "hidden_size": 64, "intermediate_size": 160, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "head_dim": 16, "max_position_embeddings": 2048, "tie_word_embeddings": True, "rope_theta": 1e6,
}  # fmt: skip
SIGLIP = transformers.SiglipConfig(
    vision_config=VISION | {"hidden_size": 64},
    text_config={"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 100},
)  # fmt: skip


CASES = [
    Case("tiny", LANGUAGE, VISION, real_tokenizer=True, notes="the common form, with Qwen3's own tokenizer"),
    Case(
        "gqa_head_dim",
        LANGUAGE | {"num_attention_heads": 6, "head_dim": 24, "tie_word_embeddings": False, "attention_bias": True},
        VISION | {"hidden_size": 32, "num_attention_heads": 2, "image_size": 48, "patch_size": 8},
        pictures=1,
        notes="grouped queries, head_dim is not hidden/heads, untied head, biases in the attention, 36 patches",
    ),
    Case("mha", LANGUAGE | {"num_key_value_heads": 4}, VISION, notes="as many heads for keys and values as for queries"),
    Case(
        "sharded",
        LANGUAGE | {"num_hidden_layers": 3, "tie_word_embeddings": False},
        VISION,
        max_shard_size="200KB",
        rewrite=with_stray_file,
        notes="language in shards with an index, and a stray file beside them that must not be merged",
    ),
    Case(
        "bf16_files",
        LANGUAGE,
        VISION,
        language_dtype=torch.bfloat16,
        vision_dtype=torch.bfloat16,
        also_bf16=True,
        notes="weights stored in bfloat16; reference from the weights as fp32, reference_bf16 computed in bf16",
    ),
    Case("fp16_files", LANGUAGE, VISION, language_dtype=torch.float16, vision_dtype=torch.float16, notes="stored in float16"),
    Case("text_config", LANGUAGE, VISION, rewrite=with_text_config, notes="config in text_config, names without model."),
    Case("rope_old", LANGUAGE, VISION, rewrite=with_older_rope_keys, notes="rope_theta at the top level"),
    Case(
        "rope_linear",
        LANGUAGE | {"rope_scaling": {"rope_type": "linear", "factor": 2.0}},
        VISION,
        notes="linear scaling inside rope_parameters",
    ),
    Case(
        "rope_yarn",
        LANGUAGE | {"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 512}},
        VISION,
        rewrite=with_older_rope_keys,
        notes="yarn in the older rope_scaling key",
    ),
    Case("full_siglip", LANGUAGE, SIGLIP, rewrite=with_partial_vision_config,
         notes="vision is a whole SiglipModel whose vision_config leaves the defaults out"),
    Case("odd_patch", LANGUAGE, VISION | {"image_size": 50}, rewrite=with_bare_vision_names,
         notes="50 pixels in patches of 16: 3 x 3, the rest is not seen; vision names without vision_model."),
]  # fmt: skip


def make(out):
    """Tiny model folders with reference activations."""
    for case in CASES:
        make_case(out, case)


if __name__ == "__main__":
    common.run(make, __file__, inputs=INPUTS)
