"""What tiles of tensor cores take, as far as choosing among them needs it.

A step of a tile, of 128 bytes of depth, is bound by the tensor cores, which take `row_ps` for a row of C and 128
columns, or by the L2 cache, which all blocks that run at the same time read from. Blocks of a cluster that lie beside
each other read a tile of A once for all of them, those below each other a tile of B. The cache reads sectors of 32
bytes: rows that begin within sectors, and cross lines of 128 bytes, cost it much more (`ROW_FS`).

The numbers are of an H200, fitted to 6,850 times of 163 products of bf16 and fp8 with tiles of 64 to 320 rows, alone
and in clusters; tiles chosen by them took 1.3 % longer than the best ones of these, on average.
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
    exchange_row_ps: int
    """Of sums, among blocks that share the depth of a tile."""
    busy_percent: int
    """Of what tensor cores take by themselves, the least that a product takes."""


TENSOR = TensorRates(
    row_ps=2530,
    latency_ns=133,
    near_bytes=15_000_000,
    near_latency_ns=62,
    far_bytes=48_000_000,
    far_row_fs=1060,
    tile_ns=437,
    tile_row_ps=7500,
    cluster_ns={1: 0, 2: 400, 4: 500, 8: 500},
    exchange_row_ps=10_000,
    busy_percent=106,
)
ROW_FS = {16: 14000, SECTOR_BYTES: 8000, ROW_BYTES: 5050}
"""What the cache takes for 128 bytes of a row, by what the bytes from row to row are a multiple of."""


@dataclass(frozen=True)
class Reading:
    """What the cache takes for the matrices of a product, when their sizes are known: for 128 bytes of a row of A and
    of B, and in each step besides."""

    row_fs: tuple[Any, Any]
    latency_ns: Any

    @classmethod
    def of(cls, operands: tuple[Operand, Operand], bytes: Any) -> Reading:
        """Of matrices that have so many bytes together."""
        is_near = as_index(bytes) < TENSOR.near_bytes
        for operand in operands:
            is_near = is_near & (as_index(operand.pitch) % SECTOR_BYTES == 0)
        far = math.where(as_index(bytes) > TENSOR.far_bytes, as_index(TENSOR.far_row_fs), 0)
        left, right = (_row_fs(operand) + far for operand in operands)
        return cls((left, right), math.where(is_near, as_index(TENSOR.near_latency_ns), TENSOR.latency_ns))


def _row_fs(operand: Operand) -> ScalarValue:
    cost = as_index(0)
    for multiple, row_fs in ROW_FS.items():
        cost = math.where(as_index(operand.pitch) % multiple == 0, row_fs, cost)
    return cost


def tensor_cost(tile: TensorTile, reading: Reading) -> TileCost:
    """Of a tile of a cluster; its depth is in bytes: a step takes as long whatever the elements are."""
    (down, across, deep), blocks = tile.cluster, tile.cluster.blocks
    step = -(-tile.rows * TENSOR.row_ps // 1000)
    read = tile.a_rows // across * reading.row_fs[0] + COLUMNS // down * reading.row_fs[1]
    fixed = TENSOR.tile_ns + tile.rows * TENSOR.tile_row_ps // 1000
    if deep > 1:
        fixed += tile.rows * TENSOR.exchange_row_ps // 1000
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
        busy_percent=TENSOR.busy_percent,
    )
