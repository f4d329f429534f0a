"""Functions of the runtime that print, in order with what a program prints by C's `printf`."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.gpu.device import DeviceError

STDOUT = "__stdoutp" if sys.platform == "darwin" else "stdout"
"""C's variable of that name."""
LINE_BUFFERED, BUFFER_BYTES = 1, 1 << 16
_buffer = ctypes.create_string_buffer(BUFFER_BYTES)  # C's library keeps using it until the process ends
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
TOLERANCE = 1e-3


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def print_lines_at_once() -> None:
    """Let lines of `printf` out as they end, not when the process does: that may be by a signal."""
    library = _library()
    stdout = ctypes.c_void_p.in_dll(library, STDOUT)
    library.setvbuf(stdout, _buffer, LINE_BUFFERED, ctypes.c_size_t(BUFFER_BYTES))


def print_text(text: str) -> None:
    """Print in order with the program's own output."""
    # Python's own buffer would come out in another order than C's
    _library().printf(b"%s", text.encode())


def flush_all() -> None:
    _library().fflush(None)


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


PRINTS: dict[str, Callable[..., Any]] = {
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


def _floats(address: int, rows: int, columns: int) -> npt.NDArray[np.float32]:
    pointer = ctypes.cast(address, ctypes.POINTER(ctypes.c_float))
    return np.ctypeslib.as_array(pointer, (rows, columns))


def _fill_matrices(first: int, second: int, rows: int, columns: int) -> None:
    """1, 2, 3 and so on; and the identity."""
    _floats(first, rows, columns)[:] = np.arange(1, rows * columns + 1, dtype=np.float64).reshape(rows, columns)
    _floats(second, rows, columns)[:] = np.eye(rows, columns)


def _check_product(product: int, first: int, second: int, rows: int, columns: int) -> None:
    """A matrix times the identity is itself; says the first place where it is not."""
    actual, expected = (_floats(address, rows, columns).astype(np.float64) for address in (product, first))
    difference: npt.NDArray[Any] = np.abs(actual - expected)
    # not `>`: a NaN is bad
    bad = ~(difference <= TOLERANCE * np.maximum(np.abs(expected), 1.0))
    if not bad.any():
        print_text("Output Matched!\n")
        return
    row, column = np.unravel_index(int(bad.argmax()), bad.shape)
    at = int(row), int(column)
    what = f"expected {expected[at]:g} != actual {actual[at]:g} (diff: {difference[at]:g})"
    print_text(f"Mismatch at ({at[0]}, {at[1]}): {what}\n")


SAMPLES: dict[str, Callable[..., int | None]] = {"mgpuInit": _fill_matrices, "mgpuCheckOutput": _check_product}
