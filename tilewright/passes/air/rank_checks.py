"""What must hold of ranks before they become processes."""

from __future__ import annotations

from tilewright.dialects.air.channels import SYMMETRIC, ChannelEnd
from tilewright.dialects.air.levels import RankOp
from tilewright.dialects.air.memcpy import DmaMemcpyNdOp
from tilewright.dialects.func import FuncOp
from tilewright.ir.diagnostics import fail_op


def check_messages_are_lowered(rank: RankOp) -> None:
    """Nothing in a rank names another one any more."""
    for op in rank.walk():
        if isinstance(op, ChannelEnd):
            channel = op.channel
            if channel is not None and channel.channel_type.data == SYMMETRIC:
                fail_op(op, "moves data between ranks", (op, "run --air-gpu-channel-to-cacheline before this pass"))
        if isinstance(op, DmaMemcpyNdOp) and (op.src_rank is not None or op.dst_rank is not None):
            fail_op(op, "copies between ranks", (op, "use air.translate, or a channel of type gpu_symmetric_heap"))


def enclosing_function(rank: RankOp) -> FuncOp:
    """The function whose host code starts a rank."""
    parent = rank.parent_op()
    while parent is not None and not isinstance(parent, FuncOp):
        parent = parent.parent_op()
    if parent is None:
        fail_op(rank, "must be inside a func.func, which becomes the program of each process")
    return parent
