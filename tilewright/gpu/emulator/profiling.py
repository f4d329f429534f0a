"""Profiler of a launch: it is told which blocks of the program waves enter, and where their lanes access memory."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.device.gpu_targets import MEMORY_SHAPES
from tilewright.gpu.emulator.memory import Array
from tilewright.gpu.emulator.program import LDS_WINDOW, PRIVATE_WINDOW
from tilewright.gpu.profile import (
    GLOBAL,
    READ,
    SHARED,
    UPDATED,
    WRITTEN,
    LaunchProfile,
    LineProfile,
    Place,
    Traffic,
    WaveTrack,
)
from tilewright.ir.diagnostics import file_position

if TYPE_CHECKING:
    from xdsl.dialects.builtin import LocationAttr

    from tilewright.gpu.emulator.barriers import Meeting
    from tilewright.gpu.emulator.launch import Launch
    from tilewright.gpu.emulator.lockstep import LockstepGroup

WIDEST_BYTES = 16
"""That a lane loads or stores with one instruction."""
BANK_BYTES = 4
SHOWN_BLOCKS = 64
"""Of a launch, whose waves have tracks."""
MOST_EDGES = 400
"""Of a track; what comes after is one stretch."""
MANY_LINES = 1 << 20
WAYS = {"load": READ, "store": WRITTEN}


class Profiler:
    """Counts of one launch."""

    def __init__(self, launch: Launch):
        self.launch = launch
        self.shape = MEMORY_SHAPES[launch.target.chip]
        # lanes that memory serves together: a wave may be several of the chip's
        self.lanes = min(launch.wave_size, launch.target.wave_size)
        blocks = launch.plan.program.blocks
        self.lengths = [len(block.operations) for block in blocks]
        self.entered = [0] * len(blocks)
        self.traffic: dict[tuple[int, str], Traffic] = {}
        self.distinct = {way: DistinctLines() for way in (READ, WRITTEN)}
        waves = launch.blocks * launch.block_waves
        self.clock, self.last = np.zeros(waves, np.int64), np.zeros(waves, np.int64)
        self.waited = 0
        self.meetings: dict[Meeting, int] = {}
        """When the last of a cluster has arrived at its barrier."""
        self.edges: dict[int, list[int]] = {wave: [] for wave in range(min(waves, SHOWN_BLOCKS * launch.block_waves))}

    def enter(self, g: LockstepGroup, number: int, m: Any) -> None:
        """Lanes of a group begin a block of the program."""
        waves = g.waves if m is None else g.waves[m.reshape(-1, g.wave_size).any(1)]
        self.entered[number] += len(waves)
        self.clock[waves] += self.lengths[number]
        self.last[waves] = self.clock[waves]

    def barrier(self, waves: Array) -> None:
        """Waves of whole blocks have waited for each other."""
        clocks = self.clock[waves].reshape(-1, self.launch.block_waves)
        self._meet(waves, np.broadcast_to(clocks.max(1)[:, None], clocks.shape).ravel())

    def cluster_arrive(self, wave: int, meeting: Meeting) -> None:
        self.meetings[meeting] = max(int(self.clock[wave]), self.meetings.get(meeting, 0))

    def cluster_wait(self, wave: int, meeting: Meeting) -> None:
        self._meet(np.array([wave]), np.maximum(self.meetings[meeting], self.clock[wave : wave + 1]))

    def _meet(self, waves: Array, meeting: Array) -> None:
        """Waves have waited until then."""
        clocks = self.clock[waves]
        late = meeting - clocks
        self.waited += int(late.sum())
        for wave, now, wait in zip(waves.tolist(), clocks.tolist(), late.tolist(), strict=True):
            edges = self.edges.get(wave)
            if edges is not None and wait and len(edges) < MOST_EDGES:
                edges += [now, now + wait]
        self.clock[waves] = meeting

    def access(self, g: LockstepGroup, addresses: Any, size: int, m: Any, site: int, pattern: Any) -> None:
        """Lanes read, write or update elements of `size` bytes."""
        active: Array = g.active(m)
        if not active.any():
            return
        found: Array = np.broadcast_to(np.asarray(addresses), g.lanes)
        # the address tells the memory, the same one for all lanes in all but contrived programs
        first = int(found[int(active.argmax())])
        if first >= PRIVATE_WINDOW:
            return
        if g.lds.base <= first < g.lds.base + g.lds.size:
            # of another block of the cluster
            found = LDS_WINDOW + (found - g.lds.base) % g.lds_bytes
            first = LDS_WINDOW
        rows, there = found.reshape(-1, self.lanes), active.reshape(-1, self.lanes)
        kept = there.any(1)
        rows, there = rows[kept], there[kept]
        # lanes that are not active stand where another is, so that they add nothing
        rows = np.where(there, rows, rows[np.arange(len(rows)), there.argmax(1)][:, None])
        way = WAYS.get(g.plan.sites[site].name, UPDATED)
        space = SHARED if first >= LDS_WINDOW else GLOBAL
        traffic = self.traffic.setdefault((site, f"{space} {way}"), Traffic())
        lanes = int(np.count_nonzero(there))
        for offset, width in pieces(size, pattern):
            traffic.accesses += len(rows)
            traffic.bytes += lanes * width
            if space == GLOBAL:
                self._global(traffic, rows + offset, width, way)
            else:
                self._shared(traffic, rows + (offset - LDS_WINDOW), width)

    def _global(self, traffic: Traffic, starts: Array, width: int, way: str) -> None:
        line = self.shape.transaction_bytes
        served, least = transactions(starts, width, line)
        traffic.served += served
        traffic.least += least
        for kind in (READ, WRITTEN) if way == UPDATED else (way,):
            self.distinct[kind].add(starts // line)
            if width > 1:
                self.distinct[kind].add((starts + (width - 1)) // line)

    def _shared(self, traffic: Traffic, starts: Array, width: int) -> None:
        served, least = bank_turns(starts, width, self.shape.banks)
        traffic.served += served
        traffic.least += least

    def box(self, places: Array, size: int, copies: int, site: int) -> None:
        """The copy engine has brought elements from places in global memory to memory of so many blocks."""
        self._moved_box(places, size, site, READ, WRITTEN, copies)

    def stored_box(self, places: Array, size: int, site: int) -> None:
        """The copy engine has stored elements of memory of a block to places in global memory."""
        self._moved_box(places, size, site, WRITTEN, READ)

    def _moved_box(self, places: Array, size: int, site: int, far: str, near: str, copies: int = 1) -> None:
        line, banks = self.shape.transaction_bytes, self.shape.banks * BANK_BYTES
        count, lines = places.size * size, np.unique(places // line)
        source = self.traffic.setdefault((site, f"{GLOBAL} {far}"), Traffic())
        source.add(Traffic(1, count, lines.size, -(-count // line)))
        self.distinct[far].add(lines)
        turns = -(-count // banks) * copies
        near_traffic = self.traffic.setdefault((site, f"{SHARED} {near}"), Traffic())
        near_traffic.add(Traffic(copies, count * copies, turns, turns))

    def product_reads(self, count: int, site: int) -> None:
        """Tensor cores read bytes of memory of a block, whose chunks are exchanged so that no banks meet."""
        turns = -(-count // (self.shape.banks * BANK_BYTES))
        self.traffic.setdefault((site, f"{SHARED} {READ}"), Traffic()).add(Traffic(1, count, turns, turns))

    def result(self) -> LaunchProfile:
        """What was counted, by lines of the program."""
        launch = self.launch
        program = launch.plan.program
        made = LaunchProfile(
            launch.kernel_name,
            _place(program.where),
            launch.grid.size,
            launch.block,
            launch.lds_bytes,
            program.private_bytes,
            waves=launch.blocks * launch.block_waves,
            waited_steps=self.waited,
            wave_steps=int(self.last.sum()),
        )
        for way, lines in self.distinct.items():
            made.distinct[way] = lines.count() * self.shape.transaction_bytes
        for block, waves, lanes in zip(program.blocks, self.entered, launch.counts, strict=True):
            made.operations += waves * len(block.operations)
            made.lane_operations += lanes * len(block.operations)
            for operation in block.operations:
                made.kinds[operation.kind] += waves
                line = _line(made, operation.where)
                line.operations += waves
                if operation.flops:
                    made.flops[operation.computed_in] += lanes * operation.flops
                    line.flops += lanes * operation.flops
        for (site, level), traffic in self.traffic.items():
            line = _line(made, launch.plan.sites[site].where)
            line.traffic.setdefault(level, Traffic()).add(traffic)
        self._place_blocks(made)
        return made

    def _place_blocks(self, made: LaunchProfile) -> None:
        """Blocks go to units in their order, as soon as there is room; a wave takes a step for each operation."""
        launch, each = self.launch, self.launch.grid.cluster_blocks
        ends = self.last.reshape(-1, launch.block_waves).max(1).tolist()
        free = [(0, slot) for slot in range(min(launch.resident_blocks, launch.blocks))]
        for first in range(0, launch.blocks, each):
            # all of a cluster begin when there is room for the last of them
            taken = [heapq.heappop(free) for _ in range(each)]
            start = max(time for time, _ in taken)
            for block, (_, slot) in zip(range(first, first + each), taken, strict=True):
                heapq.heappush(free, (start + ends[block], slot))
                made.steps = max(made.steps, start + ends[block])
                if block < SHOWN_BLOCKS:
                    made.tracks += self._tracks(block, slot, start)
        made.track_steps = made.steps

    def _tracks(self, block: int, slot: int, start: int) -> Iterator[WaveTrack]:
        x, y, z = self.launch.grid.place(block)
        for wave in range(self.launch.block_waves):
            number = block * self.launch.block_waves + wave
            edges = [*self.edges[number], int(self.last[number])]
            yield WaveTrack((x, y, z), wave, slot % self.launch.target.compute_units, start, edges)


def pieces(size: int, pattern: Any) -> list[tuple[int, int]]:
    """Accesses that a lane makes for a vector: how many bytes behind the first, and how wide they are."""
    if pattern is None:
        return [(0, size)]
    places: Array = pattern.ravel()
    if not np.array_equal(places, np.arange(places.size)):
        return [(int(place) * size, size) for place in places]
    total = places.size * size
    return [(start, min(WIDEST_BYTES, total - start)) for start in range(0, total, WIDEST_BYTES)]


def transactions(starts: Array, width: int, line: int) -> tuple[int, int]:
    """How many lines of memory accesses of `width` bytes touch, a row for each wave, and how many at the least do."""
    starts = np.sort(starts, axis=1)
    served = _union(starts // line, (starts + (width - 1)) // line + 1)
    return int(served.sum()), int((-(-_union(starts, starts + width) // line)).sum())


def bank_turns(starts: Array, width: int, banks: int) -> tuple[int, int]:
    """How many turns banks take for accesses of `width` bytes, a row for each wave, and how many at the least.

    As many neighbouring lanes have a turn together as all banks have bytes for; each bank gives one word in a turn, to
    all lanes that want it.
    """
    together = min(starts.shape[1], banks * BANK_BYTES // max(width, BANK_BYTES))
    starts = starts.reshape(-1, together)
    words = max(1, width // BANK_BYTES)
    every = (starts[:, :, None] // BANK_BYTES + np.arange(words)).reshape(len(starts), -1)
    every.sort(axis=1)
    new = np.ones(every.shape, bool)
    new[:, 1:] = every[:, 1:] != every[:, :-1]
    keys = np.arange(len(every))[:, None] * banks + every % banks
    counts = np.bincount(keys[new], minlength=len(every) * banks).reshape(-1, banks)
    return int(counts.max(1).sum()), int((-(-counts.sum(1) // banks)).sum())


def _union(starts: Array, ends: Array) -> Array:
    """How much intervals of each row cover together; they are sorted, and equally long or nearly so."""
    covered: Array = ends[:, 0] - starts[:, 0]
    if starts.shape[1] > 1:
        covered = covered + np.maximum(0, ends[:, 1:] - np.maximum(starts[:, 1:], ends[:, :-1])).sum(1)
    return covered


def _place(where: LocationAttr) -> Place | None:
    position = file_position(where)
    return None if position is None else position[:2]


def _line(made: LaunchProfile, where: LocationAttr) -> LineProfile:
    return made.lines.setdefault(_place(where) or ("", 0), LineProfile())


class DistinctLines:
    """Numbers of lines of memory, each counted once."""

    def __init__(self) -> None:
        self.parts: list[Array] = []
        self.size = 0

    def add(self, lines: Array) -> None:
        found = np.unique(lines)
        self.parts.append(found)
        self.size += found.size
        if self.size > MANY_LINES:
            self._join()

    def _join(self) -> None:
        self.parts = [np.unique(np.concatenate(self.parts))]
        self.size = self.parts[0].size

    def count(self) -> int:
        if self.parts:
            self._join()
        return self.size
