"""Which accesses of waves are ordered, and a report of two that are not.

Races are found by vector clocks of waves, and by which of them last read and wrote each address. Barriers order the
waves of a block; an acquire that reads what a release wrote orders what came before the one before what comes after the
other. Of two accesses to the same address, one of them a write and not both atomic, one must come before the other in
that order. Lanes of a wave go in step, so only what one instruction does is looked at among them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from tilewright.gpu.device import DeviceError
from tilewright.gpu.emulator.hangs import name_of
from tilewright.gpu.emulator.lower_memory import Order
from tilewright.gpu.emulator.memory import Array
from tilewright.ir.run_errors import Fault

if TYPE_CHECKING:
    from tilewright.gpu.emulator.lockstep import LockstepGroup

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

    def __init__(self, waves: int, block_waves: int, cluster_blocks: int = 1):
        if waves > MOST_WAVES:
            raise DeviceError(
                f"a launch of {waves} waves is too large to be checked for races: at most {MOST_WAVES}; run it on"
                " smaller data, or without check=races"
            )
        self.block_waves, self.cluster_waves = block_waves, block_waves * cluster_blocks
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
            self.acquire(wave, self.seen.pop(wave))
        if order.releases:
            self.fenced[wave] = self.release(wave)

    def release(self, wave: int) -> Array:
        """What a wave has done so far, for others to acquire."""
        found = self.clocks[wave].copy()
        # what comes next is not part of it
        self.clocks[wave, wave] += 1
        return found

    def acquire(self, wave: int, found: Array) -> None:
        """A wave comes behind what others have released."""
        np.maximum(self.clocks[wave], found, out=self.clocks[wave])

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
            self.acquire(wave, found)
        else:
            self.seen[wave] = np.maximum(self.seen[wave], found) if wave in self.seen else found.copy()

    def _release(self, wave: int, address: int, order: Order) -> None:
        if order.releases:
            found = self.release(wave)
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
        remedy = self._remedy(other.wave, int(group.waves[0]), other.site == site)
        raise Fault(
            f"data race: {who} {verb} {name_of(group, address)}",
            sites[site].where,
            [
                (sites[other.site].where, f"{before} {did} it here, and nothing orders the two"),
                (sites[site].where, remedy),
            ],
        )

    def _remedy(self, one: int, other: int, is_same: bool) -> str:
        if is_same and one // self.block_waves == other // self.block_waves:
            return "all waves of the block come here: let one do it (`a[i : i + 1] = v` in Python), or use an atomic"
        if one // self.block_waves == other // self.block_waves:
            return "a gpu.barrier between them orders accesses of one block"
        if one // self.cluster_waves == other // self.cluster_waves:
            return "nvvm.cluster.arrive and nvvm.cluster.wait between them order accesses of one cluster"
        return "a release and an acquire of a flag order accesses of different blocks"
