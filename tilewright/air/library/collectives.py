"""Collectives of 2 to 8 ranks, for arrays of any shape and type.

Each takes the arrays of all ranks and gives those that they end with. There are two algorithms. "line" is for little
data: it goes through channels in lines of 128 bytes, each with its flag, and no rank waits for more than what it needs.
"bandwidth" is for much: all blocks of a GPU store into the symmetric heaps of the others, and ranks meet once or twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.air.arrays import Array, Region
from tilewright.air.dtypes import KNOWN, bf16, f16, f32
from tilewright.air.functions import Jit, jit
from tilewright.air.levels import cdiv, launch, rank, sequential, world_size
from tilewright.air.messages import Channel, peer, symmetric
from tilewright.air.tiles import Buffer, Tile, combine, guarded_load, inside, load, shared
from tilewright.air.waves import barrier, lane, lanes
from tilewright.errors import ArgumentError
from tilewright.iron import math
from tilewright.iron.builders.control import if_

Numbers = npt.NDArray[Any]
MOST_RANKS = 8
ALGORITHMS = "line", "bandwidth"
SMALL_BYTES = 2048
"""From more on, an array goes by bandwidth."""
LINE_BYTES = 124
"""That a line carries beside its flag."""
TILE = 1024
REDUCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda left, right: left + right,
    "prod": lambda left, right: left * right,
    "max": math.maximum,
    "min": math.minimum,
}


def all_gather(parts: Sequence[Numbers], algorithm: str | None = None, **options: Any) -> list[Numbers]:
    """Everyone gets the arrays of all: rank `r` ends with `[part of rank 0, part of rank 1, ...]`.

    `parts` are the arrays, one of each rank, and `algorithm` is chosen by their size unless given.
    """
    sent, ranks = _stacked(parts), len(parts)
    return _run("all_gather", sent, (ranks, sent[0].size), sent.shape, algorithm, options)


def broadcast(value: Numbers, ranks: int, root: int = 0, algorithm: str | None = None, **options: Any) -> list[Numbers]:
    """Each of `ranks` gets the array of rank `root`, which is `value`; `algorithm` as in `all_gather`."""
    given = np.asarray(value)
    _check_ranks(ranks)
    if not 0 <= root < ranks:
        raise ArgumentError(f"root {root} is none of {ranks} ranks")
    sent = np.zeros((ranks, *given.shape), given.dtype)
    sent[root] = given
    _check_type(sent)
    return _run("broadcast", sent, (1, given.size), given.shape, algorithm, options, root)


def all_to_all(parts: Sequence[Numbers], algorithm: str | None = None, **options: Any) -> list[Numbers]:
    """Rank `r` ends with what the others have for it: element `s` of it was element `r` of rank `s`.

    `parts` are the arrays, one of each rank, and `algorithm` is chosen by their size unless given.
    """
    sent = _blocks(parts)
    return _run("all_to_all", sent, (len(parts), sent[0, 0].size), sent.shape[1:], algorithm, options)


def reduce_scatter(
    parts: Sequence[Numbers], operation: str = "sum", algorithm: str | None = None, **options: Any
) -> list[Numbers]:
    """Rank `r` ends with the sum, or another `operation`, of element `r` of all ranks' arrays.

    `parts` are the arrays, one of each rank, and `algorithm` is chosen by their size unless given.
    """
    _check_operation(operation)
    sent = _blocks(parts)
    shape = sent.shape[2:]
    return _run("reduce_scatter", sent, (1, sent[0, 0].size), shape, algorithm, options, operation=operation)


def all_reduce(
    parts: Sequence[Numbers], operation: str = "sum", algorithm: str | None = None, **options: Any
) -> list[Numbers]:
    """Everyone ends with the sum, or another `operation`, of the arrays of all ranks.

    `parts` are the arrays, one of each rank, and `algorithm` is chosen by their size unless given.
    """
    _check_operation(operation)
    sent = _stacked(parts)
    shape = sent.shape[1:]
    return _run("all_reduce", sent, (1, sent[0].size), shape, algorithm, options, operation=operation)


def _check_ranks(ranks: int) -> None:
    if not 2 <= ranks <= MOST_RANKS:
        raise ArgumentError(f"collectives are for 2 to {MOST_RANKS} ranks, not {ranks}")


def _check_type(sent: Numbers) -> None:
    if sent.dtype not in KNOWN:
        raise ArgumentError(f"arrays of {sent.dtype} cannot be sent; there are floats and integers of 8 to 64 bits")


def _check_operation(operation: str) -> None:
    if operation not in REDUCTIONS:
        raise ArgumentError(f"there is no reduction '{operation}'; there is {', '.join(REDUCTIONS)}")


def _stacked(parts: Sequence[Numbers]) -> Numbers:
    _check_ranks(len(parts))
    arrays = [np.asarray(part) for part in parts]
    if len({(array.shape, array.dtype) for array in arrays}) != 1:
        raise ArgumentError("the arrays of all ranks have one shape and one type")
    sent = np.stack(arrays)
    _check_type(sent)
    return sent


def _blocks(parts: Sequence[Numbers]) -> Numbers:
    sent = _stacked(parts)
    if sent.ndim < 2 or sent.shape[1] != len(parts):
        raise ArgumentError(f"each array has one element of its first dimension for each of {len(parts)} ranks")
    return sent


def _run(
    name: str,
    sent: Numbers,
    received: tuple[int, int],
    shape: tuple[int, ...],
    algorithm: str | None,
    options: dict[str, Any],
    root: int = 0,
    operation: str = "sum",
) -> list[Numbers]:
    """Call the program of a collective: rank `r` sends row `r`, cut in blocks for the ranks where it has such."""
    if algorithm is None:
        algorithm = "line" if sent[0].nbytes <= SMALL_BYTES else "bandwidth"
    if algorithm not in ALGORITHMS:
        raise ArgumentError(f"there is no algorithm '{algorithm}'; there is {', '.join(ALGORITHMS)}")
    ranks = sent.shape[0]
    if not sent.size:
        return [np.zeros(shape, sent.dtype) for _ in range(ranks)]
    flat = np.ascontiguousarray(sent.reshape(ranks, -1))
    result = np.zeros(received, sent.dtype)
    # waves have 32 lanes on some GPUs, and programs ask how many there are
    program: Jit = PROGRAMS[algorithm].options(ranks=ranks, **options)
    done = program.run(flat, result, root, kind=name, operation=operation)
    return [np.asarray(report.arrays[1]).reshape(shape) for report in done.ranks]


def _row_total(room: Array, columns: slice, operation: str) -> Tile:
    """What ranks have left in columns of a room, in one, in the order of ranks; short floats are rounded once."""
    first = load(room[0, columns])
    short = first.dtype in (f16, bf16)
    total = Buffer(first.layout, f32 if short else first.dtype)
    total[:] = first.astype(f32) if short else first
    for other in sequential(1, world_size()):
        more = load(room[other, columns])
        total[:] = combine(REDUCTIONS[operation], total[:], more.astype(f32) if short else more)
    return total[:].astype(first.dtype) if short else total[:]


@jit
def _by_bandwidth(sent: Any, result: Any, root: Any, *, kind: str, operation: str) -> None:
    """Blocks store into the heaps of all ranks, which meet before they read."""

    @rank()
    def _(me: Any) -> None:
        ranks, count = world_size(), result.shape[1]
        if kind == "all_reduce":
            _reduce_in_halves(sent, result, operation, me)
            return
        room = symmetric((ranks, count), sent.dtype)
        is_cut = kind in ("all_to_all", "reduce_scatter")

        @launch((cdiv(count, TILE), ranks), waves=4)
        def _(block: Any, other: Any) -> None:
            columns = slice(block * TILE, (block + 1) * TILE)
            start = other * count if is_cut else 0
            target = peer(room, other)
            if kind == "broadcast":
                with if_(me == root, hasElse=False):
                    target[0, columns] = _part(sent, me, start, block, count)
            else:
                target[me, columns] = _part(sent, me, start, block, count)

        barrier()
        if kind == "reduce_scatter":
            _reduce_room(room, result, operation)
            return

        @launch((cdiv(count, TILE), result.shape[0]), waves=4)
        def _(block: Any, row: Any) -> None:
            columns = slice(block * TILE, (block + 1) * TILE)
            result[row, columns] = load(room[row, columns])

        barrier()


def _part(sent: Array, me: Any, start: Any, block: Any, count: Any) -> Tile:
    """A tile of a row, from `start` on."""
    first = start + block * TILE if not isinstance(start, int) else block * TILE
    return load(sent[me, first : first + TILE])


def _reduce_room(room: Array, result: Array, operation: str) -> None:
    """What ranks have left here, in one."""

    @launch(cdiv(result.shape[1], TILE), waves=4)
    def _(block: Any) -> None:
        columns = slice(block * TILE, (block + 1) * TILE)
        result[0, columns] = _row_total(room, columns, operation)

    barrier()


def _reduce_in_halves(sent: Array, result: Array, operation: str, me: Any) -> None:
    """Every rank reduces its share of the elements and gives it to all."""
    ranks, count = world_size(), result.shape[1]
    # whole tiles, so that none is of two ranks
    share = cdiv(count, ranks * TILE) * TILE
    room, done = symmetric((ranks, share), sent.dtype), symmetric((ranks, share), sent.dtype)

    @launch((cdiv(share, TILE), ranks), waves=4)
    def _(block: Any, other: Any) -> None:
        columns = slice(block * TILE, (block + 1) * TILE)
        first = other * share + block * TILE
        peer(room, other)[me, columns] = load(sent[me, first : first + TILE])

    barrier()

    @launch(cdiv(share, TILE), waves=4)
    def _(block: Any) -> None:
        columns = slice(block * TILE, (block + 1) * TILE)
        finished = _row_total(room, columns, operation)
        for other in sequential(ranks):
            peer(done, other)[me, columns] = finished

    barrier()

    @launch((cdiv(share, TILE), ranks), waves=4)
    def _(block: Any, owner: Any) -> None:
        columns = slice(block * TILE, (block + 1) * TILE)
        first = owner * share + block * TILE
        result[0, first : first + TILE] = load(done[owner, columns])

    barrier()


_lines = Channel("lines", size=[MOST_RANKS, MOST_RANKS], protocol="line")


@jit
def _by_lines(sent: Any, result: Any, root: Any, *, kind: str, operation: str) -> None:
    """One wave of each rank sends a line to every rank, and takes one of every rank, until all are through."""
    width = LINE_BYTES // sent.dtype.itemsize

    @rank()
    def _(me: Any) -> None:
        ranks, count = world_size(), result.shape[1]
        is_cut = kind in ("all_to_all", "reduce_scatter")

        @launch(1, waves=1)
        def _(_: Any) -> None:
            out, into = shared(width, sent.dtype), shared(width, sent.dtype)
            total = shared(width, f32 if sent.dtype in (f16, bf16) else sent.dtype)
            for first in sequential(0, count, width):
                for other in sequential(ranks):
                    start = other * count + first if is_cut else first
                    _copy_line(Region.of(out, [slice(None)]), sent, me if kind != "broadcast" else root, start)
                    barrier()
                    _lines.put(out, [me, other])
                    barrier()
                for source in sequential(ranks):
                    _lines.get(into, [source, me])
                    barrier()
                    if kind in ("reduce_scatter", "all_reduce"):
                        _add_line(total, into, source, operation)
                    elif kind == "broadcast":
                        with if_(source == root, hasElse=False):
                            _write_line(result, 0, first, into)
                    else:
                        _write_line(result, source, first, into)
                    barrier()
                if kind in ("reduce_scatter", "all_reduce"):
                    _write_line(result, 0, first, total)
                    barrier()


def _each(width: int, body: Callable[[Any], None]) -> None:
    """The elements of a line, divided among lanes."""
    for start in range(0, width, lanes()):
        place = lane() + start if start else lane()
        if start + lanes() <= width:
            body(place)
        else:
            with if_(place < width, hasElse=False):
                body(place)


def _copy_line(target: Region, source: Array, row: Any, first: Any) -> None:
    width = target.shape[0]
    part = Region.of(source, [row, slice(first, first + width)])

    def copy(place: Any) -> None:
        target.array[place] = guarded_load(source, part.keys([place]), inside(part, [place]), 0)

    _each(width, copy)


def _write_line(target: Array, row: Any, first: Any, line: Array) -> None:
    width = line.shape[0]

    def write(place: Any) -> None:
        with if_(first + place < target.shape[1], hasElse=False):
            value = line[place]
            target[row, first + place] = value if line.dtype == target.dtype else value.astype(target.dtype)

    _each(width, write)


def _add_line(total: Array, line: Array, source: Any, operation: str) -> None:
    function = REDUCTIONS[operation]

    def add(place: Any) -> None:
        value = line[place] if line.dtype == total.dtype else line[place].astype(total.dtype)
        total[place] = math.where(source == 0, value, function(total[place], value))

    _each(line.shape[0], add)


PROGRAMS: dict[str, Jit] = {"line": _by_lines, "bandwidth": _by_bandwidth}
