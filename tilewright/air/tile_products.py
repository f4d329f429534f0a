"""Products of tiles, `air.dot`: by matrix instructions where the GPU has them for the elements, on lanes elsewhere.

Lanes reach all elements of the tiles in memory of the block. With matrix instructions a tile of sums is divided in
squares, as lanes hold those of an instruction, and waves have rectangles of squares; which elements lanes hold is said
by the table of instructions (`device.gpu_matrices`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tilewright.air.arrays import Array, Region, region_of
from tilewright.air.dtypes import DType, bf16, f16, f32, i8, value_type
from tilewright.air.dtypes import i32 as long
from tilewright.air.matrix_instructions import multiply
from tilewright.air.tiles import Buffer, Shape, Tile, TileLayout, as_tile, shared, store_tile, workers_here, zeros
from tilewright.air.trace import current
from tilewright.air.vectors import Vector, vector, vload, vstore
from tilewright.air.waves import barrier
from tilewright.device.gpu_matrices import Fragment, LanePart, MatrixInstruction, instructions_of
from tilewright.iron.builders.control import for_
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.scalars import ScalarValue

PRECISIONS = "f32", "tf32"
ELEMENTS: dict[DType, str] = {f16: "f16", bf16: "bf16", i8: "i8", f32: "f32"}
"""What matrix instructions multiply, by the type of the tiles."""
SUMS: dict[str, DType] = {"f32": f32, "i32": long}
CHUNK_BYTES = 16
"""Rows in memory of the block begin at multiples, and have one more, so that they begin in different banks."""
Operand: TypeAlias = "Tile | Region"


@dataclass(frozen=True)
class MatrixLayout(TileLayout):
    """A tile of sums in squares of matrix instructions; each wave has a rectangle of them, one line after the other."""

    sums: Fragment
    square: tuple[int, int]
    wave_size: int
    across: int
    """Waves side by side."""

    @property
    def squares(self) -> tuple[int, int]:
        """Of a wave, one below the other and side by side."""
        down = self.workers // self.wave_size // self.across
        return self.shape[0] // down // self.square[0], self.shape[1] // self.across // self.square[1]

    def start(self, number: ScalarValue) -> tuple[Any, Any]:
        """Row and column where the rectangle of a lane's wave begins."""
        if self.workers == self.wave_size:
            return 0, 0
        wave = number // self.wave_size
        heights = [count * extent for count, extent in zip(self.squares, self.square, strict=True)]
        return wave // self.across * heights[0], wave % self.across * heights[1]

    def indices(self, slot: int, number: ScalarValue) -> list[Any]:
        square, place = divmod(slot, len(self.sums.places))
        places = zip(divmod(square, self.squares[1]), self.square, self.sums.places[place], strict=True)
        further = [count * extent + own for count, extent, own in places]
        parts = lane_part(self.sums.row, number % self.wave_size), lane_part(self.sums.column, number % self.wave_size)
        return [a + b + c for a, b, c in zip(self.start(number), parts, further, strict=True)]

    def line_keys(self, slot: int) -> tuple[Any, Any]:
        square, place = divmod(slot, len(self.sums.places))
        row, column = divmod(square, self.squares[1])
        return (row, self.sums.places[place][0]), (column, self.sums.places[place][1])


def lane_part(part: LanePart, lane: ScalarValue) -> Any:
    """What the number of a lane adds."""
    if part.modulus == 1:
        return 0
    return lane // part.divide % part.modulus * part.step


