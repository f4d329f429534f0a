"""Shared by the lowerings of hierarchies to GPU programs: bodies in their place, checks of ranks, and the target."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device.gpu_targets import GPU_TARGETS, GpuTarget, Vendor
from tilewright.dialects.aie.lookup import parent_of_type
from tilewright.dialects.air.channels import SYMMETRIC, ChannelEnd
from tilewright.dialects.air.execution import ExecuteOp, WaitAllOp
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.levels import RankOp
from tilewright.dialects.air.memcpy import DmaMemcpyNdOp
from tilewright.dialects.air.types import TOKEN
from tilewright.dialects.func import FuncOp
from tilewright.ir.diagnostics import fail, fail_op
from tilewright.ir.traversal import all_operations, ops_of
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.regions import terminator


def wait_before(op: Hierarchy, emitter: Emitter) -> None:
    """Block until what a hierarchy waits for has ended."""
    if op.dependencies:
        emitter.insert(WaitAllOp.create(operands=op.dependencies))


def inline_body(op: Hierarchy, ids: Sequence[SSAValue], sizes: Sequence[SSAValue] | None = None) -> None:
    """Replace a hierarchy by its body at one point of its space; what waits for it need not wait any more."""
    Rewriter.erase_op(terminator(op.regions[0]))
    values = (*ids, *(op.extents if sizes is None else sizes), *op.kernel_values)
    Rewriter.inline_block(op.block, InsertPoint.before(op), values)
    replace_token(op)
    Rewriter.erase_op(op)


def inline_execute(op: ExecuteOp) -> None:
    """Replace an execute by its body, where nothing waits for its token any more."""
    end = terminator(op.body)
    for result, value in zip(op.values, end.operands, strict=True):
        result.replace_all_uses_with(value)
    Rewriter.erase_op(end)
    Rewriter.inline_block(op.body.block, InsertPoint.before(op))
    Rewriter.erase_op(op)


def replace_token(op: Hierarchy) -> None:
    """Give those that wait for an operation that blocks now something that has ended."""
    if op.token is not None and op.token.first_use is not None:
        op.token.replace_all_uses_with(Emitter.before(op).value(WaitAllOp.create(result_types=[TOKEN])))


def check_messages_are_lowered(rank: RankOp) -> None:
    """Nothing in a rank names another one any more."""
    for op in ops_of(all_operations(rank), ChannelEnd, DmaMemcpyNdOp):
        channel = op.channel if isinstance(op, ChannelEnd) else None
        if channel is not None and channel.channel_type.data == SYMMETRIC:
            fail_op(op, "moves data between ranks", (op, "run --air-gpu-channel-to-cacheline before this pass"))
        if isinstance(op, DmaMemcpyNdOp) and (op.src_rank is not None or op.dst_rank is not None):
            fail_op(op, "copies between ranks", (op, "use air.translate, or a channel of type gpu_symmetric_heap"))


def enclosing_function(rank: RankOp) -> FuncOp:
    """The function whose host code starts a rank."""
    parent = parent_of_type(rank, FuncOp)
    if parent is None:
        fail_op(rank, "must be inside a func.func, which becomes the program of each process")
    return parent


def find_target(chip: str, vendor: Vendor | None = None) -> GpuTarget:
    """The chip of that name, of this vendor if one is given."""
    # channels are lowered alike for all vendors, kernels are not
    known = [name for name, target in GPU_TARGETS.items() if vendor in (None, target.vendor)]
    if chip not in known:
        fail(None, f"unknown chip '{chip}'; known are {', '.join(known)}")
    return GPU_TARGETS[chip]


def wave_size_of(target: GpuTarget, wanted: int) -> int:
    """The lanes of a wave: what is asked for, or what the chip has if that is 0."""
    # places in a wave are computed with shifts and masks
    if wanted < 0 or wanted & (wanted - 1):
        fail(None, f"wave-size must be a power of two, or 0 for that of {target.chip}; got {wanted}")
    return wanted or target.wave_size
