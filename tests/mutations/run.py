#!/usr/bin/env python3
"""Breaks the code on purpose, one detail at a time, and sees a test go red each time.

Works on a copy of the tree in build/mutants (its own build folder, the reference data shared), so nothing here is touched.
Needs what installer/test has set up. Takes some minutes:

    tests/mutations/run.py [NAME ...]      all mutations, or those named; exit 1 when one of them is not noticed
"""

import dataclasses
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TREE = ROOT / "build" / "mutants"


@dataclasses.dataclass
class Mutation:
    name: str
    file: str
    old: str
    new: str
    test: str  # the area that must notice


MUTATIONS = [
    Mutation("tower GELU exact instead of tanh", "core/model/siglip.cpp", ": Activation::gelu_tanh", ": Activation::gelu", "model"),
    Mutation("projector GELU tanh instead of exact", "core/model/projector.cpp", "Activation::gelu)", "Activation::gelu_tanh)", "model"),
    Mutation("layer_norm_eps of PyTorch's default", "core/model/layers.cpp", "weight, bias, eps)", "weight, bias, 1e-5)", "model"),
    Mutation("no q_norm", "core/model/qwen3.cpp", "q_norm.weight, q_norm.eps", "at::Tensor(), q_norm.eps", "model"),
    Mutation("no k_norm", "core/model/qwen3.cpp", "k_norm.weight, k_norm.eps", "at::Tensor(), k_norm.eps", "model"),
    Mutation("rope base 10000", "core/model/layers.cpp", "at::pow(config.rope_theta", "at::pow(10000.0", "model"),
    Mutation("no causal mask", "core/model/qwen3.cpp", "/*causal=*/true", "/*causal=*/false", "model"),
    Mutation("left padding not masked", "core/model/qwen3.cpp", ".key_start = input.padding", ".key_start = {}", "model"),
    Mutation("positions start at 0 again behind the cache", "core/model/qwen3.cpp", "at::arange(past, past + positions",
             "at::arange(0, positions", "model"),
    Mutation("glue one position late", "core/model/vlm.cpp", "embeds.narrow(1, begin - first,", "embeds.narrow(1, begin - first + 1,", "model"),
    Mutation("channel order BGR", "core/image/preprocess.cpp", "resized.rgb[3 * i + c]", "resized.rgb[3 * i + 2 - c]", "image"),
    Mutation("resize filter a = -0.75", "core/image/resize.cpp", "constexpr double a = -0.5", "constexpr double a = -0.75", "image"),
]


def run(*command):
    return subprocess.run(command, cwd=TREE, capture_output=True, text=True, check=False)


def noticed(area):
    """Builds and runs one area's tests. A mutant that does not compile proves nothing."""
    built = run("ninja", "-C", "build/release", f"test_{area}")
    if built.returncode != 0:
        sys.exit(f"does not compile:\n{built.stdout[-3000:]}")
    return run(f"build/release/bin/test_{area}").returncode != 0


def main(names):
    shutil.rmtree(TREE / "core", ignore_errors=True)
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    for file in files:
        target = TREE / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / file, target)
    configured = run("cmake", "--preset", "release", f"-DVITRINE_VENV={ROOT / 'build' / 'venv'}",
                     f"-DVITRINE_REFERENCE_DIR={ROOT / 'build' / 'reference'}")
    if configured.returncode != 0:
        sys.exit(configured.stderr)
    for area in sorted({mutation.test for mutation in MUTATIONS}):
        if noticed(area):
            sys.exit(f"the tests of {area} fail before anything is broken")

    missed = []
    for mutation in MUTATIONS:
        if names and mutation.name not in names:
            continue
        path = TREE / mutation.file
        whole = path.read_text()
        if whole.count(mutation.old) < 1:
            sys.exit(f"{mutation.name}: {mutation.file} no longer holds {mutation.old!r}")
        path.write_text(whole.replace(mutation.old, mutation.new))
        red = noticed(mutation.test)
        path.write_text(whole)
        print(f"{'red   ' if red else 'MISSED'} {mutation.name}", flush=True)
        if not red:
            missed.append(mutation.name)
    print(f"{len(missed)} of {len(names) or len(MUTATIONS)} mutations were not noticed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
