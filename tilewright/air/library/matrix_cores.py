"""Products on the matrix instructions of AMD's GPUs, for matrices of any size, layout and number, from one build.

A block computes a tile of C. Its lanes copy tiles of A and B into memory of the block, both along the depth, the next
ones while the present ones are multiplied; waves multiply squares of 16 x 16 with the instruction that the table of the
chip has (`device.gpu_matrices`). In which order the depth is added up is open: a lane reads neighbours in depth, 16
bytes at a time, and A and B agree on them. Sums are f32, or i32 of i8.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tilewright.air.arrays import Array
from tilewright.air.dtypes import DType, bf16, f16, f32, i8
from tilewright.air.dtypes import i32 as long
from tilewright.air.functions import jit
from tilewright.air.levels import cdiv, launch, sequential
from tilewright.air.library.finishing import Finish
from tilewright.air.matrix_instructions import multiply
from tilewright.air.tile_transfers import guarded_load
from tilewright.air.tiles import shared
from tilewright.air.trace import current
from tilewright.air.vectors import Vector, broadcast, vector, vload, vstore
from tilewright.air.waves import barrier, lane, wave
from tilewright.device.gpu_matrices import MatrixInstruction, instruction_for
from tilewright.iron.builders.control import else_, if_, make_if, yield_
from tilewright.iron.builders.handles import value_of
from tilewright.iron.builders.operations import InsertionPoint
from tilewright.iron.builders.scalars import as_index

ELEMENTS: dict[DType, str] = {f32: "f32", f16: "f16", bf16: "bf16", i8: "i8"}
"""What matrix instructions multiply, by the type of the matrices."""
SQUARE = 16
PIECE_BYTES = 16
"""That a lane copies at once."""
DEPTH_BYTES = 64
"""Of rows of tiles, which are padded by a piece: rows that lanes read together begin in different banks then."""


@dataclass(frozen=True)
class MatrixTile:
    """A tile of C, and how waves divide it."""

    instruction: MatrixInstruction
    dtype: DType
    m: int
    n: int
    down: int
    across: int
    """Waves, one below the other and side by side."""

    @property
    def waves(self) -> int:
        return self.down * self.across

    @property
    def depth(self) -> int:
        return DEPTH_BYTES // self.dtype.itemsize

    @property
    def piece(self) -> int:
        """Elements that a lane copies at once."""
        return PIECE_BYTES // self.dtype.itemsize

    @property
    def pitch(self) -> int:
        return self.depth + self.piece

    @property
    def squares(self) -> tuple[int, int]:
        """Of a wave, one below the other and side by side."""
        return self.m // self.down // SQUARE, self.n // self.across // SQUARE

    @property
    def fragment(self) -> int:
        """Elements that a lane takes from a row at once: 16 bytes, or what one instruction takes."""
        return max(self.piece, self.instruction.each)

    @property
    def fragments(self) -> int:
        """In the depth of a tile."""
        lanes = 1 if self.instruction.repeats else current().lanes // SQUARE
        return self.depth // (self.fragment * lanes)


def matrix_instruction(chip: str, dtype: DType) -> MatrixInstruction | None:
    """What a chip multiplies such matrices with; None if lanes have to."""
    return instruction_for(chip, ELEMENTS[dtype], SQUARE) if dtype in ELEMENTS else None


@jit(opt_level=0)
def matrix_product(
    a: Any,
    b: Any,
    bias: Any,
    c: Any,
    scale: Any,
    *,
    chip: str,
    has_bias: bool,
    function: Callable[[Any], Any] | None,
    layouts: tuple[str, str],
) -> None:
    """`c = function(scale * a b + bias)` for stacks of matrices of one type; of i8 it is `a b`."""
    instruction = matrix_instruction(chip, a.dtype)
    assert instruction is not None, "the caller asked before"
    batch, m, n = c.shape
    # of integers nothing is rounded, so nothing is scaled
    finish = Finish(c, bias if has_bias else None, None if a.dtype == i8 else scale, function)
    wide = 4 if instruction.repeats else 2  # more registers each of fewer lanes: more waves share them
    large = MatrixTile(instruction, a.dtype, 128, 128, 2, wide)
    small = MatrixTile(instruction, a.dtype, 64, 64, 2, 2)
    problem = MatrixProblem(a, b, finish, layouts)
    # not measured: large tiles read less, and are worth it where all compute units have one
    tiles = cdiv(m, large.m) * cdiv(n, large.n) * batch
    with if_(as_index(tiles) >= current().target.compute_units) as many:
        problem.choose(large)
    with else_(many):
        problem.choose(small)


@dataclass(frozen=True)
class MatrixProblem:
    """The matrices of a product, and what is done with it."""

    a: Array
    b: Array
    finish: Finish
    layouts: tuple[str, str]

    @property
    def along(self) -> tuple[bool, bool]:
        """Whether rows of A and columns of B lie along the depth."""
        return self.layouts[0] == "row", self.layouts[1] == "column"

    @property
    def depth(self) -> Any:
        return self.a.shape[2 if self.layouts[0] == "row" else 1]

    def choose(self, tile: MatrixTile) -> None:
        """The kernel for these sizes: rows that begin at multiples of 16 bytes are read as such."""
        if not any(self.along):
            self.multiply(tile, whole=False)
            return
        with if_(as_index(self.depth) % tile.piece == 0) as aligned:
            self.multiply(tile, whole=True)
        with else_(aligned):
            self.multiply(tile, whole=False)

    def multiply(self, tile: MatrixTile, whole: bool) -> None:
        batch, m, n = self.finish.c.shape

        @launch((cdiv(n, tile.n), cdiv(m, tile.m), batch), waves=tile.waves)
        def _(x: Any, y: Any, number: Any) -> None:
            MatrixBlock(self, tile, whole, (y * tile.m, x * tile.n, number)).run()


class MatrixBlock:
    """The work of a block, from the place of one lane."""

    def __init__(self, problem: MatrixProblem, tile: MatrixTile, whole: bool, place: tuple[Any, Any, Any]):
        self.problem, self.tile, self.whole, self.place = problem, tile, whole, place
        self.rooms = [shared((2, extent, tile.pitch), tile.dtype) for extent in (tile.m, tile.n)]
        self.thread = wave() * current().lanes + lane()

    def run(self) -> None:
        tile, depth = self.tile, self.problem.depth
        self._put(self._fetched(as_index(0)), as_index(0))
        barrier()
        down, across = tile.squares
        zero = broadcast(0 if tile.dtype == i8 else 0.0, tile.instruction.sums, long if tile.dtype == i8 else f32)
        results: Any = ()
        for at, sums, results in sequential(0, depth, tile.depth, iter_args=[zero] * (down * across)):  # noqa: B007
            turn = at // tile.depth % 2
            # behind the end there are zeros, which are not used
            fetched = self._fetched(at + tile.depth)
            sums = self._multiplied(turn, list(sums))
            self._put(fetched, 1 - turn)
            barrier()
            yield_(sums)
        self._write(list(results))

    def _pieces(self, extent: int) -> list[tuple[Any, Any]]:
        """Rows and depths of the pieces of a tile that the lane copies."""
        tile = self.tile
        lanes, each = tile.waves * current().lanes, tile.depth // tile.piece
        numbers = [self.thread + first for first in range(0, extent * each, lanes)]
        return [(number // each, number % each * tile.piece) for number in numbers]

    def _across_pieces(self, extent: int) -> list[tuple[Any, Any]]:
        """The same where neighbouring lanes take neighbouring rows, which lie one beside the other in memory."""
        tile = self.tile
        lanes, each = tile.waves * current().lanes, tile.depth // tile.piece
        numbers = [self.thread + first for first in range(0, extent * each, lanes)]
        return [(number % extent, number // extent * tile.piece) for number in numbers]

    def _places(self, side: int) -> list[tuple[Any, Any]]:
        extent = (self.tile.m, self.tile.n)[side]
        return self._pieces(extent) if self.problem.along[side] else self._across_pieces(extent)

    def _fetched(self, at: Any) -> list[list[Vector]]:
        """The tiles that begin at depth `at`, in registers."""
        return [
            [self._piece(side, self.place[side] + row, at + deep) for row, deep in self._places(side)]
            for side in range(2)
        ]

    def _piece(self, side: int, row: Any, deep: Any) -> Vector:
        """Neighbours in depth of a row of A, or of a column of B; zeros where there are none."""
        array, along, piece = (self.problem.a, self.problem.b)[side], self.problem.along[side], self.tile.piece
        extent, depth = self.problem.finish.c.shape[1 + side], self.problem.depth
        if along and self.whole:
            zeros = broadcast(0 if self.tile.dtype == i8 else 0.0, piece, self.tile.dtype)
            choice = make_if((row < extent) & (deep < depth), True, [zeros.type])
            with InsertionPoint(choice.thenRegion.blocks[0]):
                yield_([vload(array, (self.place[2], row, deep), piece, alignment=PIECE_BYTES)])
            with InsertionPoint(choice.elseRegion.blocks[0]):
                yield_([zeros])
            found = value_of(choice.op.results[0])
            assert isinstance(found, Vector)
            return found
        elements = list[Any]()
        for number in range(piece):
            here = deep + number if number else deep
            keys = [self.place[2], *((row, here) if along else (here, row))]
            elements.append(guarded_load(array, keys, (row < extent) & (here < depth), 0))
        return vector(elements)

    def _put(self, fetched: list[list[Vector]], turn: Any) -> None:
        """From registers to one of the two places in memory of the block."""
        for side, pieces in enumerate(fetched):
            for (row, deep), value in zip(self._places(side), pieces, strict=True):
                vstore(value, self.rooms[side], (turn, row, deep), alignment=PIECE_BYTES)

    def _own(self) -> tuple[Any, Any]:
        """Where the squares of the wave begin."""
        down, across = self.tile.squares
        return wave() // self.tile.across * (down * SQUARE), wave() % self.tile.across * (across * SQUARE)

    def _multiplied(self, turn: Any, sums: list[Any]) -> list[Any]:
        """The products of one tile with another, added to what there is."""
        tile, (down, across) = self.tile, self.tile.squares
        for number in range(tile.fragments):
            a, b = (
                [self._fragment(side, turn, start + square * SQUARE, number) for square in range(count)]
                for side, (start, count) in enumerate(zip(self._own(), (down, across), strict=True))
            )
            for part in range(tile.fragment // tile.instruction.each):
                left, right = ([self._operand(value, part) for value in values] for values in (a, b))
                for place, (row, column) in enumerate((row, column) for row in left for column in right):
                    sums[place] = multiply(tile.instruction, row, column, sums[place])
        return sums

    def _fragment(self, side: int, turn: Any, first: Any, number: int) -> list[Vector]:
        """What the lane has of a square, in vectors of 16 bytes."""
        tile, piece = self.tile, self.tile.piece
        deep: Any = number * tile.fragment
        if not tile.instruction.repeats:
            deep = (number * (current().lanes // SQUARE) + lane() // SQUARE) * tile.fragment
        return [
            vload(self.rooms[side], (turn, first + lane() % SQUARE, deep + start), piece, alignment=PIECE_BYTES)
            for start in range(0, tile.fragment, piece)
        ]

    def _operand(self, parts: list[Vector], number: int) -> Vector:
        """The elements of one instruction."""
        each, piece = self.tile.instruction.each, self.tile.piece
        if each == piece:
            return parts[number]
        elements = [part[place] for part in parts for place in range(piece)]
        return vector(elements[number * each : (number + 1) * each])

    def _write(self, sums: list[Any]) -> None:
        tile, finish = self.tile, self.problem.finish
        _, m, n = finish.c.shape
        (row0, column0), (down, across) = self._own(), tile.squares
        for place, square in enumerate((row, column) for row in range(down) for column in range(across)):
            column = self.place[1] + column0 + square[1] * SQUARE + lane() % SQUARE
            for number in range(tile.instruction.sums):
                row = self.place[0] + row0 + square[0] * SQUARE + self._row(number)
                with if_((row < m) & (column < n), hasElse=False):
                    finish.c[self.place[2], row, column] = finish.value(sums[place][number], column)

    def _row(self, number: int) -> Any:
        """As the table says of each lane: groups of lanes have rows that are equally far apart."""
        row = self.tile.instruction
        first, apart = row.row(0, number), row.row(SQUARE, number) - row.row(0, number)
        return lane() // SQUARE * apart + first
