"""Memory as waves see it when every access is looked at: stores that arrive late, and accesses that nothing orders."""

from __future__ import annotations

import random
from enum import Flag, auto
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.dialects._llvm_memory import Ordering
from tilewright.gpu.emulator.cluster_access import ClusterAccess
from tilewright.gpu.emulator.engine_access import EngineAccess
from tilewright.gpu.emulator.lane_operations import one
from tilewright.gpu.emulator.lower_memory import Order
from tilewright.gpu.emulator.memory import Array, Memory, update
from tilewright.gpu.emulator.program import PRIVATE_WINDOW
from tilewright.gpu.emulator.races import Races
from tilewright.gpu.emulator.store_buffers import History, Level, StoreBuffers, level_of, units

if TYPE_CHECKING:
    from tilewright.gpu.emulator.launch import Launch
    from tilewright.gpu.emulator.lockstep import LockstepGroup

DRAIN_ONE_IN = 6
"""Turns after which, on average, one store comes a step further."""

ARRIVE_ONE_IN = 4
"""Steps of stores after which, on average, others have a look where no other does anything."""
STALE_ONE_IN = 3
"""Loads after which, on average, one sees the past if it may."""


class Mode(Flag):
    """What is looked at."""

    REORDER = auto()
    """Stores arrive late and in any order that the memory model allows."""
    RACES = auto()
    """Accesses have to be ordered."""


