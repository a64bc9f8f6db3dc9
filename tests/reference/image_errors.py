"""Picture files that must be refused, each with words its error has to contain."""

import io
import struct

import numpy as np
from PIL import Image

from image_writers import bmp, bmp_rows, chunk, gif, png, tiff

PALETTE = bytes(range(256)) * 3


def encoded(picture, format, **options):
    out = io.BytesIO()
    picture.save(out, format, **options)
    return out.getvalue()


def picture_bytes():
    y, x = np.mgrid[0:90, 0:120]
    array = np.stack([x * 2, y * 2, (x * y) % 256], -1).astype(np.uint8)
    rgb = Image.fromarray(array)
    lossless = {"lossless": True}
    return array, {
        "jpg": encoded(rgb, "JPEG", quality=95), "progressive.jpg": encoded(rgb, "JPEG", progressive=True),
        "png": png(array, 8, 2), "gif": gif(array[..., 0] % 64, PALETTE), "webp": encoded(rgb, "WEBP"),
        "lossless.webp": encoded(rgb, "WEBP", **lossless), "tif": encoded(rgb, "TIFF"), "lzw.tif": encoded(rgb, "TIFF", compression="tiff_lzw"),
        "jpeg.tif": encoded(rgb, "TIFF", compression="jpeg"), "bmp": encoded(rgb, "BMP"), "ppm": encoded(rgb, "PPM"), "avif": encoded(rgb, "AVIF"),
    }  # fmt: skip


def add_errors(corpus):
    def add(name, data, *words, kind="picture"):
        if data is not None:
            (corpus.folder / "files" / name).write_bytes(data)
        corpus.cases.append({"file": name, "error": kind, "words": list(words)})

    array, whole = picture_bytes()
    for name, data in whole.items():
        # libtiff writes the directory, without which nothing can be read, behind the pixels.
        words = () if name.endswith(("tif", "avif")) else ("truncated",)
        add(f"half.{name}", data[: len(data) // 2], *words)
        add(f"start.{name}", data[:20])
    # A progressive file cut between two scans decodes without complaint, only coarser.
    progressive = whole["progressive.jpg"]
    scans = [i for i in range(len(progressive)) if progressive[i : i + 2] == b"\xff\xda"]
    add("few-scans.jpg", progressive[: scans[-2]], "truncated")
    add("pixels-cut.tif", tiff(array, 8, 2)[:8] + tiff(array, 8, 2)[20000:], "TIFF")

    damaged = bytearray(whole["jpg"])
    damaged[len(damaged) // 2 : len(damaged) // 2 + 40] = b"\xff\xd9" * 20
    add("damaged.jpg", bytes(damaged), "JPEG", "damaged")
    damaged = bytearray(whole["png"])
    damaged[len(damaged) // 2] ^= 0x55
    add("damaged.png", bytes(damaged), "PNG", "damaged")

    limit, hundred_thousand = "200000000", "100000 x 100000"
    head = struct.pack(">IIBBBBB", 100000, 100000, 8, 2, 0, 0, 0)
    add("bomb.png", b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", b""), limit, hundred_thousand)
    at = whole["jpg"].index(b"\xff\xc0") + 5
    add("bomb.jpg", whole["jpg"][:at] + b"\xff\xdc\xff\xdc" + whole["jpg"][at + 4 :], limit, "65500 x 65500")
    add("bomb.gif", gif(array[..., 0], PALETTE, screen=(65535, 65535)), limit, "65535 x 65535")
    add("bomb.bmp", bmp(100000, 100000, 24, b""), limit, hundred_thousand)
    add("bomb.ppm", b"P6 100000 100000 255\n", limit, hundred_thousand)
    canvas = struct.pack("<I", 0x02) + struct.pack("<I", 59999)[:3] * 2
    extended = b"WEBPVP8X" + struct.pack("<I", 10) + canvas + b"ANIM" + struct.pack("<IIH", 6, 0, 0)
    frame = whole["webp"][12:]
    place = b"\0" * 6 + struct.pack("<I", 119)[:3] + struct.pack("<I", 89)[:3] + b"\0" * 4
    extended += b"ANMF" + struct.pack("<I", len(place) + len(frame)) + place + frame
    add("bomb.webp", b"RIFF" + struct.pack("<I", len(extended)) + extended, limit, "60000 x 60000")
    huge = bytearray(tiff(array, 8, 2))
    for tag in (256, 257):
        at = huge.index(struct.pack("<HHI", tag, 4, 1)) + 8
        huge[at : at + 4] = struct.pack("<I", 100000)
    add("bomb.tif", bytes(huge), limit, hundred_thousand)

    add("zero.bmp", bmp(0, 61, 24, b""), "0 x 61")
    add("zero.ppm", b"P6 0 5 255\n", "0 x 5")
    head = struct.pack(">IIBBBBB", 0, 7, 8, 2, 0, 0, 0)
    add("zero.png", b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IEND", b""), "PNG")
    add("compressed.bmp", bmp(9, 9, 24, b"\0" * 300, compression=4), "compression 4")
    add("float.tif", tiff(array[..., 0].astype(np.float32), 32, 1, tags=[(339, 3, [3])]), "floating-point", "Convert")
    add("32-bit.tif", tiff(array[..., 0].astype(np.uint32), 32, 1), "32-bit", "Convert")
    add("sensor.dng", tiff(array[..., 0], 8, 32803), "camera RAW")
    add("preview.nef", tiff(array, 8, 2, tags=[(254, 4, [1]), (330, 4, [8])]), "camera RAW")

    add("empty.jpg", b"", "an empty file")
    add("text.jpg", "Just some words.\nÜber alles.\n".encode(), "a text file")
    add("page.jpg", b"<!DOCTYPE html><html><body>404</body></html>", "web page (HTML)")
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n"
    add("pointer.jpg", pointer, "Git LFS pointer", "git lfs pull")
    add("noise.jpg", bytes(range(1, 32)) * 40, "unknown kind")
    foreign = {
        "drawing.svg": (b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>', "SVG"),
        "paper.pdf": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "PDF"), "next.jxl": (b"\xff\x0a\x00\x10", "JPEG XL"),
        "boxed.jxl": (b"\0\0\0\x0cJXL \r\n\x87\n", "JPEG XL"), "layers.psd": (b"8BPS\0\1", "Photoshop"),
        "app.ico": (b"\0\0\1\0\1\0", "ICO"), "old.jp2": (b"\0\0\0\x0cjP  \r\n\x87\n", "JPEG 2000"),
        "shot.cr2": (b"II*\0\x10\0\0\0CR\2\0", "Canon CR2"), "shot.cr3": (b"\0\0\0\x18ftypcrx \0\0\0\1", "Canon CR3"),
        "film.mp4": (b"\0\0\0\x18ftypisom\0\0\2\0", "video"), "film.webm": (b"\x1a\x45\xdf\xa3\x9f", "video"),
        "shot.raf": (b"FUJIFILMCCD-RAW 0201", "Fujifilm"), "shot.rw2": (b"IIU\0\x18\0\0\0", "Panasonic"), "light.exr": (b"v/1\1\2\0\0\0", "OpenEXR"),
        "light.hdr": (b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n", "Radiance"), "more.zip": (b"PK\3\4\x14\0", "ZIP"), "float.pfm": (b"PF\n3 3\n-1.0\n", "PFM"),
    }  # fmt: skip
    for name, (data, word) in foreign.items():
        add(name, data, word, "not supported")

    (corpus.folder / "files" / "folder.jpg").mkdir()
    add("folder.jpg", None, "a folder", kind="file")
    add("missing.jpg", None, "no such file", kind="file")
