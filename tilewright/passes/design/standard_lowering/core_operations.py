"""Lowers what a core says to the array around it to calls of intrinsics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from xdsl.dialects.builtin import Float32Type, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from tilewright.device import Arch, LockAction
from tilewright.dialects import arith, vector
from tilewright.dialects.aie.cascade import EventOp, GetCascadeOp, GetStreamOp, PutCascadeOp, PutStreamOp
from tilewright.dialects.aie.core import DebugOp
from tilewright.dialects.aie.locks import UseLockOp
from tilewright.passes.design.standard_lowering.core_intrinsics import DEBUG, Intrinsics
from tilewright.rewrite.emitter import constant_op

Lowering: TypeAlias = "Callable[[Any, PatternRewriter, Intrinsics], SSAValue | None]"
"""Puts calls where the rewriter stands and gives what replaces the operation's result, if it has one."""


class ToIntrinsics(RewritePattern):
    """One lowering as a pattern."""

    def __init__(self, lowering: Lowering, intrinsics: Intrinsics):
        self._lowering, self._intrinsics = lowering, intrinsics

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        result = self._lowering(op, rewriter, self._intrinsics)
        rewriter.replace(op, (), () if result is None else (result,))


def patterns_for(arch: Arch) -> Mapping[type[Operation], RewritePattern]:
    intrinsics = Intrinsics(arch)
    return {kind: ToIntrinsics(lowering, intrinsics) for kind, lowering in _LOWERINGS.items()}


def _number(rewriter: PatternRewriter, value: int) -> SSAValue:
    return rewriter.insert(constant_op(value, i32)).results[0]


def _lower_use_lock(op: UseLockOp, rewriter: PatternRewriter, intrinsics: Intrinsics) -> None:
    """Locks of the second generation count: a negative value says that more will do."""
    lock = rewriter.insert(arith.IndexCastOp(op.lock, i32)).results[0]
    value = op.value
    if op.lock_action is LockAction.AcquireGreaterEqual:
        value = rewriter.insert(arith.SubiOp(_number(rewriter, 0), value)).results[0]
    name = "acquire" if op.is_acquire else "release"
    rewriter.insert(intrinsics.call(op, f"lock.{name}.reg" if _is_first(intrinsics) else name, [lock, value]))


def _is_first(intrinsics: Intrinsics) -> bool:
    return intrinsics.arch is Arch.AIE1


def _stream_prefix(type: Attribute) -> str:
    """How streams of other than 32-bit integers are called."""
    if isinstance(type, Float32Type):
        return "f"
    return "" if type == i32 else "w"


def _lower_put_stream(op: PutStreamOp, rewriter: PatternRewriter, intrinsics: Intrinsics) -> None:
    name = f"put.{_stream_prefix(op.stream_value.type)}ms"
    if _is_first(intrinsics):
        rewriter.insert(intrinsics.call(op, name, [op.channel, op.stream_value]))
    else:
        is_last = _number(rewriter, 0)
        rewriter.insert(intrinsics.call(op, name, [op.stream_value, is_last]))


def _lower_get_stream(op: GetStreamOp, rewriter: PatternRewriter, intrinsics: Intrinsics) -> SSAValue:
    name = f"get.{_stream_prefix(op.stream_value.type)}ss"
    return rewriter.insert(intrinsics.call(op, name, [op.channel] if _is_first(intrinsics) else [])).results[0]


def _lower_put_cascade(op: PutCascadeOp, rewriter: PatternRewriter, intrinsics: Intrinsics) -> None:
    name = "put.mcd" if _is_first(intrinsics) else "mcd.write.vec"
    value = _as_type(op.cascade_value, intrinsics.input_types(name)[0], rewriter)
    enable = [] if _is_first(intrinsics) else [_number(rewriter, 1)]
    rewriter.insert(intrinsics.call(op, name, [value, *enable]))


def _lower_get_cascade(op: GetCascadeOp, rewriter: PatternRewriter, intrinsics: Intrinsics) -> SSAValue:
    name = "get.scd" if _is_first(intrinsics) else "scd.read.vec"
    enable = [] if _is_first(intrinsics) else [_number(rewriter, 1)]
    value = rewriter.insert(intrinsics.call(op, name, enable)).results[0]
    return _as_type(value, op.cascade_value.type, rewriter)


def _as_type(value: SSAValue, type: Attribute, rewriter: PatternRewriter) -> SSAValue:
    """The same bits as a vector of another type."""
    return (
        value
        if value.type == type
        else rewriter.insert(vector.BitcastOp.create(operands=[value], result_types=[type])).results[0]
    )


def _lower_event(op: EventOp, rewriter: PatternRewriter, intrinsics: Intrinsics) -> None:
    number = op.val.value.data
    if _is_first(intrinsics):
        rewriter.insert(intrinsics.call(op, f"event{number}", []))
    else:
        rewriter.insert(intrinsics.call(op, "event", [_number(rewriter, number)]))


def _lower_debug(op: DebugOp, rewriter: PatternRewriter, intrinsics: Intrinsics) -> None:
    rewriter.insert(intrinsics.call(op, DEBUG, [op.arg]))


_LOWERINGS: Mapping[type[Operation], Lowering] = {
    UseLockOp: _lower_use_lock,
    PutStreamOp: _lower_put_stream,
    GetStreamOp: _lower_get_stream,
    PutCascadeOp: _lower_put_cascade,
    GetCascadeOp: _lower_get_cascade,
    EventOp: _lower_event,
    DebugOp: _lower_debug,
}
