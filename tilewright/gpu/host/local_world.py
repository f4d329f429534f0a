"""The ranks of a run as processes of this machine, seen from one of them. The process that started them is in between:
it hears of ranks that end, so nobody waits for one that is no more."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from tilewright.gpu.device import DeviceError, Heap, RankLost


@dataclass(frozen=True)
class Meeting:
    """A rank has come to a place where all meet, with bytes for the others."""

    data: bytes


@dataclass(frozen=True)
class Met:
    """All have come; the bytes of each."""

    data: list[bytes]


@dataclass(frozen=True)
class Lost:
    """Not all will come; why."""

    text: str


class LocalWorld:
    """One rank's place among the processes."""

    def __init__(self, rank: int, size: int, folder: Path, connection: Connection, heap_files: Sequence[int]):
        self.rank, self.size = rank, size
        self.folder: Path | None = folder
        self._connection = connection
        self._heap_files = heap_files
        self._mappings: list[mmap.mmap] = []

    def barrier(self) -> None:
        self.exchange(b"")

    def exchange(self, data: bytes) -> list[bytes]:
        if self.size == 1:
            return [data]
        self._connection.send(Meeting(data))
        match self._connection.recv():
            case Met(data=found):
                return found
            case Lost(text=text):
                raise RankLost(text)
            case other:
                raise AssertionError(f"a rank gets no {other!r}")

    def make_heap(self, size_bytes: int) -> Heap:
        """Files without names, one for each rank, which all map."""
        try:
            os.ftruncate(self._heap_files[self.rank], 0)  # clears what an earlier heap left
            os.ftruncate(self._heap_files[self.rank], size_bytes)
            self.barrier()
            self._mappings = [mmap.mmap(file, size_bytes) for file in self._heap_files]
        except OSError as error:
            raise DeviceError(f"no symmetric heap of {size_bytes} bytes: {error.strerror}") from error
        return Heap(size_bytes, tuple(_address(mapping) for mapping in self._mappings))

    def drop_heap(self, heap: Heap) -> None:
        """The memory goes back to the system; nothing of this process points there any more."""
        self.barrier()
        os.ftruncate(self._heap_files[self.rank], 0)
        self._mappings = []
        self.barrier()


def _address(mapping: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(mapping))
