"""Canonical forms of the `aiex` dialect: transfers, loads of device images, tasks."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from tilewright.dialects.aie.core import EndOp
from tilewright.dialects.aiex.firmware import NpuLoadPdiOp
from tilewright.dialects.aiex.memcpy import NpuDmaMemcpyNdOp
from tilewright.dialects.aiex.tasks import DmaConfigureTaskOp

INT64_LIMIT = 1 << 63  # the attributes of a transfer hold 64 bits with sign


class LinearizeContiguousTransfer(RewritePattern):
    """Write a row-major scan as one loop: the length field is wider than the wrap fields."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NpuDmaMemcpyNdOp, rewriter: PatternRewriter) -> None:
        pattern = op.constant_pattern
        if pattern is None or not pattern.is_contiguous or pattern.is_linear:
            return
        linear = pattern.linearized()
        # sizes that fit one by one may have a product that does not
        if all(-INT64_LIMIT <= number < INT64_LIMIT for number in (*linear.offsets, *linear.sizes)):
            rewriter.replace(op, op.with_pattern(linear))


class DropRepeatedLoad(RewritePattern):
    """The firmware ignores a load of the image it has just loaded."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NpuLoadPdiOp, rewriter: PatternRewriter) -> None:
        following = op.next_op
        if isinstance(following, NpuLoadPdiOp) and following.image == op.image:
            rewriter.erase(op)


class DropEmptyBlocks(RewritePattern):
    """A chain that leads to a block without a descriptor ends before it."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DmaConfigureTaskOp, rewriter: PatternRewriter) -> None:
        region = op.regions[0]
        if region._first_block is region._last_block:
            return  # nearly all
        for block in list(op.body.blocks)[1:]:
            end = block.first_op
            if isinstance(end, EndOp):
                for leads_here in [use.operation for use in block.uses]:
                    rewriter.replace(leads_here, EndOp())
                rewriter.erase(end)
                op.body.erase_block(block)


PATTERNS: dict[str, tuple[RewritePattern, ...]] = {
    "aiex.dma_configure_task": (DropEmptyBlocks(),),
    "aiex.npu.dma_memcpy_nd": (LinearizeContiguousTransfer(),),
    "aiex.npu.load_pdi": (DropRepeatedLoad(),),
}
