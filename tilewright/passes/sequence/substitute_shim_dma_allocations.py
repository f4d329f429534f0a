"""Tasks for a shim allocation become tasks for the tile, direction and channel that it names."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from tilewright.dialects.aiex.tasks import DmaConfigureTaskForOp, DmaConfigureTaskOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.ir.symbols import unchanging_symbols
from tilewright.rewrite.driver import GREEDY, rewrite


class ConfigureTaskForToConfigureTask(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DmaConfigureTaskForOp, rewriter: PatternRewriter) -> None:
        allocation = op.allocation
        if allocation is None:
            fail_op(op, "no shim DMA allocation found for symbol")
        if op.tile is None:
            fail_op(op, "shim DMA allocation must reference a valid TileOp")
        rewriter.replace(
            op,
            DmaConfigureTaskOp(
                allocation.tile,
                allocation.direction,
                allocation.channel,
                rewriter.move_region_contents_to_new_regions(op.body),
                issue_token=op.issues_token,
                repeat_count=op.repeat_count.value.data,
                repeat_count_val=op.repeat_count_val,
                # Packets are a property of the channel, not of one task.
                packet=allocation.packet,
            ),
        )


class SubstituteShimDmaAllocationsPass(Pass):
    name = "aie-substitute-shim-dma-allocations"
    anchor = "aie.device"

    def apply(self, ctx: Context, op: Operation) -> None:
        with unchanging_symbols():  # no pattern or folder touches a symbol
            rewrite(op, ConfigureTaskForToConfigureTask(), config=GREEDY)
