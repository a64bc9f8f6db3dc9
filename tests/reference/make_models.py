"""Tiny random model folders of many shapes, each with what transformers computes with it."""

import common
from model_reference import Case, make_case, INPUTS

TINY_VISION = {
    "hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4, "image_size": 64, "patch_size": 16,
}  # fmt: skip
TINY_LANGUAGE = {
    "hidden_size": 64, "intermediate_size": 160, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "head_dim": 16, "max_position_embeddings": 2048, "tie_word_embeddings": True, "rope_theta": 1e6,
}  # fmt: skip

CASES = [
    Case("tiny", TINY_LANGUAGE, TINY_VISION, real_tokenizer=True, notes="everything in the common form, Qwen3's own tokenizer"),
]


def make(out):
    """Tiny model folders with reference activations."""
    for case in CASES:
        make_case(out, case)


if __name__ == "__main__":
    common.run(make, __file__, inputs=INPUTS)
