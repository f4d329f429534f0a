"""How long a product takes with tiles of one size, as far as choosing among them needs it, and how blocks share tiles.

A GPU computes `resident` blocks on each multiprocessor at a time: together they are its slots. As many tiles as fill
the slots once, twice and so on are computed whole, each by a block. What is left over would keep few multiprocessors
busy as long as all of them were before; so several blocks may share the depth of each of these tiles. They leave their
sums in memory, from where another kernel adds them up:

    rounds = tiles / slots, rounded down
    time = rounds * (fixed + steps * step)
         + rounds of (left * shares) blocks * (fixed + steps / shares * step)
         + (shares > 1) * (join + shares * share + sums written and read again)

where `step` is `alone` as long as no multiprocessor has two blocks, and in between with less than all that it can have;
it is no less than what is shared by all that are at work allows. The shares that are looked at are those with which
what is left fills half of the multiprocessors, all of them, or all of them a few times. Blocks of a cluster count as
one, which computes a larger tile. The numbers are of an H200 (132 multiprocessors, 4.8 TB/s).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import i32, i64

from tilewright.air.levels import cdiv, sequential, yield_
from tilewright.dialects import arith
from tilewright.iron import math
from tilewright.iron.builders.arithmetic import choose as choose_value
from tilewright.iron.builders.control import else_, if_
from tilewright.iron.builders.handles import ssa_of, value_of
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.scalars import ScalarValue, as_index, constant
from tilewright.iron.builders.types import is_integer

MULTIPROCESSORS = 132
JOIN_NS, SHARE_NS, JOINED_BYTES_PER_NS = 2500, 70, 5000
"""To start the kernel that adds up parts of tiles, for each part of one, and what all parts are written and read at."""
SUM_BYTES = 2 * 4
"""Of an f32, written and read."""
MOST_SHARES = 32
"""Among so many blocks the depth of a tile can be shared."""
HALVES = 1, 2, 4, 6, 8, 12
"""Of all multiprocessors, that parts of shared tiles may fill."""
LOADED_PARTS = 4
"""Of a tile, that are loaded at a time when they are added up."""
MOST_ITEMS = (1 << 31) - 1
"""Blocks, or tiles and parts of tiles."""


def clusters_at_a_time(multiprocessors: int, blocks: int) -> int:
    """How many clusters of so many blocks run together: each within a group of multiprocessors, of which some are left.

    An H200, of 132, has 66 of two, 30 of four and 15 of eight, as cudaOccupancyMaxActiveClusters says.
    """
    return max((multiprocessors if blocks <= 2 else multiprocessors * 10 // 11) // blocks, 1)


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
    """Of a tile."""
    resident: int = 1
    """Blocks that a multiprocessor has at a time."""
    cluster: int = 1
    """Multiprocessors that compute one together."""
    crowded: bool = False
    """Whether blocks behind whole rounds are not alone, however few: both slots of a multiprocessor become free
    together, and the next two blocks take them."""
    shared_ps: Any = 0
    """Of what all multiprocessors share: a step takes so long for each that is at work, if that is longer."""
    latency_ns: Any = 0
    """Added to that."""
    start_ns: int = 0
    """Once, however many tiles there are."""
    can_share: bool = True
    """Whether several blocks may share the depth of a tile, each with sums of its own in memory."""
    busy_percent: int = 0
    """Of the time that all multiprocessors would take if none ever waited: it takes no less than that, since a GPU
    that is busy all the time lowers its clock."""

    @property
    def slots(self) -> int:
        return clusters_at_a_time(MULTIPROCESSORS, self.cluster) * self.resident


def time_ns(cost: TileCost, sizes: tuple[Any, Any, Any], batch: Any, shares: Any) -> ScalarValue:
    """As the formula above says."""
    tiles, steps = _counted(cost, sizes, batch)
    rounds, left = tiles // cost.slots, tiles % cost.slots
    blocks = left * shares
    step = _together(cost, _behind_ns(cost, blocks, rounds), math.minimum(blocks, cost.slots))
    behind = cdiv(blocks, cost.slots) * (cdiv(steps, shares) * step + cost.fixed_ns)
    joined = JOIN_NS + as_index(shares) * SHARE_NS
    joined = joined + blocks * (cost.rows * cost.columns * SUM_BYTES) // JOINED_BYTES_PER_NS
    whole = rounds * (steps * _together(cost, cost.step_ns, cost.slots) + cost.fixed_ns)
    total = whole + behind
    if cost.busy_percent:
        total = math.maximum(total, tiles * steps * (cost.step_ns * cost.busy_percent) // (100 * cost.slots))
    return total + math.where(as_index(shares) > 1, joined, 0) + cost.start_ns


def _behind_ns(cost: TileCost, blocks: Any, rounds: Any) -> Any:
    """A step of the blocks behind whole rounds, where a multiprocessor has one, or more up to all that it can have."""
    if cost.resident == 1:
        return cost.step_ns
    beside = math.minimum(cdiv(math.maximum(blocks, 1), MULTIPROCESSORS), cost.resident) - 1
    step = cost.alone_ns + beside * (cost.step_ns - cost.alone_ns) // (cost.resident - 1)
    return math.where(rounds > 0, as_index(cost.step_ns), step) if cost.crowded else step


def _together(cost: TileCost, step: Any, blocks: Any) -> Any:
    """What a step takes while so many blocks or clusters run."""
    if is_integer(cost.shared_ps) and not cost.shared_ps:
        return step
    return math.maximum(as_index(blocks) * cost.cluster * cost.shared_ps // 1000 + cost.latency_ns, step)


def _counted(cost: TileCost, sizes: tuple[Any, Any, Any], batch: Any) -> tuple[ScalarValue, ScalarValue]:
    """Tiles and steps."""
    m, n, k = (as_index(size) for size in sizes)
    return cdiv(m, cost.rows) * cdiv(n, cost.columns) * batch, cdiv(k, cost.depth)


def shared_best(cost: TileCost, sizes: tuple[Any, Any, Any], batch: Any) -> tuple[ScalarValue, ScalarValue]:
    """The least time with a tile, and among how many blocks tiles that are left are shared then."""
    tiles, steps = _counted(cost, sizes, batch)
    left, best = math.maximum(tiles % cost.slots, 1), as_index(1)
    most, least = math.maximum(math.minimum(steps, MOST_SHARES), 1), time_ns(cost, sizes, batch, 1)
    for halves in HALVES if cost.can_share else ():
        shares = math.maximum(math.minimum(as_index(cost.slots // cost.resident * halves // 2) // left, most), 1)
        time = time_ns(cost, sizes, batch, shares)
        best, least = math.where(time < least, shares, best), math.minimum(time, least)
    return least, best


def best_of(costs: Sequence[TileCost], sizes: tuple[Any, Any, Any], batch: Any) -> tuple[ScalarValue, ScalarValue]:
    """The number of the best tile, and among how many blocks tiles that are left are shared with it."""
    least, among = shared_best(costs[0], sizes, batch)
    best = as_index(0)
    for number, cost in enumerate(costs[1:], 1):
        time, shares = shared_best(cost, sizes, batch)
        better = time < least
        best, among = math.where(better, number, best), math.where(better, shares, among)
        least = math.minimum(time, least)
    return best, among


def chosen(number: Any, values: Sequence[Any]) -> Any:
    """The value with a number that is known when the program runs; the only one as it is."""
    found: Any = values[-1]
    for place, value in reversed([*enumerate(values[:-1])]):
        found = math.where(as_index(number) == place, as_index(value), found)
    return found


def one_of(number: Any, count: int, emit: Callable[[int], None], first: int = 0) -> None:
    """Build what runs with each number below `count`: one of them, when the number is known."""
    if first == count - 1:
        emit(first)
        return
    with if_(as_index(number) == first) as chosen:
        emit(first)
    with else_(chosen):
        one_of(number, count, emit, first + 1)


@dataclass(frozen=True)
class Divisor:
    """A number up to `MOST_ITEMS` that kernels divide by, with a factor instead of a quotient.

    Division takes a GPU hundreds of cycles, and what is divided here says what a block begins with. The factor is
    2^63 / number, rounded up; with numbers below 2^31 the product's error is less than a fraction of one.
    """

    number: Any
    factor: Any

    @classmethod
    def of(cls, number: Any) -> Divisor:
        """Of a number that is known where this is built: on the host, or by a constant."""
        # as many as there are at least, so that empty ranges divide by something
        number = math.maximum(as_index(number), 1)
        return cls(number, constant((1 << 63) - 1, i64) // number.astype(i64) + 1)

    def chosen(self, condition: Any, other: Divisor) -> Divisor:
        """This one where the condition holds."""
        return Divisor(
            math.where(condition, self.number, other.number), math.where(condition, self.factor, other.factor)
        )

    def divide(self, number: Any) -> tuple[ScalarValue, ScalarValue]:
        """The quotient of a number up to `MOST_ITEMS`, and the rest."""
        double = as_index(number).astype(i64) * 2
        product = build(arith.MulUIExtendedOp, results=[i64, i64], lhs=double, rhs=self.factor)
        whole = as_index(ScalarValue(product.results[1]))
        return whole, as_index(number) - whole * self.number


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
    behind: Divisor
    shares: Any
    each: Any
    """Steps of a part."""

    @classmethod
    def of(cls, slots: int, tiles: Any, steps: Any, shares: Any) -> Division:
        tiles, shares = as_index(tiles), as_index(shares)
        whole = math.where(shares > 1, tiles // slots * slots, tiles)
        return cls(steps, whole, tiles - whole, Divisor.of(tiles - whole), shares, cdiv(steps, shares))

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
        share, tile = self.behind.divide(math.maximum(part, 0))
        first = share * self.each
        last = math.maximum(math.minimum(first + self.each, self.steps), first)
        return Item(
            math.where(is_whole, number, self.whole + tile),
            math.where(is_whole, 0, first),
            math.where(is_whole, self.steps, last),
            part,
            is_whole,
        )

    def parts_of(self, left: Any) -> tuple[Any, Callable[[Any], Any]]:
        """How many parts a tile behind the whole ones has; the number of each."""
        return cdiv(self.steps, self.each), lambda share: as_index(share) * self.left + left


def sum_of_parts(
    count: Any, load: Callable[[Any], Sequence[Any]], zeros: Sequence[Any], at_a_time: int = LOADED_PARTS
) -> list[Any]:
    """The sums of what several parts of a tile have; `load` gives what the one with a number has.

    So many are loaded before the first of them is there, so that a GPU does not wait for each.
    """
    results: Any = zeros
    nothing = [ssa_of(zero) for zero in zeros]
    for first, sums, results in sequential(0, count, at_a_time, iter_args=list(zeros)):  # noqa: B007
        numbers = [first + place for place in range(at_a_time)]
        loaded = [load(math.minimum(number, as_index(count) - 1)) for number in numbers]
        for number, values in zip(numbers, loaded, strict=True):
            there = (number < count).ssa
            parts = [value_of(choose_value(there, *each)) for each in zip(map(ssa_of, values), nothing, strict=True)]
            sums = [total + part for total, part in zip(sums, parts, strict=True)]
        yield_(sums)
    return list(results)
