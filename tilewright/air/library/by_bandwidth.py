"""Collectives for much data: each rank lays what it has in its symmetric heap, and all read what they need from there.

Ranks meet twice: when everything lies there, and when all have read it. The functions below are for programs too, under
`@air.rank()`, with arrays that stay in the heap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.air.arrays import Array
from tilewright.air.dtypes import bf16, f16, f32
from tilewright.air.functions import jit
from tilewright.air.levels import cdiv, launch, rank, rank_number, sequential, world_size
from tilewright.air.messages import SymmetricArray, peer, symmetric
from tilewright.air.tiles import Buffer, Tile, combine, load
from tilewright.air.waves import barrier
from tilewright.iron import math

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


@jit
def by_bandwidth(sent: Any, result: Any, root: Any, *, kind: str, operation: str) -> None:
    """Rank `r` has row `r` of `sent`: parts of as many elements as a row of `result` has."""

    @rank()
    def _(me: Any) -> None:
        count = result.shape[1]
        room = symmetric((sent.shape[1] // count, count), sent.dtype)
        copy_tiles(room, lambda part, columns: load(sent[me, columns_of(part * count, columns)]))
        barrier()
        if kind == "all_reduce":
            done = symmetric((1, count), sent.dtype)
            all_reduce_into(done, room, operation)
            barrier()
            copy_tiles(result, lambda _, columns: load(done[0, columns]))
        else:
            INTO[kind](result, room, root, operation)
        barrier()


def columns_of(start: Any, columns: slice) -> slice:
    """The same columns, counted from further on."""
    return slice(columns.start + start, columns.start + start + TILE)


def copy_tiles(target: Array, source: Callable[[Any, slice], Tile]) -> None:
    """Fill all rows of an array with tiles that `source` gives for a row and columns."""

    @launch((cdiv(target.shape[1], TILE), target.shape[0]), waves=WAVES)
    def _(block: Any, row: Any) -> None:
        columns = slice(block * TILE, block * TILE + TILE)
        target[row, columns] = source(row, columns)


def gather_into(result: Array, room: SymmetricArray, root: Any = 0, operation: str = "sum") -> None:
    """Row `r` of `result` is what rank `r` has in its `room`."""
    copy_tiles(result, lambda source, columns: load(peer(room, source)[0, columns]))


def broadcast_into(result: Array, room: SymmetricArray, root: Any, operation: str = "sum") -> None:
    """`result` is what rank `root` has in its `room`."""
    copy_tiles(result, lambda _, columns: load(peer(room, root)[0, columns]))


def exchange_into(result: Array, room: SymmetricArray, root: Any = 0, operation: str = "sum") -> None:
    """Row `r` of `result` is what rank `r` has in its `room` for this one."""
    me = rank_number()
    copy_tiles(result, lambda source, columns: load(peer(room, source)[me, columns]))


def reduce_scatter_into(result: Array, room: SymmetricArray, root: Any, operation: str) -> None:
    """`result` is what all ranks have in their `room` for this one, in one."""
    me = rank_number()
    copy_tiles(result, lambda _, columns: reduced_row(room, me, columns, operation))


INTO: dict[str, Callable[[Array, SymmetricArray, Any, str], None]] = {
    "all_gather": gather_into,
    "broadcast": broadcast_into,
    "all_to_all": exchange_into,
    "reduce_scatter": reduce_scatter_into,
}


def all_reduce_into(done: SymmetricArray, room: SymmetricArray, operation: str) -> None:
    """Every rank reduces its share of what all have in their `room`, and gives it to all; then they have to meet."""
    ranks, count, me = world_size(), room.shape[1], rank_number()
    # whole tiles, so that none is of two ranks
    tiles = cdiv(count, ranks * TILE)

    @launch(tiles, waves=WAVES)
    def _(block: Any) -> None:
        first = (me * tiles + block) * TILE
        columns = slice(first, first + TILE)
        finished = reduced_row(room, 0, columns, operation)
        for other in sequential(ranks):
            peer(done, other)[0, columns] = finished


def reduced_row(room: SymmetricArray, row: Any, columns: slice, operation: str) -> Tile:
    """What all ranks have in columns of a row, in one."""
    return reduced_ranks(lambda other: load(peer(room, other)[row, columns]), operation)


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
