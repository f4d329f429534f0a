"""Splits control packets that carry more words than the hardware takes at once."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from tilewright.device.layout import WORD_BYTES
from tilewright.device.packets import ControlHeader
from tilewright.dialects.aiex.control import NpuControlPacketOp
from tilewright.ir.pass_manager import Pass
from tilewright.rewrite.driver import rewrite

# The header has two bits for the number of words.
MAX_WORDS = ControlHeader.beats.limits[-1]


class SplitControlPacket(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NpuControlPacketOp, rewriter: PatternRewriter) -> None:
        words = op.payload or ()
        if len(words) <= MAX_WORDS:
            return
        starts = range(0, len(words), MAX_WORDS)
        address, opcode, stream_id = (attr.value.data for attr in (op.address, op.opcode, op.stream_id))
        rewriter.replace(
            op,
            [
                NpuControlPacketOp(address + WORD_BYTES * start, words[start : start + MAX_WORDS], opcode, stream_id)
                for start in starts
            ],
        )


class LegalizeCtrlPacketPass(Pass):
    name = "aie-legalize-ctrl-packet"
    anchor = "aie.device"

    def apply(self, ctx: Context, op: Operation) -> None:
        rewrite(op, SplitControlPacket())
