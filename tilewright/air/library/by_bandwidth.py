"""Collectives for much data: arrays lie in the symmetric heaps, and one launch reads them and writes results.

What is moved is read once, by who has it, and written to all who want it; what is reduced is read from all. Blocks meet
those of the other ranks when they begin and when they end (see `meetings`), so that arrays are ready and may be used
again. The functions below are for programs too, under `@air.rank()`, with arrays that stay in the heap.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.air.arrays import Array
from tilewright.air.dtypes import bf16, f16, f32, value_type
from tilewright.air.functions import jit
from tilewright.air.levels import cdiv, launch, rank, rank_number, sequential, world_size, yield_
from tilewright.air.library.meetings import BEGIN, END, UNIT_BLOCKS, Meeting
from tilewright.air.messages import SymmetricArray, peer, symmetric
from tilewright.air.tile_transfers import load
from tilewright.air.tiles import Buffer, Tile, combine, workers_here
from tilewright.air.vectors import vector, vload, vstore
from tilewright.air.waves import lanes
from tilewright.iron import math
from tilewright.iron.builders.arithmetic import signless, with_sign
from tilewright.iron.builders.control import else_, if_
from tilewright.iron.builders.scalars import ScalarValue, as_index
from tilewright.iron.builders.types import is_list

TILE = 2048
"""Elements that a block moves at a time."""
WAVES = 4
REDUCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda left, right: left + right,
    "prod": lambda left, right: left * right,
    "max": math.maximum,
    "min": math.minimum,
}
SHORT_FLOATS = f16, bf16
"""Added up in f32, and rounded once."""
# What follows is for an H200, where all of it was measured (bench/gpu/collectives_bench.py).
THREADS = 512
"""Of a block of a collective."""
VECTOR_BYTES = 16
MOVED_VECTORS = 8
"""That a lane has on their way at a time."""
REDUCED_ELEMENTS, REDUCED_RANKS = 16, 2
"""The same of what is reduced: elements of a rank, and ranks."""


@jit(opt_level=0)
def by_bandwidth(sent: Any, result: Any, root: Any, *, kind: str, operation: str) -> None:
    """Rank `r` has row `r` of `sent`: parts of as many elements as a row of `result` has."""

    @rank()
    def _(me: Any) -> None:
        count = result.shape[1]
        room = symmetric((sent.shape[1] // count, count), sent.dtype)
        done = symmetric(result.shape, sent.dtype)
        copy_tiles(room, lambda part, columns: load(sent[me, columns_of(part * count, columns)]))
        INTO[kind](done, room, Meeting(), root, operation)
        copy_tiles(result, lambda row, columns: load(done[row, columns]))


def columns_of(start: Any, columns: slice) -> slice:
    """The same columns, counted from further on."""
    return slice(columns.start + start, columns.start + start + TILE)


def copy_tiles(target: Array, source: Callable[[Any, slice], Tile]) -> None:
    """Fill all rows of an array with tiles that `source` gives for a row and columns."""

    @launch((cdiv(target.shape[1], TILE), target.shape[0]), waves=WAVES)
    def _(block: Any, row: Any) -> None:
        columns = slice(block * TILE, block * TILE + TILE)
        target[row, columns] = source(row, columns)


@dataclass(frozen=True)
class Division:
    """How a row is divided among lanes of all blocks: a lane takes vectors of `width` elements, `depth` at a time."""

    block: Any
    blocks: Any
    width: int
    depth: int

    def each(self, first: Any, stop: Any, body: Callable[[list[Any]], None]) -> None:
        """Call `body` with the places of a lane's vectors in a part of a row."""
        step, mine = THREADS * self.width, workers_here().number * self.width + first
        whole = (stop - first) // (step * self.depth)
        for part in sequential(self.block, whole, self.blocks):
            begin = part * (step * self.depth) + mine
            body([begin + step * number for number in range(self.depth)])
        for place in sequential((whole * self.depth + self.block) * step + mine, stop, self.blocks * step):
            body([place])

    def load(self, array: Array, row: Any, places: Sequence[Any]) -> list[Any]:
        """Vectors of a row, or its elements where a vector has one."""
        if self.width == 1:
            return [array[row, place] for place in places]
        return [vload(array, [row, place], self.width, VECTOR_BYTES) for place in places]

    def store(self, array: Array, row: Any, places: Sequence[Any], values: Sequence[Any]) -> None:
        for place, value in zip(places, values, strict=True):
            if self.width == 1:
                array[row, place] = value
            else:
                vstore(value, array, [row, place], VECTOR_BYTES)

    def store_at_all(self, array: SymmetricArray, row: Any, places: Sequence[Any], values: Sequence[Any]) -> None:
        """Store vectors in the heaps of all ranks."""
        for other in _others():
            self.store(peer(array, other), row, places, values)


