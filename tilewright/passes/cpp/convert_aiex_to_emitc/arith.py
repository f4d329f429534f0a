"""Integer arithmetic as C++ operators: a system of numbers for the definitions in `dialects.arith.meaning`.

The results are those of the native generator for every input: numbers wrap around, so that what can overflow is
computed without sign; a division by zero gives up, a quotient that does not fit is 0, and so is a shift by the width
or more.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import cast

from xdsl.dialects.builtin import IntegerAttr, i1, i8
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tilewright.dialects import arith
from tilewright.dialects.arith.meaning import COMPARISONS, DIVISION_BY_ZERO, MEANING, RESIZES, Integers
from tilewright.dialects.emitc import operators as cpp
from tilewright.dialects.emitc.control import YieldOp
from tilewright.dialects.emitc.expression import ExpressionOp
from tilewright.dialects.emitc.operators import BinaryOp, Predicate
from tilewright.dialects.emitc.types import is_unsigned, width_of
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.cpp.convert_aiex_to_emitc.builder import (
    NOT_SUPPORTED,
    WORD,
    CppBuilder,
    cpp_types,
    known,
    known_before_cast,
    signed,
    unsigned,
)
from tilewright.rewrite.integers import OPERATORS, compute, mask
from tilewright.rewrite.integers import signed as wrapped

_PREDICATES = {
    "==": Predicate.eq,
    "!=": Predicate.ne,
    "<": Predicate.lt,
    "<=": Predicate.le,
    ">": Predicate.gt,
    ">=": Predicate.ge,
}
_OPERATORS: dict[str, type[BinaryOp]] = {
    "+": cpp.AddOp,
    "-": cpp.SubOp,
    "*": cpp.MulOp,
    "/": cpp.DivOp,
    "%": cpp.RemOp,
    "&": cpp.BitwiseAndOp,
    "|": cpp.BitwiseOrOp,
    "^": cpp.BitwiseXorOp,
    "<<": cpp.BitwiseLeftShiftOp,
    ">>": cpp.BitwiseRightShiftOp,
}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def lower_arithmetic(builder: CppBuilder, op: Operation) -> bool:
    """Compute what an operation computes; False if it is not one that can be."""
    lower = _LOWER.get(op.name)
    if lower is None:
        return False
    cpp_types(op, [value.type for value in (*op.operands, *op.results)])
    builder.define(op.results[0], lower(builder, op))
    return True


class CppIntegers(Integers[SSAValue]):
    """Builds operators; numbers are cast to types with sign, or without, where that makes a difference.

    `width` says how many bits numbers have, which may be fewer than their C++ type has.
    """

    def __init__(self, builder: CppBuilder, width: int):
        self.builder, self.width = builder, width

    def constant(self, number: int, like: SSAValue) -> SSAValue:
        return self.builder.constant(number, like.type)

    def combine(self, operator: str, a: SSAValue, b: SSAValue) -> SSAValue:
        # C++ multiplies small numbers as signed ones, which may overflow
        widen = operator == "*" and width_of(a.type) < width_of(WORD)
        modular = [unsigned(a.type), WORD] if widen else [unsigned(a.type)]
        a_modular, b_modular = self.builder.cast(a, *modular), self.builder.cast(b, *modular)
        result = self.builder.cast(self._apply(operator, a_modular, b_modular), unsigned(a.type), a.type)
        # The bits above are copies of the sign in both, and stay so.
        return result if operator in "&|^" else self._fit(result)

    def _fit(self, number: SSAValue) -> SSAValue:
        return self.builder.with_sign(number, self.width)

    def _apply(self, operator: str, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.builder.value(_OPERATORS[operator](a, b))

    def divide(self, operator: str, a: SSAValue, b: SSAValue, signed: bool) -> SSAValue:
        dividend, divisor = known_before_cast(a), known_before_cast(b)
        smallest = -(1 << self.width - 1)
        compute = partial(self._apply, operator)
        if divisor == 0 or (signed and divisor == -1 and dividend == smallest):
            return self.constant(0, a)
        if not signed or divisor not in (None, -1) or dividend not in (None, smallest):
            return compute(a, b)
        fits = [] if dividend == smallest else [self.differ(a, self.constant(smallest, a))]
        if divisor is None:
            fits.append(self.differ(b, self.constant(-1, b)))
        return self._lazily(reduce(self._either, fits), compute, a, b)

    def _lazily(
        self, condition: SSAValue, compute: Callable[[SSAValue, SSAValue], SSAValue], lhs: SSAValue, rhs: SSAValue
    ) -> SSAValue:
        """`condition ? lhs operator rhs : 0`, of which C++ only computes the part that is wanted."""
        operands = [lhs, rhs, condition, self.constant(0, lhs)]
        block = Block(arg_types=[operand.type for operand in operands])
        a, b, chosen, instead = block.args
        with self.builder.inside(block):
            self.builder.emit(YieldOp(self.select(chosen, compute(a, b), instead)))
        return self.builder.value(ExpressionOp(operands, lhs.type, Region(block)))

    def shift(self, operator: str, a: SSAValue, b: SSAValue, signed: bool) -> SSAValue:
        return self._apply(operator, a, b)

    def compare(self, operator: str, a: SSAValue, b: SSAValue, signed: bool | None) -> SSAValue:
        if signed is not None:
            a, b = self._cast(a, signed), self._cast(b, signed)
        decided = _decided(operator, a, b) if self.builder.style.readable else None
        return self._compare(operator, a, b) if decided is None else self.builder.constant(decided, i1)

    def _compare(self, operator: str, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.builder.compare(_PREDICATES[operator], a, b)

    def select(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.builder.value(cpp.ConditionalOp(condition, a, b))

    def where_divisible(
        self, a: SSAValue, b: SSAValue, signed: bool, compute: Callable[[SSAValue, SSAValue], SSAValue]
    ) -> SSAValue:
        divisor = known_before_cast(b)
        if divisor == 0:
            self.builder.statement(self.builder.style.refuse)
        elif divisor is None:
            self.builder.refuse_if(DIVISION_BY_ZERO, "{} == 0", b)
        # `divide` itself looks for quotients that do not fit: each `/` and `%` is an expression of its own
        return self._fit(self.builder.cast(compute(self._read(a, signed), self._read(b, signed)), a.type))

    def where_shiftable(
        self, a: SSAValue, b: SSAValue, signed: bool, compute: Callable[[SSAValue, SSAValue], SSAValue]
    ) -> SSAValue:
        number, amount, count = self._read(a, signed), self._cast(b, False), known(b)
        if self.builder.style.readable and count is not None:
            if not 0 <= count < self.width:
                return self.constant(0, a)
            return self._fit(self.builder.cast(compute(number, amount), a.type))
        # C++ leaves a shift by the width undefined, MLIR gives poison; the native generator gives 0
        fits = self._compare("<", amount, self.constant(self.width, amount))
        return self._fit(self.builder.cast(self._lazily(fits, compute, number, amount), a.type))

    def _read(self, value: SSAValue, with_sign: bool) -> SSAValue:
        return self._cast(value, True) if with_sign else self.builder.without_sign(value, self.width)

    def _cast(self, value: SSAValue, with_sign: bool) -> SSAValue:
        return self.builder.cast(value, signed(value.type) if with_sign else unsigned(value.type))

    def differ(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._compare("!=", a, b)

    def both(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.builder.value(cpp.LogicalAndOp(a, b))

    def _either(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.builder.value(cpp.LogicalOrOp(a, b))

    def compare_signs(self, a: SSAValue, b: SSAValue, zero: SSAValue, same: bool) -> SSAValue:
        return self._compare(">=" if same else "<", self._apply("^", a, b), zero)

    def step_if(self, condition: SSAValue, number: SSAValue, operator: str) -> SSAValue:
        return self._apply(operator, number, self.builder.cast(condition, number.type))

    def extreme(self, operator: str, a: SSAValue, b: SSAValue, signed: bool) -> SSAValue:
        return a if a is b else super().extreme(operator, a, b, signed)


def _decided(symbol: str, lhs: SSAValue, rhs: SSAValue) -> bool | None:
    """The outcome of a comparison of numbers that are known, or of a number with the end of its range: compilers warn
    of those.
    """
    left, right = known_before_cast(lhs), known_before_cast(rhs)
    if right is None:
        if left is None or symbol not in _MIRRORED:
            return None
        return _decided(_MIRRORED[symbol], rhs, lhs)
    width, without_sign = width_of(lhs.type), is_unsigned(lhs.type) or lhs.type == i1
    lowest = 0 if without_sign else -(1 << width - 1)
    highest = lowest + mask(width)
    right = right & mask(width) if without_sign else right
    if left is not None:
        return bool(OPERATORS[symbol](left & mask(width) if without_sign else left, right))
    if right == (lowest if symbol in ("<", ">=") else highest) and symbol in _MIRRORED:
        return symbol in ("<=", ">=")
    return None


def _constant(builder: CppBuilder, op: Operation) -> SSAValue:
    value = cast(arith.ConstantOp, op).value
    if not isinstance(value, IntegerAttr):
        fail_op(op, NOT_SUPPORTED)
    return builder.constant(value.value.data, cpp_types(op, [op.results[0].type])[0])


def _compare(builder: CppBuilder, op: Operation) -> SSAValue:
    op = cast(arith.CmpiOp, op)
    lhs, rhs = builder[op.lhs], builder[op.rhs]
    symbol, with_sign = COMPARISONS[op.predicate.value.data]
    if lhs is rhs:
        return builder.constant("=" in symbol and symbol != "!=", i1)
    if lhs.type == i1:  # a signed bit is 0 or -1
        symbol = _MIRRORED.get(symbol, symbol) if with_sign else symbol
        with_sign = None
    return CppIntegers(builder, width_of(op.lhs.type)).compare(symbol, lhs, rhs, with_sign)


def _select(builder: CppBuilder, op: Operation) -> SSAValue:
    condition, yes, no = (builder[value] for value in op.operands)
    if builder.style.readable and (chosen := known(condition)) is not None:
        return yes if chosen else no
    return builder.value(cpp.ConditionalOp(condition, yes, no))


def _resize(builder: CppBuilder, op: Operation) -> SSAValue:
    source, with_sign = builder[op.operands[0]], RESIZES[op.name]
    type = cpp_types(op, [op.results[0].type])[0]
    if builder.style.readable and source.type == i1 and (bit := known(source)) is not None:
        return builder.constant(-(bit & 1) if with_sign and type != i1 else bit & 1, type)
    if source.type == i1 and with_sign:  # the sign of a bit is the bit
        return _signed_bit(builder, source, type)
    if type == i1:
        return _low_bit(builder, source)
    if with_sign:
        resized = builder.cast(source, signed(source.type), signed(type), type)
    else:
        resized = builder.cast(builder.without_sign(source, width_of(op.operands[0].type)), unsigned(type), type)
    return builder.with_sign(resized, width_of(op.results[0].type))


def _signed_bit(builder: CppBuilder, bit: SSAValue, type: Attribute) -> SSAValue:
    ones, zero = builder.constant(-1, type), builder.constant(0, type)
    return builder.value(cpp.ConditionalOp(bit, ones, zero))


def _low_bit(builder: CppBuilder, number: SSAValue) -> SSAValue:
    """A cast to bool would ask whether any bit is set."""
    return builder.cast(builder.value(cpp.BitwiseAndOp(number, builder.constant(1, number.type))), i1)


def _change_sign(builder: CppBuilder, op: Operation) -> SSAValue:
    """The same bits as a type with sign, or without."""
    return builder.cast(builder[op.operands[0]], op.results[0].type)


# On single bits: sum and difference are "differs", the product is "both".
_ON_BITS: dict[str, type[BinaryOp]] = {
    "arith.addi": cpp.BitwiseXorOp,
    "arith.subi": cpp.BitwiseXorOp,
    "arith.muli": cpp.BitwiseAndOp,
    "arith.andi": cpp.BitwiseAndOp,
    "arith.ori": cpp.BitwiseOrOp,
    "arith.xori": cpp.BitwiseXorOp,
}


def _known_result(name: str, lhs: SSAValue, rhs: SSAValue, width: int) -> int | None:
    """The number that a result is known to be: compilers warn of odd ways to write it, such as a shift by too much."""
    a, b = known_before_cast(lhs), known_before_cast(rhs)
    if a is not None and b is not None:
        return compute(name, a, b, width)
    alone = {"arith.andi": 0, "arith.muli": 0, "arith.ori": mask(width)}.get(name)
    return alone if any(number is not None and number & mask(width) == alone for number in (a, b)) else None


def _binary(builder: CppBuilder, op: Operation) -> SSAValue:
    (lhs, rhs), width = (builder[value] for value in op.operands), width_of(op.results[0].type)
    if builder.style.readable and (result := _known_result(op.name, lhs, rhs, width)) is not None:
        return builder.constant(wrapped(result, width), lhs.type)
    numbers = CppIntegers(builder, width)
    if lhs.type != i1:
        return MEANING[op.name](numbers, lhs, rhs)
    if op.name not in _ON_BITS:
        widened = (_signed_bit(builder, bit, i8) for bit in (lhs, rhs))
        return _low_bit(builder, MEANING[op.name](numbers, *widened))
    operator = _ON_BITS[op.name]
    if builder.style.readable:
        if operator is cpp.BitwiseXorOp:
            return builder.constant(0, i1) if lhs is rhs else numbers.compare("!=", lhs, rhs, None)
        return builder.value((cpp.LogicalAndOp if operator is cpp.BitwiseAndOp else cpp.LogicalOrOp)(lhs, rhs))
    return builder.value(operator(lhs, rhs))


_LOWER: dict[str, Callable[[CppBuilder, Operation], SSAValue]] = {
    **dict.fromkeys(MEANING, _binary),
    "arith.cmpi": _compare,
    "arith.constant": _constant,
    "arith.select": _select,
    **dict.fromkeys(RESIZES, _resize),
    "builtin.unrealized_conversion_cast": _change_sign,
}
