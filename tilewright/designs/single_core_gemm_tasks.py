"""C = A B on one core, for any M, K and N, placed by hand; the sequence has a DMA task for each transfer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.designs.gemm_types import SUMS, USUAL_TILE, GemmTypes, TileShape, open_array
from tilewright.designs.placed_gemm import place_gemm
from tilewright.device import model
from tilewright.iron.dialects.aie import device
from tilewright.iron.dialects.aiex import (
    dma_await_task,
    dma_free_task,
    dma_start_task,
    npu_rtp_write,
    runtime_sequence,
    shim_dma_single_bd_task,
)
from tilewright.iron.extras.context import mlir_mod_ctx
from tilewright.iron.helpers.dialects.scf import _for as range_
from tilewright.iron.open_sizes import require_multiple


@dataclass(frozen=True)
class SingleCoreGemmTasks:
    """A product on one core of a device; `operand` is i8, i16 or bf16."""

    device: str = "npu2_1col"
    operand: str = "i16"
    tile: TileShape = USUAL_TILE

    @property
    def multiples(self) -> tuple[int, int, int]:
        """What M, K and N are multiples of."""
        return self.tile.m, self.tile.k, self.tile.n

    def program(self) -> Any:
        """The design; M, K and N are arguments of its sequence."""
        m, k, n = self.multiples
        types = GemmTypes.of(model(self.device).arch, self.operand, self.tile)
        host = [open_array(self.operand), open_array(self.operand), open_array(SUMS[self.operand])]
        with mlir_mod_ctx() as ctx:

            @device(model(self.device).name)
            def _design() -> None:
                gemm = place_gemm(types)

                @runtime_sequence(*host, np.int32, np.int32, np.int32)
                def sequence(A: Any, B: Any, C: Any, M: Any, K: Any, N: Any) -> None:
                    for size, multiple, name in zip((M, K, N), self.multiples, "MKN", strict=True):
                        require_multiple(size, multiple, name)
                    npu_rtp_write("steps", 0, K // k)
                    for i in range_(M // m):
                        for j in range_(N // n):
                            tiles_of_a = [1, K // k, m, k], [0, k, K, 1], i * m * K
                            tiles_of_b = [1, K // k, k, n], [0, N * k, N, 1], j * n
                            tile_of_c = [1, 1, m, n], [0, 0, N, 1], i * m * N + j * n
                            a, b = _task(gemm.a, A, *tiles_of_a), _task(gemm.b, B, *tiles_of_b)
                            c = _task(gemm.c, C, *tile_of_c, issue_token=True)
                            dma_start_task(a, b, c)
                            dma_await_task(c)
                            dma_free_task(a, b)

        return ctx.module


def _task(fifo: Any, array: Any, sizes: Any, strides: Any, offset: Any, issue_token: bool = False) -> Any:
    return shim_dma_single_bd_task(fifo, array, sizes=sizes, strides=strides, offset=offset, issue_token=issue_token)
