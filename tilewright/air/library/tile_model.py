"""How long a product takes with tiles of one size, as far as choosing among them needs it, and how blocks share tiles.

A GPU computes `resident` blocks on each multiprocessor at a time: together they are its slots. As many tiles as fill
the slots once, twice and so on are computed whole, each by a block. What is left over would keep few multiprocessors
busy as long as all of them were before; so several blocks may share the depth of each of these tiles. They leave their
sums in memory, from where another kernel adds them up:

    rounds = tiles / slots, rounded down
    time = rounds * (fixed + steps * step)
         + rounds of (left * shares) blocks * (fixed + steps / shares * step)
         + (shares > 1) * (join + sums written and read again)

where `step` is `alone` as long as no multiprocessor has two blocks. The numbers are of an H200 (132 multiprocessors,
4.8 TB/s): those of lanes from times of tiles by themselves, those of tensor cores estimated from whole products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import i32

from tilewright.air.levels import cdiv
from tilewright.iron import math
from tilewright.iron.builders.control import else_, if_
from tilewright.iron.builders.scalars import ScalarValue, as_index

MULTIPROCESSORS = 132
JOIN_NS = 4000
"""To start another kernel and to wait for the last block of the one before."""
BYTES_PER_NS = 3000
"""Of memory, there and back, with many blocks at it."""
SUM_BYTES = 2 * 4
"""Of an f32, written and read."""
SHARES = 1, 2, 3, 4, 5, 6, 8, 12, 16
"""Among how many blocks the depth of a tile can be shared."""
MOST_ITEMS = (1 << 31) - 1
"""Blocks, or tiles and parts of tiles."""


@dataclass(frozen=True)
class TileCost:
    """Rows, columns and depth of a step of a tile; what a block takes for a step, and besides."""

    rows: int
    columns: int
    depth: int
    step_ns: int
    """With all slots taken."""
    alone_ns: int
    """With one block on each multiprocessor."""
    fixed_ns: int
    resident: int = 1
    """Blocks that a multiprocessor has at a time."""

    @property
    def slots(self) -> int:
        return MULTIPROCESSORS * self.resident


def time_ns(cost: TileCost, sizes: tuple[Any, Any, Any], batch: Any, shares: int) -> ScalarValue:
    """As the formula above says."""
    m, n, k = (as_index(size) for size in sizes)
    tiles, steps = cdiv(m, cost.rows) * cdiv(n, cost.columns) * batch, cdiv(k, cost.depth)
    rounds, left = tiles // cost.slots, tiles % cost.slots
    blocks = left * shares
    step = math.where(blocks > MULTIPROCESSORS, as_index(cost.step_ns), cost.alone_ns)
    behind = cdiv(blocks, cost.slots) * (cdiv(steps, shares) * step + cost.fixed_ns)
    time = rounds * (steps * cost.step_ns + cost.fixed_ns) + behind
    if shares == 1:
        return time
    return time + JOIN_NS + blocks * (cost.rows * cost.columns * SUM_BYTES // BYTES_PER_NS)


def choose(
    costs: Sequence[TileCost], sizes: tuple[Any, Any, Any], batch: Any, emit: Callable[[TileCost, Any], None]
) -> None:
    """Build the choice among tiles, made when the sizes are known; `emit` builds what runs with one, and its shares."""
    least: Any = None
    best, among = as_index(0), as_index(1)
    for number, cost in enumerate(costs):
        for shares in SHARES:
            time = time_ns(cost, sizes, batch, shares)
            if least is None:
                least = time
                continue
            better = time < least
            best, among = math.where(better, number, best), math.where(better, shares, among)
            least = math.minimum(time, least)

    def one_of(number: int) -> None:
        if number == len(costs) - 1:
            emit(costs[number], among)
            return
        with if_(best == number) as chosen:
            emit(costs[number], among)
        with else_(chosen):
            one_of(number + 1)

    one_of(0)


def quotient(number: Any, by: Any) -> tuple[ScalarValue, ScalarValue]:
    """A number up to `MOST_ITEMS` divided, and the rest: in 32 bits, which takes a GPU a fraction of the time."""
    whole, divisor = (as_index(value).astype(i32) for value in (number, by))
    return as_index(whole // divisor), as_index(whole % divisor)


@dataclass(frozen=True)
class Item:
    """A tile, or a part of one: its steps from `first` to `last`, and the number of the part."""

    tile: Any
    first: Any
    last: Any
    part: Any
    is_whole: Any


@dataclass(frozen=True)
class Division:
    """Tiles that are computed whole, and those behind, whose depth several blocks share; made where sizes are known."""

    steps: Any
    whole: Any
    left: Any
    shares: Any
    each: Any
    """Steps of a part."""
    cluster: int = 1
    """So many items that follow each other are of tiles that do, and have the same steps."""

    @classmethod
    def of(cls, cost: TileCost, tiles: Any, steps: Any, shares: Any, cluster: int = 1) -> Division:
        tiles, shares = as_index(tiles), as_index(shares)
        whole = math.where(shares > 1, tiles // cost.slots * cost.slots, tiles)
        return cls(steps, whole, tiles - whole, shares, cdiv(steps, shares), cluster)

    @property
    def parts(self) -> Any:
        return self.left * self.shares

    @property
    def items(self) -> Any:
        """Whole tiles, and behind them parts."""
        return self.whole + self.parts

    def item(self, number: Any) -> Item:
        part = number - self.whole
        is_whole = part < 0
        at = math.maximum(part, 0)
        inside = at % self.cluster
        tile, share = quotient(at // self.cluster, self.shares)
        first = share * self.each
        last = math.maximum(math.minimum(first + self.each, self.steps), first)
        return Item(
            math.where(is_whole, number, self.whole + tile * self.cluster + inside),
            math.where(is_whole, 0, first),
            math.where(is_whole, self.steps, last),
            part,
            is_whole,
        )

    def parts_of(self, left: Any) -> tuple[Any, Callable[[Any], Any]]:
        """How many parts a tile behind the whole ones has; the number of each."""
        count = cdiv(self.steps, self.each)
        tile, inside = left // self.cluster, left % self.cluster
        return count, lambda share: (tile * self.shares + share) * self.cluster + inside
