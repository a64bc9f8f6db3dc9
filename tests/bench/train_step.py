#!/usr/bin/env python3
"""One training step of the projector beside the best plain PyTorch loop for it: time and memory, in turn, a table last.

    build/venv/bin/python tests/bench/train_step.py [--shape qwen3-0.6b] [--dtype bf16 fp32] [--steps 4] [--rounds 3]

Both sides train the projector alone on a frozen language model with random weights: batch 4, 10 prompt positions around
the patches of one picture, 24 caption tokens, features of the tower ready in memory, AdamW on fp32 weights, gradients
clipped at 1. The loop does what one can do without leaving PyTorch and transformers: the head on the caption's positions
only, no gradient for a frozen weight, computing in the type that is fast on this processor: bf16 where it has
instructions for it, otherwise fp32, which is ten times and more as fast then. With both --dtype the ratio is to the faster.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLI = ROOT / "build" / "release" / "bin" / "vitrine-cli"

BATCH = 4
BEFORE_PICTURE, AFTER_PICTURE = 4, 6  # prompt positions
CAPTION = 24
PICTURES = 16  # whose features go around


# ---- ours ---------------------------------------------------------------------------------------------------------------


def our_command(arguments):
    """The run of ours that is measured: a JSON line for each figure, of steps after the first and of its own process."""
    return [CLI, "bench", "--figures", "train", "--shape", arguments.shape, "--dtype", arguments.our_dtype,
            "--repeats", str(arguments.steps), "--threads", str(arguments.threads), "--json"]  # fmt: skip


def run_ours(arguments):
    figures = {line["figure"]: line for line in json_lines(our_command(arguments), arguments)}
    return {"seconds": figures["train_step"]["median"], "peak_mib": figures["train_peak_rss"]["median"]}


# ---- theirs -------------------------------------------------------------------------------------------------------------


def model_folder(shape):
    """A folder with random weights in these sizes, made once."""
    folder = ROOT / "build" / "bench" / shape
    if not (folder / "vitrine.json").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([CLI, "init", "--shape", shape, "--dtype", "bf16", "--out", folder], check=True)
    return folder


def peak_rss_mib():
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def plain_loop(folder, dtype, steps, threads, attention):
    """In a process of its own: prints the seconds of each step but the first, its peak of memory and its losses."""
    import torch
    import transformers
    from torch import nn
    from torch.nn import functional

    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    compute = {"bf16": torch.bfloat16, "fp32": torch.float32}[dtype]
    vision = json.loads((folder / "vision" / "config.json").read_text())
    patches = (vision["image_size"] // vision["patch_size"]) ** 2

    model = transformers.Qwen3Model.from_pretrained(folder / "language", dtype=compute, attn_implementation=attention)
    model.eval().requires_grad_(False)
    embed = model.embed_tokens
    width = model.config.hidden_size
    projector = nn.Sequential(nn.Linear(vision["hidden_size"], width), nn.GELU(), nn.Linear(width, width))
    optimizer = torch.optim.AdamW(projector.parameters(), lr=1e-3, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps + 1)

    features = torch.randn(PICTURES, patches, vision["hidden_size"]).to(torch.bfloat16)
    words = torch.randint(0, model.config.vocab_size, (PICTURES, BEFORE_PICTURE + AFTER_PICTURE + CAPTION))

    def step(number):
        rows = torch.arange(number * BATCH, (number + 1) * BATCH) % PICTURES
        with torch.no_grad():
            before, after = embed(words[rows]).split([BEFORE_PICTURE, AFTER_PICTURE + CAPTION], dim=1)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=compute == torch.bfloat16):
            projected = projector(features[rows].to(compute))
        inputs = torch.cat([before, projected.to(compute), after], dim=1)
        hidden = model(inputs_embeds=inputs, use_cache=False).last_hidden_state
        targets = words[rows, -CAPTION:]
        logits = functional.linear(hidden[:, -CAPTION - 1 : -1], embed.weight).float()  # the head is tied
        loss = functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(projector.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    seconds, losses = [], []
    for number in range(steps + 1):
        start = time.perf_counter()
        losses.append(step(number))
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"seconds": seconds[1:] or seconds, "first": seconds[0], "peak_mib": peak_rss_mib(), "losses": losses}))


def run_theirs(arguments, dtype):
    command = [sys.executable, __file__, "--shape", arguments.shape, "--loop", dtype, "--steps", str(arguments.steps),
               "--threads", str(arguments.threads), "--attention", arguments.attention]  # fmt: skip
    (line,) = json_lines(command, arguments)
    return {"seconds": statistics.median(line["seconds"]), "peak_mib": line["peak_mib"]}


# ---- both ---------------------------------------------------------------------------------------------------------------


def fast_dtype():
    return "bf16" if "avx512_bf16" in pathlib.Path("/proc/cpuinfo").read_text() else "fp32"


def json_lines(command, arguments):
    environment = os.environ | {"OMP_NUM_THREADS": str(arguments.threads), "MKL_NUM_THREADS": str(arguments.threads),
                                "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}  # fmt: skip
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, env=environment)
    if done.returncode:
        sys.exit(f"Failed with {done.returncode}: {' '.join(map(str, command))}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def spread(values):
    return f"{statistics.median(values):8.3f} ({min(values):.3f} to {max(values):.3f})"


def report(runs):
    print(f"{'':24}{'s/step':>32}{'peak MiB':>12}")
    for name, of_name in runs.items():
        peak = statistics.median(run["peak_mib"] for run in of_name)
        print(f"{name:24}{spread([run['seconds'] for run in of_name]):>32}{peak:12.0f}")
    ours = [run for name, of_name in runs.items() if name.startswith("Vitrine") for run in of_name]
    loops = [name for name in runs if name.startswith("PyTorch")]
    best = min(loops, key=lambda name: statistics.median(run["seconds"] for run in runs[name]))
    if ours:
        pairs = list(zip(ours, runs[best]))
        print(f"steps per second, ours to {best}: {spread([theirs['seconds'] / mine['seconds'] for mine, theirs in pairs])}")
        print(f"peak memory, ours to {best}: {spread([mine['peak_mib'] / theirs['peak_mib'] for mine, theirs in pairs])}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", default="qwen3-0.6b")
    parser.add_argument("--dtype", nargs="+", choices=["bf16", "fp32"], default=[fast_dtype()], help="of the plain loop; the faster here by default")
    parser.add_argument("--our-dtype", choices=["bf16", "fp32"], default="bf16")
    parser.add_argument("--attention", choices=["sdpa", "eager"], default="sdpa", help="of the plain loop")
    parser.add_argument("--steps", type=int, default=4, help="timed steps a run, after one that is not")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only-theirs", action="store_true", help="measure the plain loop alone")
    parser.add_argument("--loop", choices=["bf16", "fp32"], help=argparse.SUPPRESS)  # the process of the plain loop
    arguments = parser.parse_args()
    if arguments.loop:
        return plain_loop(model_folder(arguments.shape), arguments.loop, arguments.steps, arguments.threads, arguments.attention)

    model_folder(arguments.shape)
    sides = {} if arguments.only_theirs else {f"Vitrine {arguments.our_dtype}": lambda: run_ours(arguments)}
    for dtype in dict.fromkeys(arguments.dtype):
        sides[f"PyTorch {dtype}"] = lambda dtype=dtype: run_theirs(arguments, dtype)
    runs = {name: [] for name in sides}
    for number in range(arguments.rounds):
        for name, run in sides.items():
            runs[name].append(result := run())
            print(f"round {number + 1}, {name}: {result['seconds']:.3f} s, {result['peak_mib']:.0f} MiB", file=sys.stderr)
    report(runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
