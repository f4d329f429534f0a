"""In which order blocks take the tiles of a product on tensor cores, and how many blocks there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tilewright.air.library.tile_model import Divisor, clusters_at_a_time
from tilewright.air.trace import current
from tilewright.device.gpu_targets import MOST_CLUSTERED
from tilewright.errors import ArgumentError
from tilewright.iron import math
from tilewright.iron.builders.scalars import ScalarValue, as_index
from tilewright.iron.builders.types import is_integer

SIDES, DEPTHS = (1, 2), (1, 2, 4)
"""Blocks of a cluster below and beside each other, and how many share the depth of a tile."""
HEIGHTS = 256, 320, 288, 224, 208, 192, 176, 160, 144, 128, 112, 96, 80, 64
PART_ROWS = 16
"""Of a tile whose depth is shared, a multiple of which each block has in the end."""
FEW_HEIGHTS = 256, 192, 128, 64
"""Where few products are expected."""
BAND = 16
"""Blocks that run at the same time share this many rows of tiles."""


class Cluster(NamedTuple):
    """Blocks that compute neighbouring tiles together: those beside each other share tiles of A, those below each other
    of B. Each has a part of what it shares copied to all that do. Several may share the depth of each tile: they bring
    their sums to each other, each adds up some rows."""

    down: int = 1
    across: int = 1
    deep: int = 1

    @property
    def blocks(self) -> int:
        return self.down * self.across * self.deep


ALONE = Cluster()
SHARED_TILES = (
    *((rows, Cluster(1, 2)) for rows in (256, 320, 224, 208, 192, 176)),
    *((rows, Cluster(2, 2)) for rows in (128, 112, 96, 80, 64)),
    *((rows, Cluster(1, 1, 2)) for rows in (224, 128)),
    *((rows, Cluster(1, 1, 4)) for rows in (128, 64)),
    (96, Cluster(1, 2, 2)),
    *((rows, Cluster(2, 2, 2)) for rows in (128, 64)),
)
"""Of clusters. They pay where rows begin within lines of the cache, and where tiles are few: with these, the best tile
of 81 products took 0.03 % longer on average than the best of all 46 that were tried, and 15 % without any."""


@dataclass(frozen=True)
class Schedule:
    """How many `blocks` go about the tiles of a product, one tile after the other, which are a `cluster`, and how many
    `rows` a tile has."""

    blocks: int | None = None
    """How many there are at most; as many as the GPU has multiprocessors unless given."""
    cluster: int | tuple[int, ...] | None = None
    """How many blocks run together: below and beside each other, 1 or 2 each, and if there is a third number, 1, 2 or 4
    for the depth of each tile; one number is of those beside each other. Chosen by the model unless given."""
    rows: int | None = None
    """Of a tile: a multiple of 16 from 64 to 320. Chosen by the model unless given."""

    def __post_init__(self) -> None:
        cluster = self.given_cluster or ALONE
        if self.blocks is not None and not is_integer(self.blocks):
            raise ArgumentError(f"blocks are a whole number, not {self.blocks!r}")
        known = all(map(is_integer, cluster)) and {*cluster[:2]} <= {*SIDES} and cluster.deep in DEPTHS
        if not known or cluster.blocks > MOST_CLUSTERED:
            raise ArgumentError(
                "a cluster has 1 or 2 blocks below and beside each other, and 1, 2 or 4 for the depth of a tile,"
                f" {MOST_CLUSTERED} at most, not {self.cluster!r}"
            )
        if self.blocks is not None and self.blocks < cluster.blocks:
            raise ArgumentError(f"there is a cluster of {cluster.blocks} at least, not {self.blocks!r} blocks")
        if self.rows is not None and self.rows not in HEIGHTS:
            raise ArgumentError(f"a tile has {', '.join(map(str, sorted(HEIGHTS)))} rows, not {self.rows!r}")
        whole = PART_ROWS * cluster.deep
        if self.rows is not None and self.rows % whole:
            raise ArgumentError(f"{cluster.deep} blocks share tiles of multiples of {whole} rows, not of {self.rows}")

    @property
    def given_cluster(self) -> Cluster | None:
        if self.cluster is None:
            return None
        sides = self.cluster if isinstance(self.cluster, tuple) else (1, self.cluster)
        if not 2 <= len(sides) <= 3:
            raise ArgumentError(f"a cluster has two sides, and maybe a depth, not {self.cluster!r}")
        return Cluster(*sides)

    def tiles(self, few: bool) -> Sequence[tuple[int, Cluster]]:
        """Rows of tiles, and clusters, to choose from, `few` of them if so; of equals the first counts."""
        rows, cluster = self.rows, self.given_cluster
        if rows is not None:
            return [(rows, cluster or ALONE)]
        heights = FEW_HEIGHTS if few else HEIGHTS
        if cluster:
            return [(height, cluster) for height in heights if height % (PART_ROWS * cluster.deep) == 0]
        return [*((height, ALONE) for height in heights), *(() if few else SHARED_TILES)]

    def most_blocks(self, cluster: Cluster) -> int:
        """At a time: as many as whole `cluster`s have."""
        count = cluster.blocks
        return clusters_at_a_time(self.blocks or current().target.compute_units, count) * count


@dataclass(frozen=True)
class TileOrder:
    """In which order blocks take the tiles of a matrix, which are so many below and beside each other.

    They go down bands of tiles, so that those of one time read few rows and columns.
    """

    high: Any
    """Tiles of a band, at most below each other."""
    band: Divisor
    """Tiles of a band, all of them."""
    last: Divisor
    """Tiles of the last band below each other."""
    down: Any

    @classmethod
    def of(cls, down: Any, across: Any, high: Any) -> TileOrder:
        down = as_index(down)
        last = down - math.maximum(down - 1, 0) // high * high
        return cls(high, Divisor.of(as_index(across) * high), Divisor.of(last), down)

    def place(self, number: Any) -> tuple[ScalarValue, ScalarValue]:
        """Row and column among the tiles."""
        band, inside = self.band.divide(number)
        is_last = (band + 1) * self.high >= self.down
        column, row = self.last.chosen(is_last, Divisor.of(self.high)).divide(inside)
        return band * self.high + row, column
