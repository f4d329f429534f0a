"""Computing with runtime values: each step puts an operation where a rewriter stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import IntegerType, i32
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tilewright.device.layout import Field
from tilewright.dialects import arith
from tilewright.dialects.aie.lookup import constant_value
from tilewright.dialects.aiex.attributes import i32_number

Number = SSAValue | int
"""Known when compiling, or only at run time."""


def i32_constant(value: int) -> arith.ConstantOp:
    """A 32-bit pattern; programs show it as a signed number."""
    return arith.ConstantOp.create(properties={"value": i32_number(value)}, result_types=[i32])


def known(number: Number) -> int | None:
    return number if isinstance(number, int) else constant_value(number)


class Emitter:
    """Arithmetic on i32 values. It is `Arithmetic[SSAValue]`, so that the one encoder of access patterns can use it."""

    def __init__(self, rewriter: PatternRewriter):
        self.rewriter = rewriter

    def emit(self, op: Operation) -> None:
        self.rewriter.insert(op)

    def value(self, op: Operation) -> SSAValue:
        """The result of a new operation."""
        return self.rewriter.insert(op).results[0]

    def constant(self, value: int) -> SSAValue:
        return self.value(i32_constant(value))

    def constants(self, *values: int) -> list[SSAValue]:
        return [self.constant(value) for value in values]

    def number(self, number: Number) -> SSAValue:
        """A number as an i32 value."""
        if (value := known(number)) is not None:
            return self.constant(value)
        assert isinstance(number, SSAValue)
        bits = cast(IntegerType, number.type).bitwidth
        if bits == i32.bitwidth:
            return number
        return self.value(arith.TruncIOp(number, i32) if bits > i32.bitwidth else arith.ExtUIOp(number, i32))

    def add(self, first: SSAValue, second: SSAValue) -> SSAValue:
        return self.value(arith.AddiOp(first, second))

    def product(self, first: SSAValue, second: SSAValue) -> SSAValue:
        return self.value(arith.MuliOp(first, second))

    def union(self, first: SSAValue, second: SSAValue) -> SSAValue:
        return self.value(arith.OrIOp(first, second))

    def masked(self, value: SSAValue, mask: int) -> SSAValue:
        return self.value(arith.AndIOp(value, self.constant(mask)))

    def multiply(self, value: SSAValue, factor: int) -> SSAValue:
        return self.product(value, self.constant(factor))

    def divide(self, value: SSAValue, divisor: int) -> SSAValue:
        return self.value(arith.DivUIOp(value, self.constant(divisor)))

    def scale(self, value: SSAValue, factor: int, divisor: int) -> SSAValue:
        return self.divide(self.multiply(value, factor), divisor)

    def subtract(self, value: SSAValue, amount: int) -> SSAValue:
        return self.value(arith.SubiOp(value, self.constant(amount)))

    def select_less(self, value: SSAValue, bound: int, then: SSAValue, otherwise: SSAValue) -> SSAValue:
        condition = self.value(arith.CmpiOp(value, self.constant(bound), "slt"))
        return self.value(arith.SelectOp(condition, then, otherwise))

    def select_greater(self, value: SSAValue, bound: int, then: SSAValue, otherwise: SSAValue) -> SSAValue:
        condition = self.value(arith.CmpiOp(value, self.constant(bound), "sgt"))
        return self.value(arith.SelectOp(condition, then, otherwise))

    def word(self, fields: Sequence[tuple[Field, SSAValue]], known_bits: int = 0) -> SSAValue:
        """A register word with these contents, cut to the width of their fields."""
        word = self.constant(known_bits)
        for field, value in fields:
            bits = self.masked(value, (1 << field.width) - 1)
            if field.lo > 0:
                bits = self.value(arith.ShLIOp(bits, self.constant(field.lo)))
            word = self.union(word, bits)
        return word
