#!/usr/bin/env python3
"""The tokenizer beside the `tokenizers` library: one thread, in turn, one JSON line a figure, ratios last.

    build/venv/bin/python tests/bench/tokenizer.py [--repeats 7]
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
import tokenizers  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLI = ROOT / "build" / "release" / "bin" / "vitrine-cli"
TOKENIZER = ROOT / "tests" / "data" / "qwen3-tokenizer" / "tokenizer.json"
MEGABYTES = 2


def english():
    """Prose: what the licences of this system say, again and again with other line lengths."""
    folder = pathlib.Path("/usr/share/common-licenses")
    words = " ".join(path.read_text(errors="replace") for path in sorted(folder.glob("*")) if path.is_file()).split()
    text, width = [], 60
    while sum(map(len, text)) < MEGABYTES * 1_000_000:
        text += [" ".join(words[i : i + width // 6]) + "\n" for i in range(0, len(words), width // 6)]
        width += 7
    return "".join(text)[: MEGABYTES * 1_000_000]


def mixed():
    """Code and many scripts."""
    code = "".join(path.read_text() for path in sorted((ROOT / "core").rglob("*.cpp")))
    scripts = ["Der Leuchtturm steht über den Klippen. ", "Маяк стоит над скалами. ", "灯台は崖の上に立っている。", "등대는 절벽 위에 서 있다. ",
               "المنارة تقف فوق المنحدرات. ", "प्रकाशस्तंभ चट्टानों पर खड़ा है। ", "ประภาคารอยู่เหนือหน้าผา ", "🏠🌊👩🏽‍🚀 12345 "]
    text = []
    for i in range(0, len(code), 400):
        text.append(code[i : i + 400])
        text.append(scripts[i // 400 % len(scripts)] * 5)
    whole = "".join(text)
    return (whole * (MEGABYTES * 1_000_000 // len(whole) + 1))[: MEGABYTES * 1_000_000]


def ours(text_file):
    """MB/s of encode and decode, of one run of the program."""
    command = [CLI, "bench", "--json", "--figures", "tokenizer", "--repeats", "1", "--threads", "1", "--tokenizer", TOKENIZER, "--text", text_file]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {line["figure"].removeprefix("tokenizer_"): line["median"] for line in map(json.loads, lines)}


def theirs(tokenizer, text):
    size = len(text.encode()) / 1e6
    start = time.perf_counter()
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    encoded = time.perf_counter()
    tokenizer.decode(ids, skip_special_tokens=False)
    return {"encode": size / (encoded - start), "decode": size / (time.perf_counter() - encoded)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    tokenizer = tokenizers.Tokenizer.from_file(str(TOKENIZER))
    for name, text in (("english", english()), ("mixed", mixed())):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(text)
            file.flush()
            rounds = [(ours(file.name), theirs(tokenizer, text)) for _ in range(repeats)]
        for figure in ("encode", "decode"):
            mine, peer = ([side[figure] for side in sides] for sides in zip(*rounds))
            ratios = sorted(a / b for a, b in zip(mine, peer))
            print(json.dumps({"figure": f"tokenizer_{figure}", "text": name, "unit": "MB/s", "median": statistics.median(mine), "tokenizers": statistics.median(peer),
                              "ratio_min": ratios[0], "ratio_median": statistics.median(ratios), "ratio_max": ratios[-1], "n": repeats}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
