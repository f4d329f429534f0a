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
from tilewright.iron.builders.control import if_, yield_
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.scalars import ScalarValue, as_index

VECTOR = 4
"""Elements that a lane moves at once: 16 bytes of f32."""
LANE_ROWS = 8
"""A wave is so many lanes high: they read few different elements of A at once, and neighbours of B."""
JOINED = 8
"""Vectors of a lane that groups hand over at once."""


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
        """Fours that a lane adds up."""
        return self.rows * self.columns // VECTOR

    @property
    def pieces(self) -> list[tuple[int, int]]:
        """A lane's columns as vectors of 4, 2 and 1: where in the tile those of all lanes begin, and the width."""
        found, first = list[tuple[int, int]](), 0
        for width in [VECTOR] * (self.columns // VECTOR) + [part for part in (2, 1) if self.columns & part]:
            found.append((first, width))
            first += self.n // self.columns * width
        return found

    @property
    def b_rows(self) -> int:
        """Rows of room for a tile of B: those behind its own take what lanes copy for which there is no four of it."""
        fours = self.n // VECTOR
        slots = -(-self.k * fours // self.threads)
        return -(-slots * self.threads // fours)

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
    is_deep: bool = False
    """Whether A and B are as deep as whole steps, copies where need be; rows of C begin anywhere then."""

    @property
    def can_use_vectors(self) -> bool:
        """Whether rows are loaded four elements at a time: they hold f32."""
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
        exact: bool,
        width: int,
        x: Any,
        y: Any,
        matrices: Sequence[Any],
        depth: tuple[Any, Any] | None = None,
    ):
        """A tile by its column and row among tiles and the numbers of A, B and C in their stacks.

        Rows of A and B are multiples of `width`, elements that are loaded at once; if that is 1, fours are not stored
        at once either. `depth` is where the tile begins and ends, all of it unless given.
        """
        self.problem, self.tiles, self.exact, self.width = problem, tiles, exact, width
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
        """Which rows and columns of the tile are the lane's: where the first of its rows and its pieces begin.

        Groups of four rows, and pieces, are as far apart as all lanes reach.
        """
        tiles, lanes = self.tiles, current().lanes
        lane_columns = lanes // LANE_ROWS
        across = tiles.n // tiles.columns // lane_columns
        row = self.wave // across * LANE_ROWS + lane() // lane_columns
        column = self.wave % across * lane_columns + lane() % lane_columns
        return row * VECTOR, [column * width + first if first else column * width for first, width in tiles.pieces]

    def run(self, write: Callable[[Sequence[Vector]], None] | None = None) -> None:
        """Compute the tile, and `write` its sums, to C unless given."""
        tiles = self.tiles
        rows = tiles.k, tiles.b_rows
        self.a_room, self.b_room = (
            shared((tiles.groups * 2, *shape)) for shape in zip(rows, tiles.strides, strict=True)
        )
        self._place(self._fetched(self.first + self._own_depth, self._is_deep), self._own_room)
        barrier()
        totals = [broadcast(0.0, width) for _ in range(tiles.rows) for _, width in tiles.pieces]
        if self._is_deep or (tiles.groups > 1 and self.width == 1):
            # elements one by one, of two places in a loop, take too many registers of small tiles
            totals = self._rounds(self.first, self.last, totals, whole=self._is_deep)
        else:
            # the next tile is whole, so that its loads need not look where the depth ends
            count = math.maximum((as_index(self.last) - self.first) // tiles.step - 1, 0)
            behind = count * tiles.step + self.first
            totals = self._rounds(self.first, behind, totals, whole=True)
            totals = self._rounds(behind, self.last, totals, whole=False)
        totals = [self.problem.finish.scaled(total) for total in self._ordered(totals)]
        (write or self.write)(totals if tiles.groups == 1 else self.joined(totals))

    def _ordered(self, totals: Sequence[Vector]) -> list[Vector]:
        """Sums of every other row are computed backwards: those with their columns in turn, or back again."""
        across = len(self.tiles.pieces)
        return [_backwards(total) if number // across % 2 else total for number, total in enumerate(totals)]

    @property
    def _is_deep(self) -> bool:
        """Whether all tiles of A and B are whole, as far as their depth goes."""
        return self.exact or self.problem.is_deep

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

    def _slots(self, height: int, width: int, by_rows: bool) -> list[tuple[Any, Any]]:
        """Rows and columns of what the lane copies of a tile: fours of a row, or elements.

        Neighbours in memory, which are those of a row or of a column, go to neighbouring lanes.
        """
        four = VECTOR if self.width > 1 else 1
        width //= four
        inner = width if by_rows else height
        numbers = [self.thread + first for first in range(0, width * height, self.tiles.threads)]
        places = [(number // inner, number % inner)[:: 1 if by_rows else -1] for number in numbers]
        return [(row, column * four) for row, column in places]

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
        left = [self._left(row, column, at, whole) for row, column in self._left_slots]
        return left, [self._right(row, column, at, whole) for row, column in self._right_slots]

    def _left(self, row: Any, column: Any, at: Any, whole: bool) -> Any:
        """What the lane copies of a tile of A for one of its slots."""
        problem, width, parts = self.problem, self.width, list[Any]()
        # rows of a copy of A are longer
        m, _, k = problem.sizes
        end = problem.a.shape[2] if width > 1 else k
        for behind in self._parts:
            depth = column + at + behind if behind else column + at
            there = None if whole else depth < end
            depth = depth if whole else math.minimum(depth, end - width)
            place = self.row0 + row if self.exact else math.minimum(self.row0 + row, m - 1)
            parts.append(self._piece(problem.a, problem.layouts[0], (self.a_number, place, depth), there))
        return _one_vector(parts)

    def _right(self, row: Any, column: Any, at: Any, whole: bool) -> Any:
        """The same of B."""
        problem, tiles, width, parts = self.problem, self.tiles, self.width, list[Any]()
        (_, n, k), row = problem.sizes, row if tiles.b_rows == tiles.k else math.minimum(row, tiles.k - 1)
        there = None if whole else row + at < k
        depth = row + at if whole else math.minimum(row + at, k - 1)
        # rows of a copy of B are longer
        end = problem.b.shape[2] if width > 1 else n
        for behind in self._parts:
            place = self.column0 + column
            place = place if self.exact else math.minimum(place, end - width)
            if behind:
                place = place + math.where(place < end - width, behind, 0)
            parts.append(self._piece(problem.b, problem.layouts[1], (self.b_number, depth, place), there))
        return _one_vector(parts)

    @property
    def _parts(self) -> range:
        """Where in a slot begins what is loaded at once."""
        return range(0, VECTOR if self.width > 1 else 1, self.width)

    def _piece(self, array: Array, layout: str, place: tuple[Any, Any, Any], there: Any) -> Any:
        """Elements of a row of a matrix, or zeros."""
        if self.width > 1:
            found = vload(array, place, self.width, alignment=4 * self.width)
            return found if there is None else _chosen(there, found, broadcast(0.0, self.width))
        number, row, column = place
        element = array[(number, row, column) if layout == "row" else (number, column, row)]
        element = element if element.type == value_type(f32) else element.astype(f32)
        return element if there is None else math.where(there, element, 0.0)

    def _place(self, fetched: tuple[list[Any], list[Any]], turn: Any) -> None:
        """From registers to one of the two places in memory of the block."""
        for (row, column), value in zip(self._left_slots, fetched[0], strict=True):
            for number in range(VECTOR if self.width > 1 else 1):
                element = value[number] if self.width > 1 else value
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
            columns = [
                vload(self.b_room, (turn, depth, place), width, alignment=4 * width)
                for place, (_, width) in zip(self.columns, tiles.pieces, strict=True)
            ]
            ways = columns, [_backwards(column) for column in columns]
            products, across = list(sums), len(columns)
            for number, factor in enumerate(row[number] for row in rows for number in range(VECTOR)):
                copies = {width: broadcast(factor, width) for _, width in tiles.pieces}
                for place in range(across)[:: -1 if number % 2 else 1]:
                    column, total = ways[number % 2][place], number * across + place
                    products[total] = copies[column.width].fma(column, sums[total])
            yield_(products)
        return list(results)

    def keep(self, totals: Sequence[Vector], parts: FlatArray, part: Any) -> None:
        """Leave scaled sums of a part of a tile in memory, each lane its own."""
        with if_(self.group == 0, hasElse=False):
            for place, total in enumerate(_resized(totals, [VECTOR])):
                vstore(total, parts, (part, place, self.thread, 0), alignment=16)

    def kept(self, parts: FlatArray, part: Any, place: Any) -> Vector:
        """A four of them."""
        return vload(parts, (part, place, self.thread, 0), VECTOR, alignment=16)

    def write(self, totals: Sequence[Vector]) -> None:
        """Bring scaled sums of a tile to C."""
        count = VECTOR * len(self.tiles.pieces)
        for number in range(self.tiles.rows // VECTOR):
            self.write_rows(totals[number * count : (number + 1) * count], number)

    def write_rows(self, sums: Sequence[Vector], number: Any) -> None:
        """Four rows of each lane's, which has groups of four that are as far apart as all lanes reach."""
        tiles, finish = self.tiles, self.problem.finish
        first = self.row0 + number * (tiles.m * VECTOR // tiles.rows)
        sums, across = _resized(sums, [width for _, width in tiles.pieces]), len(tiles.pieces)
        rows = [sums[row * across : (row + 1) * across] for row in range(VECTOR)]
        fours = self.width == VECTOR and not self.problem.is_deep
        if fours and finish.bias is None and finish.function is None:
            for row, part in enumerate(rows):
                self._store_fours(part, first + self.y + row)
        else:
            self._store_lines(rows, first)

    def _store_fours(self, sums: Sequence[Vector], row: Any) -> None:
        finish, (m, n, _) = self.problem.finish, self.problem.sizes
        is_first = self.group == 0
        for column, total in zip(self.columns, sums, strict=True):
            place = self.c_number, row, self.column0 + column
            if self.exact:
                vstore(total, finish.c, place, alignment=4 * total.width)
                continue
            with if_((row < m) & (place[2] < n) & is_first, hasElse=False):
                vstore(total, finish.c, place, alignment=4 * total.width)

    def _store_lines(self, rows: Sequence[Sequence[Vector]], first: Any) -> None:
        """Through memory of the block, so that neighbours are stored by neighbouring lanes, one element each."""
        tiles, finish, (m, n, _) = self.tiles, self.problem.finish.of_scaled, self.problem.sizes
        with if_(self.group == 0, hasElse=False):
            for row, sums in enumerate(rows):
                for column, total in zip(self.columns, sums, strict=True):
                    vstore(total, self.line_room, (self.y + row, column), alignment=4 * total.width)
        barrier()
        lanes, wide = tiles.threads * tiles.groups, _power_of_two(tiles.n)
        for place in sequential(0, tiles.m * VECTOR // tiles.rows * wide, lanes):
            number = place + (self.group * tiles.threads + self.thread)
            # a power of two divides at once
            line, across = number // wide, number % wide
            row, column = first + line, self.column0 + across
            there = (row < m) & (column < n)
            with if_(there if wide == tiles.n else there & (across < tiles.n), hasElse=False):
                finish.c[self.c_number, row, column] = finish.value(self.line_room[line, across], column)
        barrier()


def _chosen(condition: ScalarValue, yes: Vector, no: Vector) -> Vector:
    return Vector(build(arith.SelectOp, results=[yes.type], cond=condition, lhs=yes, rhs=no).results[0])


def _backwards(given: Vector) -> Vector:
    return vector([given[number] for number in reversed(range(given.width))])


def _one_vector(parts: Sequence[Any]) -> Any:
    """What was loaded part by part."""
    return parts[0] if len(parts) == 1 else _resized(parts, [VECTOR])[0]


def _resized(given: Sequence[Vector], widths: Sequence[int]) -> list[Vector]:
    """The same elements in vectors of these widths, in turn."""
    if [part.width for part in given] == [*widths] * (len(given) // len(widths)):
        return list(given)
    elements = [part[number] for part in given for number in range(part.width)]
    found = list[Vector]()
    while elements:
        width = widths[len(found) % len(widths)]
        found.append(vector(elements[:width]))
        elements = elements[width:]
    return found


def _power_of_two(number: int) -> int:
    """The next one."""
    return 1 << (number - 1).bit_length()
