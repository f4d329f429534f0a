"""Lowers resets of DMA channels to pulses of their reset bits, and starts object FIFOs anew.

An object FIFO is started anew in three steps, in which no channel runs before its locks are set: reset its channels,
set its locks, push its first descriptors. The re-arm binding of the FIFO says which these are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from xdsl.context import Context
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import Rewriter

from tilewright.device import DmaDirection, TileId
from tilewright.dialects.aie.lookup import device_model, tile_of
from tilewright.dialects.aie.objectfifo_storage import ObjectFifoRearmBindingOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.control import DmaChannelResetForOp, DmaChannelResetOp, SetLockOp
from tilewright.dialects.aiex.queue import NpuPushQueueOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.ir.symbols import unchanging_symbols
from tilewright.ir.traversal import all_operations
from tilewright.passes.sequence.lower_core_reset import pulse_reset
from tilewright.rewrite.driver import rewrite
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.legalization import convert
from tilewright.rewrite.pass_bases import ops_of
from tilewright.rewrite.symbols import references_in


class RearmedChannel(NamedTuple):
    """A channel that an object FIFO uses, and how it was started."""

    tile: SSAValue
    place: TileId
    direction: DmaDirection
    channel: int
    first_bd: int
    repeat_count: int


class ResetForToReset(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DmaChannelResetForOp, rewriter: PatternRewriter) -> None:
        name, binding = op.objfifo.root_reference.data, op.target
        if not isinstance(binding, ObjectFifoRearmBindingOp):
            fail_op(
                op,
                f"could not resolve '{name}' to an aie.objectfifo_rearm_binding; run "
                "--aie-objectFifo-stateful-transform first",
            )
        endpoints = list(_endpoints(op, binding))
        # All resets come before any lock is set: a running channel could still take or give one.
        for endpoint in endpoints:
            rewriter.insert(DmaChannelResetOp(endpoint.tile, endpoint.direction, endpoint.channel))
        for lock, value in zip(binding.locks, binding.lock_inits.get_values(), strict=True):
            rewriter.insert(SetLockOp(lock, value))
        emit = Emitter(rewriter)
        for endpoint in endpoints:
            repeat_count, bd_id = emit.constants(endpoint.repeat_count, endpoint.first_bd)
            emit.insert(
                NpuPushQueueOp(
                    *endpoint.place,
                    endpoint.direction,
                    endpoint.channel,
                    bd_id=bd_id,
                    repeat_count=repeat_count,
                    issue_token=False,
                )
            )
        rewriter.erase(op)


def _endpoints(op: DmaChannelResetForOp, binding: ObjectFifoRearmBindingOp) -> Iterator[RearmedChannel]:
    if binding.head_bd_ids is None or binding.repeat_counts is None:
        fail_op(
            op,
            f"objectFIFO re-arm binding '{binding.sym_name.data}' has no head_bd_ids/repeat_counts; run "
            "--aie-assign-bd-ids before this pass, or set them on the binding",
        )
    numbers = (n.get_values() for n in (binding.channel_indices, binding.head_bd_ids, binding.repeat_counts))
    for value, direction, channel, first_bd, repeat_count in zip(
        binding.channel_tiles, binding.directions, *numbers, strict=True
    ):
        tile = tile_of(value)
        assert tile is not None and tile.place is not None, "the verifier asks for placed tiles"
        yield RearmedChannel(value, tile.place, direction, channel, first_bd, repeat_count)


class ChannelResetToMaskWrite32(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DmaChannelResetOp, rewriter: PatternRewriter) -> None:
        tile = tile_of(op.tile)
        assert tile is not None and tile.place is not None, "the verifier asks for a tile"
        registers = device_model(op).registers(*tile.place)
        register = registers.control(op.dma_direction)[op.channel.value.data]
        pulse_reset(Emitter(rewriter), tile.place, register, registers.channel_control.fields["reset"].mask)
        rewriter.erase(op)


class LowerDmaChannelResetPass(Pass):
    name = "aie-lower-dma-channel-reset"
    anchor = "aie.device"

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, DeviceOp)
        # The pattern looks up a binding for each reset, and changes no symbol.
        with unchanging_symbols():
            rewrite(op, ResetForToReset())
        # Bindings only serve this lowering, and go once nothing refers to them.
        _erase_unused_bindings(op)
        convert(op, {DmaChannelResetOp: ChannelResetToMaskWrite32()})


def _erase_unused_bindings(device: DeviceOp) -> None:
    bindings = ops_of(device.body.ops, ObjectFifoRearmBindingOp)
    if not bindings:
        return
    used = {reference.root_reference for op in all_operations(device) for reference in references_in(op)}
    for binding in bindings:
        if binding.sym_name not in used:
            Rewriter.erase_op(binding)
