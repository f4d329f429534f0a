"""Has sequences wait for room in a DMA channel's queue before a push that the queue could drop."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint

from tilewright.device.dma_registers import ChannelId
from tilewright.device.hazards import QUEUE_OVERFLOW, QueuedTask, queue_has_room
from tilewright.dialects.aie.dma import ChannelOp, DmaBody
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.instructions import NpuMaskPollOp
from tilewright.ir.pass_manager import Pass
from tilewright.passes.sequence.lint_queue_depth import SequenceWalk
from tilewright.rewrite.emitter import Emitter, SharedConstants


class GuardTaskQueuesPass(Pass):
    """Not one of mlir-aie's, whose pull request 3734 does the same for some sequences. It can run before lowering and
    after; after it, it sees all pushes. Those that find room however fast the DMA is get no poll."""

    name = "tilewright-guard-task-queues"
    anchor = "aie.device"

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, DeviceOp)
        for sequence in [child for child in op.body.ops if isinstance(child, RuntimeSequenceOp)]:
            walk = SequenceWalk(op)
            _push_configured(op, walk)
            walk.walk(sequence.body)
            overflows = (hazard for hazard in walk.hazards if hazard.rule is QUEUE_OVERFLOW)
            constants = SharedConstants()
            # Loops are gone through several times, so that a push may be found more than once.
            for origin, channel in dict.fromkeys((hazard.origin, hazard.channel) for hazard in overflows):
                _poll_before(origin, channel, op, constants)


def _poll_before(push: Operation, channel: ChannelId, device: DeviceOp, constants: SharedConstants) -> None:
    status = device.model.channel_status_address(*channel.tile, channel.direction, channel.number)
    if status is not None:
        emit = Emitter(InsertPoint.before(push), push.location, constants=constants)
        mask, value = queue_has_room()
        emit.insert(NpuMaskPollOp(emit.constant(status), emit.constant(value), emit.constant(mask)))


def _push_configured(device: DeviceOp, walk: SequenceWalk) -> None:
    """Begin with what the configuration starts: the first task of a channel runs, others wait in its queue."""
    in_flight = walk.context.state.in_flight
    for dma in (op for op in device.body.ops if isinstance(op, DmaBody)):
        for start in (op for op in dma.ops if isinstance(op, ChannelOp)):
            if dma.place is not None:
                channel = ChannelId(dma.place, *start.channel)
                is_first = channel not in in_flight.queues
                in_flight.push(channel, QueuedTask(start, issues_token=False, has_left_queue=is_first), None)
