"""C = A B on one core, for any M, K and N, placed by hand; the sequence has a DMA task for each transfer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.designs.gemm_types import SingleCore
from tilewright.designs.placed_gemm import Pattern, PlacedGemm, placed_program
from tilewright.iron.dialects.aiex import dma_await_task, dma_free_task, dma_start_task, shim_dma_single_bd_task


class SingleCoreGemmTasks(SingleCore):
    """A product at (0, 2), with tasks whose descriptors are found by the compiler."""

    def program(self) -> Any:
        """The design; M, K and N are arguments of its sequence."""
        return placed_program(self, _move)


def _move(gemm: PlacedGemm, arrays: Sequence[Any], patterns: Sequence[Pattern]) -> None:
    tasks = [
        shim_dma_single_bd_task(
            fifo,
            array,
            sizes=pattern.sizes,
            strides=pattern.strides,
            offset=pattern.offset,
            issue_token=fifo is gemm.c,
        )
        for fifo, array, pattern in zip((gemm.a, gemm.b, gemm.c), arrays, patterns, strict=True)
    ]
    dma_start_task(*tasks)
    *sent, received = tasks
    dma_await_task(received)
    dma_free_task(*sent)
