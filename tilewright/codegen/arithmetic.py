"""What the operations of `arith` compute, on Python integers.

A value is the number that its bits are with sign. A division that is undefined gives 0, and so does a shift by the
width or more, as in native code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation

from tilewright.dialects import arith
from tilewright.ir.diagnostics import fail_op

INDEX_BITS = 64


def bits(type: Attribute) -> int:
    match type:
        case IntegerType():
            return type.width.data
        case _:
            return INDEX_BITS


def signed(value: int, width: int) -> int:
    """The number that some bits are when the uppermost is the sign."""
    value &= (1 << width) - 1
    return value - (1 << width) if value >> width - 1 else value


def unsigned(op: Operation, value: int) -> int:
    return value & (1 << bits(op.operands[0].type)) - 1


def _divided(op: Operation, lhs: int, rhs: int) -> tuple[int, int] | None:
    """Quotient towards zero and remainder; None where the division is undefined."""
    if rhs == 0 or (rhs == -1 and lhs == -(1 << bits(op.operands[0].type) - 1)):
        return None
    quotient = abs(lhs) // abs(rhs) * (1 if (lhs < 0) == (rhs < 0) else -1)
    return quotient, lhs - quotient * rhs


def _signed_division(pick: Callable[[int, int], int]) -> Callable[..., int]:
    def compute(op: Operation, lhs: int, rhs: int) -> int:
        return 0 if (divided := _divided(op, lhs, rhs)) is None else pick(*divided)

    return compute


def _floor(op: Operation, lhs: int, rhs: int) -> int:
    return 0 if _divided(op, lhs, rhs) is None else lhs // rhs


def _ceil(op: Operation, lhs: int, rhs: int) -> int:
    return 0 if _divided(op, lhs, rhs) is None else -(-lhs // rhs)


def _plain(compute: Callable[..., int]) -> Callable[..., int]:
    """A computation for which the operation itself makes no difference."""

    def computed(op: Operation, *numbers: int) -> int:
        return compute(*numbers)

    return computed


def _without_sign(compute: Callable[[int, int], int]) -> Callable[..., int]:
    def computed(op: Operation, lhs: int, rhs: int) -> int:
        return compute(unsigned(op, lhs), unsigned(op, rhs))

    return computed


def _same(op: Operation, value: int) -> int:
    return value


def _select(op: Operation, condition: int, yes: int, no: int) -> int:
    return yes if condition else no


def _shift(compute: Callable[[int, int], int], *, with_sign: bool = False) -> Callable[..., int]:
    def shift(op: Operation, lhs: int, rhs: int) -> int:
        count = unsigned(op, rhs)
        return compute(lhs if with_sign else unsigned(op, lhs), count) if count < bits(op.operands[0].type) else 0

    return shift


_COMPARE: list[Callable[[int, int], bool]] = [
    lambda x, y: x == y,
    lambda x, y: x != y,
    lambda x, y: x < y,
    lambda x, y: x <= y,
    lambda x, y: x > y,
    lambda x, y: x >= y,
]


def _compare(op: Operation, lhs: int, rhs: int) -> int:
    predicate = cast(arith.CmpiOp, op).predicate.value.data
    if predicate > 5:  # the four last are the four before them without sign
        return _COMPARE[predicate - 4](unsigned(op, lhs), unsigned(op, rhs))
    return _COMPARE[predicate](lhs, rhs)


def _constant(op: Operation) -> int:
    value = cast(arith.ConstantOp, op).value
    if not isinstance(value, IntegerAttr):
        fail_op(op, "cannot be translated to TXN operations")
    return value.value.data


COMPUTE: dict[str, Callable[..., int]] = {
    "arith.constant": _constant,
    "arith.addi": _plain(int.__add__),
    "arith.subi": _plain(int.__sub__),
    "arith.muli": _plain(int.__mul__),
    "arith.andi": _plain(int.__and__),
    "arith.ori": _plain(int.__or__),
    "arith.xori": _plain(int.__xor__),
    "arith.divsi": _signed_division(lambda quotient, _: quotient),
    "arith.remsi": _signed_division(lambda _, remainder: remainder),
    "arith.divui": _without_sign(lambda x, y: x // y if y else 0),
    "arith.remui": _without_sign(lambda x, y: x % y if y else 0),
    "arith.floordivsi": _floor,
    "arith.ceildivsi": _ceil,
    "arith.ceildivui": _without_sign(lambda x, y: -(-x // y) if y else 0),
    "arith.shli": _shift(int.__lshift__),
    "arith.shrui": _shift(int.__rshift__),
    "arith.shrsi": _shift(int.__rshift__, with_sign=True),
    "arith.maxsi": _plain(max),
    "arith.minsi": _plain(min),
    "arith.maxui": _without_sign(max),
    "arith.minui": _without_sign(min),
    "arith.cmpi": _compare,
    "arith.select": _select,
    "arith.trunci": _same,
    "arith.extsi": _same,
    "arith.extui": unsigned,
    "arith.index_cast": _same,
    "arith.index_castui": unsigned,
    "builtin.unrealized_conversion_cast": _same,
}
