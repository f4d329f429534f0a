"""Products of tiles, `air.dot`: by matrix instructions where the GPU has them for the elements, on lanes elsewhere.

Lanes reach all elements of the tiles in memory of the block. With matrix instructions a tile of sums is divided in
squares, as lanes hold those of an instruction, and waves have rectangles of squares; which elements lanes hold is said
by the table of instructions (`device.gpu_matrices`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import Any, TypeAlias

from tilewright.air.arrays import Array, Region, region_of
from tilewright.air.block_memory import BlockArray, room_for
from tilewright.air.dtypes import DType, bf16, f16, f32, f64, i8, value_type
from tilewright.air.dtypes import i32 as long
from tilewright.air.matrix_instructions import multiply
from tilewright.air.messages import is_shared
from tilewright.air.micro_tiles import check_product
from tilewright.air.tile_axes import meet
from tilewright.air.tile_layouts import Shape, TileLayout
from tilewright.air.tile_transfers import load, store_tile
from tilewright.air.tiles import Buffer, Tile, as_tile, combine, reduced, workers_here, zeros
from tilewright.air.trace import current
from tilewright.air.vectors import Vector, vector, vload, vstore
from tilewright.device.gpu_matrices import Fragment, LanePart, MatrixInstruction, instructions_of
from tilewright.iron import math
from tilewright.iron.builders.control import for_, if_
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.scalars import ScalarValue
from tilewright.iron.builders.types import is_float_type

PRECISIONS = "f32", "tf32"
ELEMENTS: dict[DType, str] = {f16: "f16", bf16: "bf16", i8: "i8", f32: "f32"}
"""What matrix instructions multiply, by the type of the tiles."""
SUMS: dict[str, DType] = {"f32": f32, "i32": long}
CHUNK_BYTES = 16
"""Rows in memory of the block begin at multiples, and have one more, so that they begin in different banks."""
HALF_TF32 = 1 << 12
"""Half of the last digit that counts of an f32 as tf32, which is read without the digits behind it."""
Operand: TypeAlias = "Tile | Factor"


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


def dot(a: Any, b: Any, acc: Any = None, *, transpose_b: bool = False, precision: str = "f32") -> Any:
    """Products of rows of `a` with columns of `b`, added to `acc`, a buffer or memory, or as a tile of their own.

    With `transpose_b` they are with rows of `b`. Either may have one dimension, as for NumPy's `dot`; of two such the
    product is a number. Both are tiles, or parts of arrays; waves that have stored to memory of the block have to meet
    before it is multiplied.

    f16, bf16 and i8, and with `precision="tf32"` f32, are multiplied by matrix instructions, if the GPU has them, sums
    are f32, i32 of i8, and the products divide into as many as these make for each wave. CDNA has some for f32, too.
    """
    if precision not in PRECISIONS:
        refuse(f"there is no precision {precision!r}", (None, f"there is {', '.join(PRECISIONS)}"))
    check_product(a, b, acc)
    if isinstance(acc, Array | Region):
        return _add_to_memory(dot(a, b, transpose_b=transpose_b, precision=precision), acc)
    left, right = operands = _operand(a), _operand(b, transpose_b)
    *outer, depth = left.shape
    other, *inner = right.shape
    shape = *outer, *inner
    if depth != other:
        refuse(f"{_sizes(left.shape)} by {_sizes(right.shape)} is no product", (None, "both have one depth"))
    types = {operand.dtype for operand in operands}
    if acc is not None:
        _check_sums(acc, shape, types)
    if not shape:
        return _number_of(operands, _sum_type(types), acc)
    total: Buffer = zeros(shape, _sum_type(types)) if acc is None else acc
    instruction = _instruction(operands, total, depth, precision)
    rounds = instruction is not None and instruction.element == "tf32"
    is_staged = any(isinstance(operand, Tile) for operand in operands)
    if is_staged:
        meet()  # what others read there before
    factors = Factor.of(left, False, rounds), Factor.of(right, instruction is not None, rounds)
    if is_staged:
        meet()
    if instruction is None:
        _add_products(factors, total, depth)
    else:
        _add_matrix_products(instruction, factors, total, depth)
    return total[:] if acc is None else total


def _add_to_memory(products: Any, acc: Array | Region) -> Any:
    """Add sums that are there to those in memory: of an array that a herd shares, to the part of its point."""
    region = acc.here() if isinstance(acc, BlockArray) else region_of(acc, "`air.dot`")
    if not isinstance(products, Tile):
        refuse("the product of two lines is a number, and `acc` is memory", (None, "leave `acc` out, and store it"))
    _check_sums(region, products.shape, {products.dtype})
    total = load(region, like=products).astype(products.dtype) + products
    store_tile(total.astype(region.dtype), region)
    return acc


def _operand(given: Any, is_turned: bool = False) -> Operand:
    """A tile, or what is in memory of the block already."""
    operand: Any = as_tile(given)
    if isinstance(given, Region | Array):
        region = region_of(given, "`air.dot`")
        operand = Factor(region, is_turned) if is_shared(region.array) else load(region)
    if not isinstance(operand, Tile | Factor):
        refuse(f"expected a tile or a part of an array, not {given!r}", (None, "such as `air.load(a[:64, :16])`"))
    dimensions = len(operand.shape)
    if is_turned and dimensions != 2:
        refuse(f"`transpose_b` is for rows and columns, not for {_sizes(operand.shape)}", (None, "leave it out"))
    if dimensions not in (1, 2):
        refuse(f"a factor has one or two dimensions, not {_sizes(operand.shape)}", (None, "multiply part by part"))
    return operand.T if is_turned and isinstance(operand, Tile) else operand


def _sizes(shape: Shape) -> str:
    return " x ".join(map(str, shape)) or "none"


def _sum_type(types: set[DType]) -> DType:
    """Sums of short numbers are longer."""
    if any(map(_is_fraction, types)):
        return f64 if f64 in types else f32
    longest = max(types, key=lambda dtype: (dtype.itemsize, dtype.kind == "i"))
    return max(longest, long, key=lambda dtype: dtype.itemsize)


def _is_fraction(dtype: DType) -> bool:
    return is_float_type(value_type(dtype))


def _check_sums(total: Any, shape: Shape, types: set[DType]) -> None:
    if not isinstance(total, Buffer | Region) or total.shape != shape:
        refuse(
            f"products of {_sizes(shape)} are added to a buffer of that shape, not to {_shown(total)}",
            (None, f"make it `air.zeros({shape})`, or leave `acc` out"),
        )
    fractions = [dtype for dtype in types if _is_fraction(dtype)]
    if fractions and not _is_fraction(total.dtype):
        refuse(
            f"products of {fractions[0]} are not added to a buffer of {total.dtype}",
            (None, f"make it `air.zeros({shape})`, which is of float32"),
        )


def _shown(total: Any) -> str:
    return f"a part of {_sizes(total.shape)}" if isinstance(total, Region) else repr(total)


def _number_of(operands: Sequence[Operand], dtype: DType, acc: Buffer | None) -> Any:
    """The product of two lines, which all lanes get."""
    left, right = (load(one.region) if isinstance(one, Factor) else one for one in operands)
    number = reduced("sum", left.astype(dtype) * right.astype(dtype))
    if acc is None:
        return number
    acc += number.astype(value_type(acc.dtype))
    return acc


def _rounded(number: ScalarValue) -> ScalarValue:
    """To the nearest tf32; what is no number stays so."""
    bits = vector([number]).bitcast(long)[0]
    return math.where(number == number, vector([bits + HALF_TF32]).bitcast(f32)[0], number)


@dataclass(frozen=True)
class Factor:
    """A matrix in memory of the block, or a line; if it is turned, columns of the matrix are there as rows."""

    region: Region
    is_turned: bool
    rounds: bool = False
    """Whether elements are yet to become tf32."""

    @classmethod
    def of(cls, operand: Operand, is_turned: bool, rounds: bool) -> Factor:
        """A tile is stored, turned if that is wanted, where all lanes that work on it reach all elements."""
        if isinstance(operand, Factor):
            return replace(operand, rounds=rounds)
        workers, stored = workers_here(), operand.T if is_turned else operand
        *rows, columns = stored.shape
        piece = max(CHUNK_BYTES // operand.dtype.itemsize, 1)
        room = (*rows, -(-columns // piece) * piece + piece)
        here: list[Any] = [*(slice(None) for _ in rows), slice(columns)]
        # waves that work by themselves have a place each
        if workers.waves == 1 and workers.block_waves > 1:
            room, here = (workers.block_waves, *room), [workers.wave, *here]
        region = Region.of(room_for(room, operand.dtype), here)
        store_tile(combine(_rounded, stored) if rounds else stored, region)
        return cls(region, is_turned)

    @property
    def shape(self) -> Shape:
        return self.region.known_shape()[:: -1 if self.is_turned else 1]

    @property
    def dtype(self) -> DType:
        return self.region.dtype

    def keys(self, *place: Any) -> list[Any]:
        return self.region.keys(place[:: -1 if self.is_turned else 1])

    def element(self, *place: Any) -> ScalarValue:
        return self.region.array.element(self.keys(*place))

    def elements(self, fragment: Fragment, first: Sequence[Any], lane: ScalarValue) -> Vector:
        """What a lane has of a square that begins at a row and a column; neighbours in memory are loaded at once."""
        row, column = (
            at + lane_part(part, lane) for at, part in zip(first, (fragment.row, fragment.column), strict=True)
        )
        runs = [1] * len(fragment.places)
        if not self.region.is_point[-1]:
            runs = fragment.runs((1, 0) if self.is_turned else (0, 1))
        found = list[ScalarValue]()
        for run in runs:
            further = fragment.places[len(found)]
            start = self.keys(row + further[0], column + further[1])
            loaded = vload(self.region.array, start, run, alignment=self._alignment(run))
            if run == len(fragment.places) and not self.rounds:
                return loaded
            found += [loaded[number] for number in range(run)]
        return vector([_rounded(number) if self.rounds else number for number in found])

    def _alignment(self, run: int) -> int | None:
        """Of such neighbours, in bytes, as far as it is known: runs of an instruction begin at multiples."""
        pitch, start = self.region.array.shape[-1], self.region.offsets[-1]
        if not isinstance(pitch, int) or not isinstance(start, int):
            return None
        return gcd(CHUNK_BYTES, *(count * self.dtype.itemsize for count in (run, pitch, start)))


def _instruction(operands: Sequence[Operand], total: Buffer, depth: int, precision: str) -> MatrixInstruction | None:
    """What the GPU multiplies such factors with, and divides the sums for; None if lanes have to."""
    types = {operand.dtype for operand in operands}
    element = ELEMENTS.get(types.pop()) if len(types) == 1 and len(total.shape) == 2 else None
    if element is None:
        return None
    names = ("tf32", "f32") if (element, precision) == ("f32", "tf32") else (element,)
    chip, lanes, workers = current().target.chip, current().lanes, workers_here().count
    for instruction in (row for name in names for row in instructions_of(chip, name)):
        if depth % instruction.k or not instruction.is_for(lanes) or total.dtype != SUMS[instruction.sum_type]:
            continue
        layout = matrix_layout(instruction, total.shape, workers)
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
    layout, number = total.layout, workers_here().number
    total.divide(layout)
    for k in for_(0, depth, 1):
        lines = dict[Any, ScalarValue]()
        for slot in range(layout.slots):
            there = layout.is_there(slot, number)
            if there is None:
                _add_product(factors, total, slot, k, lines)
            else:
                with if_(there, hasElse=False):
                    _add_product(factors, total, slot, k, {})


def _add_product(
    factors: tuple[Factor, Factor], total: Buffer, slot: int, k: ScalarValue, lines: dict[Any, ScalarValue]
) -> None:
    """To one sum; `lines` are the elements that are there already, of rows and of columns."""
    layout, wanted = total.layout, value_type(total.dtype)
    indices = layout.indices(slot, workers_here().number)
    rows = len(factors[0].shape) - 1
    places = (*indices[:rows], k), (k, *indices[rows:])
    keys = layout.line_keys(slot) if len(layout.shape) == 2 else (slot, slot)
    parts = list[ScalarValue]()
    for side, (factor, place) in enumerate(zip(factors, places, strict=True)):
        key = side, keys[side]
        if key not in lines:
            lines[key] = factor.element(*place).astype(wanted)
        parts.append(lines[key])
    total.memory[slot] = total.memory[slot] + parts[0] * parts[1]


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
