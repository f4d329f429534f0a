"""C = A B on one core, for any M, K and N, placed by hand down to the numbers of descriptors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.designs.gemm_types import SUMS, USUAL_TILE, GemmTypes, TileShape, open_array
from tilewright.designs.placed_gemm import place_gemm
from tilewright.device import model
from tilewright.iron.dialects.aie import device
from tilewright.iron.dialects.aiex import dma_wait, npu_dma_memcpy_nd, npu_rtp_write, runtime_sequence
from tilewright.iron.extras.context import mlir_mod_ctx
from tilewright.iron.helpers.dialects.scf import _for as range_
from tilewright.iron.open_sizes import require_multiple


@dataclass(frozen=True)
class SingleCoreGemmPlaced:
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
                            tiles = [1, K // k, m, k], [0, k, K, 1], [0, 0, 0, i * m * K]
                            _transfer(gemm.a, 0, A, *tiles)
                            tiles = [1, K // k, k, n], [0, N * k, N, 1], [0, 0, 0, j * n]
                            _transfer(gemm.b, 1, B, *tiles)
                            tiles = [1, 1, m, n], [0, 0, N, 1], [0, 0, 0, i * m * N + j * n]
                            _transfer(gemm.c, 2, C, *tiles, issue_token=True)
                            dma_wait(gemm.c)

        return ctx.module


def _transfer(fifo: Any, bd: int, array: Any, sizes: Any, strides: Any, at: Any, issue_token: bool = False) -> None:
    pattern = {"offsets": at, "sizes": sizes, "strides": strides}
    npu_dma_memcpy_nd(metadata=fifo, bd_id=bd, mem=array, **pattern, issue_token=issue_token)
