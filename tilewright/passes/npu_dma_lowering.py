"""Lowers runtime sequences to instructions: all passes from tasks and transfers down, in their order."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.ir import Operation

from tilewright.ir.pass_manager import Pass, Pipeline, run_pipeline
from tilewright.passes.pipelines import FULL_GUARDS, NPU_DMA_LOWERING, passes_of, with_options
from tilewright.passes.sequence.limit_checks import Guards


@dataclass(frozen=True)
class NpuDmaLoweringPass(Pass):
    name = "aie-npu-dma-lowering"
    anchor = "aie.device"

    guards: Guards = field(default=Guards.UPSTREAM, metadata={"help": "which limits of the hardware are checked"})

    def apply(self, ctx: Context, op: Operation) -> None:
        # a pass that runs passes of several areas, hence beside pipelines.py and in none of their folders
        options = FULL_GUARDS if self.guards is Guards.FULL else {}
        run_pipeline(ctx, op, Pipeline(op.name, [*passes_of(with_options(NPU_DMA_LOWERING, options))]))
