"""Patterns that bring operations of the dialect to canonical form."""

from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from tilewright.dialects.aie.core import EndOp

from .firmware import NpuLoadPdiOp
from .memcpy import NpuDmaMemcpyNdOp
from .tasks import DmaConfigureTaskOp


class LinearizeContiguousTransfer(RewritePattern):
    """Write a row-major scan as one loop: the length field is wider than the wrap fields."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NpuDmaMemcpyNdOp, rewriter: PatternRewriter) -> None:
        pattern = op.constant_pattern
        if pattern is not None and pattern.is_contiguous and not pattern.is_linear:
            rewriter.replace(op, op.with_pattern(pattern.linearized()))


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
        for block in list(op.body.blocks)[1:]:
            end = block.first_op
            if isinstance(end, EndOp):
                for leads_here in [use.operation for use in block.uses]:
                    rewriter.replace(leads_here, EndOp())
                rewriter.erase(end)
                op.body.erase_block(block)
