"""Making the operations that rewriting puts in, with their default properties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tilewright.dialects.arith import FastMathFlagsAttr, IntegerOverflowAttr
from tilewright.rewrite.folding.constants import make_constant, op_class

NO_OVERFLOW_FLAGS = IntegerOverflowAttr("none")
NO_FAST_MATH = FastMathFlagsAttr("none")


def create(
    name: str,
    operands: Sequence[SSAValue] = (),
    types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] | None = None,
    *,
    regions: Sequence[Region] = (),
    successors: Sequence[Block] = (),
) -> Operation:
    """An operation called `name`, not yet anywhere."""
    return op_class(name).create(
        operands=operands,
        result_types=types,
        properties=dict(properties or {}),
        regions=regions,
        successors=successors,
    )


def integer_op(
    name: str, lhs: SSAValue, rhs: SSAValue, flags: IntegerOverflowAttr | None = NO_OVERFLOW_FLAGS
) -> Operation:
    """An integer operation on two operands; `flags` is None for those without overflow flags."""
    return create(name, (lhs, rhs), (lhs.type,), {"overflowFlags": flags} if flags is not None else {})


def cmpi(predicate: int, lhs: SSAValue, rhs: SSAValue, type: Attribute) -> Operation:
    return create("arith.cmpi", (lhs, rhs), (type,), {"predicate": IntegerAttr(predicate, i64)})


def select(condition: SSAValue, then: SSAValue, otherwise: SSAValue) -> Operation:
    return create("arith.select", (condition, then, otherwise), (then.type,))


def cast_op(name: str, value: SSAValue, type: Attribute) -> Operation:
    properties: dict[str, Attribute] = {"overflowFlags": NO_OVERFLOW_FLAGS} if name == "arith.trunci" else {}
    return create(name, (value,), (type,), properties)


def insert_constant(rewriter: PatternRewriter, value: Attribute) -> SSAValue:
    """An `arith.constant` where the rewriter stands."""
    return rewriter.insert(make_constant(value)).results[0]


def insert_value(rewriter: PatternRewriter, op: Operation) -> SSAValue:
    """Insert an operation where the rewriter stands and give its only result."""
    return rewriter.insert(op).results[0]
