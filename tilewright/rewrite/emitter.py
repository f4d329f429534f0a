"""Computing with runtime values: each step puts an operation where a rewriter stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import IntegerAttr, IntegerType, i32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from tilewright.device.layout import Field
from tilewright.dialects import arith
from tilewright.dialects.aie.lookup import constant_value
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aiex.attributes import i32_number

Number = SSAValue | int
"""Known when compiling, or only at run time."""


def constant_of(value: int, type: IntegerType) -> arith.ConstantOp:
    """A pattern of some bits; programs show it as a signed number."""
    attr = i32_number(value) if type is i32 else IntegerAttr(value, type, truncate_bits=True)
    return arith.ConstantOp.create(properties={"value": attr}, result_types=[type])


def i32_constant(value: int) -> arith.ConstantOp:
    return constant_of(value, i32)


def known(number: Number) -> int | None:
    return number if isinstance(number, int) else constant_value(number)


class SharedConstants:
    """Constants of sequences, each once, at the start of its sequence."""

    def __init__(self) -> None:
        self._values: dict[Block, dict[tuple[int, int], SSAValue]] = {}
        self._starts: dict[Block, Block] = {}

    def get(self, rewriter: PatternRewriter, value: int, type: IntegerType) -> SSAValue:
        block = rewriter.insertion_point.block
        if block not in self._starts:
            self._starts[block] = _sequence_start(block)
        start = self._starts[block]
        values, key = self._values.setdefault(start, {}), (value, type.bitwidth)
        if key not in values:
            values[key] = rewriter.insert(constant_of(value, type), InsertPoint.at_start(start)).results[0]
        return values[key]


def _sequence_start(block: Block) -> Block:
    """The first block of the runtime sequence that a block is in; the block itself outside of sequences."""
    outer: Block | None = block
    while outer is not None:
        parent = outer.parent_op()
        if isinstance(parent, RuntimeSequenceOp):
            return outer
        outer = parent.parent if parent is not None else None
    return block


class Emitter:
    """Arithmetic on i32 values. It is `Arithmetic[SSAValue]`, so that the one encoder of access patterns can use it.

    Constants are made where they are used, unless there is a place for them.
    """

    def __init__(self, rewriter: PatternRewriter, constants: SharedConstants | None = None):
        self.rewriter = rewriter
        self._constants = constants

    def emit(self, op: Operation) -> None:
        self.rewriter.insert(op)

    def value(self, op: Operation) -> SSAValue:
        """The result of a new operation."""
        return self.rewriter.insert(op).results[0]

    def constant(self, value: int, type: IntegerType = i32) -> SSAValue:
        if self._constants is not None:
            return self._constants.get(self.rewriter, value, type)
        return self.value(constant_of(value, type))

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
