"""Collectives for little data: it goes through channels in lines of 128 bytes, each with its flag.

One wave of each rank sends a line to every rank, and takes one of every rank, until all are through; no rank waits for
more than what it needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.air.arrays import Array, Region
from tilewright.air.dtypes import f32
from tilewright.air.functions import jit
from tilewright.air.levels import launch, rank, sequential, world_size
from tilewright.air.library.by_bandwidth import REDUCTIONS, SHORT_FLOATS
from tilewright.air.messages import Channel
from tilewright.air.tiles import guarded_load, inside, shared
from tilewright.air.waves import barrier, lane, lanes
from tilewright.iron import math
from tilewright.iron.builders.control import if_

MOST_RANKS = 8
LINE_BYTES = 124
"""That a line carries beside its flag."""

_lines = Channel("lines", size=[MOST_RANKS, MOST_RANKS], protocol="line")


@jit
def by_lines(sent: Any, result: Any, root: Any, *, kind: str, operation: str) -> None:
    """Rank `r` has row `r` of `sent`: parts of as many elements as a row of `result` has."""
    width = LINE_BYTES // sent.dtype.itemsize

    @rank()
    def _(me: Any) -> None:
        ranks, count = world_size(), result.shape[1]
        is_cut = kind in ("all_to_all", "reduce_scatter")

        @launch(1, waves=1)
        def _(_: Any) -> None:
            out, into = shared(width, sent.dtype), shared(width, sent.dtype)
            total = shared(width, f32 if sent.dtype in SHORT_FLOATS else sent.dtype)
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