class AccessModel(EngineAccess, ClusterAccess):
    """The accesses of a device's waves, one group of one wave at a time."""

    def __init__(
        self,
        memory: Memory,
        chance: random.Random,
        mode: Mode,
        changes: list[int],
        rank: int = 0,
        folder: Path | None = None,
    ):
        EngineAccess.__init__(self)
        ClusterAccess.__init__(self)
        self.memory, self.chance, self.mode, self.changes = memory, chance, mode, changes
        self.history = History(rank, folder)
        self.buffers: StoreBuffers | None = None
        self.races: Races | None = None

    def begin(self, launch: Launch) -> None:
        self.begin_engines()
        self.begin_clusters()
        cluster_blocks = launch.grid.cluster_blocks
        if Mode.REORDER in self.mode:
            self.buffers = StoreBuffers(self.memory, self.chance, launch.block_waves, self.history, cluster_blocks)
            self.history.begin(launch.blocks * launch.block_waves)
        if Mode.RACES in self.mode:
            self.races = Races(launch.blocks * launch.block_waves, launch.block_waves, cluster_blocks)

    def before_turn(self) -> None:
        if self.buffers is not None and self.chance.randrange(DRAIN_ONE_IN) == 0:
            self.changes[0] += self.buffers.drain_some()

    def let_arrive(self) -> bool:
        """Some of what is late arrives, by chance, so that others may look in between; whether anything was late."""
        if self.buffers is None:
            return False
        moved = False
        while self.buffers.drain_some():
            moved = True
            if self.chance.randrange(ARRIVE_ONE_IN) == 0:
                return True
        return self.history.catch_up() or moved

    def drain_all(self) -> bool:
        """Whatever is late arrives, and everyone sees it; whether anything was."""
        if self.buffers is None:
            return False
        drained = self.buffers.drain_all()
        return self.history.catch_up() or drained

    def barrier(self, waves: Array) -> None:
        if self.buffers is not None:
            # all release before any acquires
            for wave in waves:
                self.buffers.flush(int(wave), Level.BLOCK)
            for wave in waves:
                self.history.acquire(int(wave))
        if self.races is not None:
            self.races.barrier(waves)

    def load_one(self, g: LockstepGroup, address: int, dtype: Any, m: Any, site: int, pattern: Any) -> Any:
        """The same element for all lanes."""
        first = np.zeros(g.lanes, bool)
        first[int(g.active(m).argmax())] = True
        value = self.load(g, address, dtype, first, site, pattern)[..., first]
        return value if pattern is not None else one(value)

    def load(self, g: LockstepGroup, addresses: Any, dtype: Any, m: Any, site: int, pattern: Any) -> Array:
        if _is_private(addresses):
            return g.load_any(addresses, dtype, m, site, pattern)
        if pattern is not None:
            steps = [int(step) * dtype.itemsize for step in pattern.flat]
            rows = [self.load(g, addresses + step, dtype, m, site, None) for step in steps]
            return np.stack(rows).reshape(*pattern.shape, g.lanes)
        order, active = _order(g, site), g.active(m)
        addresses = g.real(addresses)
        values = g.load_any(addresses, dtype, m, site, None)
        if self.buffers is not None:
            values[active] = self._late(int(g.waves[0]), addresses[active], values[active], order)
        if self.races is not None:
            self.races.read(g, addresses[active], site, order)
        return values

    def _late(self, wave: int, addresses: Array, values: Array, order: Order) -> Array:
        """What a wave sees of what memory holds: maybe what it held before, and its own stores."""
        assert self.buffers is not None
        if order.acquires:
            self.history.acquire(wave)
        # without an acquire, the load may have been early
        elif self.chance.randrange(STALE_ONE_IN) == 0:
            first, now = self.buffers.earliest(wave, addresses), self.history.log.now
            if first < now:
                values = self.history.load(wave, addresses, values, self.chance.randint(first, now))
        return self.buffers.load(wave, addresses, values)

    def store(self, g: LockstepGroup, addresses: Any, value: Any, dtype: Any, m: Any, site: int, pattern: Any) -> None:
        if _is_private(addresses):
            g.store_any(addresses, value, dtype, m, site, pattern)
            return
        if pattern is not None:
            rows = np.broadcast_to(value, (*pattern.shape, g.lanes)).reshape(-1, g.lanes)
            for step, row in zip(pattern.flat, rows, strict=True):
                self.store(g, addresses + int(step) * dtype.itemsize, row, dtype, m, site, None)
            return
        order, active, wave = _order(g, site), g.active(m), int(g.waves[0])
        addresses = g.real(addresses)
        values = np.ascontiguousarray(np.broadcast_to(np.asarray(value, dtype), g.lanes)[active])
        places = addresses[active]
        self.check_engine(g, places, site)
        if self.races is not None:
            self._same_instruction(g, active, places, values, site)
            # a whole line arrives as one, so a reader may look at it without a lock: the `line` protocol
            whole = len(units(places, dtype.itemsize)) < len(np.unique(places))
            self.races.write(g, places, site, order, as_line=whole)
        self.changes[0] += 1
        if self.buffers is None:
            g.store_any(addresses, np.broadcast_to(value, g.lanes), dtype, m, site, None)
            return
        g.check_mapped(addresses, active, dtype, site)
        if order.releases:
            self.buffers.flush(wave, level_of(order.scope))
            self.buffers.settle(wave, places, dtype.itemsize)
            old = g.load_any(addresses, dtype, m, site, None)[active]
            g.store_any(addresses, np.broadcast_to(value, g.lanes), dtype, m, site, None)
            # what it replaced, for loads of others that may still see it
            self.history.wrote(wave, places, old.reshape(-1, 1).view(np.uint8))
        else:
            self.buffers.store(wave, places, values)

    def atomic(
        self,
        g: LockstepGroup,
        addresses: Any,
        value: Array,
        dtype: Any,
        m: Any,
        site: int,
        name: str,
        expected: Array | None = None,
    ) -> Array:
        order, active, wave = _order(g, site), g.active(m), int(g.waves[0])
        addresses = g.real(addresses)
        if self.buffers is not None:
            if order.releases:
                self.buffers.flush(wave, level_of(order.scope))
            # updates are done in memory, so the wave's own stores to these addresses come first
            self.buffers.settle(wave, addresses[active], dtype.itemsize)
        if self.races is not None:
            self.races.update(g, addresses[active], site, order)
        result = np.zeros(g.lanes, dtype)
        for here, view, places in g.groups(addresses, active, dtype, site):
            wanted = None if expected is None else expected[here]
            result[here], changed = update(view, places, value[here], name, wanted)
            self.changes[0] += changed
            if self.buffers is not None and changed:
                self.history.wrote(wave, addresses[here], result[here].reshape(-1, 1).view(np.uint8))
        if self.buffers is not None and order.acquires:
            self.history.acquire(wave)
        return result

    def fence(self, g: LockstepGroup, m: Any, site: int) -> None:
        order, wave = _order(g, site), int(g.waves[0])
        if self.buffers is not None and order.releases:
            self.buffers.flush(wave, level_of(order.scope))
        if order.acquires and level_of(order.scope) > Level.WAVE:
            self.history.acquire(wave)
        if self.races is not None:
            self.races.fence(wave, order)

    def _same_instruction(self, g: LockstepGroup, active: Array, places: Array, values: Array, site: int) -> None:
        """Lanes that write to one address together must write the same."""
        # sorted, so that equal addresses are neighbours
        order = np.argsort(places, kind="stable")
        same = places[order][1:] == places[order][:-1]
        data = values.reshape(-1, 1).view(np.uint8)[order]
        differ = same & (data[1:] != data[:-1]).any(1)
        if differ.any():
            lanes = np.flatnonzero(active)[order]
            number = int(differ.argmax())
            first, second = int(lanes[number]), int(lanes[number + 1])
            note = "write from one lane only, or to an address of each lane's own"
            text = (
                f"data race: lanes {first} and {second} write {values[order][number]} and {values[order][number + 1]}"
                " to one address"
            )
            g.fault(site, text, None, note)


def _order(g: LockstepGroup, site: int) -> Order:
    return g.plan.sites[site].extra.get("order", Order(Ordering.not_atomic))


def _is_private(addresses: Any) -> bool:
    return (addresses if addresses.__class__ is int else int(addresses.max())) >= PRIVATE_WINDOW
