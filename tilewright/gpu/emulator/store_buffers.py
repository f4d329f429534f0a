"""Stores that others do not see yet.

A store is seen by its own wave at once. Everyone else sees it when it has come far enough: to the waves of its block,
to all waves of its GPU, or to memory, which all ranks share. It gets there by chance, in any order with stores to other
addresses, or because a release demands it. Stores of one instruction go separately, lane by lane, but a store that
fills a whole line of 128 bytes goes as one: that is what the `line` protocol of channels relies on.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from tilewright.gpu.emulator.history import History
from tilewright.gpu.emulator.memory import Memory

Array = np.ndarray[Any, np.dtype[Any]]
LINE_BYTES = 128
MOST = 64
"""Stores of a wave that can be on their way; more push the oldest on."""


class Level(IntEnum):
    """Who sees a store."""

    WAVE = 0
    BLOCK = 1
    DEVICE = 2
    MEMORY = 3


SCOPES = {
    "": Level.MEMORY,
    "system": Level.MEMORY,
    **dict.fromkeys(("agent", "device", "gpu"), Level.DEVICE),
    **dict.fromkeys(("workgroup", "block", "cta", "cluster"), Level.BLOCK),
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
    """All stores of a device that are on their way. Owners are numbers of waves, of blocks, and 0 for the device."""

    def __init__(self, memory: Memory, chance: random.Random, block_waves: int, history: History):
        self.memory, self.chance, self.block_waves, self.history = memory, chance, block_waves, history
        self.lists: dict[tuple[Level, int], list[Pending]] = {}

    def above(self, wave: int) -> Iterator[tuple[Level, int]]:
        """Where stores are that a wave sees, those further away first."""
        yield Level.DEVICE, 0
        yield Level.BLOCK, wave // self.block_waves
        yield Level.WAVE, wave

    def store(self, wave: int, addresses: Array, values: Array) -> None:
        """Stores of one instruction, as units that arrive together."""
        data = values.reshape(-1, 1).view(np.uint8)
        waiting = self.lists.setdefault((Level.WAVE, wave), [])
        for unit in units(addresses, data.shape[1]):
            waiting.append(Pending(addresses[unit], data[unit], wave))
        while len(waiting) > MOST:
            self._advance((Level.WAVE, wave), self.chance.randrange(len(waiting)))

    def load(self, wave: int, addresses: Array, values: Array) -> Array:
        """What a wave sees, given what memory holds."""
        data: Array = values.reshape(-1, 1).view(np.uint8).copy()
        for key in self.above(wave):
            for pending in self.lists.get(key, ()):
                _overlay(addresses, data, pending)
        return data.view(values.dtype).reshape(values.shape)

    def flush(self, wave: int, level: Level) -> None:
        """Everything that a wave has stored or seen of others is seen by those of a level."""
        path = [(Level.WAVE, wave), (Level.BLOCK, wave // self.block_waves), (Level.DEVICE, 0)]
        for key in path[:level]:
            while self.lists.get(key):
                self._advance(key, 0)

    def settle(self, wave: int, addresses: Array, size: int) -> None:
        """Stores to some addresses go to memory before the wave updates them there."""
        target = Pending(addresses, np.zeros((len(addresses), size), np.uint8), wave)
        for key in ((Level.WAVE, wave), (Level.BLOCK, wave // self.block_waves), (Level.DEVICE, 0)):
            number = 0
            while number < len(self.lists.get(key, ())):
                if self.lists[key][number].overlaps(target):
                    self._advance(key, number)
                    number = 0
                else:
                    number += 1

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
        for level in (Level.WAVE, Level.BLOCK, Level.DEVICE):
            for key in [key for key in self.lists if key[0] is level]:
                while self.lists.get(key):
                    self._advance(key, 0)
                    moved = True
        return moved

    def _advance(self, key: tuple[Level, int], number: int) -> None:
        """A store goes one level on, and with it all older ones to the same addresses."""
        waiting = self.lists[key]
        chosen = waiting[number]
        first = next(older for older, pending in enumerate(waiting) if pending.overlaps(chosen))
        moved = waiting.pop(first)
        level, owner = key
        if level is Level.WAVE:
            self.lists.setdefault((Level.BLOCK, owner // self.block_waves), []).append(moved)
        elif level is Level.BLOCK:
            self.lists.setdefault((Level.DEVICE, 0), []).append(moved)
        else:
            self.write(moved)
        if moved is not chosen:
            self._advance(key, waiting.index(chosen))

    def write(self, pending: Pending) -> None:
        """A store arrives in memory."""
        first = int(pending.addresses[0])
        range = self.memory.find(first)
        if range is None:
            return
        if range.remote is not None:
            for address, row in zip(pending.addresses.tolist(), pending.data, strict=True):
                range.remote.write(address, row.tobytes())
            return
        starts: Array = pending.addresses - range.base
        places = np.add.outer(starts, np.arange(pending.size))
        old = range.data[places]
        range.data[places] = pending.data
        self.history.wrote(pending.wave, pending.addresses, old)


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


def _overlay(addresses: Array, data: Array, pending: Pending) -> None:
    """Put bytes of a store over what was loaded from the same addresses."""
    size = data.shape[1]
    if pending.end <= int(addresses.min()) or int(addresses.max()) + size <= pending.start:
        return
    if pending.size == size:
        hits = addresses[:, None] == pending.addresses[None, :]
        lanes = hits.any(1)
        if lanes.any():
            last = hits.shape[1] - 1 - hits[lanes][:, ::-1].argmax(1)
            data[lanes] = pending.data[last]
        if not _shifted(addresses, pending):
            return
    for byte in range(size):
        for other in range(pending.size):
            hits = (addresses + byte)[:, None] == (pending.addresses + other)[None, :]
            lanes = hits.any(1)
            if lanes.any():
                last = hits.shape[1] - 1 - hits[lanes][:, ::-1].argmax(1)
                data[lanes, byte] = pending.data[last, other]


def _shifted(addresses: Array, pending: Pending) -> bool:
    """Whether accesses of the same size overlap without being the same."""
    gap = addresses[:, None] - pending.addresses[None, :]
    return bool(((gap != 0) & (abs(gap) < pending.size)).any())