def either(condition: Any, yes: Callable[[], None], no: Callable[[], None]) -> None:
    """Which of two, on the host, is known when the program runs."""
    with if_(condition) as choice:
        yes()
    with else_(choice):
        no()


def _others() -> Generator[Any]:
    """A loop over all ranks; each begins with itself, so that no heap gets all at once."""
    me, ranks = rank_number(), world_size()
    for step in sequential(ranks):
        other = me + step
        yield math.where(other < ranks, other, other - ranks)


def _together(
    row: Array,
    share: Any,
    meeting: Meeting,
    body: Callable[[Division], None],
    is_reduced: bool = False,
) -> None:
    """Launch `body` on all ranks, for `share` elements of each: arrays are ready in it, and done after it.

    Rows begin where vectors do if those of `row` do.
    """
    most = VECTOR_BYTES // row.dtype.itemsize

    def emit(width: int) -> None:
        depth, unit_blocks = (REDUCED_ELEMENTS // width, 1) if is_reduced else (MOVED_VECTORS, UNIT_BLOCKS)
        blocks = math.minimum(as_index(cdiv(share, THREADS * width)), meeting.most_blocks(unit_blocks))

        @launch(blocks, waves=THREADS // lanes())
        def _(block: Any) -> None:
            meeting.meet(BEGIN, block)
            body(Division(block, blocks, width, depth))
            meeting.meet(END, block)

    either(as_index(row.shape[1]) % most == 0, lambda: emit(most), lambda: emit(1))


def _share(count: Any, width: int) -> tuple[Any, Any]:
    """The first and the last place of what this rank does of a row, in whole vectors."""
    each = cdiv(cdiv(count, width), world_size()) * width
    first = math.minimum(rank_number() * each, count)
    return first, math.minimum(first + each, count)


def gather_into(done: SymmetricArray, room: Array, meeting: Meeting, root: Any = 0, operation: str = "sum") -> None:
    """Row `r` of `done` is what rank `r` has in its `room`."""
    count = done.shape[1]

    def body(division: Division) -> None:
        def move(places: list[Any]) -> None:
            division.store_at_all(done, rank_number(), places, division.load(room, 0, places))

        division.each(0, count, move)

    _together(done, count, meeting, body)


def broadcast_into(
    done: SymmetricArray, room: SymmetricArray, meeting: Meeting, root: Any, operation: str = "sum"
) -> None:
    """`done` is what rank `root` has in its `room`; each rank brings a share of it to all."""
    count = done.shape[1]

    def body(division: Division) -> None:
        def move(places: list[Any]) -> None:
            division.store_at_all(done, 0, places, division.load(peer(room, root), 0, places))

        division.each(*_share(count, division.width), move)

    _together(done, cdiv(count, world_size()), meeting, body)


def exchange_into(done: SymmetricArray, room: Array, meeting: Meeting, root: Any = 0, operation: str = "sum") -> None:
    """Row `r` of `done` is what rank `r` has in its `room` for this one."""
    count = done.shape[1]

    def body(division: Division) -> None:
        for other in _others():

            def move(places: list[Any], other: Any = other) -> None:
                division.store(peer(done, other), rank_number(), places, division.load(room, other, places))

            division.each(0, count, move)

    _together(done, count, meeting, body)


def reduce_scatter_into(done: Array, room: SymmetricArray, meeting: Meeting, root: Any, operation: str) -> None:
    """`done` is what all ranks have in their `room` for this one, in one."""
    count = done.shape[1]

    def body(division: Division) -> None:
        def reduce(places: list[Any]) -> None:
            division.store(done, 0, places, _reduced(division, room, rank_number(), places, operation))

        division.each(0, count, reduce)

    _together(room, count, meeting, body, is_reduced=True)


def all_reduce_into(done: SymmetricArray, room: SymmetricArray, meeting: Meeting, root: Any, operation: str) -> None:
    """`done` is what all ranks have in their `room`, in one; each rank reduces a share and brings it to all."""
    count = done.shape[1]

    def body(division: Division) -> None:
        def reduce(places: list[Any]) -> None:
            division.store_at_all(done, 0, places, _reduced(division, room, 0, places, operation))

        division.each(*_share(count, division.width), reduce)

    _together(done, cdiv(count, world_size()), meeting, body, is_reduced=True)


INTO: dict[str, Callable[[SymmetricArray, SymmetricArray, Meeting, Any, str], None]] = {
    "all_gather": gather_into,
    "broadcast": broadcast_into,
    "all_to_all": exchange_into,
    "reduce_scatter": reduce_scatter_into,
    "all_reduce": all_reduce_into,
}


def _reduced(division: Division, room: SymmetricArray, row: Any, places: Sequence[Any], operation: str) -> list[Any]:
    """What all ranks have in places of a row, in one, in the order of ranks."""
    stored = value_type(room.dtype)
    last = as_index(world_size()) - 1

    def elements(rank: Any) -> list[Any]:
        # who would be behind the last one is not added
        values = division.load(peer(room, math.minimum(as_index(rank), last)), row, places)
        parts = [value[n] for value in values for n in range(division.width)] if division.width > 1 else values
        # elements of vectors have no sign
        numbers = [ScalarValue(with_sign(part.ssa, stored)) for part in parts]
        return [number.astype(f32) for number in numbers] if room.dtype in SHORT_FLOATS else numbers

    def add(totals: list[Any], rank: Any, more: list[Any]) -> list[Any]:
        there, function = as_index(rank) <= last, REDUCTIONS[operation]
        return [math.where(there, function(total, one), total) for total, one in zip(totals, more, strict=True)]

    # those of several ranks are on their way at the same time
    totals, *others = [elements(number) for number in range(REDUCED_RANKS)]
    for number, more in enumerate(others, 1):
        totals = add(totals, number, more)
    for first, carried, results in sequential(REDUCED_RANKS, world_size(), REDUCED_RANKS, iter_args=totals):
        sums, totals = _listed(carried), _listed(results)
        found = [elements(first + number) for number in range(REDUCED_RANKS)]
        for number, more in enumerate(found):
            sums = add(sums, first + number, more)
        yield_(sums)
    totals = [total.astype(stored) for total in totals]
    if division.width == 1:
        return totals
    parts = [ScalarValue(signless(total.ssa)) for total in totals]
    return [vector(parts[place : place + division.width]) for place in range(0, len(parts), division.width)]


def _listed(values: Any) -> list[Any]:
    """What a loop carries, which is no tuple if it is one value."""
    return [*values] if is_list(values) else [values]


def reduced_ranks(of_rank: Callable[[Any], Tile], operation: str) -> Tile:
    """Tiles of all ranks in one, in the order of ranks."""
    first = of_rank(0)
    short = first.dtype in SHORT_FLOATS
    total = Buffer(first.layout, f32 if short else first.dtype)
    total[:] = first.astype(f32) if short else first
    for other in sequential(1, world_size()):
        more = of_rank(other)
        total[:] = combine(REDUCTIONS[operation], total[:], more.astype(f32) if short else more)
    return total[:].astype(first.dtype) if short else total[:]
