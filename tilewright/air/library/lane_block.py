"""The work of a block of a product on lanes: a tile of C, of tiles of A and B that its lanes bring.

Its lanes copy tiles of A (transposed) and B into memory of the block, the next ones while the present ones are
multiplied, and keep a tile of C each in registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.air.arrays import Array
from tilewright.air.dtypes import f32, value_type
from tilewright.air.levels import sequential
from tilewright.air.library.finishing import Finish
from tilewright.air.messages import FlatArray
from tilewright.air.tiles import shared
from tilewright.air.trace import current
from tilewright.air.vectors import Vector, broadcast, vector, vload, vstore
from tilewright.air.waves import barrier, lane, wave
from tilewright.dialects import arith
from tilewright.iron import math
from tilewright.iron.builders.control import if_, make_if, yield_
from tilewright.iron.builders.operations import InsertionPoint, build
from tilewright.iron.builders.scalars import ScalarValue, as_index

VECTOR = 4
"""Elements that a lane moves at once: 16 bytes of f32."""
LANE_ROWS = 8
"""A wave is so many lanes high: they read few different elements of A at once, and neighbours of B."""
JOINED = 8
"""Vectors of a lane that groups hand over at once."""


@dataclass(frozen=True)
class Tiles:
    """Rows, columns and depth of a block's tile; rows and columns of a lane's: multiples of four."""

    m: int
    n: int
    k: int
    rows: int
    columns: int
    groups: int = 1
    """So many groups of lanes share the depth, and add up in the end: they keep a GPU busy that has few tiles."""
    resident: int = 1
    """Blocks that a multiprocessor has at a time."""
    has_fours_of_a: bool = False
    """Whether four elements of A are loaded at once, too, where they are of B."""

    @property
    def threads(self) -> int:
        """Lanes of a group."""
        return self.m // self.rows * (self.n // self.columns)

    @property
    def across(self) -> int:
        """Fours in a row of a lane's."""
        return self.columns // VECTOR

    @property
    def vectors(self) -> int:
        """Fours that a lane adds up."""
        return self.rows * self.across

    @property
    def step(self) -> int:
        """How deep all groups go in one turn."""
        return self.k * self.groups

    @property
    def strides(self) -> tuple[int, int]:
        """Of tiles, that of A transposed: padded, so that lanes that write a column do not meet in one bank."""
        return self.m + VECTOR, self.n + VECTOR


@dataclass(frozen=True)
class Problem:
    """The matrices of a product, and what is done with it."""

    a: Array
    b: Array
    finish: Finish
    layouts: tuple[str, str]
    sizes: tuple[Any, Any, Any]

    @property
    def has_rows_of_f32(self) -> bool:
        """Whether four elements of a row are moved at once where rows begin at multiples of 16 bytes."""
        arrays = self.a, self.b, self.finish.c
        return all(array.dtype == f32 for array in arrays) and self.layouts == ("row", "row")


def waves_of(tiles: Tiles) -> int:
    """The waves of a block."""
    return tiles.threads * tiles.groups // current().lanes


