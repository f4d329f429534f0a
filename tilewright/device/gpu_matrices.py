"""Matrix instructions of GPUs as data: shapes, types, chips, and which lane holds which element.

Sources for AMD's: the ISA documents of MI200, MI300, CDNA4 and RDNA3 (matrix instructions, layouts of operands), and
LLVM's intrinsics, whose names these are. All rows but those of gfx950 alone were compared, lane by lane, with what
AMD's matrix instruction calculator says. For NVIDIA's: the PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating
point type" and "for mma.m16n8k8"; sums of `wgmma` lie as those of `mma`, for each 8 columns ("Register Fragments for
wgmma.mma_async.m64nNk16").
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

CDNA, CDNA2_ON, CDNA3_ON = (
    ("gfx908", "gfx90a", "gfx942", "gfx950"),
    ("gfx90a", "gfx942", "gfx950"),
    ("gfx942", "gfx950"),
)
BEFORE_CDNA3, CDNA4, RDNA3 = ("gfx908", "gfx90a"), ("gfx950",), ("gfx1100", "gfx1151")
SM_80_ON = "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120"


class LanePart(NamedTuple):
    """What a lane's number adds to a row or a column: `lane // divide % modulus * step`."""

    divide: int = 1
    modulus: int = 1
    step: int = 1

    def of(self, lane: int) -> int:
        return lane // self.divide % self.modulus * self.step


@dataclass(frozen=True)
class Fragment:
    """Which elements of a matrix lanes hold: at their own row and column, `places` further."""

    row: LanePart
    column: LanePart
    places: tuple[tuple[int, int], ...]

    def element(self, lane: int, place: int) -> tuple[int, int]:
        """Row and column of an element of a lane."""
        row, column = self.places[place]
        return self.row.of(lane) + row, self.column.of(lane) + column

    def runs(self, step: tuple[int, int]) -> list[int]:
        """How many places in turn are neighbours, a `step` in rows and columns apart."""
        found = list[int]()
        for number, (row, column) in enumerate(self.places):
            if number and self.places[number - 1] == (row - step[0], column - step[1]):
                found[-1] += 1
            else:
                found.append(1)
        return found

    @property
    def turned(self) -> Fragment:
        """Of the matrix with rows for columns."""
        return Fragment(self.column, self.row, tuple((column, row) for row, column in self.places))


