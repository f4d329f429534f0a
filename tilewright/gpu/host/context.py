"""Memory through which Python and the native code of a program tell each other what happens, and functions in it.

It may be shared with another process, which can then tell what became of a program that is no more. Needs nothing but
Python.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from tilewright.native.context_layout import CODE, DETAIL, HEADER_BYTES, SLOT_BYTES

STOPPED = 1
"""The code of a context whose program was ended by the runtime: it ran into an error, or `exit` was called."""
SITE, BUSY, FUNCTIONS = HEADER_BYTES, HEADER_BYTES + SLOT_BYTES, HEADER_BYTES + 2 * SLOT_BYTES
"""Where the context says which call of the runtime was the last, whether it is under way, and where functions are."""
TYPES: dict[str, Any] = {
    # not c_void_p, which gives None for a null pointer
    "p": ctypes.c_uint64,
    "l": ctypes.c_int64,
    "i": ctypes.c_int32,
    "b": ctypes.c_int32,
    "h": ctypes.c_int32,
    "f": ctypes.c_float,
    "d": ctypes.c_double,
    "v": None,
}
"""What stands for each type code of `CSignature`."""


class HostContext:
    """The context of one run."""

    def __init__(self, size_bytes: int):
        self._memory = mmap.mmap(-1, size_bytes)  # anonymous and shared: processes that part keep seeing the same
        self._slots = (ctypes.c_int64 * (size_bytes // SLOT_BYTES)).from_buffer(self._memory)
        self.address = ctypes.addressof(self._slots)

    @property
    def site(self) -> int:
        """Which call of the runtime was the last."""
        return self._slots[SITE // SLOT_BYTES]

    @property
    def is_inside(self) -> bool:
        """Whether that call is still under way."""
        return bool(self._slots[BUSY // SLOT_BYTES])

    @property
    def trap(self) -> int:
        return -1 - self._slots[CODE // SLOT_BYTES]

    @property
    def details(self) -> list[int]:
        first = DETAIL // SLOT_BYTES
        return list(self._slots[first : first + 3])

    @property
    def functions(self) -> Sequence[int]:
        return list(self._slots[FUNCTIONS // SLOT_BYTES :])

    @functions.setter
    def functions(self, addresses: Sequence[int]) -> None:
        for number, address in enumerate(addresses, FUNCTIONS // SLOT_BYTES):
            self._slots[number] = address

    def stop(self) -> None:
        """Let the native code return as soon as it looks."""
        self._slots[CODE // SLOT_BYTES] = STOPPED

    @contextmanager
    def inside_call(self) -> Generator[None]:
        self._slots[BUSY // SLOT_BYTES] = 1
        yield
        self._slots[BUSY // SLOT_BYTES] = 0


def pointer_maker(codes: str) -> Any:
    """What makes a pointer out of a Python function; `codes` are `result(parameters)`."""
    return ctypes.CFUNCTYPE(TYPES[codes[0]], *(TYPES[code] for code in codes[2:-1]))
