"""Lowers the reset of a core to a pulse of the reset bit in its control register."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from tilewright.device import TileId
from tilewright.device.registers import CoreControl
from tilewright.dialects.aie.lookup import device_model, tile_of
from tilewright.dialects.aiex.control import CoreResetOp
from tilewright.dialects.aiex.instructions import NpuMaskWrite32Op
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.legalization import convert


def pulse_reset(emit: Emitter, place: TileId, register: int, bit: int) -> None:
    """Write twice to the register at a byte offset in a tile; its other bits keep their values."""
    # A masked write, as the same register holds the enable bit of the core.
    for value in (bit, 0):
        address, written, mask = emit.constants(register, value, bit)
        emit.insert(NpuMaskWrite32Op(address, written, mask, *place))


class CoreResetToMaskWrite32(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CoreResetOp, rewriter: PatternRewriter) -> None:
        tile = tile_of(op.tile)
        assert tile is not None and tile.place is not None, "the verifier asks for a tile"
        register = device_model(op).registers(*tile.place).core_control
        if register is None:
            fail_op(op, "target has no Core_Control register in its register database")
        pulse_reset(Emitter(rewriter), tile.place, register, CoreControl.reset.mask)
        rewriter.erase(op)


class LowerCoreResetPass(Pass):
    name = "aie-lower-core-reset"
    anchor = "aie.device"

    def apply(self, ctx: Context, op: Operation) -> None:
        convert(op, {CoreResetOp: CoreResetToMaskWrite32()})