@dataclass(frozen=True)
class MatrixInstruction:
    """A product `D = A B + C` that the lanes of a wave make together: A is m x k, B is k x n."""

    name: str
    """Behind `rocdl.` and `llvm.amdgcn.`, or behind `nvvm.`."""
    chips: tuple[str, ...]
    m: int
    n: int
    k: int
    element: str
    """Of A and B: `f32`, `f16`, `bf16`, `i8` or `tf32`."""
    operand: str
    """How a lane passes its elements: the type in MLIR, on NVIDIA's GPUs of each register."""
    wave_size: int = 64
    repeats: bool = False
    """Whether further lanes have what the first ones have."""

    def is_for(self, lanes: int) -> bool:
        """Whether waves of so many lanes have it."""
        return lanes == self.wave_size

    @property
    def each(self) -> int:
        """Elements of A that a lane has."""
        return len(self.a.places)

    @property
    def sums(self) -> int:
        """Elements of D that a lane has."""
        return self.m * self.n // self.wave_size

    @property
    def sum_type(self) -> str:
        return "i32" if self.element == "i8" else "f32"

    @cached_property
    def a(self) -> Fragment:
        """By rows and depth.

        A lane has `each` elements of a row of A, which are neighbours in depth; lane `l` has row `l % m`. Where lanes
        are more than rows, the others go on in depth, or repeat the first ones.
        """
        each = self.k if self.repeats else self.k * self.m // self.wave_size
        deep = LanePart() if self.repeats else LanePart(self.m, self.wave_size // self.m, each)
        return Fragment(LanePart(1, self.m), deep, tuple((0, place) for place in range(each)))

    @cached_property
    def b(self) -> Fragment:
        """By depth and columns: each column as a row of A."""
        return self.a.turned

    @cached_property
    def c(self) -> Fragment:
        """Sums, by rows and columns; the column of a lane is `lane % n`."""
        groups, column = self.wave_size // self.n, LanePart(1, self.n)
        # RDNA's groups take turns row by row, CDNA's four rows at a time
        if self.repeats:
            rows = [number * groups for number in range(self.sums)]
        else:
            rows = [number // 4 * 4 * groups + number % 4 for number in range(self.sums)]
        turn = LanePart(self.n, groups, 1 if self.repeats else 4)
        return Fragment(turn, column, tuple((row, 0) for row in rows))

    def depth(self, lane: int, place: int) -> int:
        """Where in depth an element of a lane is."""
        return self.a.element(lane, place)[1]

    def row(self, lane: int, number: int) -> int:
        """The row of D that a lane has an element of."""
        return self.c.element(lane, number)[0]


class WarpInstruction(MatrixInstruction):
    """`mma.sync`: a lane has elements of two rows of A and of D, 8 apart, pairs that are neighbours unless of tf32."""

    def is_for(self, lanes: int) -> bool:
        return lanes % self.wave_size == 0  # more lanes are several warps

    @property
    def pair(self) -> int:
        """Elements of a register of A or B."""
        return 1 if self.element == "tf32" else 2

    @cached_property
    def a(self) -> Fragment:
        deep = range(0, self.k, 4 * self.pair)
        places = [(row, start + one) for start in deep for row in (0, 8) for one in range(self.pair)]
        return Fragment(LanePart(4, 8), LanePart(1, 4, self.pair), tuple(places))

    @cached_property
    def b(self) -> Fragment:
        places = [(start + one, 0) for start in range(0, self.k, 4 * self.pair) for one in range(self.pair)]
        return Fragment(LanePart(1, 4, self.pair), LanePart(4, 8), tuple(places))

    @cached_property
    def c(self) -> Fragment:
        return Fragment(LanePart(4, 8), LanePart(1, 4, 2), ((0, 0), (0, 1), (8, 0), (8, 1)))


def _mfma(name: str, chips: tuple[str, ...], size: int, k: int, element: str, operand: str) -> MatrixInstruction:
    return MatrixInstruction(f"mfma.{name}", chips, size, size, k, element, operand)


def _wmma(name: str, element: str, operand: str) -> MatrixInstruction:
    return MatrixInstruction(f"wmma.{name}", RDNA3, 16, 16, 16, element, operand, 32, True)


INSTRUCTIONS = (
    _mfma("f32.16x16x4f32", CDNA, 16, 4, "f32", "f32"),
    _mfma("f32.32x32x2f32", CDNA, 32, 2, "f32", "f32"),
    _mfma("f32.16x16x16f16", CDNA, 16, 16, "f16", "vector<4xf16>"),
    _mfma("f32.32x32x8f16", CDNA, 32, 8, "f16", "vector<4xf16>"),
    _mfma("f32.16x16x16bf16.1k", CDNA2_ON, 16, 16, "bf16", "vector<4xi16>"),
    _mfma("f32.32x32x8bf16.1k", CDNA2_ON, 32, 8, "bf16", "vector<4xi16>"),
    _mfma("i32.16x16x16i8", BEFORE_CDNA3, 16, 16, "i8", "i32"),
    _mfma("i32.32x32x8i8", BEFORE_CDNA3, 32, 8, "i8", "i32"),
    _mfma("i32.16x16x32.i8", CDNA3_ON, 16, 32, "i8", "i64"),
    _mfma("i32.32x32x16.i8", CDNA3_ON, 32, 16, "i8", "i64"),
    _mfma("f32.16x16x32.f16", CDNA4, 16, 32, "f16", "vector<8xf16>"),
    _mfma("f32.32x32x16.f16", CDNA4, 32, 16, "f16", "vector<8xf16>"),
    _mfma("f32.16x16x32.bf16", CDNA4, 16, 32, "bf16", "vector<8xbf16>"),
    _mfma("f32.32x32x16.bf16", CDNA4, 32, 16, "bf16", "vector<8xbf16>"),
    _mfma("i32.16x16x64.i8", CDNA4, 16, 64, "i8", "vector<4xi32>"),
    _mfma("i32.32x32x32.i8", CDNA4, 32, 32, "i8", "vector<4xi32>"),
    _wmma("f32.16x16x16.f16", "f16", "vector<16xf16>"),
    _wmma("f32.16x16x16.bf16", "bf16", "vector<16xi16>"),
    _wmma("i32.16x16x16.iu8", "i8", "vector<4xi32>"),
)
"""Of AMD's GPUs."""


def _mma(k: int, element: str, operand: str) -> WarpInstruction:
    return WarpInstruction("mma.sync", SM_80_ON, 16, 8, k, element, operand, 32)


WARP_INSTRUCTIONS = (
    _mma(16, "f16", "vector<2xf16>"),
    _mma(16, "bf16", "i32"),
    _mma(8, "tf32", "i32"),
)
"""Of NVIDIA's GPUs; all are one operation, `nvvm.mma.sync`."""
MATRIX_INSTRUCTIONS = {instruction.name: instruction for instruction in INSTRUCTIONS}
"""AMD's by name."""


def instruction_for(chip: str, element: str, size: int = 16) -> MatrixInstruction | None:
    """The deepest instruction of a chip for square results of that size; None if it has none for the elements."""
    found = [row for row in INSTRUCTIONS if chip in row.chips and row.element == element and row.m == size]
    return max(found, key=lambda row: row.k, default=None)


def instructions_of(chip: str, element: str) -> list[MatrixInstruction]:
    """The instructions of a chip for elements: those for small results first, of them the deepest first."""
    found = [row for row in (*INSTRUCTIONS, *WARP_INSTRUCTIONS) if chip in row.chips and row.element == element]
    return sorted(found, key=lambda row: (row.m, -row.k))
