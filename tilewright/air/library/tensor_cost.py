"""What tiles of tensor cores take, as far as choosing among them needs it.

A step of a tile, of 128 bytes of depth, is bound by the tensor cores, which take `row_ps` for a row of C and 128
columns, or by the L2 cache, which all blocks that run at the same time read from. Blocks of a cluster that lie beside
each other read a tile of A once for all of them, those below each other a tile of B. The cache reads sectors of 32
bytes: rows that begin within sectors, and cross lines of 128 bytes, cost it much more (`ROW_FS`), and so do matrices
that it cannot hold beside each other.

The numbers are of an H200, fitted to 4,700 times of 146 products of bf16 and fp8 with tiles of 64 to 320 rows, alone
and in clusters; tiles chosen by them took 1.7 % longer than the best ones of these, on average.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.air.library.operands import ROW_BYTES, Operand
from tilewright.air.library.tensor_block import COLUMNS, TensorTile
from tilewright.air.library.tile_model import TileCost
from tilewright.iron import math
from tilewright.iron.builders.scalars import ScalarValue, as_index

SECTOR_BYTES = 32
"""What the cache reads at least."""


@dataclass(frozen=True)
class TensorRates:
    """Of a multiprocessor, and of the cache of all of them."""

    row_ps: int
    """To multiply 128 bytes of depth of a row of C's and 128 columns."""
    latency_ns: int
    """Of the cache, in each step."""
    near_bytes: int
    near_latency_ns: int
    """Of so small matrices, whose rows begin at sectors."""
    far_bytes: int
    far_row_fs: int
    """What a row of larger matrices takes besides."""
    tile_ns: int
    """From one tile to the next, and for each row of a tile."""
    tile_row_ps: int
    cluster_ns: dict[int, int]
    """How much later clusters of so many blocks begin and end."""
    exchange_ns: int
    """Of sums, among blocks that share the depth of a tile, and for each row of it."""
    exchange_row_ps: int


TENSOR = TensorRates(
    row_ps=2490,
    latency_ns=117,
    near_bytes=15_000_000,
    near_latency_ns=70,
    far_bytes=32_000_000,
    far_row_fs=2400,
    tile_ns=130,
    tile_row_ps=9400,
    cluster_ns={1: 0, 2: 500, 4: 930, 8: 300},
    exchange_ns=700,
    exchange_row_ps=6100,
)
ROW_FS = {16: (14400, 17500), SECTOR_BYTES: (8500, 10900), ROW_BYTES: (4760, 4760)}
"""What the cache takes for 128 bytes of a row, by what the bytes from row to row are a multiple of: of rows that lie
along the depth, and of those across."""


@dataclass(frozen=True)
class Reading:
    """What the cache takes for the matrices of a product, when their sizes are known: for 128 bytes of a row of A and
    of B, and in each step besides."""

    row_fs: tuple[Any, Any]
    latency_ns: Any

    @classmethod
    def of(cls, operands: tuple[Operand, Operand], bytes: Any) -> Reading:
        """Of matrices that have so many bytes together."""
        far = math.where(as_index(bytes) > TENSOR.far_bytes, as_index(TENSOR.far_row_fs), 0)
        left, right = (_row_fs(operand) + far for operand in operands)
        is_near = as_index(bytes) < TENSOR.near_bytes
        for operand in operands:
            is_near = is_near & (as_index(operand.pitch) % SECTOR_BYTES == 0)
        return cls((left, right), math.where(is_near, as_index(TENSOR.near_latency_ns), TENSOR.latency_ns))


def _row_fs(operand: Operand) -> ScalarValue:
    cost = as_index(0)
    for multiple, costs in ROW_FS.items():
        cost = math.where(as_index(operand.pitch) % multiple == 0, costs[operand.across], cost)
    return cost


def tensor_cost(tile: TensorTile, reading: Reading) -> TileCost:
    """Of a tile of a cluster; its depth is in bytes: a step takes as long whatever the elements are."""
    (down, across, deep), blocks = tile.cluster, tile.cluster.blocks
    step = -(-tile.rows * TENSOR.row_ps // 1000)
    read = tile.a_rows // across * reading.row_fs[0] + COLUMNS // down * reading.row_fs[1]
    fixed = TENSOR.tile_ns + tile.rows * TENSOR.tile_row_ps // 1000
    if deep > 1:
        fixed += TENSOR.exchange_ns + tile.rows * TENSOR.exchange_row_ps // 1000
    return TileCost(
        tile.rows * down,
        COLUMNS * across,
        ROW_BYTES * deep,
        step,
        step,
        fixed,
        cluster=blocks,
        shared_ps=read // 1000,
        latency_ns=reading.latency_ns,
        start_ns=TENSOR.cluster_ns[blocks],
        can_share=deep == 1,
    )
