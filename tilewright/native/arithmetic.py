"""`arith` and `index` on scalars and vectors."""

from __future__ import annotations

from functools import partial
from typing import cast

from llvmlite import ir
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation

from tilewright.dialects import arith, index
from tilewright.dialects.arith.meaning import DIVISIONS, MEANING, PREDICATES, SAME_IN_INDEX
from tilewright.dialects.vector.types import element_type
from tilewright.ir.diagnostics import fail_op
from tilewright.native import floats, integers
from tilewright.native.casts import want_at_most_64_bits
from tilewright.native.floats import narrow, widen
from tilewright.native.integers import resize
from tilewright.native.lanes import constant, constant_like, each_lane, scalar_constant
from tilewright.native.lowering import Handler, Lowering
from tilewright.native.values import MemRef, element_of, value_type

_ON_WHOLE_VECTORS = frozenset(f"arith.{name}" for name in ("addi", "subi", "muli", "andi", "ori", "xori"))


def combine_integers(builder: ir.IRBuilder, name: str, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """A binary operation of `arith` by its name."""
    build = partial(integers.combine, builder, name)
    if name in DIVISIONS:
        want_at_most_64_bits(lhs)
    if name in _ON_WHOLE_VECTORS:
        return build(lhs, rhs)
    return each_lane(builder, build, lhs, rhs)


def combine_floats(builder: ir.IRBuilder, name: str, type: Attribute, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    wide = floats.BINARY[name](builder, widen(builder, lhs, type), widen(builder, rhs, type))
    return narrow(builder, wide, type)


def _integer_binary(name: str) -> Handler:
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
    type = element_type(op.results[0].type)
    lowering[op.results[0]] = combine_floats(lowering.builder, op.name, type, lhs, rhs)


def _negf(lowering: Lowering, op: Operation) -> None:
    builder, type = lowering.builder, element_type(op.results[0].type)
    lowering[op.results[0]] = narrow(builder, builder.fneg(widen(builder, lowering[op.operands[0]], type)), type)


def _constant(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, arith.ConstantOp)
    type = op.result.type
    match op.value:
        case IntegerAttr() | FloatAttr():
            lowering[op.result] = scalar_constant(type, op.value.value.data)
        case DenseIntOrFPElementsAttr():
            native = cast(ir.VectorType, value_type(type))
            numbers = op.value.get_values()
            lowering[op.result] = ir.Constant(
                native, [scalar_constant(element_type(type), cast(float, number)) for number in numbers]
            )
        case _:
            fail_op(op, "has no native translation: its value is no number and no list of numbers")


def _index_constant(lowering: Lowering, op: Operation) -> None:
    lowering[op.results[0]] = scalar_constant(
        op.results[0].type, cast("IntegerAttr", op.properties["value"]).value.data
    )


def _cmpi(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, arith.CmpiOp)
    compared = integers.compare(lowering.builder, op.predicate.value.data, lowering[op.lhs], lowering[op.rhs])
    lowering[op.result] = compared


def _index_cmp(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, index.CmpOp)
    predicate = PREDICATES.index(op.pred.data)
    lowering[op.result] = integers.compare(lowering.builder, predicate, lowering[op.lhs], lowering[op.rhs])


def _cmpf(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, arith.CmpfOp)
    builder, type = lowering.builder, element_type(op.lhs.type)
    lhs, rhs = (widen(builder, lowering[value], type) for value in (op.lhs, op.rhs))
    lowering[op.result] = floats.compare(builder, op.predicate.value.data, lhs, rhs)


def _select(lowering: Lowering, op: Operation) -> None:
    builder, condition = lowering.builder, lowering[op.operands[0]]
    yes, no = (lowering.get(operand) for operand in op.operands[1:])
    if isinstance(yes, MemRef) and isinstance(no, MemRef):
        lowering[op.results[0]] = select_memref(builder, condition, yes, no)
        return
    yes, no = (lowering[operand] for operand in op.operands[1:])
    lowering[op.results[0]] = builder.select(condition, yes, no)


def select_memref(builder: ir.IRBuilder, condition: ir.Value, yes: MemRef, no: MemRef) -> MemRef:
    def pick(left: ir.Value, right: ir.Value) -> ir.Value:
        return left if left is right or left == right else builder.select(condition, left, right)

    def pick_all(left: tuple[ir.Value, ...], right: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
        return tuple(pick(a, b) for a, b in zip(left, right, strict=True))

    return MemRef(
        pick(yes.base, no.base),
        pick(yes.limit, no.limit),
        pick(yes.offset, no.offset),
        pick_all(yes.sizes, no.sizes),
        pick_all(yes.strides, no.strides),
    )


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
    total = lowering.builder.add(lhs, rhs)
    lowering[op.results[0]] = total
    lowering[op.results[1]] = lowering.builder.icmp_unsigned("<", total, lhs)


def _index_width(lowering: Lowering, op: Operation) -> None:
    lowering[op.results[0]] = constant(op.results[0].type, value_type(op.results[0].type).width)


HANDLERS: dict[str, Handler] = {
    **{name: _integer_binary(name) for name in MEANING},
    **{f"index.{name}": _integer_binary(same) for name, same in SAME_IN_INDEX.items()},
    **dict.fromkeys(floats.BINARY, _float_binary),
    "arith.negf": _negf,
    "arith.constant": _constant,
    "index.constant": _index_constant,
    "index.bool.constant": _index_constant,
    "index.sizeof": _index_width,
    "arith.cmpi": _cmpi,
    "index.cmp": _index_cmp,
    "arith.cmpf": _cmpf,
    "arith.select": _select,
    "arith.mulsi_extended": _extended(unsigned=False),
    "arith.mului_extended": _extended(unsigned=True),
    "arith.addui_extended": _add_extended,
}
