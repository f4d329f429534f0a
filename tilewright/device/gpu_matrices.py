"""Matrix instructions of AMD's GPUs as data: shapes, types, chips, and which lane holds which element.

Sources: the ISA documents of MI200, MI300, CDNA4 and RDNA3 (matrix instructions, layouts of operands), and LLVM's
intrinsics, whose names these are. All rows but those of gfx950 alone were compared, lane by lane, with what AMD's
matrix instruction calculator says.
"""

from __future__ import annotations

from dataclasses import dataclass

CDNA, CDNA2_ON, CDNA3_ON = (
    ("gfx908", "gfx90a", "gfx942", "gfx950"),
    ("gfx90a", "gfx942", "gfx950"),
    ("gfx942", "gfx950"),
)
BEFORE_CDNA3, CDNA4, RDNA3 = ("gfx908", "gfx90a"), ("gfx950",), ("gfx1100", "gfx1151")


@dataclass(frozen=True)
class MatrixInstruction:
    """A product `D = A B + C` that the lanes of a wave make together: A is m x k, B is k x n.

    A lane has `each` elements of a row of A, and as many of a column of B, which are neighbours in depth; lane `l` has
    row (or column) `l % m`. Where lanes are more than rows, the others go on in depth, or repeat the first ones.
    """

    name: str
    """Behind `rocdl.` and `llvm.amdgcn.`."""
    chips: tuple[str, ...]
    m: int
    n: int
    k: int
    element: str
    """Of A and B: `f32`, `f16`, `bf16` or `i8`."""
    operand: str
    """How a lane passes its elements: the type in MLIR."""
    wave_size: int = 64
    repeats: bool = False
    """Whether further lanes have what the first ones have."""

    @property
    def each(self) -> int:
        return self.k if self.repeats else self.k * self.m // self.wave_size

    @property
    def sums(self) -> int:
        """Elements of D that a lane has."""
        return self.m * self.n // self.wave_size

    @property
    def sum_type(self) -> str:
        return "i32" if self.element == "i8" else "f32"

    def depth(self, lane: int, place: int) -> int:
        """Where in depth an element of a lane is."""
        return place if self.repeats else lane // self.m * self.each + place

    def row(self, lane: int, number: int) -> int:
        """The row of D that a lane has an element of; its column is `lane % n`."""
        groups, group = self.wave_size // self.n, lane // self.n
        # RDNA's groups take turns row by row, CDNA's four rows at a time
        return number * groups + group if self.repeats else number // 4 * 4 * groups + group * 4 + number % 4


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
MATRIX_INSTRUCTIONS = {instruction.name: instruction for instruction in INSTRUCTIONS}
"""By name."""


def instruction_for(chip: str, element: str, size: int = 16) -> MatrixInstruction | None:
    """The deepest instruction of a chip for square results of that size; None if it has none for the elements."""
    found = [row for row in INSTRUCTIONS if chip in row.chips and row.element == element and row.m == size]
    return max(found, key=lambda row: row.k, default=None)
