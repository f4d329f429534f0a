"""Block writes become control packets."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from tilewright.dialects.aiex.control import NpuControlPacketOp
from tilewright.dialects.aiex.instructions import NpuBlockWriteOp
from tilewright.dialects.aiex.resolution import absolute_address, block_words
from tilewright.ir.pass_manager import Pass
from tilewright.rewrite.legalization import convert


class BlockWriteToControlPacket(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NpuBlockWriteOp, rewriter: PatternRewriter) -> None:
        address = absolute_address(op, op.address.value.data)
        rewriter.replace(op, NpuControlPacketOp(address, block_words(op)))


class TxnToCtrlPacketPass(Pass):
    name = "aie-txn-to-ctrl-packet"
    anchor = "aie.device"

    def apply(self, ctx: Context, op: Operation) -> None:
        convert(op, {NpuBlockWriteOp: BlockWriteToControlPacket()})
