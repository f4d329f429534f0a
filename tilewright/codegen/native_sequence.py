"""Calling a native generator from Python: scalars in, a fresh array of TXN words out."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tilewright.codegen.sequence_scalars import ScalarSequence, Words

if TYPE_CHECKING:
    from tilewright.codegen.native_body import Generator

STAGING_WORDS = 4096  # streams up to this size are written to memory of the thread's own, then copied


class _Staging(threading.local):
    """Memory of one thread that generators write to, at a known address."""

    def __init__(self) -> None:
        words, failure = np.empty(STAGING_WORDS, dtype=np.uint32), ctypes.c_int64()
        self.parts = words, words.ctypes.data, failure, ctypes.addressof(failure)


_staging = _Staging()


class NativeSequence(ScalarSequence):
    """One runtime sequence, compiled: safe to call from several threads, every array it gives is the caller's own."""

    def __init__(self, generator: Generator, address: int, names: Sequence[str], keep_alive: object):
        super().__init__(names, generator.arguments)
        self.generator = generator
        signature = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, *(ctypes.c_int64 for _ in names)]
        # PYFUNCTYPE keeps the interpreter's lock: most calls are shorter than giving it up and taking it again.
        self._call = ctypes.PYFUNCTYPE(ctypes.c_int64, *signature)(address)
        self._usual_count = 0
        """How many words the last stream had: the next one is likely to have as many."""
        self._keep_alive = keep_alive

    def __call__(self, scalars: Mapping[str, int]) -> Words:
        """The stream for these values; RangeError where a value is outside what the hardware takes."""
        values = self._values(scalars)
        words, address, failure, failure_address = _staging.parts
        if self._usual_count > STAGING_WORDS:
            words = np.empty(self._usual_count, dtype=np.uint32)
            address = words.ctypes.data
        count: int = self._call(address, words.size, failure_address, *values)
        if count < 0:
            raise self._explain(self.generator.guards[-1 - count], failure.value, values)
        self._check_count(count, values, self.generator.location)
        # What the generator wrote belongs to the thread and is copied; only a large stream is written in place.
        self._usual_count = count
        if count <= STAGING_WORDS or count < words.size:
            return words[:count].copy()
        if count > words.size:
            words = np.empty(count, dtype=np.uint32)
            self._call(words.ctypes.data, count, failure_address, *values)
        return words
