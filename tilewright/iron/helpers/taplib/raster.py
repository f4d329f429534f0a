"""Arrays as pictures of pixels: colours by value, and the PNG format."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]
"""Rows of red, green, blue."""

_STOPS = np.array(
    [[0x2B, 0x1B, 0x4D], [0x2F, 0x5D, 0x9B], [0x1F, 0x9E, 0x89], [0x8F, 0xD1, 0x44], [0xFD, 0xE7, 0x25]], np.float64
)
"""From dark to light, so that the order can be told in grey as well."""
UNTOUCHED = (0xEC, 0xEC, 0xEC)


def coloured(values: npt.NDArray[np.int32], untouched: npt.NDArray[np.bool_]) -> Pixels:
    """A pixel for each value: the lowest is dark, the highest light, and grey is where nothing happens."""
    touched = values[~untouched]
    low, high = (int(touched.min()), int(touched.max())) if touched.size else (0, 0)
    position = (values - low) / max(1, high - low) * (len(_STOPS) - 1)
    below = np.clip(position.astype(int), 0, len(_STOPS) - 2)
    share = np.clip(position - below, 0, 1)[..., None]
    mixed = _STOPS[below] * (1 - share) + _STOPS[below + 1] * share
    mixed[untouched] = UNTOUCHED
    return np.rint(mixed).astype(np.uint8)


def enlarged(pixels: Pixels, factor: int) -> Pixels:
    return pixels.repeat(factor, 0).repeat(factor, 1)


def draw_line(pixels: Pixels, start: tuple[float, float], end: tuple[float, float], colour: int) -> None:
    """From (x, y) to (x, y), one pixel wide, in a grey."""
    steps = int(max(abs(end[0] - start[0]), abs(end[1] - start[1]))) + 1
    x, y = (np.linspace(a, b, steps).astype(int) for a, b in zip(start, end, strict=True))
    pixels[np.clip(y, 0, pixels.shape[0] - 1), np.clip(x, 0, pixels.shape[1] - 1)] = colour


def png(pixels: Pixels) -> bytes:
    """The PNG file of a picture."""
    height, width, _ = pixels.shape
    # each row begins with the number of its filter, 0 for none
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, width * 3)], axis=1)
    header = struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b"")]
    # a chunk is its length, kind and data, and a checksum of the latter two
    framed = (struct.pack(">I", len(d)) + kind + d + struct.pack(">I", zlib.crc32(kind + d)) for kind, d in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(framed)
