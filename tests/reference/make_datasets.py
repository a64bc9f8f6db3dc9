"""Tars as Python's tarfile writes them, tables as its csv module does, and texts in the encodings people have."""

import csv
import io
import json
import tarfile

from PIL import Image

import common

FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
ENCODERS = {"jpg": "JPEG", "png": "PNG", "webp": "WEBP"}


def picture(number, ending):
    stream = io.BytesIO()
    Image.new("RGB", (4 + number, 3), (10 * number, 200, 30)).save(stream, ENCODERS.get(ending.lower(), "PNG"))
    return stream.getvalue()


def add(tar, name, content, **attributes):
    member = tarfile.TarInfo(name)
    member.size = len(content)
    for key, value in attributes.items():
        setattr(member, key, value)
    tar.addfile(member, io.BytesIO(content))


def make_tar(path, name, format):
    """Writes one tar and returns what a reader should find in it."""
    longest = 60 if name == "ustar" else 120  # ustar: 100 for the base name, 155 for the folders
    stems = [
        ("000000", "jpg", "txt", "a red square"),
        ("000001.seg.left", "png", "txt", "split at the first dot"),
        ("./000002", "webp", "json", json.dumps({"caption": "from JSON \u00e9"})),
        ("folder.with.dots/000003", "JPG", "txt", "dots in a folder"),
        ("a/" * 40 + "d" * longest, "jpg", "txt", "a long name"),
        ("000005", "png", "cls", "7\n"),
        ("bl\u00e5b\u00e6r", "png", "txt", "Norwegian"),
        ("last", "jpg", "json", json.dumps({"conversations": [{"from": "human", "value": "<image>\nWhat?"},
                                                              {"from": "gpt", "value": "A fish."}]})),
    ]
    with tarfile.open(path, "w", format=format) as tar:
        folder = tarfile.TarInfo("a")
        folder.type = tarfile.DIRTYPE
        tar.addfile(folder)
        for number, (stem, ending, text_ending, text) in enumerate(stems):
            extra = {"pax_headers": {"comment": "x" * 700}} if name == "pax" and number == 2 else {}
            base = stem.split(".seg")[0]
            add(tar, f"{stem if stem == base else base}.{ending}", picture(number, ending), mtime=1.5e9 + number, **extra)
            if stem != base:
                add(tar, f"{stem}.png", b"not the picture of the sample")
            add(tar, f"{base}.{text_ending}", text.encode(), uname="someone")
        link = tarfile.TarInfo("link.jpg")
        link.type = tarfile.SYMTYPE
        link.linkname = "b/" * 30 + "elsewhere" if name == "ustar" else "b/" * 90 + "elsewhere"
        tar.addfile(link)

    with tarfile.open(path) as tar:
        members = {member.name: member for member in tar if member.isfile()}
    expected = []
    for number, (stem, ending, text_ending, text) in enumerate(stems):
        member = members[f"{stem.split('.seg')[0]}.{ending}"]
        answer = {"cls": "7", "json": "from JSON \u00e9" if number == 2 else "A fish."}.get(text_ending, text)
        expected.append({"picture": f"{path.name}/{member.name.removeprefix('./')}@0:{member.offset_data}:{member.size}",
                         "width": 4 + number, "answer": answer})
    return expected


def make(folder):
    """Writes the tars, a table and encoded texts, each with what is in it."""
    expected = {name: make_tar(folder / f"{name}.tar", name, format) for name, format in FORMATS.items()}
    (folder / "tars.json").write_text(json.dumps(expected))

    captions = ["plain", 'She said "hello" twice', '"all of it"', "comma, and\u00a0space", "'single'", "ends with a quote\""]
    with open(folder / "table.tsv", "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, delimiter="\t", quoting=csv.QUOTE_MINIMAL)
        writer.writerow(["filepath", "title"])
        writer.writerows([f"{number}.png", caption] for number, caption in enumerate(captions))
    (folder / "table.json").write_text(json.dumps(captions))
    for number in range(len(captions)):
        (folder / f"{number}.png").write_bytes(picture(number, "png"))

    texts = folder / "texts"
    texts.mkdir()
    sentence = "\u201cNa\u00efve\u201d caf\u00e9 \u2013 50 \u20ac"
    every = "".join(bytes([byte]).decode("cp1252") for byte in range(0x80, 0x100)
                    if byte not in (0x81, 0x8D, 0x8F, 0x90, 0x9D))
    encodings = {"utf-8": sentence, "utf-8-sig": sentence, "utf-16-le": sentence + " \U0001f41f", "utf-16-be": sentence + " \U0001f41f",
                 "cp1252": sentence, "cp1252-all": every}
    for number, (encoding, text) in enumerate(encodings.items()):
        codec = encoding.removesuffix("-all")
        mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(codec, b"")
        (texts / f"{encoding}.txt").write_bytes(mark + text.encode(codec))
        (texts / f"{encoding}.png").write_bytes(picture(number, "png"))
    (folder / "texts.json").write_text(json.dumps(encodings))


if __name__ == "__main__":
    common.run(make, __file__, packages=("pillow",))
