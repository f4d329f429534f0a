"""In which order blocks take the tiles of a product on tensor cores, and how many blocks there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.air.library.tile_model import Divisor
from tilewright.air.trace import current
from tilewright.errors import ArgumentError
from tilewright.iron import math
from tilewright.iron.builders.scalars import ScalarValue, as_index

CLUSTERS = 1, 2
HEIGHTS = 256, 320, 288, 224, 208, 192, 176, 160, 144, 128, 112, 96, 80, 64
FEW_HEIGHTS = 256, 192, 128, 64
"""Where few products are expected."""
BAND = 16
"""Blocks that run at the same time share this many rows of tiles."""


@dataclass(frozen=True)
class Schedule:
    """How many `blocks` go about the tiles of a product, one tile after the other, how many are a `cluster`, and how
    many `rows` a tile has."""

    blocks: int | None = None
    """How many there are at most; as many as the GPU has multiprocessors unless given."""
    cluster: int = 1
    """How many blocks share tiles of A: each has a part of them copied to all. 1 or 2."""
    rows: int | None = None
    """Of a tile: a multiple of 16 from 64 to 320. Chosen by the model when sizes are known unless given."""

    def __post_init__(self) -> None:
        if self.cluster not in CLUSTERS:
            raise ArgumentError(f"a cluster has {' or '.join(map(str, CLUSTERS))} blocks, not {self.cluster!r}")
        if self.blocks is not None and self.blocks < self.cluster:
            raise ArgumentError(f"there is a cluster of {self.cluster} at least, not {self.blocks!r} blocks")
        if self.rows is not None and self.rows not in HEIGHTS:
            raise ArgumentError(f"a tile has {', '.join(map(str, sorted(HEIGHTS)))} rows, not {self.rows!r}")

    def heights(self, few: bool) -> Sequence[int]:
        """Rows of tiles to choose from, `few` of them if so; of those that take equally long the first is chosen."""
        return (self.rows,) if self.rows is not None else FEW_HEIGHTS if few else HEIGHTS

    def most_blocks(self) -> int:
        """At a time: whole clusters."""
        return (self.blocks or current().target.compute_units) // self.cluster * self.cluster


@dataclass(frozen=True)
class TileOrder:
    """In which order blocks take the tiles of a matrix, which are so many below and beside each other.

    They go down bands of tiles, so that those of one time read few rows and columns.
    """

    high: int
    """Tiles of a band, at most below each other."""
    band: Divisor
    """Tiles of a band, all of them."""
    last: Divisor
    """Tiles of the last band below each other."""
    down: Any

    @classmethod
    def of(cls, down: Any, across: Any, high: int) -> TileOrder:
        down = as_index(down)
        last = down - math.maximum(down - 1, 0) // high * high
        return cls(high, Divisor.of(as_index(across) * high), Divisor.of(last), down)

    def place(self, number: Any) -> tuple[ScalarValue, ScalarValue]:
        """Row and column among the tiles."""
        band, inside = self.band.divide(number)
        is_last = (band + 1) * self.high >= self.down
        column, row = self.last.chosen(is_last, Divisor.of(self.high)).divide(inside)
        return band * self.high + row, column
