"""Choices about how a product on tensor cores is computed that no size decides.

All of them are off unless asked for: what they gain was counted, not measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.air.trace import current
from tilewright.errors import ArgumentError
from tilewright.iron import math
from tilewright.iron.builders.scalars import as_index

CLUSTERS = 1, 2, 4
BAND = 16
"""Blocks that run at the same time share this many rows of tiles."""


@dataclass(frozen=True)
class Schedule:
    """How blocks go about the tiles of a product.

    With `persistent` there are at most `blocks` of them, or as many as multiprocessors, and a block takes tile after
    tile. With `engine_stores` the copy engine stores C. With `rebalance` waves that copy give registers away.
    """

    persistent: bool = False
    """Whether there are no more blocks than multiprocessors: a block takes tile after tile, and tiles of the next one
    come while sums of the present one are stored."""
    blocks: int | None = None
    """How many there are at most then; as many as the GPU has multiprocessors unless given."""
    engine_stores: bool = False
    """Whether the copy engine stores C from memory of the block, where its rows begin at multiples of 16 bytes."""
    rebalance: bool = False
    """Whether waves that copy give registers to those that multiply."""
    cluster: int = 1
    """How many blocks share tiles of B: each copies a part of them to all. 1, 2 or 4."""

    def __post_init__(self) -> None:
        if self.blocks is not None and (not self.persistent or self.blocks < 1):
            raise ArgumentError(f"blocks are for a persistent schedule, at least one of them, not {self.blocks!r}")
        if self.cluster not in CLUSTERS or (self.blocks or self.cluster) < self.cluster:
            raise ArgumentError(f"a cluster has {CLUSTERS} blocks, and there is one at least, not {self.cluster!r}")

    def most_blocks(self) -> int:
        """At a time: whole clusters."""
        return (self.blocks or current().target.compute_units) // self.cluster * self.cluster


def tile_of(block: Any, down: Any, across: Any) -> tuple[Any, Any]:
    """Blocks go down bands of tiles, so that those that run at the same time read few rows and columns."""
    size = across * BAND
    band, inside = block // size, block % size
    high = math.minimum(as_index(down) - band * BAND, BAND)
    return band * BAND + inside % high, inside // high
