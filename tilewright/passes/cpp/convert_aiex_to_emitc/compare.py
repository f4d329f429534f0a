"""Comparisons of integers as C++ operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue

from tilewright.dialects import arith
from tilewright.dialects.emitc.operators import Predicate
from tilewright.dialects.emitc.types import is_unsigned, width_of
from tilewright.passes.cpp.convert_aiex_to_emitc.builder import Builder, known_before_cast, signed, unsigned

# arith.cmpi's predicates by number: the comparison, and whether it heeds the sign (None: makes no difference).
_PREDICATES: list[tuple[Predicate, bool | None]] = [
    (Predicate.eq, None),
    (Predicate.ne, None),
    (Predicate.lt, True),
    (Predicate.le, True),
    (Predicate.gt, True),
    (Predicate.ge, True),
    (Predicate.lt, False),
    (Predicate.le, False),
    (Predicate.gt, False),
    (Predicate.ge, False),
]
_HOLDS_FOR_EQUAL = (Predicate.eq, Predicate.le, Predicate.ge)
_COMPARE: dict[Predicate, Callable[[int, int], bool]] = {
    Predicate.eq: int.__eq__,
    Predicate.ne: int.__ne__,
    Predicate.lt: int.__lt__,
    Predicate.le: int.__le__,
    Predicate.gt: int.__gt__,
    Predicate.ge: int.__ge__,
}
_MIRRORED = {
    Predicate.lt: Predicate.gt,
    Predicate.le: Predicate.ge,
    Predicate.gt: Predicate.lt,
    Predicate.ge: Predicate.le,
}


def lower_comparison(builder: Builder, op: Operation) -> SSAValue:
    op = cast(arith.CmpiOp, op)
    lhs, rhs = builder[op.lhs], builder[op.rhs]
    predicate, with_sign = _PREDICATES[op.predicate.value.data]
    if lhs is rhs:
        return builder.constant(predicate in _HOLDS_FOR_EQUAL, i1)
    if lhs.type == i1:  # a signed bit is 0 or -1
        predicate = _MIRRORED.get(predicate, predicate) if with_sign else predicate
    elif with_sign is not None:
        kind = signed(lhs.type) if with_sign else unsigned(lhs.type)
        lhs, rhs = builder.cast(lhs, kind), builder.cast(rhs, kind)
    return compared(builder, predicate, lhs, rhs)


def compared(builder: Builder, predicate: Predicate, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """A comparison, unless its outcome is known: compilers warn of those."""
    decided = _decided(predicate, lhs, rhs) if builder.style.readable else None
    return builder.compare(predicate, lhs, rhs) if decided is None else builder.constant(decided, i1)


def _decided(predicate: Predicate, lhs: SSAValue, rhs: SSAValue) -> bool | None:
    """The outcome of a comparison of numbers that are known, or of a number with the end of its range."""
    left, right = known_before_cast(lhs), known_before_cast(rhs)
    if right is None:
        if left is None or predicate not in _MIRRORED:
            return None
        return _decided(_MIRRORED[predicate], rhs, lhs)
    width, without_sign = width_of(lhs.type), is_unsigned(lhs.type) or lhs.type == i1
    lowest = 0 if without_sign else -(1 << width - 1)
    highest = lowest + (1 << width) - 1
    right = right % (1 << width) if without_sign else right
    if left is not None:
        left = left % (1 << width) if without_sign else left
        return _COMPARE[predicate](left, right)
    match predicate:
        case Predicate.lt | Predicate.ge if right == lowest:
            return predicate is Predicate.ge
        case Predicate.gt | Predicate.le if right == highest:
            return predicate is Predicate.le
        case _:
            return None
