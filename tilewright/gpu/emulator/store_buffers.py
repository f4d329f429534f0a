"""Stores that others do not see yet, and values that memory held a while ago.

A store is seen by its own wave at once. Everyone else sees it when it has come far enough: to the waves of its block,
to those of its cluster, to all waves of its GPU, or to memory, which all ranks share. It gets there by chance, in any
order with stores to other addresses, or because a release demands it. Stores of one instruction go separately, lane by
lane, but a store that fills a whole line of 128 bytes goes as one: that is what the `line` protocol of channels relies
on.

A wave may see memory as it was at any time since its last acquire. Every write that arrives in memory notes what it
replaces, in a list that all ranks share, so a load can take writes back that came after the time that it sees.
"""

from __future__ import annotations

import mmap
import random
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

import numpy as np

from tilewright.gpu.emulator.memory import Array, Memory, map_file

LINE_BYTES = 128
MOST = 64
"""Stores of a wave that can be on their way; more push the oldest on."""


WRITTEN = 4
"""Stores to an address that are remembered when they have arrived."""


class Level(IntEnum):
    """Who sees a store."""

    WAVE = 0
    BLOCK = 1
    CLUSTER = 2
    DEVICE = 3
    MEMORY = 4


SCOPES = {
    "": Level.MEMORY,
    "system": Level.MEMORY,
    **dict.fromkeys(("agent", "device", "gpu"), Level.DEVICE),
    "cluster": Level.CLUSTER,
    **dict.fromkeys(("workgroup", "block", "cta"), Level.BLOCK),
    **dict.fromkeys(("wavefront", "singlethread"), Level.WAVE),
}
"""Scopes by the names that LLVM has for them on AMD and NVIDIA."""


def level_of(scope: str) -> Level:
    return SCOPES[scope.removesuffix("-one-as").removeprefix("one-as")]


@dataclass(eq=False)
class Pending:
    """A store on its way: bytes for addresses, all of which arrive together."""

    addresses: Array
    data: Array
    """One row of bytes for each address."""
    wave: int
    since: dict[Level, int] = field(default_factory=dict[Level, int])
    """When it came to each level: the waves of that see it from then on."""

    def __post_init__(self) -> None:
        self.size: int = self.data.shape[1]
        self.start, self.end = int(self.addresses.min()), int(self.addresses.max()) + self.size

    def overlaps(self, other: Pending) -> bool:
        if self is other:
            return True
        if self.end <= other.start or other.end <= self.start:
            return False
        gap = self.addresses[:, None] - other.addresses[None, :]
        return bool(((gap < other.size) & (gap > -self.size)).any())