def dot(a: Any, b: Any, acc: Any = None, precision: str = "f32") -> Any:
    """Products of rows of `a` with columns of `b`, added to a buffer `acc`, or as a tile of their own.

    `a` and `b` are tiles, or memory of the block. Tiles of f16, bf16 and i8, and with `precision="tf32"` of f32, are
    multiplied by matrix instructions, if the GPU has them and sizes are multiples of what they take; sums are f32 then,
    i32 of i8. CDNA has such instructions for f32, too.
    """
    if precision not in PRECISIONS:
        refuse(f"there is no precision {precision!r}", (None, f"there is {', '.join(PRECISIONS)}"))
    left, right = operands = [_operand(given) for given in (a, b)]
    shapes = [_shape(operand) for operand in operands]
    (rows, depth), (other, columns) = shapes
    if depth != other:
        refuse(f"{rows} x {depth} by {other} x {columns} is no product", (None, "both have one depth"))
    total = zeros((rows, columns), f32) if acc is None else acc
    if not isinstance(total, Buffer) or total.shape != (rows, columns):
        refuse(f"products of {rows} x {columns} are added to a buffer of that shape: `air.zeros(({rows}, {columns}))`")
    instruction = _instruction(operands, total, depth, precision)
    is_staged = any(isinstance(operand, Tile) for operand in operands)
    if is_staged:
        barrier()  # what others read there before
    factors = Factor.of(left, False), Factor.of(right, instruction is not None)
    if is_staged:
        barrier()
    if instruction is None:
        _add_products(factors, total, depth)
    else:
        _add_matrix_products(instruction, factors, total, depth)
    return total[:] if acc is None else total


def _operand(given: Any) -> Operand:
    if isinstance(given, Region | Array):
        return region_of(given, "`air.dot`")
    tile: Any = as_tile(given)
    if not isinstance(tile, Tile):
        refuse(f"expected a tile or memory of a block, not {given!r}")
    return tile


def _shape(operand: Operand) -> tuple[int, int]:
    sizes: Shape = operand.shape if isinstance(operand, Tile) else operand.known_shape()
    if len(sizes) != 2:
        refuse(f"a factor has rows and columns, not {' x '.join(map(str, sizes)) or 'no dimension'}")
    return sizes[0], sizes[1]


