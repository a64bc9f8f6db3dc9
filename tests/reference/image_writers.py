"""Writers for the kinds of picture files that Pillow reads but cannot write, from the formats' specifications."""

import ctypes
import ctypes.util
import struct
import zlib

import numpy as np

# ---- PNG: any depth and colour type, tRNS, Adam7, extra chunks -------------------------------------------------------

ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(samples, depth, colour_type, before=(), after=(), interlaced=False):
    """samples: [height, width, channels]; before and after: (kind, data) chunks around IDAT."""
    samples = np.atleast_3d(samples)
    height, width = samples.shape[:2]
    raw = b""
    for x0, y0, dx, dy in ADAM7 if interlaced else [(0, 0, 1, 1)]:
        part = samples[y0::dy, x0::dx]
        if part.size:
            raw += b"".join(b"\0" + row.tobytes() for row in packed(part, depth))
    head = struct.pack(">IIBBBBB", width, height, depth, colour_type, 0, 0, int(interlaced))
    chunks = [(b"IHDR", head), *before, (b"IDAT", zlib.compress(raw)), *after, (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(kind, data) for kind, data in chunks)


def packed(samples, depth):
    """Rows of samples, most significant bit first, each row on a byte boundary."""
    rows = samples.reshape(len(samples), -1)
    if depth >= 8:
        return rows.astype(">u2" if depth == 16 else np.uint8)
    bits = (rows[:, :, None] >> np.arange(depth - 1, -1, -1)) & 1
    return np.packbits(bits.reshape(len(rows), -1).astype(np.uint8), axis=1)


# ---- BMP: any depth, masks, run lengths ------------------------------------------------------------------------------


def bmp(width, height, bits, data, compression=0, palette=b"", masks=b"", header=40):
    colours = len(palette) // 4
    info = struct.pack("<IiiHHIIiiII", header, width, height, 1, bits, compression, len(data), 2835, 2835, colours, 0)
    info = info + masks if header == 40 else (info + masks).ljust(header, b"\0")
    offset = 14 + len(info) + len(palette)
    return b"BM" + struct.pack("<IHHI", offset + len(data), 0, 0, offset) + info + palette + data


def bmp_rows(array):
    """Rows of bytes or words, bottom row first, padded to four bytes."""
    rows = [row.tobytes() for row in array[::-1]]
    return b"".join(row.ljust((len(row) + 3) // 4 * 4, b"\0") for row in rows)


# ---- TIFF: planes, tiles, depths and sample formats --------------------------------------------------------------------


def tiff(samples, bits, photometric, order="<", planar=False, tile=0, tags=()):
    """samples: [height, width, channels]; tags: (number, type, values) on top of the usual ones."""
    samples = np.atleast_3d(samples)
    height, width, channels = samples.shape
    parts = [samples[..., c : c + 1] for c in range(channels)] if planar else [samples]
    blocks = []
    for part in parts:
        for y in range(0, height, tile or height):
            for x in range(0, width, tile or width):
                block = part[y : y + (tile or height), x : x + (tile or width)]
                if tile:
                    block = np.pad(block, ((0, tile - block.shape[0]), (0, tile - block.shape[1]), (0, 0)))
                word = block.dtype.newbyteorder(order) if block.dtype.itemsize > 1 else block.dtype
                blocks.append((packed(block, bits) if bits < 8 else block.astype(word)).tobytes())
    offsets = 8 + np.cumsum([0] + [len(block) for block in blocks])
    short, long = 3, 4
    where, counts = (324, 325) if tile else (273, 279)
    entries = [
        (256, long, [width]), (257, long, [height]), (258, short, [bits] * channels), (259, short, [1]),
        (262, short, [photometric]), (277, short, [channels]), (284, short, [2 if planar else 1]),
        (where, long, offsets[:-1].tolist()), (counts, long, [len(block) for block in blocks]), *tags,
    ]  # fmt: skip
    entries += [(322, long, [tile]), (323, long, [tile])] if tile else [(278, long, [height])]
    at = int(offsets[-1])
    directory, extra = b"", b""
    extra_at = at + 2 + 12 * len(entries) + 4
    for number, kind, values in sorted(entries):
        data = struct.pack(f"{order}{len(values)}{'H' if kind == short else 'I'}", *values)
        directory += struct.pack(f"{order}HHI", number, kind, len(values))
        if len(data) <= 4:
            directory += data.ljust(4, b"\0")
        else:
            directory += struct.pack(f"{order}I", extra_at + len(extra))
            extra += data
    head = (b"II" if order == "<" else b"MM") + struct.pack(f"{order}HI", 42, at)
    return head + b"".join(blocks) + struct.pack(f"{order}H", len(entries)) + directory + b"\0\0\0\0" + extra


# ---- GIF: interlace, frames that do not fill the screen ----------------------------------------------------------------


def gif(indices, palette, screen=None, corner=(0, 0), interlaced=False, transparent=None):
    height, width = indices.shape
    screen = screen or (width, height)
    rows = [y for start, step in ((0, 8), (4, 8), (2, 4), (1, 2)) for y in range(start, height, step)]
    data = (indices[rows] if interlaced else indices).astype(np.uint8).tobytes()
    out = b"GIF89a" + struct.pack("<HHBBB", *screen, 0xF7, 0, 0) + palette.ljust(768, b"\0")
    if transparent is not None:
        out += b"\x21\xf9\x04\x01\0\0" + bytes([transparent, 0])
    out += b"\x2c" + struct.pack("<HHHHB", *corner, width, height, 0x40 if interlaced else 0) + b"\x08"
    # LZW that never compresses: a clear code before the codes would grow beyond nine bits.
    codes = [code for i in range(0, len(data), 250) for code in (256, *data[i : i + 250])] + [257]
    bits = np.array(codes)[:, None] >> np.arange(9) & 1
    stream = np.packbits(bits.reshape(-1).astype(np.uint8), bitorder="little").tobytes()
    blocks = (stream[i : i + 255] for i in range(0, len(stream), 255))
    return out + b"".join(bytes([len(block)]) + block for block in blocks) + b"\0\x3b"


# ---- HEIC, where the system's libheif has an encoder ---------------------------------------------------------------------


class HeifError(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("subcode", ctypes.c_int), ("message", ctypes.c_char_p)]


def heic(rgb, path):
    """Writes a HEIC file; False where that is not possible."""
    name = ctypes.util.find_library("heif")
    if not name:
        return False
    lib = ctypes.CDLL(name)
    pointer, number = ctypes.c_void_p, ctypes.c_int
    colourspace_rgb, chroma_interleaved_rgb, channel_interleaved, compression_hevc = 1, 10, 10, 1
    context, encoder, image, handle, stride = pointer(), pointer(), pointer(), pointer(), number()
    lib.heif_context_alloc.restype = pointer
    lib.heif_image_get_plane.restype = pointer

    def call(function, *arguments):
        function = getattr(lib, function)
        function.restype = HeifError
        return function(*arguments).code == 0

    context = pointer(lib.heif_context_alloc())
    height, width = rgb.shape[:2]
    if not call("heif_context_get_encoder_for_format", context, compression_hevc, ctypes.byref(encoder)):
        return False
    ok = call("heif_encoder_set_lossy_quality", encoder, 95)
    ok &= call("heif_image_create", width, height, colourspace_rgb, chroma_interleaved_rgb, ctypes.byref(image))
    ok &= call("heif_image_add_plane", image, channel_interleaved, width, height, 8)
    plane = lib.heif_image_get_plane(image, channel_interleaved, ctypes.byref(stride))
    for y in range(height):
        ctypes.memmove(plane + y * stride.value, rgb[y].tobytes(), 3 * width)
    ok &= call("heif_context_encode_image", context, image, encoder, None, ctypes.byref(handle))
    return ok and call("heif_context_write_to_file", context, str(path).encode())
