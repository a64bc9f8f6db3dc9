#!/usr/bin/env python3
"""Prints as JSON what other programs find in files of maps, and what the measures of maps are by their definitions.

    read_insight_files.py FOLDER

files: what numpy, Pillow and an XML parser read in each NPY, NPZ, PNG and SVG file; measures: for each case of cases.json
(rows, columns, values, box) the measures, computed the slow way.
"""

import base64
import io
import itertools
import json
import math
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

import numpy
from PIL import Image


def without_nan(value):
    if isinstance(value, list):
        return [without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def array(value):
    return {"dtype": str(value.dtype), "shape": list(value.shape), "values": without_nan(value.ravel().tolist())}


def read_npy(path):
    result = array(numpy.load(path, allow_pickle=False))
    with path.open("rb") as file:
        numpy.lib.format.read_array(file, allow_pickle=False)
        result["behind"] = file.read().decode()
    return result


def read_npz(path):
    with numpy.load(path, allow_pickle=False) as archive:
        assert archive.zip.testzip() is None
        arrays = {name: array(archive[name]) for name in archive.files if not name.endswith(".json")}
        words = json.loads(archive["provenance.json"]) if "provenance.json" in archive.files else None
    return {"arrays": arrays, "provenance": words}


def read_png(path):
    with Image.open(path) as picture:
        picture.load()
        return {"size": list(picture.size), "mode": picture.mode, "text": dict(picture.text)}


def read_svg(path):
    root = ElementTree.parse(path).getroot()
    svg = "{http://www.w3.org/2000/svg}"
    assert root.tag == svg + "svg", root.tag
    pictures = []
    for element in root.iter(svg + "image"):
        head, data = element.get("{http://www.w3.org/1999/xlink}href").split(",")
        assert head == "data:image/png;base64", head
        pictures.append(list(Image.open(io.BytesIO(base64.b64decode(data, validate=True))).size))
    return {
        "size": [float(root.get("width")), float(root.get("height"))],
        "entries": {entry.get("key"): entry.text for entry in root.find(svg + "metadata")},
        "texts": [element.text for element in root.iter(svg + "text")],
        "pictures": pictures,
        "patches": [
            [float(element.get(name)) for name in ("x", "y", "width", "height", "fill-opacity")]
            for element in root.iter(svg + "rect")
            if element.get("fill-opacity")
        ],
    }


READERS = {".npy": read_npy, ".npz": read_npz, ".png": read_png, ".svg": read_svg}


def measures(case):
    rows, columns, (x0, y0, x1, y1) = case["rows"], case["columns"], case["box"]
    values = {}  # of the patches that are there
    for index, value in enumerate(case["values"]):
        if value is not None:
            values[divmod(index, columns)] = value

    def centre(patch):
        return (patch[1] + 0.5) / columns, (patch[0] + 0.5) / rows

    def covered(patch):  # in fractions of the picture, by the corners
        width = max(0.0, min(x1, (patch[1] + 1) / columns) - max(x0, patch[1] / columns))
        height = max(0.0, min(y1, (patch[0] + 1) / rows) - max(y0, patch[0] / rows))
        return width * height * rows * columns

    def hits(patch):
        x, y = centre(patch)
        return max(x0 - x, x - x1) <= 1 / columns + 1e-9 and max(y0 - y, y - y1) <= 1 / rows + 1e-9

    result = dict.fromkeys(("auc", "energy", "entropy"))
    result["chance"] = sum(map(hits, values)) / len(values)
    best = [patch for patch in values if values[patch] == max(values.values())]
    result["pointing"] = len(best) == 1 and hits(best[0])

    inside = {p for p in values if (x0 <= centre(p)[0] <= x1 and y0 <= centre(p)[1] <= y1) or covered(p) >= 0.5}
    pairs = [(values[a], values[b]) for a in inside for b in values.keys() - inside]
    if pairs:
        result["auc"] = sum(1.0 if a > b else 0.5 if a == b else 0.0 for a, b in pairs) / len(pairs)

    energy = {patch: max(value, 0.0) for patch, value in values.items()}
    area = sum(map(covered, values)) / len(values)
    if area > 0 and sum(energy.values()) > 0:
        result["energy"] = sum(energy[p] * covered(p) for p in energy) / sum(energy.values()) / area

    mean = sum(values.values()) / len(values)
    groups = [{patch} for patch in values if values[patch] > mean]
    while True:  # join what touches until nothing does
        for a, b in itertools.combinations(range(len(groups)), 2):
            if any(abs(p[0] - q[0]) <= 1 and abs(p[1] - q[1]) <= 1 for p in groups[a] for q in groups[b]):
                groups[a] |= groups.pop(b)
                break
        else:
            break
    masses = [sum(values[patch] for patch in group) for group in groups]
    if masses:
        result["entropy"] = -sum(m / sum(masses) * math.log(m / sum(masses)) for m in masses)
    return result


def main():
    folder = pathlib.Path(sys.argv[1])
    files = {path.name: READERS[path.suffix](path) for path in sorted(folder.iterdir()) if path.suffix in READERS}
    cases = folder / "cases.json"
    found = [measures(case) for case in json.loads(cases.read_text())] if cases.exists() else []
    print(json.dumps({"files": files, "measures": found}))


if __name__ == "__main__":
    sys.exit(main())
