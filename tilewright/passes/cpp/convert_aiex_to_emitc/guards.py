"""Checks of the numbers that a sequence gets at run time, as C++ statements that give up where one does not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from xdsl.ir import Operation, SSAValue

from tilewright.device.layout import WORD_MASK
from tilewright.dialects.aiex import guards
from tilewright.dialects.emitc.operators import CastOp, Predicate
from tilewright.dialects.emitc.types import is_integral, width_of
from tilewright.passes.cpp.convert_aiex_to_emitc.builder import SIZE, WORD, signed, unsigned

if TYPE_CHECKING:
    from tilewright.passes.cpp.convert_aiex_to_emitc.instructions import Instructions


def _assert_field(to: Instructions, op: guards.NpuAssertBdFieldOp) -> None:
    """Upstream lets negative numbers pass, which have bits outside of every field; compared without sign none does."""
    limit = op.max.value.data & WORD_MASK
    value = to.builder[op.value]
    if to.style.readable or limit > WORD_MASK >> 1:
        outside = to.builder.compare(Predicate.gt, to.builder.cast(value, WORD), to.builder.constant(limit, WORD))
        to.refuse_if(op, "{}", outside)
    else:
        to.refuse_if(op, f"{{}} > {limit}", value)
        to.refuse_if(op, "{} < 0", value)


def _assert_divisible(to: Instructions, op: guards.NpuAssertBdDivisibleOp) -> None:
    divisor, value = abs(op.divisor.value.data), to.builder[op.value]
    if op.allow_unit is not None:
        to.refuse_if(op, f"{{}} != 1 && {{}} % {divisor} != 0", value, value)
        return
    if to.style.readable and divisor & divisor - 1 == 0:
        value = _before_casts(value, divisor)
    to.refuse_if(op, f"{{}} % {divisor} != 0", value)


def _before_casts(value: SSAValue, divisor: int) -> SSAValue:
    """What a value was cast from, if the low bits that a power of two divides by are the same."""
    while isinstance(value.owner, CastOp) and is_integral(source := value.owner.source.type):
        if min(width_of(source), width_of(value.type)) < divisor.bit_length():
            break
        value = value.owner.source
    return value


def _assert_range(to: Instructions, op: guards.NpuAssertRangeOp) -> None:
    """Limits that every number of the type keeps are not checked: compilers warn of that."""
    value = to.builder[op.value]
    (low, high), (lowest, highest) = op.limits, guards.signed_limits(op.value.type)
    if to.style.readable and low >= 0 and (wrapping := _wrapping(value)) is not None:
        value, lowest, highest = wrapping, 0, None
    else:
        value = to.builder.cast(value, signed(value.type))
    outside = [f"{{}} < {low}"] * (low != lowest) + [f"{{}} > {high}"] * (high != highest)
    if low == high:
        outside = [f"{{}} != {low}"]
    if outside:
        to.refuse_if(op, " || ".join(outside), *(value for _ in outside))


def _wrapping(value: SSAValue) -> SSAValue | None:
    """The number without sign that a value is or was cast from; there negative numbers are above all others."""
    if value.type == SIZE:
        return value
    match value.owner:
        case CastOp(source=source) if source.type == unsigned(value.type) and not isinstance(source.owner, CastOp):
            return source
        case _:
            return None


GUARDS: dict[type[Operation], Callable[[Instructions, Any], None]] = {
    guards.NpuAssertBdDivisibleOp: _assert_divisible,
    guards.NpuAssertBdFieldOp: _assert_field,
    guards.NpuAssertRangeOp: _assert_range,
}
