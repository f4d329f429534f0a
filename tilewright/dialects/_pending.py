"""Operations that reading another one brings about: older programs write as attributes what are operands now."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, IntegerType, i32
from xdsl.ir import Operation, SSAValue
from xdsl.parser import Parser

from tilewright.dialects.arith import ConstantOp


def insert_before(parser: Parser, op: Operation) -> None:
    """Put `op` before the operation that is being read; only our own reader has a place for it."""
    pending: list[Operation] | None = getattr(parser, "pending_ops", None)
    if pending is None:
        parser.raise_error("this parser cannot read values written as attributes")
    pending.append(op)


def constant_before(parser: Parser, value: int, type: IntegerType = i32) -> SSAValue:
    """A number that an older program wrote as an attribute, as the operand it is now."""
    constant = ConstantOp(IntegerAttr(value, type, truncate_bits=True))
    insert_before(parser, constant)
    return constant.result
