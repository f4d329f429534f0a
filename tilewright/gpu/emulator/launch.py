"""One launch of a kernel: which group has a turn, and when none can get on."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.gpu.device import Size3
from tilewright.gpu.emulator.block_group import BlockGroup
from tilewright.gpu.emulator.hangs import report_hang
from tilewright.gpu.emulator.memory import Memory
from tilewright.gpu.emulator.plan import Plan
from tilewright.gpu.emulator.program import Instruction
from tilewright.gpu.emulator.turns import Stuck, Turns
from tilewright.gpu.emulator.values import Register, Space
from tilewright.gpu.emulator.wave_group import Outcome, WaveGroup

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
        self.ready: list[WaveGroup] = []
        self.held: list[WaveGroup] = []
        self.block_groups: list[BlockGroup] = []

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

    def add(self, group: WaveGroup) -> None:
        self.ready.append(group)

    def _start_more(self) -> bool:
        """Start blocks if no other can do anything, or if the one that goes on is to be chosen by chance."""
        if self.started == self.blocks or (self.ready and self.access is None and not self._all_idle()):
            return False
        unfinished = sum(block_group.count for block_group in self.block_groups)
        room = self.resident_blocks - unfinished
        count = min(max(1, LANES_EACH // (self.block_waves * self.wave_size)), room, self.blocks - self.started)
        if count <= 0:
            return False
        block_group = BlockGroup(self, self.started, count)
        self.started += count
        self.block_groups.append(block_group)
        block_group.start(None if self.access is None else 1)
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

    def _ended(self, group: WaveGroup) -> None:
        block_group = group.block_group
        block_group.groups.remove(group)
        if not block_group.groups:
            self.block_groups.remove(block_group)
            block_group.finish()
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