class StoreBuffers:
    """All stores of a device that are on their way. Owners are numbers of waves, of blocks, of clusters, and 0 for the
    device."""

    def __init__(
        self, memory: Memory, chance: random.Random, block_waves: int, history: History, cluster_blocks: int = 1
    ):
        self.memory, self.chance, self.history = memory, chance, history
        self.block_waves, self.cluster_waves = block_waves, block_waves * cluster_blocks
        self.lists: dict[tuple[Level, int], list[Pending]] = {}
        self._written: dict[int, list[tuple[int, int, dict[Level, int]]]] = {}
        """Of the last stores that have arrived at an address: when, of which wave, and when they came to each level."""

    def _path(self, wave: int) -> list[tuple[Level, int]]:
        """Where stores of a wave go on their way to memory."""
        path = [(Level.WAVE, wave), (Level.CLUSTER, wave // self.cluster_waves), (Level.DEVICE, 0)]
        # a block that is a cluster by itself is one step
        if self.cluster_waves > self.block_waves:
            path.insert(1, (Level.BLOCK, wave // self.block_waves))
        return path

    def store(self, wave: int, addresses: Array, values: Array) -> None:
        """Stores of one instruction, as units that arrive together."""
        data = values.reshape(-1, 1).view(np.uint8)
        waiting = self.lists.setdefault((Level.WAVE, wave), [])
        for unit in units(addresses, data.shape[1]):
            waiting.append(Pending(addresses[unit], data[unit], wave))
        # a buffer of finite size: what does not fit moves on
        while len(waiting) > MOST:
            self._advance((Level.WAVE, wave), self.chance.randrange(len(waiting)))

    def load(self, wave: int, addresses: Array, values: Array) -> Array:
        """What a wave sees, given what memory holds."""
        data: Array = values.reshape(-1, 1).view(np.uint8).copy()
        # nearer ones are newer and cover those further away
        for key in reversed(self._path(wave)):
            for pending in self.lists.get(key, ()):
                _overlay(addresses, data, pending)
        return data.view(values.dtype).reshape(values.shape)

    def earliest(self, wave: int, addresses: Array) -> int:
        """The first time that a load of these addresses may see: not before what its wave has acquired of them."""
        first, acquired = self.history.earliest(wave, addresses), self.history.acquired(wave)
        for address in addresses.tolist():
            for time, writer, since in self._written.get(address, ()):
                if time > first and self._seen_since(wave, writer, since) <= acquired:
                    first = time
        return first

    def _seen_since(self, wave: int, writer: int, since: dict[Level, int]) -> int:
        """When a store of another wave had come so far that a wave saw it."""
        level = Level.DEVICE
        for narrower, waves in ((Level.CLUSTER, self.cluster_waves), (Level.BLOCK, self.block_waves)):
            if wave // waves == writer // waves:
                level = narrower
        return min(time for reached, time in since.items() if reached >= level)

    def flush(self, wave: int, level: Level) -> None:
        """Everything that a wave has stored or seen of others is seen by those of a level."""
        for key in self._path(wave):
            while key[0] < level and self.lists.get(key):
                self._advance(key, 0)

    def settle(self, wave: int, addresses: Array, size: int) -> None:
        """Stores to some addresses go to memory before the wave updates them there."""
        target = Pending(addresses, np.zeros((len(addresses), size), np.uint8), wave)
        for key in self._path(wave):
            while (hit := _first_overlap(self.lists.get(key, ()), target)) is not None:
                self._advance(key, hit)

    def drain_some(self) -> bool:
        """By chance, one store comes one step further; whether there was one."""
        keys = [key for key, waiting in self.lists.items() if waiting]
        if keys:
            key = keys[self.chance.randrange(len(keys))]
            self._advance(key, self.chance.randrange(len(self.lists[key])))
        return bool(keys)

    def drain_all(self) -> bool:
        """Everything goes to memory; whether there was anything."""
        moved = False
        for level in Level:
            for key in [key for key in self.lists if key[0] is level]:
                while self.lists.get(key):
                    self._advance(key, 0)
                    moved = True
        return moved

    def _advance(self, key: tuple[Level, int], number: int) -> None:
        """A store goes one level on, and with it all older ones to the same addresses."""
        waiting = self.lists[key]
        chosen = waiting[number]
        # it overlaps itself, so there is one
        moved = waiting.pop(_first_overlap(waiting, chosen) or 0)
        path = self._path(moved.wave)
        further = path[path.index(key) + 1 :]
        if further:
            moved.since[further[0][0]] = self.history.log.now
            self.lists.setdefault(further[0], []).append(moved)
        else:
            self.write(moved)
        if moved is not chosen:
            self._advance(key, waiting.index(chosen))

    def write(self, pending: Pending) -> None:
        """A store arrives in memory."""
        range = self.memory.find(int(pending.addresses[0]))
        # freed before it arrived
        if range is None:
            return
        if range.remote is not None:
            for address, row in zip(pending.addresses.tolist(), pending.data, strict=True):
                range.remote.write(address, row.tobytes())
            return
        places = np.add.outer(pending.addresses - range.base, np.arange(pending.size))
        old = range.data[places]
        range.data[places] = pending.data
        time = self.history.wrote(pending.wave, pending.addresses, old)
        for address in pending.addresses.tolist():
            self._written[address] = [
                *self._written.get(address, ())[1 - WRITTEN :],
                (time, pending.wave, pending.since),
            ]


def units(addresses: Array, size: int) -> list[Array]:
    """Lanes whose stores arrive together: those that fill a line, and every other one alone."""
    order = np.argsort(addresses, kind="stable")
    lines = addresses // LINE_BYTES
    found, alone = list[Array](), list[Array]()
    for line in np.unique(lines):
        lanes = order[lines[order] == line]
        places = np.unique(addresses[lanes])
        if len(places) * size == LINE_BYTES and places[0] % LINE_BYTES == 0:
            found.append(np.sort(lanes))
        else:
            alone += [np.array([lane]) for lane in np.sort(lanes)]
    return found + alone


def _first_overlap(waiting: Sequence[Pending], other: Pending) -> int | None:
    """The oldest store to an address of another one."""
    return next((number for number, pending in enumerate(waiting) if pending.overlaps(other)), None)


def _overlay(addresses: Array, data: Array, pending: Pending) -> None:
    """Put bytes of a store over what was loaded from the same addresses."""
    size = data.shape[1]
    if pending.end <= int(addresses.min()) or int(addresses.max()) + size <= pending.start:
        return
    gap = addresses[:, None] - pending.addresses[None, :]
    if pending.size == size:
        _cover(data, gap == 0, pending.data)
        # most accesses of one size are at the same addresses or apart; the others go byte by byte
        if not ((gap != 0) & (abs(gap) < size)).any():
            return
    for byte in range(size):
        for other in range(pending.size):
            _cover(data[:, byte], gap == other - byte, pending.data[:, other])


def _cover(data: Array, hits: Array, stored: Array) -> None:
    """Put what was stored over the data of lanes that hit an address; where one hits several, the last counts."""
    lanes = hits.any(1)
    if lanes.any():
        data[lanes] = stored[hits.shape[1] - 1 - hits[lanes][:, ::-1].argmax(1)]


RECORD = struct.Struct("=qqqq8s")
"""When, in whose memory, where in it, how many bytes, and what they were."""
HEADER = struct.Struct("=qq")
"""How many records there have been, and what time it is."""
CAPACITY = 1 << 14
KEPT = 256
"""Writes to a line that are remembered."""


class Log:
    """Records of the last writes of all ranks; `folder` is where they share it, None if there is only one."""

    def __init__(self, folder: Path | None):
        size = HEADER.size + CAPACITY * RECORD.size
        self._map = mmap.mmap(-1, size) if folder is None else map_file(folder / "writes", size)

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

    def acquired(self, wave: int) -> int:
        """When a wave last acquired."""
        return self._acquired.get(wave, self.log.now)

    def wrote(self, wave: int, addresses: Array, old: Array) -> int:
        """A write has arrived; `old` has a row of bytes for each address. Gives the time after it."""
        rows = zip(addresses.tolist(), old, strict=True)
        time = self.log.append([(*self.place(address), len(row), row.tobytes()) for address, row in rows])
        # a wave never sees an address as it was before its own write
        self._seen.update({(wave, address): time for address in addresses.tolist()})
        return time

    def earliest(self, wave: int, addresses: Array) -> int:
        """The first time that a load of these addresses may see."""
        start = self.acquired(wave)
        return max([start, *(self._seen.get((wave, address), 0) for address in addresses.tolist())])

    def load(self, wave: int, addresses: Array, values: Array, time: int) -> Array:
        """What memory held at a time, given what it holds now."""
        self._catch_records()
        data: Array = values.reshape(-1, 1).view(np.uint8).copy()
        size = data.shape[1]
        for number, address in enumerate(addresses.tolist()):
            self._seen[wave, address] = max(time, self._seen.get((wave, address), 0))
            space, offset = self.place(address)
            # newest first: each takes back one write, down to the time that is seen
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
