"""Which transfers keep their order: those whose data ends up beside a broadcast, whose receivers move in step."""

from __future__ import annotations

from collections import defaultdict

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation

from tilewright.dialects.air.channels import ChannelEnd, ChannelGetOp, ChannelOp, ChannelPutOp
from tilewright.dialects.air.levels import HerdOp, LaunchOp
from tilewright.dialects.air.types import MemorySpace, memory_space

PRESERVE = "air.preserve_shim_dma_order"


def keep_order(launch: LaunchOp, coupled: set[ChannelOp]) -> None:
    """Mark the transfers of a launch, but not what the host sends to herds that no broadcast reaches."""
    for op in launch.walk():
        if isinstance(op, ChannelEnd) and not _is_free(op, coupled):
            op.attributes[PRESERVE] = UnitAttr()


def _is_free(op: ChannelEnd, coupled: set[ChannelOp]) -> bool:
    is_feed = isinstance(op, ChannelPutOp) and memory_space(op.buffer("src").type) == MemorySpace.L3
    channel = op.channel
    return is_feed and channel is not None and channel not in coupled


def coupled_channels(function: Operation) -> set[ChannelOp]:
    """Channels whose data gets, directly or from channel to channel, into a herd that gets from a broadcast too."""
    gets = [(op, channel) for op in function.walk() if isinstance(op, ChannelGetOp) and (channel := op.channel)]
    in_step = {_herd(op) for op, channel in gets if channel.broadcast_shape is not None} - {None}
    feeders: dict[ChannelOp, set[ChannelOp]] = defaultdict(set)
    for op, channel in gets:
        for use in op.buffer("dst").uses:
            onward = use.operation.channel if isinstance(use.operation, ChannelPutOp) else None
            if onward is not None:
                feeders[onward].add(channel)
    pending = [channel for op, channel in gets if _herd(op) in in_step]
    found = set[ChannelOp]()
    while pending:
        channel = pending.pop()
        if channel not in found:
            found.add(channel)
            pending += feeders[channel]
    return found


def _herd(op: Operation) -> HerdOp | None:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, HerdOp):
        parent = parent.parent_op()
    return parent
