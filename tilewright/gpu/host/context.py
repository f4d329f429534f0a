"""The memory through which Python and the native code of a program tell each other what happens.

It may be shared with another process, which can then tell what became of a program that is no more.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from tilewright.gpu.host.slots import BUSY, FUNCTIONS, SITE, STOPPED
from tilewright.native.context_layout import CODE, DETAIL, SLOT_BYTES


class Context:
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
