"""Picture files of every kind people have, with the pixel_values transformers' SigLIP processors make of them.

list.json tells, for each file, either what must come out (format, size, notes, the names of the pixel_values) or which error
with which words. resize.bin holds Pillow's own bicubic results."""

import io
import json
import pathlib
import struct

import numpy as np
from PIL import Image, ImageOps
from transformers import SiglipImageProcessor
from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil

import common
import image_errors
from image_writers import bmp, bmp_rows, chunk, gif, heic, png, tiff

PALETTE = np.random.default_rng(7).integers(0, 256, 768, dtype=np.uint8).tobytes()
HALF = dict(image_mean=[0.5] * 3, image_std=[0.5] * 3)
PROCESSORS = {"pil": SiglipImageProcessorPil(**HALF), "torchvision": SiglipImageProcessor(**HALF)}


def scene(width, height, seed=0):
    """Waves, edges and noise, different in every channel and without any symmetry."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    waves = [128 + 100 * np.sin(x / (5 + c) + c) * np.cos(y / (9 - c)) + 20 * c for c in range(3)]
    picture = np.stack(waves, -1) + np.random.default_rng(seed).normal(0, 6, (height, width, 3))
    picture[: height // 3, : width // 2] = (220, 30, 60)
    picture[height // 2 :, width // 3 : width // 2, 2] += 90
    return picture.clip(0, 255).astype(np.uint8)


def ramp16(width, height):
    return (np.arange(width * height).reshape(height, width) * 65535 // (width * height - 1)).astype(np.uint16)


class Corpus:
    def __init__(self, folder):
        self.folder = folder
        (folder / "files").mkdir()
        (folder / "pixels").mkdir()
        self.cases = []

    def add(self, name, data, format, notes=(), truth=None, levels=0, edge=2):
        """data: bytes, or (picture, Pillow's save options). truth: the proper picture where transformers' own reading of the
        file makes no sense. levels: grey levels that the decoders may differ by; edge: what torchvision, which filters
        with 16-bit weights, may differ by on top: 1 on most pictures, 2 where a hard edge is enlarged."""
        path = self.folder / "files" / name
        if isinstance(data, bytes):
            path.write_bytes(data)
        else:
            picture, options = data
            picture.save(path, **options)
        picture = truth if truth is not None else ImageOps.exif_transpose(Image.open(path))
        if isinstance(picture, np.ndarray):
            picture = Image.fromarray(picture)
        case = {"file": name, "format": format, "width": picture.width, "height": picture.height, "notes": list(notes),
                "levels": {"pil": levels, "torchvision": levels + edge}, "by_hand": truth is not None}  # fmt: skip
        for backend, processor in PROCESSORS.items():
            values = processor(picture, return_tensors="np").pixel_values[0]
            values.astype("<f4").tofile(self.folder / "pixels" / f"{len(self.cases)}.{backend}")
        case["pixels"] = str(len(self.cases))
        self.cases.append(case)


def exif(orientation, order="<"):
    block = struct.pack(order + "HIHHHIHHI", 42, 8, 1, 0x0112, 3, 1, orientation, 0, 0)
    return b"Exif\0\0" + (b"II" if order == "<" else b"MM") + block


def jpeg_bytes(picture, **options):
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=90, **options)
    return out.getvalue()


def without_segment(jpeg, marker):
    at = jpeg.index(b"\xff" + bytes([marker]))
    return jpeg[:at] + jpeg[at + 2 + int.from_bytes(jpeg[at + 2 : at + 4], "big") :]


def add_jpegs(corpus):
    rgb = Image.fromarray(scene(317, 211))
    for name, sampling in (("444", "4:4:4"), ("422", "4:2:2"), ("420", "4:2:0")):
        corpus.add(f"ycbcr-{name}.jpg", jpeg_bytes(rgb, subsampling=sampling), "JPEG")
    corpus.add("progressive.jpg", jpeg_bytes(rgb, progressive=True), "JPEG")
    corpus.add("restarts.jpg", jpeg_bytes(rgb, restart_marker_blocks=3), "JPEG")
    corpus.add("rgb-adobe.jpg", jpeg_bytes(rgb, keep_rgb=True), "JPEG")
    corpus.add("grey.jpg", jpeg_bytes(rgb.convert("L")), "JPEG")
    corpus.add("photo.jpg", jpeg_bytes(Image.fromarray(scene(1600, 1200))), "JPEG")
    corpus.add("trailing.jpg", jpeg_bytes(rgb) + b"what some cameras append" * 9, "JPEG")
    corpus.add("no-end-marker.jpg", jpeg_bytes(rgb)[:-2], "JPEG", truth=Image.open(io.BytesIO(jpeg_bytes(rgb))))
    corpus.add("really-a-jpeg.png", jpeg_bytes(rgb), "JPEG")
    corpus.add("two-pictures.mpo", (rgb, dict(format="MPO", save_all=True, append_images=[rgb.rotate(90)])), "JPEG")
    cmyk = jpeg_bytes(rgb.convert("CMYK"))
    note = ["CMYK"]
    corpus.add("cmyk-adobe.jpg", cmyk, "JPEG", note)
    corpus.add("cmyk-bare.jpg", without_segment(cmyk, 0xEE), "JPEG", note)
    adobe = cmyk.index(b"Adobe")
    corpus.add("ycck-adobe.jpg", cmyk[: adobe + 11] + b"\2" + cmyk[adobe + 12 :], "JPEG", note)
    for orientation in range(1, 9):
        order = "<>"[orientation % 2]
        corpus.add(f"exif-{orientation}.jpg", jpeg_bytes(rgb, exif=exif(orientation, order)), "JPEG")
    corpus.add("exif-9.jpg", jpeg_bytes(rgb, exif=exif(9)), "JPEG")


def add_pngs(corpus):
    array = scene(83, 61)
    grey, index = array[..., 0], array[..., 1]
    alpha = ramp16(83, 61) >> 8
    wide = np.dstack([array, np.roll(array, 5, 1)]).astype(np.uint16)
    wide = wide[..., :3] * 256 + wide[..., 3:]
    transparency, deep = ["transparency"], ["16-bit"]
    for depth in (1, 2, 4, 8):
        corpus.add(f"grey-{depth}.png", png(grey >> (8 - depth), depth, 0), "PNG")
        palette = (b"PLTE", PALETTE[: 3 << depth])
        corpus.add(f"palette-{depth}.png", png(index >> (8 - depth), depth, 3, [palette]), "PNG")
        trns = (b"tRNS", bytes(255 * i // ((1 << depth) - 1) for i in range(1 << depth)))
        corpus.add(f"palette-{depth}-trns.png", png(index >> (8 - depth), depth, 3, [palette, trns]), "PNG", transparency)
    corpus.add("rgb.png", png(array, 8, 2), "PNG")
    corpus.add("rgba.png", png(np.dstack([array, alpha]), 8, 6), "PNG", transparency)
    corpus.add("grey-alpha.png", png(np.dstack([grey, alpha]), 8, 4), "PNG", transparency)
    # Pillow clips 16-bit grey to 8 bits, white from 255 on; the upper byte is what a person sees.
    corpus.add("grey-16.png", png(ramp16(83, 61), 16, 0), "PNG", deep, truth=(ramp16(83, 61) >> 8).astype(np.uint8))
    corpus.add("rgb-16.png", png(wide, 16, 2), "PNG", deep)
    corpus.add("rgba-16.png", png(np.dstack([wide, ramp16(83, 61)]), 16, 6), "PNG", deep + transparency)
    corpus.add("grey-alpha-16.png", png(np.dstack([wide[..., 0], ramp16(83, 61)]), 16, 4), "PNG", deep + transparency)
    key = (b"tRNS", struct.pack(">H", int(grey[40, 40])))
    corpus.add("grey-trns.png", png(grey, 8, 0, [key]), "PNG", transparency)
    key = (b"tRNS", struct.pack(">HHH", *map(int, array[0, 0])))
    corpus.add("rgb-trns.png", png(array, 8, 2, [key]), "PNG", transparency)
    # A transparent colour of 4 or 16 bits: Pillow compares it with samples it has already scaled to 8 bits.
    truth = np.where((grey >> 4) == 5, 255, (grey >> 4) * 17).astype(np.uint8)
    corpus.add("grey-4-trns.png", png(grey >> 4, 4, 0, [(b"tRNS", b"\0\5")]), "PNG", transparency, truth=truth)
    key = (b"tRNS", struct.pack(">HHH", *map(int, wide[0, 0])))
    truth = np.where((wide == wide[0, 0]).all(-1, keepdims=True), 255, wide >> 8).astype(np.uint8)
    corpus.add("rgb-16-trns.png", png(wide, 16, 2, [key]), "PNG", deep + transparency, truth=truth)
    corpus.add("interlaced.png", png(array, 8, 2, interlaced=True), "PNG")
    corpus.add("interlaced-2.png", png(grey >> 6, 2, 0, interlaced=True), "PNG")
    gamma = (b"gAMA", struct.pack(">I", 100000))
    corpus.add("gamma.png", png(array, 8, 2, [gamma]), "PNG")
    corpus.add("exif-6.png", png(array, 8, 2, [(b"eXIf", exif(6)[6:])]), "PNG")
    corpus.add("exif-5-behind.png", png(array, 8, 2, after=[(b"eXIf", exif(5)[6:])]), "PNG")
    corpus.add("no-end.png", png(array, 8, 2)[:-12], "PNG")
    frames = [Image.fromarray(np.roll(array, 9 * i, 1)) for i in range(3)]
    corpus.add("animated.png", (frames[0], dict(save_all=True, append_images=frames[1:])), "PNG", ["frame 1 of 3"])


def add_gifs(corpus):
    array = scene(83, 61)
    index = array[..., 1] >> 2
    frames = [Image.fromarray(np.roll(array, 9 * i, 1)) for i in range(4)]
    corpus.add("still.gif", (frames[0], {}), "GIF")
    corpus.add("animated.gif", (frames[0], dict(save_all=True, append_images=frames[1:])), "GIF", ["frame 1 of 4"])
    corpus.add("interlaced.gif", gif(index, PALETTE, interlaced=True), "GIF")
    corpus.add("transparent.gif", gif(index, PALETTE, transparent=int(index[0, 0])), "GIF", ["transparency"])
    # A frame that leaves part of the screen free: Pillow fills it with colour 0, browsers leave it transparent.
    screen = np.full((80, 100, 3), 255, np.uint8)
    screen[9:70, 11:94] = np.frombuffer(PALETTE, np.uint8).reshape(-1, 3)[index]
    corpus.add("offset.gif", gif(index, PALETTE, (100, 80), (11, 9)), "GIF", truth=screen)


def add_webps(corpus):
    array = scene(83, 61)
    rgb = Image.fromarray(array)
    rgba = Image.fromarray(np.dstack([array, (ramp16(83, 61) >> 8).astype(np.uint8)]))
    transparency = ["transparency"]
    corpus.add("lossy.webp", (rgb, dict(quality=85)), "WebP")
    corpus.add("lossless.webp", (rgb, dict(lossless=True)), "WebP")
    corpus.add("lossy-alpha.webp", (rgba, dict(quality=85)), "WebP", transparency)
    corpus.add("lossless-alpha.webp", (rgba, dict(lossless=True)), "WebP", transparency)
    corpus.add("exif-8.webp", (rgb, dict(exif=exif(8))), "WebP")
    frames = [Image.fromarray(np.roll(array, 9 * i, 1)) for i in range(3)]
    corpus.add("animated.webp", (frames[0], dict(save_all=True, append_images=frames[1:])), "WebP", ["frame 1 of 3"])


def add_bitmaps(corpus):
    array = scene(83, 61)
    rgb = Image.fromarray(array)
    for mode in ("RGB", "L", "P", "1"):
        corpus.add(f"{mode}.bmp", (rgb.convert(mode), {}), "BMP")
    bgr = array[..., ::-1]
    opaque, alpha = np.zeros((61, 83, 1), np.uint8), (ramp16(83, 61)[..., None] >> 8).astype(np.uint8)
    corpus.add("unused-fourth-byte.bmp", bmp(83, 61, 32, bmp_rows(np.dstack([bgr, opaque]))), "BMP")
    masks = struct.pack("<IIII", 0xFF0000, 0xFF00, 0xFF, 0xFF000000)
    data = bmp_rows(np.dstack([bgr, alpha]))
    corpus.add("alpha.bmp", bmp(83, 61, 32, data, 3, masks=masks, header=108), "BMP", ["transparency"])
    corpus.add("top-down.bmp", bmp(83, -61, 24, bmp_rows(bgr[::-1])), "BMP")
    words = array.astype(np.uint16)
    x555 = (words[..., 0] >> 3 << 10) | (words[..., 1] >> 3 << 5) | words[..., 2] >> 3
    x565 = (words[..., 0] >> 3 << 11) | (words[..., 1] >> 2 << 5) | words[..., 2] >> 3
    corpus.add("x555.bmp", bmp(83, 61, 16, bmp_rows(x555.astype("<u2"))), "BMP")
    masks = struct.pack("<III", 0xF800, 0x7E0, 0x1F)
    corpus.add("x565.bmp", bmp(83, 61, 16, bmp_rows(x565.astype("<u2")), 3, masks=masks), "BMP")
    runs = b"".join(bytes([40, y, 43, 255 - y, 0, 0]) for y in range(61)) + b"\0\1"
    palette = b"".join(PALETTE[3 * i : 3 * i + 3] + b"\0" for i in range(256))
    corpus.add("rle8.bmp", bmp(83, 61, 8, runs, 1, palette), "BMP")
    corpus.add("binary.ppm", (rgb, {}), "PNM")
    corpus.add("binary.pgm", (rgb.convert("L"), {}), "PNM")
    corpus.add("binary.pbm", (rgb.convert("1"), {}), "PNM")
    hundred = (array % 101).astype(np.uint8)
    corpus.add("maximum-100.ppm", b"P6\n# a comment\n83 61\n100\n" + hundred.tobytes(), "PNM")
    corpus.add("plain.ppm", b"P3 83 61 255\n" + " ".join(map(str, array.reshape(-1))).encode(), "PNM")


def add_tiffs(corpus):
    array = scene(83, 61)
    rgb = Image.fromarray(array)
    alpha = (ramp16(83, 61) >> 8).astype(np.uint8)
    rgba = np.dstack([array, alpha])
    deep, transparency = ["16-bit"], ["transparency"]
    for compression in ("raw", "tiff_lzw", "tiff_adobe_deflate", "packbits", "jpeg"):
        corpus.add(f"{compression}.tif", (rgb, dict(compression=compression)), "TIFF", levels=int(compression == "jpeg"))
    for mode in ("L", "1", "P"):
        corpus.add(f"{mode}.tif", (rgb.convert(mode), {}), "TIFF")
    corpus.add("fax.tif", (rgb.convert("1"), dict(compression="group4")), "TIFF")
    corpus.add("cmyk.tif", (rgb.convert("CMYK"), {}), "TIFF", ["CMYK"])
    corpus.add("ycbcr.tif", (rgb.convert("YCbCr"), {}), "TIFF", levels=3)
    corpus.add("rgba.tif", (Image.fromarray(rgba), {}), "TIFF", transparency)
    corpus.add("grey-alpha.tif", (Image.fromarray(rgba).convert("LA"), {}), "TIFF", transparency)
    light = (rgba[..., :3] * (alpha[..., None] / 255)).astype(np.uint8)
    premultiplied = tiff(np.dstack([light, alpha]), 8, 2, tags=[(338, 3, [1])])
    corpus.add("premultiplied.tif", premultiplied, "TIFF", transparency)
    corpus.add("big.tif", (rgb, dict(big_tiff=True)), "TIFF")
    corpus.add("planar.tif", tiff(array, 8, 2, planar=True), "TIFF", truth=array)
    corpus.add("tiled.tif", tiff(array, 8, 2, tile=32), "TIFF", truth=array)
    corpus.add("tiled-planar.tif", tiff(array, 8, 2, tile=16, planar=True), "TIFF", truth=array)
    for order in "<>":
        wide = np.dstack([ramp16(83, 61), array[..., 1] * np.uint16(256), array[..., 2] * np.uint16(255)])
        truth = (wide >> 8).astype(np.uint8)
        corpus.add(f"rgb-16-{'little' if order == '<' else 'big'}.tif", tiff(wide, 16, 2, order), "TIFF", deep, truth=truth)
    # Pillow clips 16-bit grey, as with PNG, and does not invert it where 0 is white.
    truth = (ramp16(83, 61) >> 8).astype(np.uint8)
    corpus.add("grey-16.tif", tiff(ramp16(83, 61), 16, 1), "TIFF", deep, truth=truth)
    corpus.add("grey-16-inverted.tif", tiff(ramp16(83, 61), 16, 0), "TIFF", deep, truth=255 - truth)
    corpus.add("grey-4-inverted.tif", tiff(array[..., 0] >> 4, 4, 0), "TIFF")
    corpus.add("grey-2.tif", tiff(array[..., 0] >> 6, 2, 1), "TIFF")
    pages = [rgb.rotate(90 * i, expand=True) for i in range(3)]
    corpus.add("pages.tif", (pages[0], dict(save_all=True, append_images=pages[1:])), "TIFF", ["page 1 of 3"])
    for orientation in (3, 6):
        corpus.add(f"turned-{orientation}.tif", tiff(array, 8, 2, tags=[(274, 3, [orientation])]), "TIFF")


def add_heifs(corpus):
    array = scene(128, 96)
    rgb = Image.fromarray(array)
    rgba = Image.fromarray(np.dstack([array, (ramp16(128, 96) >> 8).astype(np.uint8)]))
    # libavif and libheif round differently when they convert YCbCr, and enlarge halved chroma by different filters.
    corpus.add("444.avif", (rgb, dict(quality=90, subsampling="4:4:4")), "AVIF", levels=3)
    corpus.add("420.avif", (Image.fromarray(scene(1200, 900)), dict(quality=90)), "AVIF", levels=6)
    corpus.add("alpha.avif", (rgba, dict(quality=90, subsampling="4:4:4")), "AVIF", ["transparency"], levels=3)
    for orientation in (3, 6, 8):
        options = dict(quality=90, subsampling="4:4:4", exif=exif(orientation))
        corpus.add(f"turned-{orientation}.avif", (rgb, options), "AVIF", levels=3)
    path = corpus.folder / "files" / "written.heic"
    smooth = np.asarray(rgb.resize((16, 12)).resize((128, 96), Image.BICUBIC))
    if heic(smooth, path):
        corpus.add("written.heic", path.read_bytes(), "HEIC", truth=smooth, levels=24)  # lossy


def add_shapes_and_names(corpus):
    one = np.array([[[200, 10, 60]]], np.uint8)
    corpus.add("one-pixel.png", png(one, 8, 2), "PNG")
    corpus.add("10000x1.png", png(scene(10000, 1), 8, 2), "PNG")
    corpus.add("1x10000.png", png(scene(1, 10000), 8, 2), "PNG")
    corpus.add("one-row.jpg", jpeg_bytes(Image.fromarray(scene(3000, 1))), "JPEG")
    corpus.add("exact-size.png", png(scene(224, 224), 8, 2), "PNG")
    corpus.add("right-height.png", png(scene(300, 224), 8, 2), "PNG")
    for name in ("猫の写真.png", "wide\u3000space and tab\t.png", "50%20off #1?.png", "dots..in.name.png", "Ωμέγα é.png"):
        corpus.add(name, png(scene(40, 30), 8, 2), "PNG")


RESIZES = [
    ((1, 1), (224, 224)), ((2, 2), (3, 5)), ((5, 7), (5, 7)), ((224, 224), (224, 224)), ((7, 5), (7, 64)), ((7, 5), (64, 5)),
    ((100, 80), (224, 224)), ((223, 225), (224, 224)), ((300, 200), (224, 224)), ((640, 480), (224, 224)), ((801, 1203), (224, 224)),
    ((211, 317), (224, 224)), ((220, 226), (224, 224)), ((100, 52), (99, 50)), ((100, 53), (99, 50)), ((448, 672), (224, 224)),
    ((448, 673), (224, 224)), ((3000, 4000), (224, 224)), ((4000, 30), (224, 224)), ((30, 4000), (224, 224)), ((10000, 1), (224, 224)), ((1, 10000), (224, 224)), ((3, 500), (224, 224)),
    ((500, 3), (384, 384)), ((1000, 1000), (1, 1)), ((97, 89), (8, 8)), ((64, 64), (512, 300)), ((1921, 1081), (256, 256)),
]  # fmt: skip


def make_resizes(folder):
    """Little-endian: count; then for each: width, height, new width, new height, the bytes before and after."""
    random = np.random.default_rng(3)
    with open(folder / "resize.bin", "wb") as file:
        file.write(struct.pack("<i", len(RESIZES)))
        for (width, height), size in RESIZES:
            pixels = random.integers(0, 256, (height, width, 3), dtype=np.uint8)
            pixels[: height // 3] = random.choice([0, 255], (height // 3, width, 3))  # overshoot at both ends
            resized = Image.fromarray(pixels).resize(size, Image.BICUBIC)
            file.write(struct.pack("<iiii", width, height, *size) + pixels.tobytes() + resized.tobytes())


def make(folder):
    corpus = Corpus(folder)
    for add in (add_jpegs, add_pngs, add_gifs, add_webps, add_bitmaps, add_tiffs, add_heifs, add_shapes_and_names):
        add(corpus)
    image_errors.add_errors(corpus)
    make_resizes(folder)
    (folder / "list.json").write_text(json.dumps(corpus.cases, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    here = pathlib.Path(__file__).resolve().parent
    common.run(make, __file__, ("torch", "transformers", "pillow", "torchvision", "numpy"),
               [here / "image_writers.py", here / "image_errors.py"])  # fmt: skip
