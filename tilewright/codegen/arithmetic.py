"""Operations of `arith` on Python integers, as generated code computes them.

A value is the number that its bits are with sign. A division that is undefined gives 0, and so does a shift by the
width or more, as in native code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation

from tilewright.dialects import arith
from tilewright.dialects.arith.meaning import MEANING, RESIZES
from tilewright.ir.diagnostics import fail_op
from tilewright.rewrite.integers import compute, integers, mask

INDEX_BITS = 64


def bits(type: Attribute) -> int:
    match type:
        case IntegerType():
            return type.width.data
        case _:
            return INDEX_BITS


def unsigned(op: Operation, value: int) -> int:
    return value & mask(bits(op.operands[0].type))


def _binary(op: Operation, lhs: int, rhs: int) -> int:
    return compute(op.name, lhs, rhs, bits(op.operands[0].type)) or 0


def _compare(op: Operation, lhs: int, rhs: int) -> int:
    return integers(bits(op.operands[0].type)).cmpi(cast(arith.CmpiOp, op).predicate.value.data, lhs, rhs)


def _resize(op: Operation, value: int) -> int:
    return integers(bits(op.operands[0].type)).read(value, RESIZES.get(op.name, True))


def _select(op: Operation, condition: int, yes: int, no: int) -> int:
    return yes if condition else no


def _constant(op: Operation) -> int:
    value = cast(arith.ConstantOp, op).value
    if not isinstance(value, IntegerAttr):
        fail_op(op, "cannot be translated to TXN operations")
    return value.value.data


COMPUTE: dict[str, Callable[..., int]] = {
    "arith.constant": _constant,
    **dict.fromkeys(MEANING, _binary),
    **dict.fromkeys(RESIZES, _resize),
    "arith.cmpi": _compare,
    "arith.select": _select,
    "builtin.unrealized_conversion_cast": _resize,
}
