"""Functions that print numbers and buffers, with the names and the output of MLIR's runner libraries."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from tilewright.gpu.device import DeviceError
from tilewright.gpu.host.printing import print_text

MOST_PRINTED = 1 << 24
ELEMENTS: dict[str, Any] = {
    "F32": np.float32,
    "F64": np.float64,
    "I8": np.int8,
    "I16": np.int16,
    "I32": np.int32,
    "I64": np.int64,
    "Ind": np.int64,
}
"""What `printMemref...` of that name prints."""


def _print_memref(element: Any, rank: int, descriptor: int) -> None:
    """Print what a descriptor says, then the elements row by row."""
    slots = list((ctypes.c_int64 * (3 + 2 * rank)).from_address(descriptor))
    base, offset, sizes, strides = slots[1] % (1 << 64), slots[2], slots[3 : 3 + rank], slots[3 + rank :]
    if prod(sizes) > MOST_PRINTED:
        raise DeviceError(f"prints {prod(sizes)} elements; at most {MOST_PRINTED} are printed at once")
    about = f"rank = {rank} offset = {offset} sizes = {sizes} strides = {strides}"
    print_text(
        f"Unranked Memref base@ = {base:#x} {about} data = \n{memref_text(element, base, offset, sizes, strides)}\n"
    )


def memref_text(element: Any, base: int, offset: int, sizes: Sequence[int], strides: Sequence[int]) -> str:
    """The elements of a memref, in brackets."""
    width = np.dtype(element).itemsize

    def text(dimension: int, place: int) -> str:
        if dimension == len(sizes):
            number = np.frombuffer(ctypes.string_at(base + place * width, width), element)[0].item()
            return f"{number:g}" if isinstance(number, float) else str(number)
        parts = [text(dimension + 1, place + i * strides[dimension]) for i in range(sizes[dimension])]
        between = ", " if dimension + 1 == len(sizes) else ", \n"
        return f"[{between.join(_indented(parts, dimension + 1))}]"

    return text(0, offset)


def _indented(parts: Sequence[str], spaces: int) -> list[str]:
    """All but the first begin with spaces, one for each dimension that is open."""
    return [*parts[:1], *(" " * spaces + part for part in parts[1:])]


def _print_unsigned(value: int) -> None:
    print_text(str(value % (1 << 64)))


def _print_number(value: float) -> None:
    print_text(f"{value:g}" if isinstance(value, float) else str(value))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "printI64": _print_number,
    "printU64": _print_unsigned,
    "printF32": _print_number,
    "printF64": _print_number,
    "printOpen": lambda: print_text("( "),
    "printClose": lambda: print_text(" )"),
    "printComma": lambda: print_text(", "),
    "printNewline": lambda: print_text("\n"),
    "rtclock": time.time,
    **{f"printMemref{name}": partial(_print_memref, element) for name, element in ELEMENTS.items()},
}
