"""`arith` and `index` on scalars and vectors."""

from __future__ import annotations

from functools import partial
from typing import cast

from llvmlite import ir
from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation

from tilewright.dialects import arith, index
from tilewright.dialects.arith.meaning import DIVISIONS, FLOAT_MEANING, MEANING, PREDICATES, SAME_IN_INDEX
from tilewright.dialects.vector.types import element_type
from tilewright.ir.diagnostics import fail_op
from tilewright.native.casts import want_at_most_64_bits
from tilewright.native.floats import LlvmFloats, narrow, widen
from tilewright.native.integers import LlvmIntegers, resize
from tilewright.native.lanes import constant, constant_like, each_lane, scalar_constant
from tilewright.native.lowering import Handler, Lowering, on_values
from tilewright.native.values import MemRef, all_parts, element_of, value_type, with_parts

_ON_WHOLE_VECTORS = frozenset(f"arith.{name}" for name in ("addi", "subi", "muli", "andi", "ori", "xori"))


def combine(builder: ir.IRBuilder, name: str, type: Attribute, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """A binary operation of `arith` by its name, on scalars or vectors of an element type."""
    if not isinstance(type, AnyFloat):
        return combine_integers(builder, name, lhs, rhs)
    wide = FLOAT_MEANING[name](LlvmFloats(builder), widen(builder, lhs, type), widen(builder, rhs, type))
    return narrow(builder, wide, type)


def combine_integers(builder: ir.IRBuilder, name: str, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    if name in DIVISIONS:
        want_at_most_64_bits(lhs)
    build = partial(MEANING[name], LlvmIntegers(builder))
    return build(lhs, rhs) if name in _ON_WHOLE_VECTORS else each_lane(builder, build, lhs, rhs)


def integer_binary(name: str) -> Handler:
    def lower(lowering: Lowering, op: Operation) -> None:
        lowering[op.results[0]] = checked_integers(lowering, name, *(lowering[operand] for operand in op.operands))

    return lower


def checked_integers(lowering: Lowering, name: str, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """A binary operation of `arith`; what divides by zero may stop the program."""
    if name in DIVISIONS:
        lowering.check_division(name, lhs, rhs)
    return combine_integers(lowering.builder, name, lhs, rhs)


def _float_binary(lowering: Lowering, op: Operation) -> None:
    lhs, rhs = (lowering[operand] for operand in op.operands)
    lowering[op.results[0]] = combine(lowering.builder, op.name, element_type(op.results[0].type), lhs, rhs)


def _negf(lowering: Lowering, op: Operation) -> None:
    builder, type = lowering.builder, element_type(op.results[0].type)
    negated = LlvmFloats(builder).negate(widen(builder, lowering[op.operands[0]], type))
    lowering[op.results[0]] = narrow(builder, negated, type)


def _constant(lowering: Lowering, op: Operation) -> None:
    type = op.results[0].type
    match op.properties["value"]:
        case IntegerAttr() | FloatAttr() as number:
            lowering[op.results[0]] = scalar_constant(type, cast(float, number.value.data))
        case DenseIntOrFPElementsAttr() as numbers:
            elements = [scalar_constant(element_type(type), cast(float, number)) for number in numbers.get_values()]
            lowering[op.results[0]] = ir.Constant(value_type(type), elements)
        case _:
            fail_op(op, "has no native translation: its value is no number and no list of numbers")


def _cmpi(lowering: Lowering, op: arith.CmpiOp | index.CmpOp) -> None:
    predicate = PREDICATES.index(op.pred.data) if isinstance(op, index.CmpOp) else op.predicate.value.data
    lowering[op.result] = LlvmIntegers(lowering.builder).cmpi(predicate, lowering[op.lhs], lowering[op.rhs])


def _cmpf(lowering: Lowering, op: arith.CmpfOp) -> None:
    builder, type = lowering.builder, element_type(op.lhs.type)
    lhs, rhs = (widen(builder, lowering[value], type) for value in (op.lhs, op.rhs))
    lowering[op.result] = LlvmFloats(builder).cmpf(op.predicate.value.data, lhs, rhs)


def _select(lowering: Lowering, op: Operation) -> None:
    builder, condition = lowering.builder, lowering[op.operands[0]]
    yes, no = (lowering.get(operand) for operand in op.operands[1:])
    if not isinstance(yes, MemRef):
        lowering[op.results[0]] = builder.select(condition, lowering[op.operands[1]], lowering[op.operands[2]])
        return
    others = iter(all_parts(no))

    def pick(part: ir.Value) -> ir.Value:
        other = next(others)
        # What is the same on both sides stays a constant if it is one.
        return part if part == other else builder.select(condition, part, other)

    lowering[op.results[0]] = with_parts(yes, pick)


def _extended(unsigned: bool) -> Handler:
    """Both halves of a product."""

    def lower(lowering: Lowering, op: Operation) -> None:
        builder, (lhs, rhs) = lowering.builder, (lowering[operand] for operand in op.operands)
        element = element_of(lhs.type)
        wide = ir.IntType(2 * element.width)
        full = builder.mul(resize(builder, lhs, wide, unsigned), resize(builder, rhs, wide, unsigned))
        shift = constant_like(full, element.width)
        lowering[op.results[0]] = resize(builder, full, element, unsigned)
        lowering[op.results[1]] = resize(builder, builder.lshr(full, shift), element, unsigned)

    return lower


def _add_extended(lowering: Lowering, op: Operation) -> None:
    lhs, rhs = (lowering[operand] for operand in op.operands)
    lowering[op.results[0]] = total = lowering.builder.add(lhs, rhs)
    # A sum that wrapped around is less than either number.
    lowering[op.results[1]] = lowering.builder.icmp_unsigned("<", total, lhs)


HANDLERS: dict[str, Handler] = {
    **{name: integer_binary(name) for name in MEANING},
    **{f"index.{name}": integer_binary(same) for name, same in SAME_IN_INDEX.items()},
    **dict.fromkeys(FLOAT_MEANING, _float_binary),
    "arith.negf": _negf,
    "arith.constant": _constant,
    "index.constant": _constant,
    "index.bool.constant": _constant,
    "index.sizeof": on_values(lambda b, type, x: constant(type, value_type(type).width)),
    "arith.cmpi": _cmpi,
    "index.cmp": _cmpi,
    "arith.cmpf": _cmpf,
    "arith.select": _select,
    "arith.mulsi_extended": _extended(unsigned=False),
    "arith.mului_extended": _extended(unsigned=True),
    "arith.addui_extended": _add_extended,
}
