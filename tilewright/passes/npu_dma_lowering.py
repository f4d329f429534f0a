"""Lowers runtime sequences to instructions: all passes from tasks and transfers down, in their order."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.ir import Operation

from tilewright.ir.pass_manager import Pass, Pipeline, run_pipeline
from tilewright.passes.pipelines import NPU_DMA_LOWERING, passes_of


class NpuDmaLoweringPass(Pass):
    name = "aie-npu-dma-lowering"
    anchor = "aie.device"

    def apply(self, ctx: Context, op: Operation) -> None:
        run_pipeline(ctx, op, Pipeline(op.name, [*passes_of(NPU_DMA_LOWERING)]))
