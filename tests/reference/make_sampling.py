"""What transformers' logits processors keep of random logits, and texts that are or are not degenerate loops, as token ids."""

import json
import sys

import numpy
import tokenizers
import torch
from transformers.generation import logits_process as processors

import common

TOKENIZER = common.TEST_DATA / "qwen3-tokenizer" / "tokenizer.json"

OFF = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "repetition_penalty": 1.0, "presence_penalty": 0.0,
       "penalty_window": 256}
OPTIONS = [
    {},
    {"temperature": 0.7},
    {"temperature": 2.5},
    {"top_k": 1},
    {"top_k": 40},
    {"top_k": 400},
    {"top_p": 0.9},
    {"top_p": 0.99},
    {"top_p": 1e-4},
    {"min_p": 0.05},
    {"min_p": 0.7},
    {"repetition_penalty": 1.3},
    {"repetition_penalty": 0.8},
    {"presence_penalty": 1.5},
    {"presence_penalty": -2.0, "penalty_window": 8},
    {"repetition_penalty": 1.2, "presence_penalty": 0.5, "penalty_window": 16, "temperature": 0.8},
    {"temperature": 0.6, "top_k": 20, "top_p": 0.95},
    {"temperature": 1.5, "top_p": 0.8, "min_p": 0.02},
    {"temperature": 1.1, "top_k": 100, "top_p": 0.97, "min_p": 0.01, "repetition_penalty": 1.1, "presence_penalty": 0.3},
]
VOCABULARIES = [7, 600, 1024, 5000]


def processed(logits, generated, options):
    """Scores after the processors in their order, in double precision; -inf is what a filter took away."""
    ids = torch.tensor([generated[len(generated) - min(len(generated), options["penalty_window"]):]], dtype=torch.long)
    scores = torch.tensor(logits, dtype=torch.float64)[None]
    if options["repetition_penalty"] != 1.0:
        scores = processors.RepetitionPenaltyLogitsProcessor(options["repetition_penalty"])(ids, scores)
    scores[0, torch.unique(ids)] -= options["presence_penalty"]  # transformers has none: by hand
    if options["temperature"] != 1.0:
        scores = processors.TemperatureLogitsWarper(options["temperature"])(ids, scores)
    if options["top_k"]:
        scores = processors.TopKLogitsWarper(options["top_k"])(ids, scores)
    if options["top_p"] < 1.0:
        scores = processors.TopPLogitsWarper(options["top_p"])(ids, scores)
    if options["min_p"]:
        scores = processors.MinPLogitsWarper(options["min_p"])(ids, scores)
    return scores[0]


def case(random, vocabulary, spread, options):
    """One row and what is kept of it, drawn again while the answer hangs on the last digits."""
    while True:
        logits = random.normal(0.0, spread, vocabulary).astype(numpy.float32)
        if vocabulary > 500:
            logits[random.integers(0, vocabulary, 50)] = -numpy.inf
        logits[random.integers(0, vocabulary)] = 3.0 * spread
        generated = random.integers(0, vocabulary, 40).tolist()
        full = {**OFF, **options}
        kept = torch.isfinite(processed(logits, generated, full))
        near = []
        for key, margin in (("top_p", 3e-7), ("min_p", 3e-6)):
            for sign in (-1.0, 1.0):
                moved = dict(full)
                if 0.0 < moved[key] < 1.0:
                    moved[key] = min(moved[key] * (1.0 + sign * margin), 1.0 - 1e-9)
                    near.append(torch.isfinite(processed(logits, generated, moved)))
        if all(torch.equal(kept, other) for other in near):
            break
    probabilities = torch.softmax(processed(logits, generated, full), dim=-1)
    ids = torch.nonzero(kept).flatten().tolist()
    return {
        "logits": [float(value) if numpy.isfinite(value) else None for value in logits],
        "generated": generated,
        "options": full,
        "kept": ids,
        "probabilities": probabilities[ids].tolist(),
    }


def texts():
    """Name, text, and whether the text is a degenerate loop."""
    numbers = ", ".join(str(i) for i in range(1, 200))
    rows = "\n".join(f"| {name} | {i} | yes |" for i, name in enumerate(["red", "green", "blue", "black", "white"] * 6))
    items = "\n".join(f"- a {colour} {shape}" for colour in ("red", "blue", "grey") for shape in ("disc", "box", "star", "cone"))
    return [
        ("numbers", numbers, False),
        ("table", "| name | number | seen |\n| --- | --- | --- |\n" + rows, False),
        ("wide table rule", "|" + " --- |" * 12, False),
        ("list", items, False),
        ("rulers", "=" * 120 + "\nTitle\n" + "-" * 120 + "\n" + "* " * 30, False),
        ("laughter", "ha " * 12 + "and " + "ha" * 10 + "!!!!!!!!!!!!", False),
        ("tree", "\n".join(" " * i + "/\\" * (12 - i) for i in range(12)), False),
        ("refrain", "Row, row, row your boat, gently down the stream.\n" * 3 + "Life is but a dream.", False),
        ("zeros", "[" + ", ".join(["0"] * 24) + "]", False),
        ("poem", "\n".join(f"{n} green bottles hanging on the wall,\n{n} green bottles hanging on the wall,"
                           for n in ("Ten", "Nine", "Eight", "Seven", "Six", "Five")), False),
        ("one word", "A picture of" + " the" * 300, True),
        ("two words", "It is" + " very very, so" * 100, True),
        ("sentence", "Look: " + "The cat sits on the mat and looks at the camera. " * 30, True),
        ("lines", "\n".join(["a red disc on a grey box"] * 60), True),
        ("digits", "0" * 400, True),
        ("emoji", "\U0001F600" * 200, True),
    ]


def make(folder):
    random = numpy.random.default_rng(20250601)
    cases = [case(random, vocabulary, spread, options)
             for options in OPTIONS for vocabulary, spread in zip(VOCABULARIES, (1.0, 2.0, 3.0, 2.0))]
    (folder / "filters.json").write_text(json.dumps(cases))
    tokenizer = tokenizers.Tokenizer.from_file(str(TOKENIZER))
    streams = [{"name": name, "ids": tokenizer.encode(text).ids, "loops": loops} for name, text, loops in texts()]
    (folder / "streams.json").write_text(json.dumps(streams))


if __name__ == "__main__":
    sys.exit(common.run(make, __file__, inputs=[TOKENIZER]))
