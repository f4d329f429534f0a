"""In which order blocks take the tiles of a product on tensor cores, and how many blocks there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.air.library.tile_model import quotient
from tilewright.air.trace import current
from tilewright.errors import ArgumentError
from tilewright.iron import math
from tilewright.iron.builders.scalars import as_index

CLUSTERS = 1, 2
BAND = 16
"""Blocks that run at the same time share this many rows of tiles."""


@dataclass(frozen=True)
class Schedule:
    """How many `blocks` go about the tiles of a product, one tile after the other, and how many are a `cluster`."""

    blocks: int | None = None
    """How many there are at most; as many as the GPU has multiprocessors unless given."""
    cluster: int = 1
    """How many blocks share tiles of B: each has a part of them copied to all. 1 or 2."""

    def __post_init__(self) -> None:
        if self.cluster not in CLUSTERS:
            raise ArgumentError(f"a cluster has {' or '.join(map(str, CLUSTERS))} blocks, not {self.cluster!r}")
        if self.blocks is not None and self.blocks < self.cluster:
            raise ArgumentError(f"there is a cluster of {self.cluster} at least, not {self.blocks!r} blocks")

    def most_blocks(self) -> int:
        """At a time: whole clusters."""
        return (self.blocks or current().target.compute_units) // self.cluster * self.cluster


def tile_of(block: Any, down: Any, across: Any) -> tuple[Any, Any]:
    """Blocks go down bands of tiles, so that those that run at the same time read few rows and columns."""
    band, inside = quotient(block, across * BAND)
    high = math.minimum(as_index(down) - band * BAND, BAND)
    column, row = quotient(inside, high)
    return band * BAND + row, column
