"""Functions of the runtime as pointers that native code calls, by letters. Needs nothing but Python."""

from __future__ import annotations

import ctypes
from typing import Any

TYPES: dict[str, Any] = {
    "p": ctypes.c_uint64,
    "l": ctypes.c_int64,
    "i": ctypes.c_int32,
    "b": ctypes.c_int32,
    "h": ctypes.c_int32,
    "f": ctypes.c_float,
    "d": ctypes.c_double,
    "v": None,
}
"""What stands for each letter of `Signature`."""


def pointer_maker(letters: str) -> Any:
    """What makes a pointer out of a Python function; `letters` are `result(parameters)`."""
    return ctypes.CFUNCTYPE(TYPES[letters[0]], *(TYPES[letter] for letter in letters[2:-1]))
