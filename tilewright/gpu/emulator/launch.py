"""One launch of a kernel: its blocks with their memory and barriers, which group has a turn, when none can get on."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import LocationAttr

from tilewright.gpu.device import Size3
from tilewright.gpu.emulator.hangs import report_hang
from tilewright.gpu.emulator.lockstep import LockstepGroup, Outcome
from tilewright.gpu.emulator.memory import Memory, MemoryRange
from tilewright.gpu.emulator.plan import Plan
from tilewright.gpu.emulator.program import Instruction, Register, Space
from tilewright.gpu.emulator.turns import Stuck, Turns
from tilewright.ir.run_errors import Fault

if TYPE_CHECKING:
    from tilewright.gpu.emulator.access_model import AccessModel

LANES_EACH = 1 << 14
"""Lanes of a group: enough that NumPy's overhead does not show, few enough for its arrays to stay in a cache."""
MAX_PASSES = 200_000
"""Rounds of a loop that waits, while nothing changes, after which it never ends, though it counts."""
SHARE = 16
"""Where turns are fine-grained, another rank gets one after about as many."""


COUNTED_AS = {"load": "bytes_loaded", "store": "bytes_stored", "atomic": "atomics", "cmpxchg": "atomics"}
COUNTED = "lane_operations", "bytes_loaded", "bytes_stored", "atomics"


