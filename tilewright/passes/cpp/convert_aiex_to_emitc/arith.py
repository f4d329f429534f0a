"""Integer arithmetic as C++ operators.

The results are those of the native generator for every input: numbers wrap around, so that what can overflow is
computed without sign; a division that C++ leaves undefined gives 0, and so does a shift by the width or more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, cast

from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tilewright.dialects import arith
from tilewright.dialects.emitc import operators as cpp
from tilewright.dialects.emitc.control import YieldOp
from tilewright.dialects.emitc.expression import ExpressionOp
from tilewright.dialects.emitc.operators import BinaryOp, Predicate
from tilewright.dialects.emitc.types import width_of
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.cpp.convert_aiex_to_emitc.builder import (
    DIFFERENCE,
    NOT_SUPPORTED,
    WORD,
    Builder,
    cpp_types,
    known,
    known_before_cast,
    signed,
    unsigned,
)
from tilewright.passes.cpp.convert_aiex_to_emitc.compare import compared, lower_comparison

Binary: TypeAlias = Callable[[Builder, SSAValue, SSAValue], SSAValue]


def lower_arithmetic(builder: Builder, op: Operation) -> bool:
    """Compute what an operation computes; False if it is not one that can be."""
    lower = _LOWER.get(op.name)
    if lower is None:
        return False
    cpp_types(op, [value.type for value in (*op.operands, *op.results)])
    builder.define(op.results[0], lower(builder, op))
    return True


def _lazily(builder: Builder, condition: SSAValue, compute: type[BinaryOp], values: list[SSAValue]) -> SSAValue:
    """`condition ? lhs operator rhs : otherwise`, of which C++ only computes the part that is wanted."""
    lhs, rhs, otherwise = values
    operands = [lhs, rhs, condition, otherwise]
    block = Block(arg_types=[operand.type for operand in operands])
    a, b, chosen, instead = block.args
    with builder.inside(block):
        computed = builder.value(compute(a, b))
        builder.emit(YieldOp(builder.value(cpp.ConditionalOp(chosen, computed, instead))))
    return builder.value(ExpressionOp(operands, lhs.type, Region(block)))


def _wrapping(operator: type[BinaryOp]) -> Binary:
    def compute(builder: Builder, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        type = lhs.type
        modular = _modular(type, operator)
        result = builder.value(operator(builder.cast(lhs, *modular), builder.cast(rhs, *modular)))
        return builder.cast(result, unsigned(type), type)

    return compute


def _modular(type: Attribute, operator: type[BinaryOp]) -> list[Attribute]:
    """The types to go through to compute without overflow: C++ multiplies small numbers as signed ones."""
    widen = operator is cpp.MulOp and width_of(type) < width_of(WORD)
    return [unsigned(type), WORD] if widen else [unsigned(type)]


def _division(operator: type[BinaryOp], *, with_sign: bool) -> Binary:
    def compute(builder: Builder, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        type = lhs.type
        kind = signed(type) if with_sign else unsigned(type)
        result = _divide(builder, operator, builder.cast(lhs, kind), builder.cast(rhs, kind), with_sign=with_sign)
        return builder.cast(result, type)

    return compute


def _divide(builder: Builder, operator: type[BinaryOp], lhs: SSAValue, rhs: SSAValue, *, with_sign: bool) -> SSAValue:
    dividend, divisor = known_before_cast(lhs), known_before_cast(rhs)
    smallest = -(1 << width_of(lhs.type) - 1)
    negates = with_sign and divisor in (None, -1)
    if divisor == 0 or (negates and divisor == -1 and dividend == smallest):
        return builder.constant(0, lhs.type)
    conditions: list[SSAValue] = []
    if divisor is None:
        conditions.append(builder.compare(Predicate.ne, rhs, builder.constant(0, rhs.type)))
    if negates and dividend in (None, smallest):
        fits = builder.compare(Predicate.ne, lhs, builder.constant(smallest, lhs.type))
        if divisor is None:
            is_no_negation = builder.compare(Predicate.ne, rhs, builder.constant(-1, rhs.type))
            fits = builder.value(cpp.LogicalOrOp(fits, is_no_negation)) if dividend is None else is_no_negation
        conditions.append(fits)
    if not conditions:
        return builder.value(operator(lhs, rhs))
    defined = conditions[0] if len(conditions) == 1 else builder.value(cpp.LogicalAndOp(*conditions))
    return _lazily(builder, defined, operator, [lhs, rhs, builder.constant(0, lhs.type)])


def _rounding(*, up: bool, with_sign: bool) -> Binary:
    """Division that rounds down, or up, instead of towards zero."""

    def compute(builder: Builder, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        type = lhs.type
        kind = signed(type) if with_sign else unsigned(type)
        lhs, rhs = builder.cast(lhs, kind), builder.cast(rhs, kind)
        quotient = _divide(builder, cpp.DivOp, lhs, rhs, with_sign=with_sign)
        remainder = _divide(builder, cpp.RemOp, lhs, rhs, with_sign=with_sign)
        zero = builder.constant(0, kind)
        off = builder.compare(Predicate.ne, remainder, zero)
        if with_sign:
            mixed = builder.value(cpp.BitwiseXorOp(remainder, rhs))
            same_sign = builder.compare(Predicate.ge if up else Predicate.lt, mixed, zero)
            off = builder.value(cpp.LogicalAndOp(off, same_sign))
        step = builder.cast(off, kind)
        rounded = builder.value((cpp.AddOp if up else cpp.SubOp)(quotient, step))
        return builder.cast(rounded, type)

    return compute


def _shift(operator: type[BinaryOp], *, with_sign: bool = False) -> Binary:
    def compute(builder: Builder, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        type = lhs.type
        count = known(rhs)
        number = builder.cast(lhs, signed(type) if with_sign else unsigned(type))
        amount = builder.cast(rhs, unsigned(type))
        if builder.style.readable and count is not None:
            if not 0 <= count < width_of(type):
                return builder.constant(0, type)
            return builder.cast(builder.value(operator(number, amount)), type)
        width = builder.constant(width_of(type), unsigned(type))
        fits = builder.compare(Predicate.lt, amount, width)
        return builder.cast(_lazily(builder, fits, operator, [number, amount, builder.constant(0, number.type)]), type)

    return compute


def _extreme(predicate: Predicate, *, with_sign: bool) -> Binary:
    def compute(builder: Builder, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        kind = signed(lhs.type) if with_sign else unsigned(lhs.type)
        if lhs is rhs:
            return lhs
        chosen = compared(builder, predicate, builder.cast(lhs, kind), builder.cast(rhs, kind))
        return builder.value(cpp.ConditionalOp(chosen, lhs, rhs))

    return compute


def _constant(builder: Builder, op: Operation) -> SSAValue:
    value = cast(arith.ConstantOp, op).value
    if not isinstance(value, IntegerAttr):
        fail_op(op, NOT_SUPPORTED)
    return builder.constant(value.value.data, cpp_types(op, [op.results[0].type])[0])


def _select(builder: Builder, op: Operation) -> SSAValue:
    condition, yes, no = op.operands
    return builder.value(cpp.ConditionalOp(builder[condition], builder[yes], builder[no]))


def _extend(builder: Builder, op: Operation) -> SSAValue:
    source, type = builder[op.operands[0]], op.results[0].type
    if source.type == i1:
        ones, zero = builder.constant(-1, type), builder.constant(0, type)
        return builder.value(cpp.ConditionalOp(source, ones, zero))
    return builder.cast(source, type)


def _extend_unsigned(builder: Builder, op: Operation) -> SSAValue:
    source, type = builder[op.operands[0]], op.results[0].type
    return builder.cast(source, unsigned(source.type), unsigned(type), type)


def _truncate(builder: Builder, op: Operation) -> SSAValue:
    source, type = builder[op.operands[0]], op.results[0].type
    if type == i1:
        lowest = builder.value(cpp.BitwiseAndOp(source, builder.constant(1, source.type)))
        return builder.cast(lowest, i1)
    return builder.cast(source, unsigned(source.type), unsigned(type), type)


def _index_cast(builder: Builder, op: Operation) -> SSAValue:
    source = builder[op.operands[0]]
    type = cpp_types(op, [op.results[0].type])[0]
    if source.type == i1:
        ones, zero = builder.constant(-1, type), builder.constant(0, type)
        return builder.value(cpp.ConditionalOp(source, ones, zero))
    if type == i1:
        return _truncate(builder, op)
    return builder.cast(source, DIFFERENCE, type)


def _change_sign(builder: Builder, op: Operation) -> SSAValue:
    """The same bits as a type with sign, or without."""
    return builder.cast(builder[op.operands[0]], op.results[0].type)


def _index_cast_unsigned(builder: Builder, op: Operation) -> SSAValue:
    source = builder[op.operands[0]]
    type = cpp_types(op, [op.results[0].type])[0]
    if type == i1:
        return _truncate(builder, op)
    return builder.cast(source, unsigned(source.type), unsigned(type), type)


_BINARY: dict[str, Binary] = {
    "arith.addi": _wrapping(cpp.AddOp),
    "arith.subi": _wrapping(cpp.SubOp),
    "arith.muli": _wrapping(cpp.MulOp),
    "arith.andi": _wrapping(cpp.BitwiseAndOp),
    "arith.ori": _wrapping(cpp.BitwiseOrOp),
    "arith.xori": _wrapping(cpp.BitwiseXorOp),
    "arith.divsi": _division(cpp.DivOp, with_sign=True),
    "arith.divui": _division(cpp.DivOp, with_sign=False),
    "arith.remsi": _division(cpp.RemOp, with_sign=True),
    "arith.remui": _division(cpp.RemOp, with_sign=False),
    "arith.floordivsi": _rounding(up=False, with_sign=True),
    "arith.ceildivsi": _rounding(up=True, with_sign=True),
    "arith.ceildivui": _rounding(up=True, with_sign=False),
    "arith.shli": _shift(cpp.BitwiseLeftShiftOp),
    "arith.shrui": _shift(cpp.BitwiseRightShiftOp),
    "arith.shrsi": _shift(cpp.BitwiseRightShiftOp, with_sign=True),
    "arith.maxsi": _extreme(Predicate.gt, with_sign=True),
    "arith.minsi": _extreme(Predicate.lt, with_sign=True),
    "arith.maxui": _extreme(Predicate.gt, with_sign=False),
    "arith.minui": _extreme(Predicate.lt, with_sign=False),
}

# On single bits: sum and difference are "differs", the product is "both".
_ON_BITS: dict[str, type[BinaryOp]] = {
    "arith.addi": cpp.BitwiseXorOp,
    "arith.subi": cpp.BitwiseXorOp,
    "arith.muli": cpp.BitwiseAndOp,
    "arith.andi": cpp.BitwiseAndOp,
    "arith.ori": cpp.BitwiseOrOp,
    "arith.xori": cpp.BitwiseXorOp,
}


def _binary(builder: Builder, op: Operation) -> SSAValue:
    lhs, rhs = (builder[value] for value in op.operands)
    if lhs.type != i1:
        return _BINARY[op.name](builder, lhs, rhs)
    if op.name not in _ON_BITS:
        fail_op(op, NOT_SUPPORTED, (op, "widen the single bits first, with arith.extui or arith.extsi"))
    operator = _ON_BITS[op.name]
    if builder.style.readable:
        if operator is cpp.BitwiseXorOp:
            return builder.constant(0, i1) if lhs is rhs else compared(builder, Predicate.ne, lhs, rhs)
        return builder.value((cpp.LogicalAndOp if operator is cpp.BitwiseAndOp else cpp.LogicalOrOp)(lhs, rhs))
    return builder.value(operator(lhs, rhs))


_LOWER: dict[str, Callable[[Builder, Operation], SSAValue]] = {
    **dict.fromkeys(_BINARY, _binary),
    "arith.cmpi": lower_comparison,
    "arith.constant": _constant,
    "arith.select": _select,
    "arith.extsi": _extend,
    "arith.extui": _extend_unsigned,
    "arith.trunci": _truncate,
    "arith.index_cast": _index_cast,
    "arith.index_castui": _index_cast_unsigned,
    "builtin.unrealized_conversion_cast": _change_sign,
}
