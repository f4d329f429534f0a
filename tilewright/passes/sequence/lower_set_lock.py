"""Lowers setting a lock to a write of its value register."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from tilewright.dialects.aie.lookup import device_model
from tilewright.dialects.aiex.control import SetLockOp
from tilewright.dialects.aiex.instructions import NpuWrite32Op
from tilewright.ir.diagnostics import fail
from tilewright.ir.pass_manager import Pass
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.legalization import convert


class SetLockToWrite32(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SetLockOp, rewriter: PatternRewriter) -> None:
        lock = op.lock_op
        if lock is None or lock.number is None:
            remedy = (op.lock, "give this lock an id, or run --aie-assign-lock-ids first")
            fail(op, "Tried to lower a SetLockOp on an unassigned lock", remedy)
        place = lock.place
        address = None if place is None else device_model(op).lock_address(*place, lock.number)
        if place is None or address is None:
            fail(op, "Tried to lower a SetLockOp on a lock whose tile is not placed; run placement first")
        # The command processor writes the value itself: nothing acquires, so this never waits.
        register, value = Emitter(rewriter).constants(address, op.value.value.data)
        rewriter.replace(op, NpuWrite32Op(register, value, *place))


class LowerSetLockPass(Pass):
    name = "aie-lower-set-lock"
    anchor = "aie.device"

    def apply(self, ctx: Context, op: Operation) -> None:
        convert(op, {SetLockOp: SetLockToWrite32()})