class Launch:
    """A grid of blocks on its way."""

    def __init__(
        self,
        plan: Plan,
        grid: Size3,
        block: Size3,
        lds_bytes: int,
        arguments: Sequence[tuple[Register, Any]],
        *,
        memory: Memory,
        wave_size: int,
        resident_blocks: int,
        chip: str,
        lanes_are_free: bool,
        turns: Turns,
        chance: random.Random,
        changes: list[int],
        access: AccessModel | None = None,
        rank: int | None = None,
        all_plans: Callable[[], Sequence[Plan]] | None = None,
    ):
        self.plan, self.grid, self.block, self.lds_bytes = plan, grid, block, lds_bytes
        self.arguments, self.memory, self.wave_size = list(arguments), memory, wave_size
        self.turns, self.chance, self.changes, self.access = turns, chance, changes, access
        self.block_threads = block.x * block.y * block.z
        self.block_waves = -(-self.block_threads // wave_size)
        self.blocks = grid.x * grid.y * grid.z
        self.resident_blocks, self.chip, self.lanes_are_free = resident_blocks, chip, lanes_are_free
        self.all_plans = all_plans or (lambda: [plan])
        """Of all kernels of the program, for reports."""
        self.rank_name = "" if rank is None else f"rank {rank}, "
        self.counts = [0] * len(plan.functions)
        self.barriers = 0
        self._has_opened = False
        self.started = 0
        self._told = -1
        """The count of changes when others last had a turn."""
        self.ready: list[LockstepGroup] = []
        self.held: list[LockstepGroup] = []
        self.batches: list[BlockBatch] = []

    def run(self) -> None:
        """All blocks to their end."""
        if self.access is not None:
            self.access.begin(self)
        with np.errstate(all="ignore"):
            while self.ready or self.held or self.started < self.blocks:
                if not self._start_more() and (not self.ready or self._all_idle()):
                    self._let_others()
                    continue
                self._turn()
        if self.access is not None:
            self.access.end(self)

    def totals(self) -> dict[str, int]:
        """What lanes have done."""
        totals = {"barriers": self.barriers} | dict.fromkeys(COUNTED, 0)
        for block, lanes in zip(self.plan.program.blocks, self.counts, strict=True):
            if lanes:
                totals["lane_operations"] += lanes * block.lane_operations
                for instruction in block.instructions:
                    name = COUNTED_AS.get(instruction.name)
                    if name is not None and instruction.extra["space"] is not Space.PRIVATE:
                        size = 1 if name == "atomics" else instruction.extra["kind"].bytes * _elements(instruction)
                        totals[name] += lanes * size
        return totals

    def add(self, group: LockstepGroup) -> None:
        self.ready.append(group)

    def _start_more(self) -> bool:
        """Start blocks if no other can do anything, or if the one that goes on is to be chosen by chance."""
        if self.started == self.blocks or (self.ready and self.access is None and not self._all_idle()):
            return False
        unfinished = sum(batch.count for batch in self.batches)
        room = self.resident_blocks - unfinished
        count = min(max(1, LANES_EACH // (self.block_waves * self.wave_size)), room, self.blocks - self.started)
        if count <= 0:
            return False
        batch = BlockBatch(self, self.started, count)
        self.started += count
        self.batches.append(batch)
        batch.start(None if self.access is None else 1)
        return True

    def _all_idle(self) -> bool:
        now = self.changes[0]
        return all(group.idle_since == now for group in self.ready)

    def _turn(self) -> None:
        """One group goes on, as far as it can."""
        number = self.chance.randrange(len(self.ready)) if self.access is not None else self._first_awake()
        group = self.ready.pop(number)
        if self.access is not None:
            self.access.before_turn(group)
        outcome = group.run()
        if outcome is Outcome.TURN:
            self.ready.append(group)
            self._release()
            if group.passes > MAX_PASSES:
                report_hang(self, f"has gone round {MAX_PASSES} times")
            if self.access is not None and self.chance.randrange(SHARE) == 0:
                self._pause(idle=False)
        elif outcome is Outcome.HELD:
            self.held.append(group)
            self._release()
        else:
            self.changes[0] += 1
            self._ended(group)

    def _first_awake(self) -> int:
        now = self.changes[0]
        return next((number for number, group in enumerate(self.ready) if group.idle_since != now), 0)

    def _ended(self, group: LockstepGroup) -> None:
        batch = group.batch
        batch.groups.remove(group)
        if not batch.groups:
            self.batches.remove(batch)
            batch.finish()
        self._release()

    def opened_barrier(self) -> None:
        self.changes[0] += 1
        self._has_opened = True

    def _release(self) -> None:
        """Groups whose barriers have opened are ready again."""
        if not self._has_opened:
            return
        self._has_opened = False
        for group in [group for group in self.held if group.release()]:
            group.resume()
            self.held.remove(group)
            self.ready.append(group)

    def _let_others(self) -> None:
        """No group here gets on before someone else does something."""
        if self.access is not None and self.access.let_arrive():
            self.changes[0] += 1
            self._pause(idle=False)
            return
        if self.held and not self.ready and not self.turns.others:
            report_hang(self)
        self._pause(idle=True)

    def _pause(self, idle: bool) -> None:
        """Let other ranks have a turn; what happened here since the last time may be what they wait for."""
        try:
            if self.turns.pause(self.changes[0] != self._told, idle):
                self.changes[0] += 1
        except Stuck as stuck:
            report_hang(self, others=stuck.others)
        self._told = self.changes[0]


def _elements(access: Instruction) -> int:
    value = access.outs[0] if access.outs else access.ins[0]
    return value.kind.elements


Array = np.ndarray[Any, np.dtype[Any]]


class BlockBatch:
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
        self.lds: MemoryRange = self.memory.allocate(max(1, count * self.lds_bytes), "workgroup memory")
        self.arguments: list[tuple[Register, Any]] = launch.arguments
        self.opened = np.zeros(count, np.int64)
        """How often the barrier of each block has opened."""
        self.arrived = np.zeros(count, np.int64)
        self.alive = np.full(count, self.block_threads, np.int64)
        self.barrier_of: dict[int, LocationAttr] = {}
        self.groups: list[LockstepGroup] = []

    def start(self, waves_each: int | None) -> None:
        """Make groups of so many waves, or one of all."""
        waves = np.arange(self.first * self.block_waves, (self.first + self.count) * self.block_waves)
        step = len(waves) if waves_each is None else waves_each
        for begin in range(0, len(waves), step):
            group = LockstepGroup(self, self.plan, waves[begin : begin + step])
            group.start()
            self.add(group)

    def add(self, group: LockstepGroup) -> None:
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

    def thread(self, group: LockstepGroup, mask: Array) -> str:
        """The first thread of a mask."""
        lane = int(mask.argmax()) if mask.any() else 0
        wave = int(group.waves[lane // self.wave_size])
        number = wave % self.block_waves * self.wave_size + lane % self.wave_size
        thread = tuple(int(part) for part in _split(number, self.launch.block))
        block = tuple(int(part) for part in _split(wave // self.block_waves, self.launch.grid))
        return f"{self.launch.rank_name}thread {thread} of block {block}"

    # Barriers

    def count_barrier(self, group: LockstepGroup) -> None:
        self.launch.barriers += len(group.waves)

    def passed_barrier(self, group: LockstepGroup) -> None:
        """All threads of the blocks of a group went through a barrier together."""
        if self.access is not None:
            self.access.barrier(group.waves)

    def arrive(self, group: LockstepGroup, mask: Array, where: LocationAttr) -> Array:
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

    def left(self, group: LockstepGroup, m: Any) -> None:
        """Lanes have ended; the barriers of their blocks no longer wait for them."""
        counts = np.bincount(group.slots if m is None else group.slots[m], minlength=self.count)
        self.alive -= counts
        self._open(np.flatnonzero(counts))

    # Loops that wait

    def took_turn(self, group: LockstepGroup, latch: int) -> None:
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
