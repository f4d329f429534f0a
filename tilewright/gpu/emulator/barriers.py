"""Barriers of blocks and of clusters: which threads have come, how often each has opened, and who waits for that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from xdsl.dialects.builtin import LocationAttr

from tilewright.gpu.emulator.memory import Array
from tilewright.ir.run_errors import Fault

if TYPE_CHECKING:
    from tilewright.gpu.emulator.access_model import AccessModel
    from tilewright.gpu.emulator.launch import BlockBatch
    from tilewright.gpu.emulator.lockstep import LockstepGroup
    from tilewright.gpu.emulator.profiling import Profiler

Meeting = tuple[int, int]
"""A cluster of a launch, and how often its barrier has opened when all of it have come."""


@dataclass(eq=False)
class Held:
    """Lanes at a barrier: where they go on, and how often their barriers have to have opened for that."""

    target: int
    mask: Array
    count: int
    wanted: Array
    barriers: Barriers
    where: LocationAttr

    def free(self, slots: Array) -> Array:
        """Lanes whose barriers have opened."""
        return self.mask & (self.barriers.opened[self.barriers.of(slots)] >= self.wanted)


class Barriers(ABC):
    """One for every `blocks` blocks of a batch, which are consecutive."""

    name: ClassVar[str]
    """Of what each is, for reports."""

    def __init__(self, batch: BlockBatch, blocks: int):
        self.batch, self.blocks = batch, blocks
        count = batch.count // blocks
        self.threads = batch.launch.block_threads * blocks
        self.opened = np.zeros(count, np.int64)
        """How often each has opened."""
        self.arrived = np.zeros(count, np.int64)
        self.alive = np.full(count, self.threads, np.int64)

    def of(self, slots: Array) -> Array:
        """Which barriers are those of blocks."""
        return slots // self.blocks

    def left(self, group: LockstepGroup, mask: Array) -> None:
        """Lanes have ended; barriers no longer wait for them."""
        counts = self._counts(group.slots[mask])
        self.alive -= counts
        self._open(counts)

    @abstractmethod
    def passed(self, group: LockstepGroup, mask: Array, wanted: Array) -> None:
        """Lanes go on that have waited here."""

    @abstractmethod
    def _opens(self, number: int, waves: Array) -> None: ...

    def _come(self, slots: Array) -> None:
        counts = self._counts(slots)
        self.arrived += counts
        self._open(counts)

    def _counts(self, slots: Array) -> Array:
        return np.bincount(self.of(slots), minlength=len(self.opened))

    def _open(self, counts: Array) -> None:
        for number in np.flatnonzero(counts).tolist():
            if self.arrived[number] and self.arrived[number] == self.alive[number]:
                self.arrived[number] = 0
                self.opened[number] += 1
                self.batch.launch.opened_barrier()
                each = self.blocks * self.batch.launch.block_waves
                start = self.batch.first * self.batch.launch.block_waves + number * each
                self._opens(number, np.arange(start, start + each))


class BlockBarriers(Barriers):
    """Where threads of a block come together and wait."""

    name = "block"

    def __init__(self, batch: BlockBatch):
        super().__init__(batch, 1)
        self._place: dict[int, LocationAttr] = {}

    def arrive(self, group: LockstepGroup, mask: Array, where: LocationAttr) -> Array:
        """Lanes come to a barrier; gives how often those of the lanes have to have opened."""
        wanted = self.opened[group.slots] + 1
        # a GPU would count both as arrived, and let the block go on
        for slot in np.unique(group.slots[mask]).tolist():
            other = self._place.setdefault(slot, where)
            if other != where:
                raise Fault(
                    f"{self.batch.thread(group, mask)} waits at this barrier while others of its block wait at another"
                    " one",
                    where,
                    [
                        (other, "the others are here"),
                        (where, "all threads of a block have to come to the same barrier"),
                    ],
                )
        self._come(group.slots[mask])
        return wanted

    def passed(self, group: LockstepGroup, mask: Array, wanted: Array) -> None:
        """They have met when the barrier opened."""

    def met(self, waves: Array) -> None:
        """Waves of whole blocks have waited for each other."""
        launch = self.batch.launch
        if launch.access is not None:
            launch.access.barrier(waves)
        if launch.profiler is not None:
            launch.profiler.barrier(waves)

    def _opens(self, number: int, waves: Array) -> None:
        self._place.pop(number, None)
        self.met(waves)


class ClusterBarriers(Barriers):
    """Threads of a cluster arrive first, and wait later for all of them to have arrived."""

    name = "cluster"

    def __init__(self, batch: BlockBatch):
        super().__init__(batch, batch.launch.grid.cluster_blocks)
        self._wanted = np.zeros(batch.count * batch.launch.block_waves * batch.launch.wave_size, np.int64)
        """By thread that has arrived: how often its barrier will have opened when it may go on. Else 0."""

    def arrive(self, group: LockstepGroup, mask: Array, site: int) -> None:
        """Lanes tell the barrier of their cluster that they have come."""
        lanes = self._lanes(group)
        again = mask & (self._wanted[lanes] > 0)
        if again.any():
            text = "arrives at the barrier of its cluster again, before it has waited there"
            group.fault(site, text, again, "nvvm.cluster.wait has to come between the two")
        numbers = self.of(group.slots)
        wanted = self.opened[numbers] + 1
        self._wanted[lanes[mask]] = wanted[mask]
        for watcher, wave, meeting in self._told(group, mask, wanted):
            watcher.cluster_arrive(wave, meeting)
        self._come(group.slots[mask])

    def wait(self, group: LockstepGroup, mask: Array, where: LocationAttr) -> Array:
        """Lanes wait for what they have arrived at; gives how often that has to have opened."""
        lanes = self._lanes(group)
        wanted = self._wanted[lanes]
        early = mask & (wanted == 0)
        if early.any():
            raise Fault(
                f"{self.batch.thread(group, early)} waits at the barrier of its cluster, where it has not arrived",
                where,
                [(where, "nvvm.cluster.arrive has to come before it")],
            )
        self._wanted[lanes[mask]] = 0
        return wanted

    def passed(self, group: LockstepGroup, mask: Array, wanted: Array) -> None:
        for watcher, wave, meeting in self._told(group, mask, wanted):
            watcher.cluster_wait(wave, meeting)

    def left(self, group: LockstepGroup, mask: Array) -> None:
        lanes, slots = self._lanes(group)[mask], group.slots[mask]
        # those that have arrived are not awaited any more, nor do they count
        come = self._wanted[lanes] > self.opened[self.of(slots)]
        self.arrived -= self._counts(slots[come])
        super().left(group, mask)

    def _told(
        self, group: LockstepGroup, mask: Array, wanted: Array
    ) -> Iterator[tuple[AccessModel | Profiler, int, Meeting]]:
        """Who watches, and waves of the lanes, each with what it meets others at."""
        watchers = [watcher for watcher in (group.access, group.profiler) if watcher is not None]
        if not watchers:
            return
        first, numbers = self.batch.first // self.blocks, self.of(group.slots)
        rows = mask.reshape(-1, group.wave_size)
        for row in np.flatnonzero(rows.any(1)).tolist():
            lane = row * group.wave_size + int(rows[row].argmax())
            for watcher in watchers:
                yield watcher, int(group.waves[row]), (first + int(numbers[lane]), int(wanted[lane]))

    def _opens(self, number: int, waves: Array) -> None:
        """Waves have met others when they go on."""

    def _lanes(self, group: LockstepGroup) -> Array:
        """The places of a group's lanes among those of the batch."""
        first = self.batch.first * self.batch.launch.block_waves
        starts = (group.waves - first) * group.wave_size
        return (starts[:, None] + np.arange(group.wave_size)).ravel()
