"""Values that memory held a while ago, for loads that nothing keeps from being early.

A wave may see memory as it was at any time since its last acquire. Every write that arrives in memory notes what it
replaces, in a list that all ranks share, so a load can take writes back that came after the time that it sees.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
RECORD = struct.Struct("=qqqq8s")
"""When, in whose memory, where in it, how many bytes, and what they were."""
HEADER = struct.Struct("=qq")
"""How many records there have been, and what time it is."""
CAPACITY = 1 << 14
LINE_BYTES = 128
KEPT = 256
"""Writes to a line that are remembered."""


class Log:
    """Records of the last writes of all ranks; `folder` is where they share it, None if there is only one."""

    def __init__(self, folder: Path | None):
        size = HEADER.size + CAPACITY * RECORD.size
        if folder is None:
            self._map: Any = mmap.mmap(-1, size)
            return
        handle = os.open(folder / "writes", os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(handle, size)
        self._map = mmap.mmap(handle, size)
        os.close(handle)

    @property
    def now(self) -> int:
        return HEADER.unpack_from(self._map, 0)[1]

    def append(self, records: Sequence[tuple[int, int, int, bytes]]) -> int:
        """Note what one write replaces; gives the time after it."""
        count, now = HEADER.unpack_from(self._map, 0)
        for space, offset, size, old in records:
            RECORD.pack_into(self._map, HEADER.size + count % CAPACITY * RECORD.size, now, space, offset, size, old)
            count += 1
        HEADER.pack_into(self._map, 0, count, now + 1)
        return now + 1

    def since(self, number: int) -> Iterator[tuple[int, tuple[int, int, int, int, bytes]]]:
        """Records from a number on, as far as they are still there, each with its number."""
        count, _ = HEADER.unpack_from(self._map, 0)
        for index in range(max(number, count - CAPACITY), count):
            yield index, RECORD.unpack_from(self._map, HEADER.size + index % CAPACITY * RECORD.size)


class History:
    """What a rank knows of the past. Spaces are heaps by their rank, and below zero the memory of each rank's own."""

    def __init__(self, rank: int, folder: Path | None):
        self.own = -1 - rank
        self.log = Log(folder)
        self.heaps: list[tuple[int, int]] = []
        """Where the heap of each rank begins here, and how large it is."""
        self._read = 0
        self._lines: dict[tuple[int, int], list[tuple[int, int, int, bytes]]] = {}
        self._seen: dict[tuple[int, int], int] = {}
        """The time that a wave has seen an address at."""
        self._acquired: dict[int, int] = {}

    def place(self, address: int) -> tuple[int, int]:
        """The space of an address, and where in it."""
        for rank, (base, size) in enumerate(self.heaps):
            if base <= address < base + size:
                return rank, address - base
        return self.own, address

    def begin(self, waves: int) -> None:
        """A kernel starts: it sees all that was written before."""
        self._seen.clear()
        self._acquired = dict.fromkeys(range(waves), self.log.now)

    def acquire(self, wave: int) -> None:
        self._acquired[wave] = self.log.now

    def catch_up(self) -> bool:
        """Let everyone see the present; whether anyone did not."""
        now = self.log.now
        behind = [wave for wave, time in self._acquired.items() if time < now]
        self._acquired.update(dict.fromkeys(behind, now))
        return bool(behind)

    def wrote(self, wave: int | None, addresses: Array, old: Array) -> None:
        """A write has arrived; `old` has a row of bytes for each address."""
        records = list[tuple[int, int, int, bytes]]()
        for address, row in zip(addresses.tolist(), old, strict=True):
            space, offset = self.place(address)
            records.append((space, offset, len(row), row.tobytes()))
        time = self.log.append(records)
        if wave is not None:
            for address in addresses.tolist():
                self._seen[wave, address] = time

    def earliest(self, wave: int, addresses: Array) -> int:
        """The first time that a load of these addresses may see."""
        start = self._acquired.get(wave, self.log.now)
        return max([start, *(self._seen.get((wave, address), 0) for address in addresses.tolist())])

    def load(self, wave: int, addresses: Array, values: Array, time: int) -> Array:
        """What memory held at a time, given what it holds now."""
        self._catch_records()
        data: Array = values.reshape(-1, 1).view(np.uint8).copy()
        size = data.shape[1]
        for number, address in enumerate(addresses.tolist()):
            self._seen[wave, address] = max(time, self._seen.get((wave, address), 0))
            space, offset = self.place(address)
            for when, start, count, old in reversed(self._lines.get((space, offset // LINE_BYTES), ())):
                if when < time:
                    break
                low, high = max(offset, start), min(offset + size, start + count)
                if low < high:
                    data[number, low - offset : high - offset] = list(old[low - start : high - start])
        return data.view(values.dtype).reshape(values.shape)

    def _catch_records(self) -> None:
        for index, (when, space, offset, size, old) in self.log.since(self._read):
            line = self._lines.setdefault((space, offset // LINE_BYTES), [])
            line.append((when, offset, size, old))
            if len(line) > KEPT:
                del line[: KEPT // 2]
            self._read = index + 1
