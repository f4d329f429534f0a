"""Timelines of products: blocks of C are read for, multiplied and written, each of which waits for others.

The sequence starts the transfers of a turn, which are some blocks beside each other, once C of the last turn but one is
written. Reads go on as far as mem tiles have room; they and writes are slower beside each other. A core begins a block
when it has room for its tile of C, and mem tiles have room for two.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from tilewright.designs.gemm_limits import HostLimits

BUFFERS = 2
"""Of A and B everywhere, and of C in mem tiles."""
FOLLOWED_BLOCKS = 12
"""After so many, others take as long as the last of them."""
NOTHING = 1e-9
"""Of a block that is left."""


class TransferTurns(NamedTuple):
    """Blocks that the sequence starts at a time, and the cycles that this takes."""

    blocks: int
    parameters: float
    """To write those of all cores, once."""
    reads: float
    """To start the transfers of A and B."""
    writes: float
    early: float
    """Of reading: what channels have done by then that are started first."""
    alone: float
    """Of reading: what the channel that is started last has to bring for a block, by itself."""


class HostPaths(NamedTuple):
    """Cycles that a block takes to be read and to be written, each alone and beside the other."""

    reading: float
    reading_beside: float
    writing: float
    writing_beside: float


class CoreSteps(NamedTuple):
    """Cycles of a core for a block."""

    first: float
    """From when reading begins until the core has its first tiles."""
    block: float
    """To multiply all tiles."""
    last: float
    """From when mem tiles have the last piece until it is multiplied."""
    leaving: float
    """Of the tile of C, to a mem tile."""
    c_depth: int
    """Tiles of C that it has room for."""
    ahead: float
    """Of reading: what is there of next blocks before it has room for them."""


class BlockTimeline:
    """When blocks are multiplied, and when they are in host memory."""

    def __init__(self, turns: TransferTurns, paths: HostPaths, core: CoreSteps, limits: HostLimits):
        self.turns, self.paths, self.core, self.limits = turns, paths, core, limits
        self.multiplied, self.written = list[float](), list[float]()
        self._started = list[float]()
        """Turns, whose transfers are."""
        self._controller = turns.parameters

    def cycles(self, blocks: int) -> float:
        """What a product of so many blocks takes."""
        count = min(blocks, FOLLOWED_BLOCKS)
        self._follow(count)
        half = count // 2
        each = (self.multiplied[-1] - self.multiplied[half]) / max(1, count - 1 - half)
        return self.written[-1] + self.limits.last_word + each * (blocks - count)

    def _follow(self, count: int) -> None:
        now, begun, to_read, to_write = 0.0, 0.0, 1.0, 1.0
        while len(self.written) < count:
            read_from = self._read_from() if len(self.multiplied) < count else inf
            write_from = self._left(len(self.written))
            is_reading, is_writing = read_from <= now, write_from <= now
            if not (is_reading or is_writing):
                now = min(read_from, write_from)
                continue
            if to_read == 1.0:
                begun = now
            reading = self.paths.reading_beside if is_writing else self.paths.reading
            writing = self.paths.writing_beside if is_reading else self.paths.writing
            step = min(
                to_read * reading if is_reading else read_from - now,
                to_write * writing if is_writing else write_from - now,
            )
            now += step
            to_read -= step / reading if is_reading else 0.0
            to_write -= step / writing if is_writing else 0.0
            if to_read < NOTHING:
                to_read = 1.0
                self._multiply(begun, now)
            if to_write < NOTHING:
                to_write = 1.0
                self.written.append(now)

    def _multiply(self, begun: float, read: float) -> None:
        """The next block, which is read from one time to another, by the channel that is started last maybe later."""
        turn, place = divmod(len(self.multiplied), self.turns.blocks)
        if place == 0:
            read = max(read, self._start(turn) + self.turns.alone)
        core = max(self._has_room(), begun + self.core.first)
        self.multiplied.append(max(read + self.core.last, core + self.core.block))

    def _read_from(self) -> float:
        """When there is room for the next block, and it has been asked for."""
        turn = len(self.multiplied) // self.turns.blocks
        return max(self._start(turn) - self.turns.early, self._has_room() - self.core.ahead)

    def _start(self, turn: int) -> float:
        """When the last read of a turn begins; `inf` while C of the last turn but one is not written."""
        if turn == len(self._started):
            before = (turn - 1) * self.turns.blocks - 1
            if before >= len(self.written):
                return inf
            if before >= 0:
                self._controller = max(self._controller, self.written[before] + self.limits.last_word)
            self._controller += self.turns.reads
            self._started.append(self._controller + self.limits.first_word)
            self._controller += self.turns.writes
        return self._started[turn]

    def _has_room(self) -> float:
        """When cores have room for the tile of C of the next block."""
        number = len(self.multiplied)
        if number < self.core.c_depth:
            return self.multiplied[-1] if number else 0.0
        return max(self.multiplied[-1], self._left(number - self.core.c_depth))

    def _left(self, number: int) -> float:
        """When the tiles of C of a block are in mem tiles; `inf` while that is not known."""
        before = number - BUFFERS
        if number >= len(self.multiplied) or before >= len(self.written):
            return inf
        return max(self.multiplied[number], self.written[before] if before >= 0 else 0.0) + self.core.leaving
