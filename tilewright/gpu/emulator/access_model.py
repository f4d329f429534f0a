"""Memory as waves see it when every access is looked at: stores that arrive late, and accesses that nothing orders.

Races are found by vector clocks of waves, and by which of them last read and wrote each address. Barriers order the
waves of a block; an acquire that reads what a release wrote orders what came before the one before what comes after the
other. Of two accesses to the same address, one of them a write and not both atomic, one must come before the other in
that order. Lanes of a wave go in step, so only what one instruction does is looked at among them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from enum import Flag, auto
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tilewright.dialects._llvm_memory import Ordering
from tilewright.gpu.device import DeviceError
from tilewright.gpu.emulator.engine_access import EngineAccess
from tilewright.gpu.emulator.hangs import name_of
from tilewright.gpu.emulator.lane_operations import one
from tilewright.gpu.emulator.lower_memory import Order
from tilewright.gpu.emulator.memory import Array, Memory, update
from tilewright.gpu.emulator.program import PRIVATE_WINDOW
from tilewright.gpu.emulator.store_buffers import History, Level, StoreBuffers, level_of, units
from tilewright.ir.run_errors import Fault

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


class AccessModel(EngineAccess):
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
        super().__init__()
        self.memory, self.chance, self.mode, self.changes = memory, chance, mode, changes
        self.history = History(rank, folder)
        self.buffers: StoreBuffers | None = None
        self.races: Races | None = None

    def begin(self, launch: Launch) -> None:
        self.begin_engines()
        if Mode.REORDER in self.mode:
            self.buffers = StoreBuffers(self.memory, self.chance, launch.block_waves, self.history)
            self.history.begin(launch.blocks * launch.block_waves)
        if Mode.RACES in self.mode:
            self.races = Races(launch.blocks * launch.block_waves, launch.block_waves)

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
            first, now = self.history.earliest(wave, addresses), self.history.log.now
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


MOST_WAVES = 4096
"""A clock of each wave for each other one has to fit into memory."""


@dataclass(slots=True)
class LastAccess:
    """Who accessed an address last in one way, when, and where in the program."""

    wave: int
    time: int
    site: int
    atomic: bool


@dataclass(slots=True)
class Cell:
    write: LastAccess | None = None
    reads: dict[int, LastAccess] = field(default_factory=dict[int, LastAccess])


class Races:
    """The order of one launch so far; everything before it is ordered anyway."""

    def __init__(self, waves: int, block_waves: int):
        if waves > MOST_WAVES:
            raise DeviceError(
                f"a launch of {waves} waves is too large to be checked for races: at most {MOST_WAVES}; run it on"
                " smaller data, or without check=races"
            )
        self.block_waves = block_waves
        self.clocks = np.zeros((waves, waves), np.int32)
        self.clocks[np.arange(waves), np.arange(waves)] = 1
        self.cells: dict[int, Cell] = {}
        self.released: dict[int, Array] = {}
        """What was released at an address, as a clock."""
        self.fenced: dict[int, Array] = {}
        """Per wave: its clock at the last fence that releases; relaxed writes publish it."""
        self.seen: dict[int, Array] = {}
        """Per wave: what relaxed reads have found; a fence that acquires makes it count."""
        self.proxied: dict[int, list[int]] = {}
        """Per wave: when it let the copy engine see what it had stored."""

    def read(self, group: LockstepGroup, addresses: Array, site: int, order: Order) -> None:
        wave = int(group.waves[0])
        clock = self.clocks[wave]
        for address in np.unique(addresses).tolist():
            cell = self.cells.setdefault(address, Cell())
            write = cell.write
            if write is not None and self._unordered(write, wave, clock, order):
                self._report(group, address, addresses, site, "reads", write, "wrote")
            if not order.is_atomic or wave not in cell.reads:
                cell.reads[wave] = LastAccess(wave, int(clock[wave]), site, order.is_atomic)
            if order.is_atomic:
                self._acquire(wave, address, order)

    def write(self, group: LockstepGroup, addresses: Array, site: int, order: Order, as_line: bool = False) -> None:
        wave = int(group.waves[0])
        clock = self.clocks[wave]
        atomic = order.is_atomic or as_line
        for address in np.unique(addresses).tolist():
            cell = self.cells.setdefault(address, Cell())
            for other, verb in [(cell.write, "wrote"), *((read, "read") for read in cell.reads.values())]:
                if other is not None and self._unordered(other, wave, clock, order, as_line):
                    self._report(group, address, addresses, site, "writes", other, verb)
            cell.write = LastAccess(wave, int(clock[wave]), site, atomic)
            # ordered before this write, or reported: later ones need to be compared with the write alone
            cell.reads = {}
            if order.is_atomic:
                self._release(wave, address, order)

    def update(self, group: LockstepGroup, addresses: Array, site: int, order: Order) -> None:
        self.read(group, addresses, site, order)
        self.write(group, addresses, site, order)

    def fence(self, wave: int, order: Order) -> None:
        if order.acquires and wave in self.seen:
            np.maximum(self.clocks[wave], self.seen.pop(wave), out=self.clocks[wave])
        if order.releases:
            self.fenced[wave] = self.clocks[wave].copy()
            self.clocks[wave, wave] += 1

    def proxy_fence(self, wave: int) -> None:
        self.proxied.setdefault(wave, []).append(int(self.clocks[wave, wave]))
        self.clocks[wave, wave] += 1

    def engine_sees(self, wave: int, address: int) -> LastAccess | None:
        """A store that the engine, asked by a wave, may not see: nothing lets it before the wave knows of it."""
        cell = self.cells.get(address)
        write = cell.write if cell is not None else None
        if write is None or (write.wave != wave and write.time > self.clocks[wave, write.wave]):
            return None
        known = range(write.time, int(self.clocks[wave, write.wave]) + 1)
        return None if any(time in known for time in self.proxied.get(write.wave, ())) else write

    def barrier(self, waves: Array) -> None:
        """Waves have waited for each other."""
        joined = self.clocks[waves].max(0)
        self.clocks[waves] = joined
        # what comes next is not ordered with others again
        self.clocks[waves, waves] += 1

    def _unordered(self, other: LastAccess, wave: int, clock: Array, order: Order, as_line: bool = False) -> bool:
        return (
            other.wave != wave
            and other.time > clock[other.wave]
            and not (other.atomic and (order.is_atomic or as_line))
        )

    def _acquire(self, wave: int, address: int, order: Order) -> None:
        found = self.released.get(address)
        if found is None:
            return
        if order.acquires:
            np.maximum(self.clocks[wave], found, out=self.clocks[wave])
        else:
            self.seen[wave] = np.maximum(self.seen[wave], found) if wave in self.seen else found.copy()

    def _release(self, wave: int, address: int, order: Order) -> None:
        if order.releases:
            found = self.clocks[wave].copy()
            self.clocks[wave, wave] += 1
        elif wave in self.fenced:
            found = self.fenced[wave]
        else:
            return
        before = self.released.get(address)
        self.released[address] = found if before is None else np.maximum(before, found)

    def _report(
        self, group: LockstepGroup, address: int, addresses: Array, site: int, verb: str, other: LastAccess, did: str
    ) -> NoReturn:
        sites = group.plan.sites
        who, before = group.batch.who(int(group.waves[0])), group.batch.who(other.wave)
        same = other.wave // self.block_waves == int(group.waves[0]) // self.block_waves
        remedy = "a gpu.barrier between them orders" if same else "a release and an acquire of a flag order"
        raise Fault(
            f"data race: {who} {verb} {name_of(group, address)}",
            sites[site].where,
            [
                (sites[other.site].where, f"{before} {did} it here, and nothing orders the two"),
                (sites[site].where, f"{remedy} accesses of {'one block' if same else 'different blocks'}"),
            ],
        )
