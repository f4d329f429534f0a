"""Parts of products of matrices: element types, tiles, and the order of elements that kernels want."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.device import Arch, model
from tilewright.device.vector_unit import vector_unit
from tilewright.iron.dtype import dtype_map

WORD: Any = np.ndarray[(1,), np.dtype[np.int32]]
"""A buffer for one parameter."""
SUMS = {"i8": "i32", "i16": "i32", "bf16": "f32"}
"""The type in which products are added up, by that of the operands."""


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

    @staticmethod
    def of(arch: Arch, operand: str, tile: TileShape) -> GemmTypes:
        """Blocks as the kernels of an architecture have them; a complaint about tiles that are not whole blocks."""
        if operand not in SUMS:
            raise ValueError(f"no product of {operand!r}; there is {', '.join(SUMS)}")
        blocks = vector_unit(arch).blocks[operand, SUMS[operand]]
        steps = blocks.r * blocks.rows, blocks.s, blocks.t * blocks.columns
        for size, step, name in zip((tile.m, tile.k, tile.n), steps, "mkn", strict=True):
            if size <= 0 or size % step:
                raise ValueError(f"{name} of a tile of {operand} is a multiple of {step} on {arch.name}, not {size}")
        return GemmTypes(operand, tile, *blocks.dims)

    @property
    def names(self) -> str:
        """As the names of kernels have the types."""
        return f"{self.operand}_{SUMS[self.operand]}"

    def a(self, rows: int = 1) -> Any:
        """Tiles of the left operand, one below the other."""
        return _array(rows * self.tile.m * self.tile.k, self.operand)

    def b(self) -> Any:
        return _array(self.tile.k * self.tile.n, self.operand)

    def c(self, rows: int = 1) -> Any:
        return _array(rows * self.tile.m * self.tile.n, SUMS[self.operand])

    def a_to_blocks(self) -> list[Sequence[int]]:
        """A tile of rows, read block by block: (size, stride) pairs."""
        m, k = self.tile.m, self.tile.k
        return [(m // self.r, self.r * k), (k // self.s, self.s), (self.r, k), (self.s, 1)]

    def b_to_blocks(self) -> list[Sequence[int]]:
        k, n = self.tile.k, self.tile.n
        return [(k // self.s, self.s * n), (n // self.t, self.t), (self.s, n), (self.t, 1)]

    def c_from_blocks(self) -> list[Sequence[int]]:
        """A tile of blocks, read row by row."""
        m, n = self.tile.m, self.tile.n  # a row of blocks is r * n elements; each line goes through all of them
        return [(m // self.r, self.r * n), (self.r, self.t), (n // self.t, self.r * self.t), (self.t, 1)]


def open_array(dtype: str) -> Any:
    """An array of the host, of whatever size."""
    return _array(None, dtype)


def _array(count: int | None, dtype: str) -> Any:
    return np.ndarray[(count,), np.dtype[dtype_map[dtype]]]  # pyright: ignore[reportInvalidTypeArguments]
