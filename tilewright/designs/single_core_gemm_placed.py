"""C = A B on one core, for any M, K and N, placed by hand down to the numbers of descriptors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.designs.gemm_types import SingleCore
from tilewright.designs.placed_gemm import Pattern, PlacedGemm, placed_program
from tilewright.iron.dialects.aiex import dma_wait, npu_dma_memcpy_nd


class SingleCoreGemmPlaced(SingleCore):
    """A product at (0, 2), with descriptors 0, 1 and 2 of the shim tile."""

    def program(self) -> Any:
        """The design; M, K and N are arguments of its sequence."""
        return placed_program(self, _move)


def _move(gemm: PlacedGemm, arrays: Sequence[Any], patterns: Sequence[Pattern]) -> None:
    for bd, (fifo, array, pattern) in enumerate(zip((gemm.a, gemm.b, gemm.c), arrays, patterns, strict=True)):
        npu_dma_memcpy_nd(
            metadata=fifo,
            bd_id=bd,
            mem=array,
            offsets=[0, 0, 0, pattern.offset],
            sizes=pattern.sizes,
            strides=pattern.strides,
            issue_token=fifo is gemm.c,  # once C is there, A and B have been used up
        )
    dma_wait(gemm.c)
