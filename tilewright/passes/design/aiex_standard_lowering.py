"""Drops the instructions of runtime sequences, which the programs of cores do not need."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from tilewright.dialects.aiex.firmware import NpuCreateScratchpadOp, NpuPreemptOp, NpuUpdateFromScratchpadOp
from tilewright.dialects.aiex.instructions import NpuSyncOp, NpuWrite32Op, NpuWriteRTPOp
from tilewright.dialects.aiex.memcpy import NpuDmaMemcpyNdOp, NpuDmaWaitOp
from tilewright.dialects.aiex.queue import NpuAddressPatchOp, NpuPushQueueOp
from tilewright.dialects.aiex.scratchpad import ScratchpadParameterOp, SyncScratchpadParametersFromHostOp
from tilewright.dialects.aiex.write_bd import NpuWriteBdOp
from tilewright.ir.pass_manager import Pass
from tilewright.ir.traversal import all_operations

DROPPED = (
    NpuAddressPatchOp,
    NpuCreateScratchpadOp,
    NpuDmaMemcpyNdOp,
    NpuDmaWaitOp,
    NpuPreemptOp,
    NpuPushQueueOp,
    NpuWriteRTPOp,
    NpuSyncOp,
    NpuUpdateFromScratchpadOp,
    NpuWrite32Op,
    NpuWriteBdOp,
    ScratchpadParameterOp,
    SyncScratchpadParametersFromHostOp,
)


class AiexStandardLoweringPass(Pass):
    name = "aiex-standard-lowering"

    def apply(self, ctx: Context, op: Operation) -> None:
        for child in [child for child in all_operations(op) if isinstance(child, DROPPED)]:
            Rewriter.erase_op(child)
