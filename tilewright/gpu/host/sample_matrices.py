"""Functions of the runtime that only upstream's test programs call: matrices to multiply, and a look at the product."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.gpu.host.printing import print_text

TOLERANCE = 1e-3


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
    bad = ~(difference <= TOLERANCE * np.maximum(np.abs(expected), 1.0))
    if not bad.any():
        print_text("Output Matched!\n")
        return
    row, column = np.unravel_index(int(bad.argmax()), bad.shape)
    at = int(row), int(column)
    what = f"expected {expected[at]:g} != actual {actual[at]:g} (diff: {difference[at]:g})"
    print_text(f"Mismatch at ({at[0]}, {at[1]}): {what}\n")


FUNCTIONS: dict[str, Callable[..., int | None]] = {"mgpuInit": _fill_matrices, "mgpuCheckOutput": _check_product}
