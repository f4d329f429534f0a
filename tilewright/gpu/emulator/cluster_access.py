"""What blocks of a cluster do together, as the watch for races sees it: their barrier, and reaching into each other.

A wave that waits at the barrier comes behind what all others did before they arrived. A block may end when everything
that others do in its memory comes before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import numpy as np

from tilewright.gpu.emulator.barriers import Meeting
from tilewright.gpu.emulator.cluster_memory import STAY
from tilewright.gpu.emulator.memory import Array
from tilewright.gpu.emulator.store_buffers import History, Level, StoreBuffers
from tilewright.ir.run_errors import Fault

if TYPE_CHECKING:
    from tilewright.gpu.emulator.lockstep import LockstepGroup
    from tilewright.gpu.emulator.races import Races


class ClusterAccess:
    """Clusters of one launch."""

    buffers: StoreBuffers | None
    races: Races | None
    history: History

    def __init__(self) -> None:
        self.arrived: dict[Meeting, Array] = {}
        """What those who have arrived did before, as a clock."""
        self.reaches: dict[int, dict[int, tuple[int, int]]] = {}
        """By block, then by wave of another one that last reached into its memory: when, and where in the program."""

    def begin_clusters(self) -> None:
        self.arrived.clear()
        self.reaches.clear()

    def cluster_arrive(self, wave: int, meeting: Meeting) -> None:
        if self.buffers is not None:
            self.buffers.flush(wave, Level.CLUSTER)
        if self.races is not None:
            clock = self.races.release(wave)
            before = self.arrived.get(meeting)
            self.arrived[meeting] = clock if before is None else np.maximum(before, clock)
            # whoever arrives has waited for the one before, so nobody still waits for the one before that
            cluster, number = meeting
            self.arrived.pop((cluster, number - 2), None)

    def cluster_wait(self, wave: int, meeting: Meeting) -> None:
        if self.buffers is not None:
            self.history.acquire(wave)
        if self.races is not None:
            self.races.acquire(wave, self.arrived[meeting])

    def reached(self, g: LockstepGroup, slot: int, site: int) -> None:
        """A wave accesses memory of another block."""
        if self.races is not None:
            wave = int(g.waves[0])
            block = self.reaches.setdefault(g.batch.first + slot, {})
            block[wave] = int(self.races.clocks[wave, wave]), site

    def block_ended(self, g: LockstepGroup, slot: int) -> None:
        """All threads of a block have ended."""
        if self.races is None:
            return
        block, each = g.batch.first + slot, g.batch.launch.block_waves
        known = self.races.clocks[block * each : (block + 1) * each].max(0)
        for wave, (time, site) in self.reaches.pop(block, {}).items():
            if time > known[wave]:
                _report(g, slot, wave, site)


def _report(g: LockstepGroup, slot: int, wave: int, site: int) -> NoReturn:
    where = g.plan.sites[site].where
    text = f"{g.batch.who(wave)}: reaches into memory of {g.batch.block(slot)}, which may have ended"
    raise Fault(text, where, [(where, STAY)])
