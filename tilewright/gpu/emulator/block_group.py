"""Blocks that are started together: their memory, their barriers, and who their threads are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import LocationAttr

from tilewright.gpu.device import Size3
from tilewright.gpu.emulator.memory import Memory, Range
from tilewright.gpu.emulator.plan import Plan
from tilewright.gpu.emulator.values import Register
from tilewright.gpu.emulator.wave_group import WaveGroup
from tilewright.ir.run_errors import Fault

if TYPE_CHECKING:
    from tilewright.gpu.emulator.launch import Launch

Array = np.ndarray[Any, np.dtype[Any]]


class BlockGroup:
    """Some consecutive blocks of a launch. A slot is a block's place among them."""

    def __init__(self, launch: Launch, first: int, count: int):
        self.launch, self.first, self.count = launch, first, count
        self.plan: Plan = launch.plan
        self.memory: Memory = launch.memory
        self.changes, self.access, self.counts = launch.changes, launch.access, launch.counts
        self.wave_size: int = launch.wave_size
        self.block_threads, self.block_waves = launch.block_threads, launch.block_waves
        self.lanes_are_free: bool = launch.lanes_are_free
        self.partial = self.block_threads % self.wave_size != 0
        self.lds_bytes: int = launch.lds_bytes
        self.lds: Range = self.memory.allocate(max(1, count * self.lds_bytes), "workgroup memory")
        self.arguments: list[tuple[Register, Any]] = launch.arguments
        self.opened = np.zeros(count, np.int64)
        """How often the barrier of each block has opened."""
        self.arrived = np.zeros(count, np.int64)
        self.alive = np.full(count, self.block_threads, np.int64)
        self.barrier_of: dict[int, LocationAttr] = {}
        self.groups: list[WaveGroup] = []

    def start(self, waves_each: int | None) -> None:
        """Make groups of so many waves, or one of all."""
        waves = np.arange(self.first * self.block_waves, (self.first + self.count) * self.block_waves)
        step = len(waves) if waves_each is None else waves_each
        for begin in range(0, len(waves), step):
            group = WaveGroup(self, self.plan, waves[begin : begin + step])
            group.start()
            self.add(group)

    def add(self, group: WaveGroup) -> None:
        self.groups.append(group)
        self.launch.add(group)

    def finish(self) -> None:
        if self.access is not None:
            self.access.finish(self)
        self.memory.remove(self.lds.base)

    # Who is who

    def slot_of_wave(self, waves: Array) -> Array:
        return waves // self.block_waves - self.first

    def is_whole(self, waves: Array) -> bool:
        """Whether waves are all waves of their blocks."""
        counts = np.bincount(self.slot_of_wave(waves), minlength=self.count)
        return bool(((counts == 0) | (counts == self.block_waves)).all())

    def inputs(self, waves: Array) -> Mapping[str, Any]:
        """Ids and sizes of the threads of some waves, by name."""
        block, grid = self.launch.block, self.launch.grid
        lane = np.tile(np.arange(self.wave_size), len(waves))
        wave = np.repeat(waves % self.block_waves, self.wave_size)
        thread = wave * self.wave_size + lane
        number = np.repeat(waves // self.block_waves, self.wave_size)
        known: dict[str, Any] = {"lane_id": lane, "subgroup_id": wave, "thread_number": thread}
        for name, value, size in (("thread_id", thread, block), ("block_id", number, grid)):
            known |= {f"{name}_{d}": part for d, part in zip("xyz", _split(value, size), strict=True)}
        for name, size in (("block_dim", block), ("grid_dim", grid)):
            known |= {f"{name}_{d}": part for d, part in zip("xyz", size, strict=True)}
        known["num_subgroups"] = self.block_waves
        known["static_lds_bytes"] = self.plan.program.lds_bytes
        known["dynamic_lds_bytes"] = self.lds_bytes - self.plan.program.lds_bytes
        return known

    def who(self, wave: int) -> str:
        block = tuple(int(part) for part in _split(wave // self.block_waves, self.launch.grid))
        return f"{self.launch.rank_name}block {block}, wave {wave % self.block_waves}"

    def thread(self, group: WaveGroup, mask: Array) -> str:
        """The first thread of a mask."""
        lane = int(mask.argmax()) if mask.any() else 0
        wave = int(group.waves[lane // self.wave_size])
        number = wave % self.block_waves * self.wave_size + lane % self.wave_size
        thread = tuple(int(part) for part in _split(number, self.launch.block))
        block = tuple(int(part) for part in _split(wave // self.block_waves, self.launch.grid))
        return f"{self.launch.rank_name}thread {thread} of block {block}"

    # Barriers

    def count_barrier(self, group: WaveGroup) -> None:
        self.launch.barriers += len(group.waves)

    def passed_barrier(self, group: WaveGroup) -> None:
        """All threads of the blocks of a group went through a barrier together."""
        if self.access is not None:
            self.access.barrier(group.waves)

    def arrive(self, group: WaveGroup, mask: Array, where: LocationAttr) -> Array:
        """Lanes come to a barrier; gives how often those of the blocks had opened before."""
        before = self.opened.copy()
        counts = np.bincount(group.slots[mask], minlength=self.count)
        for slot in np.flatnonzero(counts):
            other = self.barrier_of.setdefault(int(slot), where)
            if other != where:
                raise Fault(
                    f"{self.thread(group, mask)} waits at this barrier while others of its block wait at another one",
                    where,
                    [
                        (other, "the others are here"),
                        (where, "all threads of a block have to come to the same barrier"),
                    ],
                )
        self.arrived += counts
        self._open(np.flatnonzero(counts))
        return before

    def _open(self, slots: Array) -> None:
        for slot in slots:
            if self.arrived[slot] and self.arrived[slot] == self.alive[slot]:
                self.arrived[slot] = 0
                self.opened[slot] += 1
                self.barrier_of.pop(int(slot), None)
                self.launch.opened_barrier()
                if self.access is not None:
                    start = (self.first + int(slot)) * self.block_waves
                    self.access.barrier(np.arange(start, start + self.block_waves))

    def left(self, group: WaveGroup, m: Any) -> None:
        """Lanes have ended; the barriers of their blocks no longer wait for them."""
        counts = np.bincount(group.slots if m is None else group.slots[m], minlength=self.count)
        self.alive -= counts
        self._open(np.flatnonzero(counts))

    # Loops that wait

    def took_turn(self, group: WaveGroup, latch: int) -> None:
        """A group has come round; notice if nothing happened since it was here last."""
        spin = self.plan.spins.get(latch)
        if spin is None:
            group.idle_since = -1
            return
        carried = [group.frame[register.number] for register in spin.carried]
        now = self.changes[0]
        again = group.spinning_at == latch and group.last_changes == now
        group.idle_since = now if again and _equal(carried, group.carried) else -1
        group.passes = group.passes + 1 if again else 0
        group.spinning_at, group.carried, group.last_changes = latch, carried, now


def _split(number: Any, size: Size3) -> tuple[Any, Any, Any]:
    """A number as x, y and z, x fastest."""
    return number % size.x, number // size.x % size.y, number // (size.x * size.y)


def _equal(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
