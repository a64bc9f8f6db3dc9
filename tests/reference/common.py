"""What the reference makers share: the --out folder, and doing nothing when it is up to date."""

import argparse
import hashlib
import importlib.metadata
import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
TEST_DATA = HERE.parent / "data"


def run(make, script, packages=("torch", "transformers", "tokenizers"), inputs=()):
    """Calls make(folder) on a fresh folder and puts it at --out, unless a stamp says that script, inputs and packages are unchanged."""
    parser = argparse.ArgumentParser(description=make.__doc__)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    out = parser.parse_args().out.resolve()

    digest = hashlib.sha256()
    for path in (pathlib.Path(script), pathlib.Path(__file__), *map(pathlib.Path, inputs)):
        digest.update(path.read_bytes())
    for package in packages:
        digest.update(f"{package} {importlib.metadata.version(package)}".encode())
    stamp = digest.hexdigest()
    if (out / "stamp").is_file() and (out / "stamp").read_text() == stamp:
        print(f"{out.name}: up to date")
        return

    fresh = out.with_name(out.name + ".part")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    make(fresh)
    (fresh / "stamp").write_text(stamp)
    shutil.rmtree(out, ignore_errors=True)
    fresh.rename(out)
    print(f"{out.name}: made", file=sys.stderr)