class ProductBlock:
    """The work of a block, from the place of one lane."""

    def __init__(
        self,
        problem: Problem,
        tiles: Tiles,
        width: int,
        x: Any,
        y: Any,
        matrices: Sequence[Any],
        depth: tuple[Any, Any] | None = None,
    ):
        """A tile by its column and row among tiles and the numbers of A, B and C in their stacks.

        `width` elements of B are loaded at once: one, or four if rows of A and B are multiples of four. Those of A are
        turned round, and mostly loaded one by one. `depth` is where the tile begins and ends, all of it unless given.
        """
        self.problem, self.tiles, self.width = problem, tiles, width
        self.a_width = width if tiles.has_fours_of_a else 1
        self.first, self.last = (0, problem.sizes[2]) if depth is None else depth
        self.a_number, self.b_number, self.c_number = matrices
        self.row0, self.column0 = y * tiles.m, x * tiles.n
        group_waves = tiles.threads // current().lanes
        self.group = wave() // group_waves
        self.wave = wave() % group_waves if tiles.groups > 1 else wave()
        self.thread = self.wave * current().lanes + lane()
        self.y, self.columns = self._own_place()
        self.line_room = shared((tiles.m * VECTOR // tiles.rows, tiles.strides[1]))

    def _own_place(self) -> tuple[Any, list[Any]]:
        """Which rows and columns of the tile are the lane's: where the first of its rows and its fours begin.

        Groups of four rows, and of four columns, are as far apart as all lanes reach.
        """
        tiles, lanes = self.tiles, current().lanes
        lane_columns = lanes // LANE_ROWS
        apart = tiles.n // tiles.columns
        across = apart // lane_columns
        row = self.wave // across * LANE_ROWS + lane() // lane_columns
        column = (self.wave % across * lane_columns + lane() % lane_columns) * VECTOR
        firsts = [place * apart * VECTOR for place in range(tiles.across)]
        return row * VECTOR, [column + first if first else column for first in firsts]

    def run(self, write: Callable[[Sequence[Vector]], None] | None = None) -> None:
        """Compute the tile, and `write` its sums, to C unless given."""
        tiles = self.tiles
        self.a_room, self.b_room = (shared((tiles.groups * 2, tiles.k, stride)) for stride in tiles.strides)
        # what is less than a step deep comes first: all others are whole, and their loads need not look where they end
        steps = (as_index(self.last) - self.first - 1) // tiles.step
        self._place(self._fetched(steps, whole=False), self._room(0))
        barrier()
        zeros = [broadcast(0.0, VECTOR) for _ in range(tiles.vectors)]
        # the same by other code: which one a GPU's compiler has better registers for was measured
        sums = self._in_turn((self._all_steps if self.a_width > 1 else self._steps_and_last)(steps, zeros))
        # what is multiplied here need not be stored from where it was added up: in the banks of fours of B
        sums = [self.problem.finish.scaled(total) for total in sums]
        (write or self.write)(self.joined(sums) if tiles.groups > 1 else sums)

    def _steps_and_last(self, steps: Any, zeros: Sequence[Vector]) -> list[Vector]:
        """Multiply what is there in each step while the next is fetched, and what is there in the end."""
        sums = list[Vector]()
        for step, before, sums in sequential(0, steps, iter_args=list(zeros)):  # noqa: B007
            yield_(self._stepped(step, step, before))
        return self._multiplied(self._room(steps), sums)

    def _all_steps(self, steps: Any, zeros: Sequence[Vector]) -> list[Vector]:
        """The last step fetches what the one before it did, if there is one, and does not use it."""
        sums = list[Vector]()
        choice = make_if(steps > 0, True, [zero.type for zero in zeros])
        with InsertionPoint(choice.thenRegion.blocks[0]):
            for step, before, sums in sequential(0, steps + 1, iter_args=list(zeros)):  # noqa: B007
                yield_(self._stepped(step, math.minimum(step, steps - 1), before))
            yield_(sums)
        with InsertionPoint(choice.elseRegion.blocks[0]):
            yield_(self._multiplied(self._room(0), zeros))
        return [Vector(result) for result in choice.op.results]

    def _stepped(self, step: Any, following: Any, sums: Sequence[Vector]) -> list[Vector]:
        """Sums with the products of a step, while what comes next is fetched."""
        fetched = self._fetched(following, whole=True)
        sums = self._multiplied(self._room(step), sums)
        self._place(fetched, self._room(step + 1))
        barrier()
        return sums

    def _room(self, step: Any) -> Any:
        """Which of the two rooms of its group has what is multiplied in a step."""
        room = as_index(step) % 2
        return room + self.group * 2 if self.tiles.groups > 1 else room

    def _in_turn(self, sums: Sequence[Vector]) -> list[Vector]:
        """Sums of every other row are added up backwards: those with their columns in turn, or back again."""
        across = self.tiles.across
        return [_backwards(total) if number // across % 2 else total for number, total in enumerate(sums)]

    def joined(self, totals: list[Vector]) -> list[Vector]:
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

    def _slots(self, height: int, width: int, layout: str, at_once: int) -> list[tuple[Any, Any]]:
        """Rows and columns of what the lane copies of a tile, so many elements of a row each.

        Neighbours in memory, which are those of a row or of a column, go to neighbouring lanes.
        """
        by_rows = layout == "row"
        inner, outer = (width // at_once, height) if by_rows else (height, width // at_once)
        beside = self.tiles.threads // inner
        line, place = self.thread // inner, self.thread % inner
        places = [(line + first if first else line, place) for first in range(0, outer, beside)]
        return [(row, column * at_once) for row, column in (place[:: 1 if by_rows else -1] for place in places)]

    @property
    def _left_slots(self) -> list[tuple[Any, Any]]:
        return self._slots(self.tiles.m, self.tiles.k, self.problem.layouts[0], self.a_width)

    @property
    def _right_slots(self) -> list[tuple[Any, Any]]:
        return self._slots(self.tiles.k, self.tiles.n, self.problem.layouts[1], self.width)

    def _fetched(self, step: Any, whole: bool) -> tuple[list[Any], list[Any]]:
        """The tiles of a step, in registers; zeros behind the end of the depth unless they are `whole`.

        What is beyond the matrices in the other dimension is not stored: it may be anything, and is their last
        elements. So all lanes load, without a branch, and their loads are under way together.
        """
        at = as_index(step) * self.tiles.step + self.first
        if self.tiles.groups > 1:
            # groups take turns in depth
            at = at + self.group * self.tiles.k
        left = [self._left(row, column, at, whole) for row, column in self._left_slots]
        return left, [self._right(row, column, at, whole) for row, column in self._right_slots]

    def _left(self, row: Any, column: Any, at: Any, whole: bool) -> Any:
        """What the lane copies of a tile of A for one of its slots."""
        m, _, k = self.problem.sizes
        depth = column + at
        place = math.minimum(self.row0 + row, m - 1), depth if whole else math.minimum(depth, k - self.a_width)
        there = None if whole else depth < k
        return _piece(self.problem.a, self.problem.layouts[0], (self.a_number, *place), self.a_width, there)

    def _right(self, row: Any, column: Any, at: Any, whole: bool) -> Any:
        """The same of B."""
        _, n, k = self.problem.sizes
        depth = row + at
        place = depth if whole else math.minimum(depth, k - 1), math.minimum(self.column0 + column, n - self.width)
        there = None if whole else depth < k
        return _piece(self.problem.b, self.problem.layouts[1], (self.b_number, *place), self.width, there)

    def _place(self, fetched: tuple[list[Any], list[Any]], turn: Any) -> None:
        """From registers to one of the two places in memory of the block."""
        for (row, column), value in zip(self._left_slots, fetched[0], strict=True):
            for number in range(self.a_width):
                element = value[number] if self.a_width > 1 else value
                self.a_room[turn, column + number if number else column, row] = element
        for (row, column), value in zip(self._right_slots, fetched[1], strict=True):
            if self.width > 1:
                vstore(value, self.b_room, (turn, row, column), alignment=16)
            else:
                self.b_room[turn, row, column] = value

    def _multiplied(self, turn: Any, totals: Sequence[Vector]) -> list[Any]:
        """The products of one tile with another, added to what there is.

        They go along a row of sums and back along the next one: a GPU reads two registers of each bank in two cycles,
        and has the last element of B still at hand where it turns.
        """
        tiles = self.tiles
        results: Any = ()
        for depth, sums, results in sequential(0, tiles.k, iter_args=list(totals)):  # noqa: B007
            apart = tiles.m // (tiles.rows // VECTOR)
            places = [self.y + group * apart if group else self.y for group in range(tiles.rows // VECTOR)]
            rows = [vload(self.a_room, (turn, depth, place), VECTOR, alignment=16) for place in places]
            columns = [vload(self.b_room, (turn, depth, place), VECTOR, alignment=16) for place in self.columns]
            ways, products = (columns, [_backwards(column) for column in columns]), list(sums)
            for number, factor in enumerate(row[number] for row in rows for number in range(VECTOR)):
                copies = broadcast(factor, VECTOR)
                for place in range(tiles.across)[:: -1 if number % 2 else 1]:
                    total = number * tiles.across + place
                    products[total] = copies.fma(ways[number % 2][place], sums[total])
            yield_(products)
        return list(results)

    def keep(self, sums: Sequence[Vector], parts: FlatArray, part: Any) -> None:
        """Leave scaled sums of a part of a tile in memory, each lane its own."""
        with if_(self.group == 0, hasElse=False):
            for place, total in enumerate(sums):
                vstore(total, parts, (part, place, self.thread, 0), alignment=16)

    def kept(self, parts: FlatArray, part: Any, place: Any) -> Vector:
        """A four of them."""
        return vload(parts, (part, place, self.thread, 0), VECTOR, alignment=16)

    def write(self, sums: Sequence[Vector]) -> None:
        """Bring scaled sums of a tile to C."""
        count = VECTOR * self.tiles.across
        for number in range(self.tiles.rows // VECTOR):
            self.write_rows(sums[number * count : (number + 1) * count], number)

    def write_rows(self, sums: Sequence[Vector], number: Any) -> None:
        """Four rows of each lane's, which has groups of four that are as far apart as all lanes reach."""
        tiles, finish = self.tiles, self.problem.finish
        first, across = self.row0 + number * (tiles.m * VECTOR // tiles.rows), tiles.across
        rows = [sums[row * across : (row + 1) * across] for row in range(VECTOR)]
        if self.width == VECTOR and finish.bias is None and finish.function is None:
            for row, part in enumerate(rows):
                self._store_fours(part, first + self.y + row)
        else:
            self._store_lines(rows, first)

    def _store_fours(self, sums: Sequence[Vector], row: Any) -> None:
        finish, (m, n, _) = self.problem.finish, self.problem.sizes
        is_first = self.group == 0
        for column, total in zip(self.columns, sums, strict=True):
            place = self.c_number, row, self.column0 + column
            with if_((row < m) & (place[2] < n) & is_first, hasElse=False):
                vstore(total, finish.c, place, alignment=16)

    def _store_lines(self, rows: Sequence[Sequence[Vector]], first: Any) -> None:
        """Through memory of the block, so that neighbours are stored by neighbouring lanes, one element each."""
        tiles, finish, (m, n, _) = self.tiles, self.problem.finish.of_scaled, self.problem.sizes
        with if_(self.group == 0, hasElse=False):
            for row, sums in enumerate(rows):
                for column, total in zip(self.columns, sums, strict=True):
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


def _piece(array: Array, layout: str, place: tuple[Any, Any, Any], width: int, there: Any) -> Any:
    """Elements of a row of a matrix in a stack, as they are added up: zeros unless they are `there`."""
    if width > 1:
        four = vload(array, place, VECTOR, alignment=16)
        return four if there is None else _chosen(there, four, broadcast(0.0, VECTOR))
    number, row, column = place
    element = array[(number, row, column) if layout == "row" else (number, column, row)]
    element = element if element.type == value_type(f32) else element.astype(f32)
    return element if there is None else math.where(there, element, 0.0)


def _chosen(condition: ScalarValue, yes: Vector, no: Vector) -> Vector:
    return Vector(build(arith.SelectOp, results=[yes.type], cond=condition, lhs=yes, rhs=no).results[0])


def _backwards(given: Vector) -> Vector:
    return vector([given[number] for number in reversed(range(given.width))])
