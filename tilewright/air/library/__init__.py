"""Programs that are ready to be called with NumPy arrays: collectives of ranks, and products of matrices."""

from __future__ import annotations

from tilewright.air.library.collectives import all_gather, all_reduce, all_to_all, broadcast, reduce_scatter
from tilewright.air.library.overlapped import all_gather_matmul, matmul_reduce_scatter
from tilewright.air.library.products import matmul
from tilewright.air.library.schedules import Schedule

__all__ = [
    "Schedule",
    "all_gather",
    "all_gather_matmul",
    "all_reduce",
    "all_to_all",
    "broadcast",
    "matmul",
    "matmul_reduce_scatter",
    "reduce_scatter",
]
