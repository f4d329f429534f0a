"""Parts of products of matrices: element types, tiles, and the order of elements that kernels want."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.device import Arch, model
from tilewright.device.vector_unit import Blocks, vector_unit
from tilewright.iron.dtype import dtype_map
from tilewright.kernels.matmul import A_COL_MAJ, EMULATED

ROWS = 4
"""Cores of a column."""
WORD: Any = np.ndarray[(1,), np.dtype[np.int32]]
"""A buffer for one parameter."""
STEPS: Any = np.ndarray[(3,), np.dtype[np.int32]]
"""A buffer for tiles along K, those of a last piece, and how many of its columns came before."""
MOST_STEP_WORDS = 1 << 20
"""How far apart parts of a transfer are at most: 20 bits of a shim tile's descriptor."""
SUMS = {"i8": "i32", "i16": "i32", "bf16": "f32"}
"""The type in which products are added up unless another is asked for, by that of the operands."""


@dataclass(frozen=True)
class TileShape:
    """A core multiplies m x k elements with k x n."""

    m: int = 32
    k: int = 32
    n: int = 32


USUAL_TILE = TileShape()  # three of them, twice each, are in a core's 64 KiB for all types


@dataclass(frozen=True)
class SingleCore:
    """A product on one core of a device; `operand` is i8, i16 or bf16."""

    device: str = "npu2_1col"
    operand: str = "i16"
    tile: TileShape = USUAL_TILE

    @property
    def multiples(self) -> tuple[int, int, int]:
        """What M, K and N are multiples of."""
        return self.tile.m, self.tile.k, self.tile.n

    @property
    def result(self) -> str:
        """The type of C."""
        return SUMS[self.operand]

    @property
    def a_col_maj(self) -> bool:
        """Whether A stands column by column in memory."""
        return False

    @property
    def b_col_maj(self) -> bool:
        return False

    @property
    def batched(self) -> bool:
        """Whether it multiplies many matrices at once."""
        return False

    def padded(self, m: int, k: int, n: int) -> tuple[int, int, int]:
        """The sizes that the device gets for m x k and k x n: whole tiles."""
        m, k, n = (-(-size // step) * step for size, step in zip((m, k, n), self.multiples, strict=True))
        return m, k, n

    @property
    def types(self) -> GemmTypes:
        return GemmTypes.of(model(self.device).arch, self.operand, self.tile)

    @property
    def arrays(self) -> list[Any]:
        """The types of A, B and C."""
        return [open_array(self.operand), open_array(self.operand), open_array(SUMS[self.operand])]


@dataclass(frozen=True)
class GemmTypes:
    """The types of a product, the tile of a core, and the blocks (r x s, s x t, r x t) that its kernel works on."""

    operand: str
    tile: TileShape
    r: int
    s: int
    t: int
    sums: str
    a_col_maj: bool = False
    """Whether tiles of A stand column by column."""
    b_col_maj: bool = False
    c_col_maj: bool = False
    depth: int = 1
    """How many tiles of A, and of B, come from the host together: side by side along K."""
    emulated: bool = False
    """Whether bf16 is multiplied as block floating point."""

    @staticmethod
    def of(
        arch: Arch, operand: str, tile: TileShape, sums: str | None = None, *, emulated: bool = False, **options: Any
    ) -> GemmTypes:
        """Blocks as the kernels of an architecture have them; a complaint about tiles that are not whole blocks."""
        if operand not in SUMS:
            raise ValueError(f"no product of {operand!r}; there is {', '.join(SUMS)}")
        unit, sums = vector_unit(arch), sums or SUMS[operand]
        known = unit.emulated_blocks if emulated else unit.blocks
        if emulated and (operand != "bf16" or not unit.native_functions):
            raise ValueError(f"{arch.name} has no block floating point for products of {operand}; bf16 on AIE2p has")
        if (operand, sums) not in known:
            others = ", ".join(sum for left, sum in known if left == operand)
            raise ValueError(f"no product of {operand} is added up in {sums!r}; there is {others}")
        blocks = known[operand, sums]
        for size, step, name in zip((tile.m, tile.k, tile.n), tile_steps(blocks), "mkn", strict=True):
            if size <= 0 or size % step:
                raise ValueError(f"{name} of a tile of {operand} is a multiple of {step} on {arch.name}, not {size}")
        return GemmTypes(operand, tile, *blocks.dims, sums, emulated=emulated, **options)

    @property
    def names(self) -> str:
        """As the names of kernels have the types."""
        return f"{self.operand}_{self.sums}"

    @property
    def macros(self) -> list[str]:
        """What the kernel's source is compiled with for matrices in this order."""
        wanted = {
            A_COL_MAJ: self.a_col_maj,
            "B_COL_MAJ": self.b_col_maj,
            "C_COL_MAJ": self.c_col_maj,
            EMULATED: self.emulated,
        }
        return [macro for macro, is_wanted in wanted.items() if is_wanted]

    def can_overlap(self, columns: int) -> bool:
        """Whether rows of cores may begin closer together than tiles are high: one descriptor has to say that of C."""
        rows_each = ROWS // senders(columns)
        return rows_each == 1 or (rows_each < ROWS and not self.c_col_maj)

    def a(self, rows: int = 1, depth: int = 1) -> Any:
        """Tiles of the left operand, one below the other."""
        return _array(rows * depth * self.tile.m * self.tile.k, self.operand)

    def b(self, depth: int = 1) -> Any:
        return _array(depth * self.tile.k * self.tile.n, self.operand)

    def c(self, rows: int = 1) -> Any:
        return _array(rows * self.tile.m * self.tile.n, self.sums)

    def a_to_blocks(self) -> list[Sequence[int]]:
        """Tiles read block by block: (size, stride) pairs."""
        m, r = self.tile.m, self.r
        return self._lines_across_k(m, r) if self.a_col_maj else self._lines_to_blocks(m, r)

    def a_from_stream(self) -> list[Sequence[int]] | None:
        """What a core's DMA adds to that: tiles side by side have one dimension more than a descriptor."""
        return None if self.a_col_maj else self._blocks_from_stream(self.tile.m, self.r)

    def b_to_blocks(self) -> list[Sequence[int]]:
        n, t = self.tile.n, self.t
        return self._lines_to_blocks(n, t) if self.b_col_maj else self._lines_across_k(n, t)

    def b_from_stream(self) -> list[Sequence[int]] | None:
        return self._blocks_from_stream(self.tile.n, self.t) if self.b_col_maj else None

    def _lines_across_k(self, length: int, width: int) -> list[Sequence[int]]:
        """Lines of so many elements, one for each step along K, as blocks of so many of them."""
        return [
            (self.depth * self.tile.k // self.s, self.s * length),
            (length // width, width),
            (self.s, length),
            (width, 1),
        ]

    def _lines_to_blocks(self, lines: int, height: int) -> list[Sequence[int]]:
        """Lines along K as blocks of so many of them; of several tiles, as columns of s elements."""
        k, s = self.tile.k, self.s
        if self.depth == 1:
            return [(lines // height, height * k), (k // s, s), (height, k), (s, 1)]
        return [(self.depth, k), (k // s, s), (lines, self.depth * k), (s, 1)]

    def _blocks_from_stream(self, lines: int, height: int) -> list[Sequence[int]] | None:
        """Columns of s elements put where their blocks are."""
        k, block = self.tile.k, height * self.s
        if self.depth == 1:
            return None
        return [(k // self.s, block), (lines // height, height * k), (block, 1)]

    def c_from_blocks(self) -> list[Sequence[int]]:
        """A tile of blocks, read line by line: rows, or columns if it stands so."""
        m, n, r, t = self.tile.m, self.tile.n, self.r, self.t
        if self.c_col_maj:
            m, n, r, t = n, m, t, r
        # a line of blocks is r * n elements; each line goes through all of them
        return [(m // r, r * n), (r, t), (n // t, r * t), (t, 1)]


def senders(columns: int) -> int:
    """Of so many columns, those that bring in A: each for as many rows of cores."""
    return max(count for count in (1, 2, ROWS) if count <= columns)


def tile_steps(blocks: Blocks) -> tuple[int, int, int]:
    """What m, k and n of a tile are multiples of: a kernel takes several blocks at a time."""
    return blocks.r * blocks.rows, blocks.s, blocks.t * blocks.columns


def element_bytes(element: str) -> int:
    """Of an element of A, B or C."""
    return np.dtype(dtype_map[element]).itemsize


def open_array(dtype: str) -> Any:
    """An array of the host, of whatever size."""
    return _array(None, dtype)


def _array(count: int | None, dtype: str) -> Any:
    return np.ndarray[(count,), np.dtype[dtype_map[dtype]]]  # pyright: ignore[reportInvalidTypeArguments]
