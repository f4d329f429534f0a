"""Products of matrices of any size on the lanes of any GPU, from one build: `C = activation(scale * A B + bias)`.

A block computes a tile of C. Its lanes copy tiles of A (transposed) and B into memory of the block, the next ones while
the present ones are multiplied, and keep a tile of C each in registers. There are kernels for sizes that tiles divide,
for rows that begin at multiples of 16 bytes, and for all others; which one runs is decided when the sizes are known.
Tiles that would keep few blocks busy are shared by all of them (`tile_model`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from xdsl.dialects.builtin import i64

from tilewright.air.arrays import Array
from tilewright.air.dtypes import f32, value_type
from tilewright.air.dtypes import i64 as wide
from tilewright.air.functions import jit
from tilewright.air.levels import cdiv, launch, sequential
from tilewright.air.library.finishing import Finish
from tilewright.air.library.tile_model import Division, TileCost, choose, quotient
from tilewright.air.messages import FlatArray, array
from tilewright.air.tiles import shared
from tilewright.air.trace import current
from tilewright.air.vectors import Vector, broadcast, vector, vload, vstore
from tilewright.air.waves import barrier, lane, wave
from tilewright.dialects import arith
from tilewright.iron import math
from tilewright.iron.builders.control import else_, if_, yield_
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.scalars import ScalarValue, as_index

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
    resident: int = 1
    """Blocks that a multiprocessor has at a time."""

    @property
    def threads(self) -> int:
        """Lanes of a group."""
        return self.m // self.rows * (self.n // self.columns)

    @property
    def vectors(self) -> int:
        """That a lane adds up."""
        return self.rows * self.columns // VECTOR

    @property
    def step(self) -> int:
        """How deep all groups go in one turn."""
        return self.k * self.groups

    @property
    def strides(self) -> tuple[int, int]:
        """Of tiles, that of A transposed: padded, so that lanes that write a column do not meet in one bank."""
        return self.m + VECTOR, self.n + VECTOR


LARGE, SMALL = Tiles(128, 128, 8, 16, 8, resident=2), Tiles(64, 64, 16, 8, 8, 2, resident=3)
DEEP = Tiles(64, 64, 8, 8, 8, 4)
COSTS = {
    TileCost(128, 128, LARGE.step, 1450, 900, 4000, LARGE.resident): LARGE,
    TileCost(64, 64, SMALL.step, 2460, 1400, 4000, SMALL.resident): SMALL,
    TileCost(64, 64, DEEP.step, 1000, 1000, 4000, DEEP.resident): DEEP,
}
LANE_ROWS = 8
"""A wave is so many lanes high: they read few different elements of A at once, and neighbours of B."""
MOST_OF_GRID = 1 << 16
"""Blocks in the second and third dimension of a grid."""
COPY_WAVES, COPY_TURNS = 4, 4
"""Of a block that copies a matrix: each lane copies so many fours."""
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
        problem, tiles = Problem(a, b, finish, layouts, sizes), COSTS[cost]
        grid = cdiv(m, tiles.m), cdiv(n, tiles.n)
        division = Division.of(cost.slots, grid[0] * grid[1] * batch, cdiv(sizes[2], tiles.step), shares)
        room = array((math.maximum(division.parts, 1) * (tiles.m * tiles.n),), f32)
        parts = FlatArray(room.ssa, f32, (division.parts, tiles.vectors, tiles.threads, VECTOR))
        work = Work(problem, tiles, grid, division, parts)
        _choose(work)
        with if_(division.parts > 0, hasElse=False):
            _join(work)

    choose(list(COSTS), sizes, batch, emit)


@dataclass(frozen=True)
class Problem:
    """The matrices of a product, and what is done with it."""

    a: Array
    b: Array
    finish: Finish
    layouts: tuple[str, str]
    sizes: tuple[Any, Any, Any]
    fours: bool = True
    """Whether rows of C begin at multiples of 16 bytes; if not, A and B are copies that are as deep as whole steps."""

    @property
    def can_use_vectors(self) -> bool:
        """Whether rows are loaded four elements at a time: they hold f32."""
        arrays = self.a, self.b, self.finish.c
        return all(array.dtype == f32 for array in arrays) and self.layouts == ("row", "row")


@dataclass(frozen=True)
class Work:
    """A product, and how it is divided among blocks; sums of parts of tiles are in `parts`."""

    problem: Problem
    tiles: Tiles
    grid: tuple[Any, Any]
    """Tiles below and beside each other."""
    division: Division
    parts: FlatArray

    def place(self, tile: Any) -> tuple[Any, Any, Sequence[Any]]:
        """Its column and row among tiles, and its matrix in each stack."""
        down, across = self.grid
        rows, column = quotient(tile, across)
        matrix, row = quotient(rows, down)
        return column, row, (matrix, matrix, matrix)


def _choose(work: Work) -> None:
    """The kernel for these sizes."""
    problem, tiles, division = work.problem, work.tiles, work.division
    m, n, k = problem.sizes
    if not problem.can_use_vectors:
        _kernel(work, exact=False, width=1)
        return

    with if_((n % VECTOR == 0) & (k % VECTOR == 0)) as aligned:
        if tiles is not LARGE:
            _kernel(work, exact=False, width=VECTOR)
        else:
            with if_((m % tiles.m == 0) & (n % tiles.n == 0) & (k % tiles.step == 0)) as fits:
                with if_((division.parts == 0) & (division.whole < MOST_OF_GRID)) as whole:
                    _whole_kernel(work)
                with else_(whole):
                    _kernel(work, exact=True, width=VECTOR)
            with else_(fits):
                _kernel(work, exact=False, width=VECTOR)
    with else_(aligned):
        columns, depth = (cdiv(size, by) * by for size, by in ((n, VECTOR), (k, tiles.step)))
        left, right = _padded((problem.a, problem.b), ((m, depth), (depth, columns)))
        padded = replace(problem, a=left, b=right, sizes=(m, n, depth), fours=False)
        _kernel(replace(work, problem=padded), exact=False, width=VECTOR)


def _padded(given: Sequence[Array], sizes: Sequence[tuple[Any, Any]]) -> list[FlatArray]:
    """Copies with more and longer rows, which begin at multiples of 16 bytes: what is new is zero."""
    batch = given[0].shape[0]
    each, made, blocks = COPY_WAVES * current().lanes, list[FlatArray](), list[Any]()
    for rows, row in sizes:
        memory = array((as_index(batch) * rows * row,), f32)
        made.append(FlatArray(memory.ssa, f32, (batch, rows, row)))
        blocks.append(cdiv(rows * row, VECTOR * each * COPY_TURNS))

    def copy(source: Array, target: FlatArray, block: Any, matrix: Any) -> None:
        (_, rows, row), (_, old_rows, old_row) = target.shape, source.shape
        for turn in range(COPY_TURNS):
            number = (block * COPY_TURNS + turn) * each + wave() * current().lanes + lane()
            # a matrix has more fours than 32 bits hold
            fours = as_index(row) // VECTOR
            y, four = number // fours, number % fours
            with if_(y < rows, hasElse=False):
                elements = list[ScalarValue]()
                for place in range(VECTOR):
                    column = four * VECTOR + place
                    keys = matrix, math.minimum(y, old_rows - 1), math.minimum(column, old_row - 1)
                    elements.append(math.where((y < old_rows) & (column < old_row), source[keys], 0.0))
                vstore(vector(elements), target, (matrix, y, four * VECTOR), alignment=16)

    @launch((blocks[0] + blocks[1], batch), waves=COPY_WAVES)
    def _(block: Any, matrix: Any) -> None:
        with if_(block < blocks[0]) as is_first:
            copy(given[0], made[0], block, matrix)
        with else_(is_first):
            copy(given[1], made[1], block - blocks[0], matrix)

    return made


def _kernel(work: Work, exact: bool, width: int) -> None:
    problem, tiles, division = work.problem, work.tiles, work.division
    k = problem.sizes[2]

    @launch(division.items, waves=waves_of(tiles), least_blocks=tiles.resident)
    def _(number: Any) -> None:
        item = division.item(number)
        depth = item.first * tiles.step, math.minimum(item.last * tiles.step, k)
        block = ProductBlock(problem, tiles, exact, width, *work.place(item.tile), depth)
        # kept in memory until sums are written, since these take all registers
        kept = shared((4,), wide)
        with if_(wave() * current().lanes + lane() == 0, hasElse=False):
            for place, value in enumerate((block.row0, block.column0, block.c_number, item.part)):
                kept[place] = as_index(value).astype(i64)

        def write(totals: Sequence[Vector]) -> None:
            block.row0, block.column0, block.c_number, part = (as_index(kept[place]) for place in range(4))
            with if_(part < 0) as is_whole:
                block.write(totals)
            with else_(is_whole):
                block.keep(totals, work.parts, part)

        with if_(item.first < item.last, hasElse=False):
            block.run(write)


def _whole_kernel(work: Work) -> None:
    """Where all fits and nothing is shared, less is left for a block to keep beside its sums."""
    down, across = work.grid
    batch = work.problem.finish.c.shape[0]

    @launch((across, down, batch), waves=waves_of(work.tiles), least_blocks=work.tiles.resident)
    def _(x: Any, y: Any, matrix: Any) -> None:
        ProductBlock(work.problem, work.tiles, True, VECTOR, x, y, (matrix, matrix, matrix)).run()


def _join(work: Work) -> None:
    """Add up the parts of tiles."""
    tiles, division = work.tiles, work.division

    four = tiles.columns

    @launch((division.left, tiles.rows // VECTOR), waves=tiles.threads // current().lanes)
    def _(left: Any, number: Any) -> None:
        one = replace(tiles, groups=1)
        block = ProductBlock(work.problem, one, False, 1, *work.place(division.whole + left))
        count, part = division.parts_of(left)
        results: Any = ()
        start = [broadcast(0.0, VECTOR) for _ in range(four)]
        for share, sums, results in sequential(0, count, iter_args=start):  # noqa: B007
            which = part(share)
            more = [block.kept(work.parts, which, number * four + place) for place in range(four)]
            yield_([total + other for total, other in zip(sums, more, strict=True)])
        block.write_rows(list(results), number)


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
        x: Any,
        y: Any,
        matrices: Sequence[Any],
        depth: tuple[Any, Any] | None = None,
    ):
        """A tile by its column and row among tiles and the numbers of A, B and C in their stacks.

        `depth` is where it begins and ends, all of it unless given.
        """
        self.problem, self.tiles, self.exact, self.width = problem, tiles, exact, width
        self.first, self.last = (0, problem.sizes[2]) if depth is None else depth
        self.a_number, self.b_number, self.c_number = matrices
        self.row0, self.column0 = y * tiles.m, x * tiles.n
        group_waves = tiles.threads // current().lanes
        self.group = wave() // group_waves
        self.wave = wave() % group_waves if tiles.groups > 1 else wave()
        self.thread = self.wave * current().lanes + lane()
        self.y, self.x = self._own_place()
        self.line_room = shared((tiles.m * VECTOR // tiles.rows, tiles.strides[1]))

    def _own_place(self) -> tuple[Any, Any]:
        """Which rows and columns of the tile are the lane's: groups of four, as far apart as all lanes reach."""
        tiles, lanes = self.tiles, current().lanes
        lane_columns = lanes // LANE_ROWS
        across = tiles.n // tiles.columns // lane_columns
        row = self.wave // across * LANE_ROWS + lane() // lane_columns
        column = self.wave % across * lane_columns + lane() % lane_columns
        return row * VECTOR, column * VECTOR

    def run(self, write: Callable[[Sequence[Vector]], None] | None = None) -> None:
        """Compute the tile, and `write` its sums, to C unless given."""
        tiles = self.tiles
        self.a_room, self.b_room = (shared((tiles.groups * 2, tiles.k, stride)) for stride in tiles.strides)
        self._place(self._fetched(self.first + self._own_depth, self._is_deep), self._own_room)
        barrier()
        totals = [broadcast(0.0, VECTOR) for _ in range(tiles.vectors)]
        if self._is_deep or (tiles.groups > 1 and self.width == 1):
            # elements one by one, of two places in a loop, take too many registers of small tiles
            totals = self._rounds(self.first, self.last, totals, whole=self._is_deep)
        else:
            # the next tile is whole, so that its loads need not look where the depth ends
            count = math.maximum((as_index(self.last) - self.first) // tiles.step - 1, 0)
            behind = count * tiles.step + self.first
            totals = self._rounds(self.first, behind, totals, whole=True)
            totals = self._rounds(behind, self.last, totals, whole=False)
        (write or self.write)(totals if tiles.groups == 1 else self._joined(totals))

    @property
    def _is_deep(self) -> bool:
        """Whether all tiles of A and B are whole, as far as their depth goes."""
        return self.exact or not self.problem.fours

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
            if self._is_deep or not whole:
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
            # rows of a copy of B are longer
            end = problem.b.shape[2] if width == VECTOR else n
            place = self.column0 + column if self.exact else math.minimum(self.column0 + column, end - width)
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

    def keep(self, totals: Sequence[Vector], parts: FlatArray, part: Any) -> None:
        """Leave sums of a part of a tile in memory, each lane its own."""
        with if_(self.group == 0, hasElse=False):
            for place, total in enumerate(totals):
                vstore(total, parts, (part, place, self.thread, 0), alignment=16)

    def kept(self, parts: FlatArray, part: Any, place: Any) -> Vector:
        return vload(parts, (part, place, self.thread, 0), VECTOR, alignment=16)

    def write(self, totals: Sequence[Vector]) -> None:
        """Bring sums of a tile to C."""
        four = self.tiles.columns
        for number in range(self.tiles.rows // VECTOR):
            self.write_rows(totals[number * four : (number + 1) * four], number)

    def write_rows(self, sums: Sequence[Vector], number: Any) -> None:
        """Four rows of each lane's, which has groups of four that are as far apart as all lanes reach."""
        tiles, finish = self.tiles, self.problem.finish
        first = self.row0 + number * (tiles.m * VECTOR // tiles.rows)
        across = len(sums) // VECTOR
        rows = [sums[row * across : (row + 1) * across] for row in range(VECTOR)]
        if self.width == VECTOR and self.problem.fours and finish.bias is None and finish.function is None:
            for row, part in enumerate(rows):
                self._store_fours(part, first + self.y + row)
        else:
            self._store_lines(rows, first)

    def _columns(self, sums: Sequence[Vector]) -> list[tuple[Any, Vector]]:
        """Where in the tile its sums are."""
        apart = self.tiles.n // len(sums)
        return [(self.x + number * apart if number else self.x, total) for number, total in enumerate(sums)]

    def _store_fours(self, sums: Sequence[Vector], row: Any) -> None:
        finish, (m, n, _) = self.problem.finish, self.problem.sizes
        is_first = self.group == 0
        for column, total in self._columns(sums):
            value = total if finish.scale is None else total * finish.scale
            place = self.c_number, row, self.column0 + column
            if self.exact:
                vstore(value, finish.c, place, alignment=16)
                continue
            with if_((row < m) & (place[2] < n) & is_first, hasElse=False):
                vstore(value, finish.c, place, alignment=16)

    def _store_lines(self, rows: Sequence[Sequence[Vector]], first: Any) -> None:
        """Through memory of the block, so that neighbours are stored by neighbouring lanes, one element each."""
        tiles, finish, (m, n, _) = self.tiles, self.problem.finish, self.problem.sizes
        with if_(self.group == 0, hasElse=False):
            for row, sums in enumerate(rows):
                for column, total in self._columns(sums):
                    vstore(total, self.line_room, (self.y + row, column), alignment=16)
        barrier()
        lanes = tiles.threads * tiles.groups
        for place in sequential(0, tiles.m * VECTOR // tiles.rows * tiles.n, lanes):
            number = place + (self.group * tiles.threads + self.thread)
            line, across = number // tiles.n, number % tiles.n
            row, column = first + line, self.column0 + across
            with if_((row < m) & (column < n), hasElse=False):
                finish.c[self.c_number, row, column] = finish.value(self.line_room[line, across], column)
        barrier()


def _chosen(condition: ScalarValue, yes: Vector, no: Vector) -> Vector:
    return Vector(build(arith.SelectOp, results=[yes.type], cond=condition, lhs=yes, rhs=no).results[0])
