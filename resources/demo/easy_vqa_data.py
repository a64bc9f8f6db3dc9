#!/usr/bin/env python3
"""Writes the test questions of the PyPI package easy-vqa (MIT licence) as LLaVA JSON beside links to its pictures.

    easy_vqa_data.py FOLDER

Nothing of it is ever trained on: it shows what the demo model makes of pictures that Vitrine did not draw.
"""

import json
import pathlib
import sys

from easy_vqa import get_test_image_paths, get_test_questions


def main(folder):
    folder.mkdir(parents=True)
    paths = get_test_image_paths()
    turns = {}
    for text, answer, image in zip(*get_test_questions()):
        turns.setdefault(image, []).extend([{"from": "human", "value": text}, {"from": "gpt", "value": answer}])
    rows = []
    for image, conversation in sorted(turns.items()):
        name = f"{image}.png"
        (folder / name).symlink_to(paths[image])
        rows.append({"id": str(image), "image": name, "conversations": conversation})
    (folder / "questions.json").write_text(json.dumps(rows))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
