"""How long a product takes with tiles of one size, as far as choosing among them needs it.

A GPU computes as many blocks at a time as it has multiprocessors; each such round takes as long as one block. A block
takes a fixed time to begin and to write its tile, and then a time for each step in depth. Blocks that share the depth
of one tile leave their sums in memory, from where another kernel adds them up:

    blocks = tiles * shares
    rounds = blocks / multiprocessors, rounded up
    time = rounds * (fixed + steps / shares * step) + (shares > 1) * (launch + sums written and read again)

where `step` is `alone` as long as there is one round: a block that has a multiprocessor for itself waits for memory
more. The numbers are of an H200 (132 multiprocessors, 4.8 TB/s), from the products of docs/gpu.md, solved for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.air.levels import cdiv
from tilewright.iron import math
from tilewright.iron.builders.control import else_, if_
from tilewright.iron.builders.scalars import ScalarValue, as_index

MULTIPROCESSORS = 132
LAUNCH_NS = 3000
"""To start another kernel and to wait for the last block of the one before."""
BYTES_PER_NS = 3000
"""Of memory, there and back, with many blocks at it."""
SUM_BYTES = 2 * 4
"""Of an f32, written and read."""


@dataclass(frozen=True)
class TileCost:
    """Rows, columns and depth of a step of a tile; what a block takes for a step, and besides."""

    rows: int
    columns: int
    depth: int
    step_ns: int
    alone_ns: int
    fixed_ns: int
    shares: tuple[int, ...] = (1,)
    """Among how many blocks the depth of a tile can be shared."""


def time_ns(cost: TileCost, sizes: tuple[Any, Any, Any], batch: Any, shares: int) -> ScalarValue:
    """As the formula above says."""
    m, n, k = (as_index(size) for size in sizes)
    blocks = cdiv(m, cost.rows) * cdiv(n, cost.columns) * batch * shares
    rounds, steps = cdiv(blocks, MULTIPROCESSORS), cdiv(cdiv(k, cost.depth), shares)
    step = math.where(rounds > 1, as_index(cost.step_ns), cost.alone_ns)
    time = rounds * (steps * step + cost.fixed_ns)
    return time if shares == 1 else time + LAUNCH_NS + m * n * batch * (shares * SUM_BYTES) // BYTES_PER_NS


def choose(
    costs: Sequence[TileCost], sizes: tuple[Any, Any, Any], batch: Any, emit: Callable[[TileCost, Any], None]
) -> None:
    """Build the choice among tiles, made when the sizes are known; `emit` builds what runs with one, and its shares."""
    least: Any = None
    best, among = as_index(0), as_index(1)
    for number, cost in enumerate(costs):
        for shares in cost.shares:
            time = time_ns(cost, sizes, batch, shares)
            if least is None:
                least = time
                continue
            better = time < least
            best, among = math.where(better, number, best), math.where(better, shares, among)
            least = math.minimum(time, least)

    def one_of(number: int) -> None:
        cost = costs[number]
        shares = among if len(cost.shares) > 1 else 1
        if number == len(costs) - 1:
            emit(cost, shares)
            return
        with if_(best == number) as chosen:
            emit(cost, shares)
        with else_(chosen):
            one_of(number + 1)

    one_of(0)