@dataclass(frozen=True)
class Factor:
    """A matrix in memory of the block; if it is turned, its columns are there as rows."""

    region: Region
    is_turned: bool

    @classmethod
    def of(cls, operand: Operand, is_turned: bool) -> Factor:
        """A tile is stored, where all lanes that work on it reach all elements, and turned if that is wanted."""
        if isinstance(operand, Region):
            return cls(operand, False)
        workers, (rows, columns) = workers_here(), operand.shape[:: -1 if is_turned else 1]
        piece = max(CHUNK_BYTES // operand.dtype.itemsize, 1)
        room = (rows, -(-columns // piece) * piece + piece)
        here: list[Any] = [slice(None), slice(columns)]
        # waves that work by themselves have a place each
        if workers.waves == 1 and workers.block_waves > 1:
            room, here = (workers.block_waves, *room), [workers.wave, *here]
        factor = cls(Region.of(shared(room, operand.dtype), here), is_turned)
        if not is_turned:
            store_tile(operand, factor.region)
            return factor
        for slot, value in enumerate(operand.slots):
            keys = factor.keys(*operand.layout.indices(slot, workers.number))
            factor.region.array.set_element(keys, value)
        return factor

    def keys(self, row: Any, column: Any) -> list[Any]:
        return self.region.keys([column, row] if self.is_turned else [row, column])

    def element(self, row: Any, column: Any) -> ScalarValue:
        return self.region.array.element(self.keys(row, column))

    def elements(self, fragment: Fragment, first: Sequence[Any], lane: ScalarValue) -> Vector:
        """What a lane has of a square that begins at a row and a column; neighbours in memory are loaded at once."""
        row, column = (
            at + lane_part(part, lane) for at, part in zip(first, (fragment.row, fragment.column), strict=True)
        )
        found, places = list[Any](), list(fragment.places)
        while places:
            run = self._run(places)
            start = self.keys(row + places[0][0], column + places[0][1])
            if run == 1:
                found.append(self.region.array.element(start))
            else:
                loaded = vload(self.region.array, start, run, alignment=self._alignment(run))
                if run == len(fragment.places):
                    return loaded
                found += [loaded[number] for number in range(run)]
            places = places[run:]
        return vector(found)

    def _run(self, places: Sequence[tuple[int, int]]) -> int:
        """How many places are neighbours in memory."""
        step = (1, 0) if self.is_turned else (0, 1)
        (row, column), run = places[0], 1
        while run < len(places) and places[run] == (row + run * step[0], column + run * step[1]):
            run += 1
        return run

    def _alignment(self, run: int) -> int | None:
        """Of such neighbours, in bytes, as far as it is known: of runs of an instruction, which begin at multiples."""
        array, size = self.region.array, self.region.dtype.itemsize
        starts = [at for at, is_point in zip(self.region.offsets, self.region.is_point, strict=True) if not is_point]
        pitch, at = array.shape[-1], starts[-1]
        if not isinstance(pitch, int) or not isinstance(at, int) or (pitch * size) % (run * size) or at % run:
            return None
        return min(run * size, CHUNK_BYTES)


def _instruction(operands: Sequence[Operand], total: Buffer, depth: int, precision: str) -> MatrixInstruction | None:
    """What the GPU multiplies such factors with, and divides the sums for; None if lanes have to."""
    types, workers = {operand.dtype for operand in operands}, workers_here()
    element = ELEMENTS.get(types.pop()) if len(types) == 1 else None
    if element is None:
        return None
    names = ("tf32", "f32") if (element, precision) == ("f32", "tf32") else (element,)
    chip, lanes = current().target.chip, current().lanes
    for instruction in (row for name in names for row in instructions_of(chip, name)):
        if depth % instruction.k or lanes % instruction.wave_size or total.dtype != SUMS[instruction.sum_type]:
            continue
        layout = matrix_layout(instruction, total.shape, workers.count)
        if layout is not None and total.divide(layout):
            return instruction
    return None


def matrix_layout(instruction: MatrixInstruction, shape: Shape, workers: int) -> MatrixLayout | None:
    """Sums divided so that waves read as little as can be; None if squares do not fill the tile."""
    (m, n), waves = (instruction.m, instruction.n), workers // instruction.wave_size
    best: tuple[int, int] | None = None
    for across in range(1, waves + 1):
        down = waves // across
        if waves % across or shape[0] % (down * m) or shape[1] % (across * n):
            continue
        found = shape[0] // down + shape[1] // across, across
        best = found if best is None else min(best, found)
    if best is None:
        return None
    return MatrixLayout(shape, workers, instruction.c, (m, n), instruction.wave_size, best[1])


def _add_products(factors: tuple[Factor, Factor], total: Buffer, depth: int) -> None:
    """On lanes, each its own sums."""
    (left, right), layout, number = factors, total.layout, workers_here().number
    wanted = value_type(total.dtype)
    for k in for_(0, depth, 1):
        rows, columns = dict[Any, ScalarValue](), dict[Any, ScalarValue]()
        for slot in range(layout.slots):
            row_key, column_key = layout.line_keys(slot)
            row, column = layout.indices(slot, number)
            if row_key not in rows:
                rows[row_key] = left.element(row, k).astype(wanted)
            if column_key not in columns:
                columns[column_key] = right.element(k, column).astype(wanted)
            sum = total.memory[slot]
            total.memory[slot] = sum + rows[row_key] * columns[column_key]


def _add_matrix_products(
    instruction: MatrixInstruction, factors: tuple[Factor, Factor], total: Buffer, depth: int
) -> None:
    """Of waves, each its own squares."""
    layout, number = total.layout, workers_here().number
    assert isinstance(layout, MatrixLayout)
    (row0, column0), (down, across) = layout.start(number), layout.squares
    lane = number % instruction.wave_size
    (m, n), count = layout.square, instruction.sums
    for k in for_(0, depth, instruction.k):
        rows = [factors[0].elements(instruction.a, (row0 + place * m, k), lane) for place in range(down)]
        columns = [factors[1].elements(instruction.b, (k, column0 + place * n), lane) for place in range(across)]
        for square in range(down * across):
            row, column = divmod(square, across)
            sums = vload(total.memory, square * count, count)
            vstore(multiply(instruction, rows[row], columns[column], sums), total.memory, square * count)
