"""SigLIP-base-patch16-224, a projector and Qwen3-0.6B in their real sizes with random weights, and what transformers computes with them."""

import torch
import transformers

import common
from model_folders import Case, with_older_rope_keys, with_partial_vision_config
from model_reference import INPUTS, make_case

QWEN3_0_6B = {
    "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16,
    "num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 40960, "tie_word_embeddings": True, "rope_theta": 1e6,
}  # fmt: skip
# All of the tower's values are the class defaults. The text tower, which is never read, is cut to a stub.
SIGLIP_BASE = transformers.SiglipConfig(
    vision_config={"patch_size": 16},
    text_config={"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 100},
)  # fmt: skip


def with_the_configs_of_the_hub(folder):
    with_older_rope_keys(folder)
    with_partial_vision_config(folder)


REAL = Case(
    "siglip-base-qwen3-0.6b",
    QWEN3_0_6B,
    SIGLIP_BASE,
    real_tokenizer=True,
    language_dtype=torch.bfloat16,
    also_bf16=True,
    pictures=1,
    text="An old lighthouse keeper writes a letter to his sister in the city. He tells her about the storm of last week, the "
    "broken lamp, and the whale that came close to the rocks. Continue the letter.",
    seed=100,
    attention_sharpness=1.0,
    attention_gain=0.3,
    rewrite=with_the_configs_of_the_hub,
    notes="real sizes: weights of the language model in bfloat16, of the tower and the projector in float32",
)


def make(out):
    """The real sizes with reference activations."""
    make_case(out, REAL)


if __name__ == "__main__":
    common.run(make, __file__, inputs=INPUTS)
