"""Integer operations as LLVM instructions: a system of numbers for the definitions in `dialects.arith.meaning`.

Native code must not trap on what MLIR leaves undefined, so such a division or shift gives 0 here, as in the interpreter
that the generators are checked against.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from tilewright.dialects.arith.meaning import Integers
from tilewright.native.values import element_of, with_element

_INSTRUCTIONS = {"+": "add", "-": "sub", "*": "mul", "&": "and_", "|": "or_", "^": "xor", "/": "div", "%": "rem"}


class LlvmIntegers(Integers[ir.Value]):
    """Builds instructions on scalars; those of one instruction take vectors as well."""

    def __init__(self, builder: ir.IRBuilder):
        self.builder = builder

    def constant(self, number: int, like: ir.Value) -> ir.Value:
        return ir.Constant(like.type, number)

    def combine(self, operator: str, a: ir.Value, b: ir.Value) -> ir.Value:
        return getattr(self.builder, _INSTRUCTIONS[operator])(a, b)

    def divide(self, operator: str, a: ir.Value, b: ir.Value, signed: bool) -> ir.Value:
        return getattr(self.builder, ("s" if signed else "u") + _INSTRUCTIONS[operator])(a, b)

    def shift(self, operator: str, a: ir.Value, b: ir.Value, signed: bool) -> ir.Value:
        if operator == "<<":
            return self.builder.shl(a, b)
        return self.builder.ashr(a, b) if signed else self.builder.lshr(a, b)

    def compare(self, operator: str, a: ir.Value, b: ir.Value, signed: bool | None) -> ir.Value:
        return (self.builder.icmp_signed if signed else self.builder.icmp_unsigned)(operator, a, b)

    def select(self, condition: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.builder.select(condition, a, b)

    def where_divisible(
        self, a: ir.Value, b: ir.Value, signed: bool, compute: Callable[[ir.Value, ir.Value], ir.Value]
    ) -> ir.Value:
        # A processor traps on these, so that the divisor is replaced before and the result behind.
        zero, one = ir.Constant(a.type, 0), ir.Constant(a.type, 1)
        bad = self.compare("==", b, zero, signed)
        if signed:
            lowest, minus_one = ir.Constant(a.type, -(1 << a.type.width - 1)), ir.Constant(a.type, -1)
            negates_lowest = self.both(self.compare("==", a, lowest, True), self.compare("==", b, minus_one, True))
            bad = self.combine("|", bad, negates_lowest)
        return self.builder.select(bad, zero, compute(a, self.builder.select(bad, one, b)))

    def where_shiftable(
        self, a: ir.Value, b: ir.Value, signed: bool, compute: Callable[[ir.Value, ir.Value], ir.Value]
    ) -> ir.Value:
        # LLVM's own result would be poison.
        width, zero = ir.Constant(a.type, a.type.width), ir.Constant(a.type, 0)
        fits = self.compare("<", b, width, signed=False)
        return self.builder.select(fits, compute(a, self.builder.select(fits, b, zero)), zero)


def resize(builder: ir.IRBuilder, value: ir.Value, element: ir.Type, unsigned: bool) -> ir.Value:
    """An integer, or each of a vector, made as wide as `element`."""
    width = element_of(value.type).width
    target = with_element(value.type, element)
    if width == element.width:
        return value
    if width > element.width:
        return builder.trunc(value, target)
    return builder.zext(value, target) if unsigned else builder.sext(value, target)
