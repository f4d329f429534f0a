"""Products of matrices of any size on the lanes of any GPU, from one build: `C = activation(scale * A B + bias)`.

A block computes a tile of C. Its lanes copy tiles of A (transposed) and B into memory of the block, the next ones while
the present ones are multiplied, and keep a tile of C each in registers. There are kernels for sizes that tiles divide,
for rows that begin at multiples of 16 bytes, and for all others; which one runs is decided when the sizes are known.
Where there are few tiles, several blocks share the depth of one (`tile_model`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tilewright.air.arrays import Array
from tilewright.air.dtypes import f32, value_type
from tilewright.air.functions import jit
from tilewright.air.levels import cdiv, launch, sequential
from tilewright.air.library.finishing import Finish, join
from tilewright.air.library.tile_model import TileCost, choose
from tilewright.air.messages import FlatArray, array
from tilewright.air.tiles import shared
from tilewright.air.trace import current
from tilewright.air.vectors import Vector, broadcast, vload, vstore
from tilewright.air.waves import barrier, lane, wave
from tilewright.dialects import arith
from tilewright.iron import math
from tilewright.iron.builders.control import else_, if_, yield_
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.scalars import ScalarValue, as_index
from tilewright.iron.builders.types import is_integer

VECTOR = 4
"""Elements that a lane moves at once: 16 bytes of f32."""


@dataclass(frozen=True)
class Tiles:
    """Rows, columns and depth of a block's tile; rows and columns of a lane's."""

    m: int
    n: int
    k: int
    rows: int
    columns: int
    groups: int = 1
    """So many groups of lanes share the depth, and add up in the end: they keep a GPU busy that has few tiles."""

    @property
    def threads(self) -> int:
        """Lanes of a group."""
        return self.m // self.rows * (self.n // self.columns)

    @property
    def step(self) -> int:
        """How deep all groups go in one turn."""
        return self.k * self.groups

    @property
    def strides(self) -> tuple[int, int]:
        """Of tiles, that of A transposed: padded, so that lanes that write a column do not meet in one bank."""
        return self.m + VECTOR, self.n + VECTOR


LARGE, SMALL, DEEP = Tiles(128, 128, 8, 16, 8), Tiles(64, 64, 16, 8, 8, 2), Tiles(64, 64, 8, 8, 8, 4)
COSTS = {
    TileCost(128, 128, LARGE.step, 700, 900, 3000): LARGE,
    TileCost(64, 64, SMALL.step, 820, 1400, 3000): SMALL,
    TileCost(64, 64, DEEP.step, 900, 1000, 3000, (1, 2, 3, 4, 6, 8, 16)): DEEP,
}
LANE_ROWS = 8
"""A wave is so many lanes high: they read few different elements of A at once, and neighbours of B."""
JOINED = 8
"""Vectors of a lane that groups hand over at once."""


@jit
def lane_product(
    a: Any,
    b: Any,
    bias: Any,
    c: Any,
    scale: Any,
    *,
    has_bias: bool,
    function: Callable[[Any], Any] | None,
    layouts: tuple[str, str],
) -> None:
    """`c = function(scale * a b + bias)` for stacks of matrices of f32, f16 or bf16."""
    batch, m, n = c.shape
    sizes = m, n, a.shape[2 if layouts[0] == "row" else 1]
    finish = Finish(c, bias if has_bias else None, scale, function)

    def emit(cost: TileCost, shares: Any) -> None:
        tiles, problem = COSTS[cost], Problem(a, b, finish, layouts, sizes)
        if len(cost.shares) == 1:
            _choose(problem, tiles)
            return
        with if_(as_index(shares) == 1) as alone:
            _choose(problem, tiles)
        with else_(alone):
            memory = array((as_index(shares) * batch * m * n,), f32)
            parts = FlatArray(memory.ssa, f32, (shares * batch, m, n))
            _choose(replace(problem, finish=Finish(parts, None, None, None)), tiles, shares)
            join(parts, shares, finish)

    choose(list(COSTS), sizes, batch, emit)


@dataclass(frozen=True)
class Problem:
    """The matrices of a product, and what is done with it."""

    a: Array
    b: Array
    finish: Finish
    layouts: tuple[str, str]
    sizes: tuple[Any, Any, Any]

    @property
    def can_use_vectors(self) -> bool:
        """Whether rows are loaded four elements at a time: they hold f32."""
        arrays = self.a, self.b, self.finish.c
        return all(array.dtype == f32 for array in arrays) and self.layouts == ("row", "row")


def _choose(problem: Problem, tiles: Tiles, shares: Any = 1) -> None:
    """The kernel for these sizes."""
    if not problem.can_use_vectors:
        _kernel(problem, tiles, exact=False, width=1, shares=shares)
        return
    m, n, k = problem.sizes
    if tiles is not LARGE:
        _choose_width(problem, tiles, shares)
        return
    with if_((m % tiles.m == 0) & (n % tiles.n == 0) & (k % tiles.step == 0)) as fits:
        _kernel(problem, tiles, exact=True, width=VECTOR)
    with else_(fits):
        _choose_width(problem, tiles)


def _choose_width(problem: Problem, tiles: Tiles, shares: Any = 1) -> None:
    _, n, k = problem.sizes
    with if_((n % VECTOR == 0) & (k % VECTOR == 0)) as aligned:
        _kernel(problem, tiles, exact=False, width=VECTOR, shares=shares)
    with else_(aligned):
        _kernel(problem, tiles, exact=False, width=1, shares=shares)


def _kernel(problem: Problem, tiles: Tiles, exact: bool, width: int, shares: Any = 1) -> None:
    m, n, k = problem.sizes
    total = problem.finish.c.shape[0]
    batch = problem.a.shape[0]
    # whole steps, so that blocks that share a depth read nothing twice
    each = cdiv(cdiv(k, tiles.step), shares) * tiles.step

    @launch((cdiv(n, tiles.n), cdiv(m, tiles.m), total), waves=waves_of(tiles))
    def _(x: Any, y: Any, number: Any) -> None:
        shared_depth = not (is_integer(shares) and shares == 1)
        matrix = number % batch if shared_depth else number
        depth = (number // batch * each, math.minimum(number // batch * each + each, k)) if shared_depth else (0, k)
        ProductBlock(problem, tiles, exact, width, (x, y), (matrix, matrix, number), depth).run()


def waves_of(tiles: Tiles) -> int:
    """The waves of a block."""
    return tiles.threads * tiles.groups // current().lanes


class ProductBlock:
    """The work of a block, from the place of one lane."""

    def __init__(
        self,
        problem: Problem,
        tiles: Tiles,
        exact: bool,
        width: int,
        tile: tuple[Any, Any],
        matrices: Sequence[Any],
        depth: tuple[Any, Any] | None = None,
    ):
        """`tile` is its column and row among tiles, `matrices` the numbers of A, B and C in their stacks.

        `depth` is where it begins and ends, all of it unless given.
        """
        self.problem, self.tiles, self.exact, self.width = problem, tiles, exact, width
        self.first, self.last = (0, problem.sizes[2]) if depth is None else depth
        (x, y), (self.a_number, self.b_number, self.c_number) = tile, matrices
        self.row0, self.column0 = y * tiles.m, x * tiles.n
        group_waves = tiles.threads // current().lanes
        self.group = wave() // group_waves
        self.wave = wave() % group_waves if tiles.groups > 1 else wave()
        self.thread = self.wave * current().lanes + lane()
        self.y, self.x = self._own_place()
        self.a_room, self.b_room = (shared((tiles.groups * 2, tiles.k, stride)) for stride in tiles.strides)

    def _own_place(self) -> tuple[Any, Any]:
        """Which rows and columns of the tile are the lane's: groups of four, as far apart as all lanes reach."""
        tiles, lanes = self.tiles, current().lanes
        lane_columns = lanes // LANE_ROWS
        across = tiles.n // tiles.columns // lane_columns
        row = self.wave // across * LANE_ROWS + lane() // lane_columns
        column = self.wave % across * lane_columns + lane() % lane_columns
        return row * VECTOR, column * VECTOR

    def run(self) -> None:
        tiles = self.tiles
        self._place(self._fetched(self.first + self._own_depth, self.exact), self._own_room)
        barrier()
        totals = [broadcast(0.0, VECTOR) for _ in range(tiles.rows * tiles.columns // VECTOR)]
        if self.exact:
            totals = self._rounds(self.first, self.last, totals, whole=True)
        else:
            # the next tile is whole, so that its loads need not look where the depth ends
            count = math.maximum((as_index(self.last) - self.first) // tiles.step - 1, 0)
            behind = count * tiles.step + self.first
            totals = self._rounds(self.first, behind, totals, whole=True)
            totals = self._rounds(behind, self.last, totals, whole=False)
        if tiles.groups == 1:
            self._write(totals)
            return
        totals = self._joined(totals)
        with if_(self.group == 0, hasElse=False):
            self._write(totals)

    @property
    def _own_depth(self) -> Any:
        """Groups take turns in depth."""
        return self.group * self.tiles.k if self.tiles.groups > 1 else 0

    @property
    def _own_room(self) -> Any:
        """The first of two rooms of its group."""
        return self.group * 2 if self.tiles.groups > 1 else 0

    def _rounds(self, first: Any, last: Any, totals: Sequence[Vector], whole: bool) -> list[Vector]:
        """Multiply tiles of some depths, each while the next one is fetched."""
        tiles, room0, end = self.tiles, self._own_room, self.problem.sizes[2] - 1
        results: Any = ()
        for at, before, results in sequential(first, last, tiles.step, iter_args=list(totals)):  # noqa: B007
            turn = (at // tiles.step - self.first // tiles.step) % 2
            following = at + tiles.step
            if self.exact or not whole:
                # behind the last tile it is fetched once more, and not used
                following = math.minimum(following, end // tiles.step * tiles.step)
            fetched = self._fetched(following + self._own_depth, whole)
            sums = self._multiplied(turn + room0, before)
            self._place(fetched, 1 - turn + room0)
            barrier()
            yield_(sums)
        return list(results)

    def _joined(self, totals: list[Vector]) -> list[Vector]:
        """What all groups have come to, for the first one."""
        tiles = self.tiles
        room = shared((JOINED, tiles.threads, VECTOR))
        for group in range(1, tiles.groups):
            for first in range(0, len(totals), JOINED):
                part = totals[first : first + JOINED]
                with if_(self.group == group, hasElse=False):
                    for number, total in enumerate(part):
                        vstore(total, room, (number, self.thread, 0), alignment=16)
                barrier()
                more = [vload(room, (number, self.thread, 0), VECTOR, alignment=16) for number in range(len(part))]
                # the others keep what they have, until it is their turn
                totals[first : first + JOINED] = [
                    _chosen(self.group == 0, total + other, total) for total, other in zip(part, more, strict=True)
                ]
                barrier()
        return totals

    def _slots(self, height: int, width: int, by_rows: bool) -> list[tuple[Any, Any]]:
        """Rows and columns of what the lane copies of a tile: fours of a row, or elements.

        Neighbours in memory, which are those of a row or of a column, go to neighbouring lanes.
        """
        if self.width == VECTOR:
            width //= VECTOR
        inner = width if by_rows else height
        numbers = [self.thread + first for first in range(0, width * height, self.tiles.threads)]
        places = [(number // inner, number % inner)[:: 1 if by_rows else -1] for number in numbers]
        return [(row, column * self.width) for row, column in places]

    @property
    def _left_slots(self) -> list[tuple[Any, Any]]:
        return self._slots(self.tiles.m, self.tiles.k, self.problem.layouts[0] == "row")

    @property
    def _right_slots(self) -> list[tuple[Any, Any]]:
        return self._slots(self.tiles.k, self.tiles.n, self.problem.layouts[1] == "row")

    def _fetched(self, at: Any, whole: bool) -> tuple[list[Any], list[Any]]:
        """The tiles that begin at depth `at`, in registers; zeros beyond the last one unless they are `whole`.

        What is beyond the matrices in the other dimension is not stored: it may be anything, and is their last
        elements. So all lanes load, without a branch, and their loads are under way together.
        """
        problem = self.problem
        (m, n, k), width = problem.sizes, self.width
        left, right = list[Any](), list[Any]()
        for row, column in self._left_slots:
            there = None if whole else column + at < k
            depth = column + at if whole else math.minimum(column + at, k - width)
            place = self.row0 + row if self.exact else math.minimum(self.row0 + row, m - 1)
            left.append(self._piece(problem.a, problem.layouts[0], (self.a_number, place, depth), there))
        for row, column in self._right_slots:
            there = None if whole else row + at < k
            depth = row + at if whole else math.minimum(row + at, k - 1)
            place = self.column0 + column if self.exact else math.minimum(self.column0 + column, n - width)
            right.append(self._piece(problem.b, problem.layouts[1], (self.b_number, depth, place), there))
        return left, right

    def _piece(self, array: Array, layout: str, place: tuple[Any, Any, Any], there: Any) -> Any:
        """Elements of a row of a matrix, or zeros."""
        if self.width == VECTOR:
            found = vload(array, place, VECTOR, alignment=16)
            return found if there is None else _chosen(there, found, broadcast(0.0, VECTOR))
        number, row, column = place
        element = array[(number, row, column) if layout == "row" else (number, column, row)]
        element = element if element.type == value_type(f32) else element.astype(f32)
        return element if there is None else math.where(there, element, 0.0)

    def _place(self, fetched: tuple[list[Any], list[Any]], turn: Any) -> None:
        """From registers to one of the two places in memory of the block."""
        for (row, column), value in zip(self._left_slots, fetched[0], strict=True):
            for number in range(self.width):
                element = value[number] if self.width > 1 else value
                self.a_room[turn, column + number if number else column, row] = element
        for (row, column), value in zip(self._right_slots, fetched[1], strict=True):
            if self.width > 1:
                vstore(value, self.b_room, (turn, row, column), alignment=16)
            else:
                self.b_room[turn, row, column] = value

    def _multiplied(self, turn: Any, totals: Sequence[Vector]) -> list[Any]:
        """The products of one tile with another, added to what there is."""
        tiles = self.tiles
        results: Any = ()
        for depth, sums, results in sequential(0, tiles.k, iter_args=list(totals)):  # noqa: B007
            rows = self._fragment(self.a_room, turn, depth, self.y, tiles.m, tiles.rows)
            columns = self._fragment(self.b_room, turn, depth, self.x, tiles.n, tiles.columns)
            factors = [broadcast(row[number], VECTOR) for row in rows for number in range(VECTOR)]
            yield_(
                [
                    factor.fma(column, sums[place * len(columns) + number])
                    for place, factor in enumerate(factors)
                    for number, column in enumerate(columns)
                ]
            )
        return list(results)

    def _fragment(self, room: Array, turn: Any, depth: Any, first: Any, extent: int, count: int) -> list[Vector]:
        apart = extent // (count // VECTOR)
        places = [first + group * apart if group else first for group in range(count // VECTOR)]
        return [vload(room, (turn, depth, place), VECTOR, alignment=16) for place in places]

    def _write(self, totals: Sequence[Vector]) -> None:
        tiles = self.tiles
        groups, across = tiles.rows // VECTOR, tiles.columns // VECTOR
        for row in range(tiles.rows):
            offset = row // VECTOR * (tiles.m // groups) + row % VECTOR
            y = self.row0 + self.y + offset
            for column in range(across):
                x = self.column0 + self.x + column * (tiles.n // across)
                self._store(totals[row * across + column], y, x)

    def _store(self, total: Vector, row: Any, column: Any) -> None:
        finish, (m, n, _) = self.problem.finish, self.problem.sizes
        c = finish.c
        if self.width == VECTOR and finish.bias is None and finish.function is None:
            value = total if finish.scale is None else total * finish.scale
            if self.exact:
                vstore(value, c, (self.c_number, row, column), alignment=16)
            else:
                with if_((row < m) & (column < n), hasElse=False):
                    vstore(value, c, (self.c_number, row, column), alignment=16)
            return
        for number in range(VECTOR):
            place = column + number if number else column
            if self.exact:
                c[self.c_number, row, place] = finish.value(total[number], place)
            else:
                with if_((row < m) & (place < n), hasElse=False):
                    c[self.c_number, row, place] = finish.value(total[number], place)


def _chosen(condition: ScalarValue, yes: Vector, no: Vector) -> Vector:
    return Vector(build(arith.SelectOp, results=[yes.type], cond=condition, lhs=yes, rhs=no).results[0])
