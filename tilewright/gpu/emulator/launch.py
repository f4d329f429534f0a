"""One launch of a kernel: its blocks with their memory and barriers, which group has a turn, when none can get on."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.device.gpu_targets import GpuTarget
from tilewright.gpu.device import Size3
from tilewright.gpu.emulator.barriers import BlockBarriers, ClusterBarriers
from tilewright.gpu.emulator.builder import LDS_ALIGNMENT
from tilewright.gpu.emulator.grid import ClusteredGrid, shown, split
from tilewright.gpu.emulator.hangs import report_hang
from tilewright.gpu.emulator.lockstep import LockstepGroup, Outcome
from tilewright.gpu.emulator.memory import Array
from tilewright.gpu.emulator.plan import Plan
from tilewright.gpu.emulator.profiling import Profiler
from tilewright.gpu.emulator.program import Register, Space
from tilewright.gpu.emulator.turns import Stuck

if TYPE_CHECKING:
    from tilewright.gpu.emulator.device import EmulatorDevice

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
        device: EmulatorDevice,
        plan: Plan,
        grid: ClusteredGrid,
        block: Size3,
        shared_bytes: int,
        arguments: list[tuple[Register, Any]],
        kernel_name: str = "",
    ):
        self.kernel_name = kernel_name or plan.name
        self.device, self.plan, self.grid, self.block, self.arguments = device, plan, grid, block, arguments
        self.memory, self.wave_size, self.target = device.memory, device.wave_size, device.target
        self.turns, self.chance, self.changes, self.access = device.turns, device.chance, device.changes, device.access
        self.lds_bytes = -(-(plan.program.lds_bytes + shared_bytes) // LDS_ALIGNMENT) * LDS_ALIGNMENT
        self.block_threads, self.blocks = prod(block), grid.blocks
        self.block_waves = -(-self.block_threads // self.wave_size)
        self.resident_blocks = _resident_blocks(self.target, self.block_waves, self.lds_bytes)
        self.rank_name = "" if device.world is None else f"rank {device.world.rank}, "
        self.counts = [0] * len(plan.functions)
        self.profiler = Profiler(self) if device.profiles is not None else None
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
        # lanes that are not active compute with anything, and what overflows wraps
        with np.errstate(all="ignore"):
            while self.ready or self.held or self.started < self.blocks:
                if not self._start_more() and (not self.ready or self._all_idle()):
                    self._let_others()
                    continue
                self._turn()
        # what a kernel wrote is seen by all when it has ended
        if self.access is not None:
            self.access.drain_all()

    def totals(self) -> dict[str, int]:
        """What lanes have done."""
        totals = {"barriers": self.barriers} | dict.fromkeys(COUNTED, 0)
        for block, lanes in zip(self.plan.program.blocks, self.counts, strict=True):
            if lanes:
                totals["lane_operations"] += lanes * len(block.operations)
                for instruction in block.instructions:
                    name = COUNTED_AS.get(instruction.name)
                    if name is not None and instruction.extra["space"] is not Space.PRIVATE:
                        value = (instruction.outs or instruction.ins)[0].kind
                        totals[name] += lanes * (1 if name == "atomics" else value.bytes * value.elements)
        return totals

    def _start_more(self) -> bool:
        """Start blocks if no other can do anything, or if the one that goes on is to be chosen by chance."""
        if self.started == self.blocks or (self.ready and self.access is None and not self._all_idle()):
            return False
        room = self.resident_blocks - sum(batch.count for batch in self.batches)
        # whole clusters
        each = self.grid.cluster_blocks
        most = max(each, LANES_EACH // (self.block_waves * self.wave_size))
        count = min(most, room, self.blocks - self.started) // each * each
        if count <= 0:
            return False
        batch = BlockBatch(self, self.started, count)
        self.started += count
        self.batches.append(batch)
        # an access model looks at one wave at a time
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
            self.access.before_turn()
        outcome = group.run()
        if outcome is Outcome.TURN:
            self.ready.append(group)
            self._release()
            # a loop that counts carries something new each time, so it is never idle
            if group.passes > MAX_PASSES:
                report_hang(self, f"has gone round {MAX_PASSES} times")
            if self.access is not None and self.chance.randrange(SHARE) == 0:
                self._pause(idle=False)
        elif outcome is Outcome.HELD:
            self.held.append(group)
            self._release()
        else:
            # its end may open a barrier, or make room for blocks
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
        # only other ranks could write what lanes on their way to the barrier wait for
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


def _resident_blocks(target: GpuTarget, block_waves: int, lds_bytes: int) -> int:
    """How many blocks a GPU holds at the same time."""
    by_waves = max(1, target.unit_waves // block_waves)
    by_shared = max(1, target.unit_shared_bytes // lds_bytes) if lds_bytes else by_waves
    return target.compute_units * min(by_waves, by_shared, target.unit_blocks)


class BlockBatch:
    """Some consecutive blocks of a launch. A slot is a block's place among them."""

    def __init__(self, launch: Launch, first: int, count: int):
        self.launch, self.first, self.count = launch, first, count
        self.lds = launch.memory.allocate(max(1, count * launch.lds_bytes), "workgroup memory")
        self.barriers, self.clusters = BlockBarriers(self), ClusterBarriers(self)
        self.groups: list[LockstepGroup] = []

    def start(self, waves_each: int | None) -> None:
        """Make groups of so many waves, or one of all."""
        each = self.launch.block_waves
        waves = np.arange(self.first * each, (self.first + self.count) * each)
        step = len(waves) if waves_each is None else waves_each
        for begin in range(0, len(waves), step):
            group = LockstepGroup(self, waves[begin : begin + step])
            group.start()
            self.add(group)

    def add(self, group: LockstepGroup) -> None:
        self.groups.append(group)
        self.launch.ready.append(group)

    def finish(self) -> None:
        # what is late must not arrive in memory that is gone
        if self.launch.access is not None:
            self.launch.access.drain_all()
        self.launch.memory.remove(self.lds.base)

    def slot_of_wave(self, waves: Array) -> Array:
        return waves // self.launch.block_waves - self.first

    def is_whole(self, waves: Array) -> bool:
        """Whether waves are all waves of their blocks."""
        counts = np.bincount(self.slot_of_wave(waves), minlength=self.count)
        return bool(((counts == 0) | (counts == self.launch.block_waves)).all())

    def inputs(self, waves: Array) -> Mapping[str, Any]:
        """Ids and sizes of the threads of some waves, by name."""
        launch, program = self.launch, self.launch.plan.program
        lane = np.tile(np.arange(launch.wave_size), len(waves))
        wave = np.repeat(waves % launch.block_waves, launch.wave_size)
        thread = wave * launch.wave_size + lane
        number = np.repeat(waves // launch.block_waves, launch.wave_size)
        known: dict[str, Any] = {"lane_id": lane, "subgroup_id": wave, "thread_number": thread}
        grid = launch.grid
        parts = {
            "thread_id": split(thread, launch.block),
            "block_id": grid.place(number),
            "cluster_id": grid.cluster_place(number),
            "cluster_block_id": grid.place_in_cluster(number),
            "block_dim": launch.block,
            "grid_dim": grid.size,
            "cluster_dim": grid.clusters,
            "cluster_dim_blocks": grid.cluster,
        }
        for name, values in parts.items():
            known |= {f"{name}_{d}": value for d, value in zip("xyz", values, strict=True)}
        known["cluster_rank"] = grid.rank(number)
        known["num_subgroups"] = launch.block_waves
        known["static_lds_bytes"] = program.lds_bytes
        known["dynamic_lds_bytes"] = launch.lds_bytes - program.lds_bytes
        return known

    def who(self, wave: int) -> str:
        each = self.launch.block_waves
        return f"{self.launch.rank_name}block {shown(self.launch.grid.place(wave // each))}, wave {wave % each}"

    def thread(self, group: LockstepGroup, mask: Array) -> str:
        """The first thread of a mask."""
        launch, lane = self.launch, int(mask.argmax()) if mask.any() else 0
        block, wave = divmod(int(group.waves[lane // launch.wave_size]), launch.block_waves)
        number = wave * launch.wave_size + lane % launch.wave_size
        place = shown(launch.grid.place(block))
        return f"{launch.rank_name}thread {shown(split(number, launch.block))} of block {place}"

    def block(self, slot: int) -> str:
        return f"block {shown(self.launch.grid.place(self.first + slot))}"

    def left(self, group: LockstepGroup, m: Any) -> None:
        """Lanes have ended; barriers no longer wait for them."""
        mask = group.active(m)
        for barriers in (self.clusters, self.barriers):
            barriers.left(group, mask)
        if self.launch.access is not None:
            for slot in np.unique(group.slots[mask]).tolist():
                if not self.barriers.alive[slot]:
                    self.launch.access.block_ended(group, slot)

    def took_turn(self, group: LockstepGroup, latch: int) -> None:
        """A group has come round; notice if nothing happened since it was here last."""
        spin = self.launch.plan.spins.get(latch)
        if spin is None:
            group.idle_since = -1
            return
        carried = [group.frame[register.number] for register in spin.carried]
        now = self.launch.changes[0]
        again = group.spinning_at == latch and group.last_changes == now
        group.idle_since = now if again and _equal(carried, group.carried) else -1
        group.passes = group.passes + 1 if again else 0
        group.spinning_at, group.carried, group.last_changes = latch, carried, now


def _equal(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
