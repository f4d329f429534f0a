"""Exact arithmetic on numbers: what is known is computed now, the rest by operations on 64-bit values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

from xdsl.dialects.builtin import IndexType, IntegerType, i1, i32, i64
from xdsl.ir import SSAValue

from tilewright.device.layout import Field
from tilewright.dialects import arith
from tilewright.dialects.aiex.guards import value_limits
from tilewright.rewrite.emitter import Emitter, Number, known

Condition: TypeAlias = "bool | SSAValue"


def limits_of(number: Number) -> tuple[int, int]:
    """The smallest and the largest that a number can be, by its type."""
    if (constant := known(number)) is not None:
        return constant, constant
    assert isinstance(number, SSAValue)
    return value_limits(number)


class Numbers:
    """Computes where an emitter stands. It is `Arithmetic[Number]`, so that the one encoder of patterns can use it.

    Nothing wraps around: runtime values have been checked before anything is computed with them.
    """

    def __init__(self, emit: Emitter):
        self.emit = emit

    def value(self, number: Number, type: IntegerType = i64) -> SSAValue:
        """A number as a value of some width, with its sign."""
        if (constant := known(number)) is not None:
            return self.emit.constant(constant, type)
        assert isinstance(number, SSAValue)
        if number.type is type:
            return number
        if isinstance(number.type, IndexType):
            return self.emit.cast(arith.IndexCastOp, number, type)
        bits, wanted = cast(IntegerType, number.type).bitwidth, type.bitwidth
        if bits == wanted:
            return number
        return self.emit.cast(arith.TruncIOp if bits > wanted else arith.ExtSIOp, number, type)

    def constant(self, value: int) -> Number:
        return value

    def add(self, first: Number, second: Number) -> Number:
        a, b = known(first), known(second)
        if a is not None and b is not None:
            return a + b
        if a == 0 or b == 0:
            return second if a == 0 else first
        return self.emit.binary(arith.AddiOp, self.value(first), self.value(second))

    def subtract(self, value: Number, amount: Number) -> Number:
        a, b = known(value), known(amount)
        if a is not None and b is not None:
            return a - b
        return value if b == 0 else self.emit.binary(arith.SubiOp, self.value(value), self.value(amount))

    def multiply(self, value: Number, factor: Number) -> Number:
        a, b = known(value), known(factor)
        if a is not None and b is not None:
            return a * b
        if a == 0 or b == 0:
            return 0
        if a == 1 or b == 1:
            return factor if a == 1 else value
        return self.emit.binary(arith.MuliOp, self.value(value), self.value(factor))

    def divide(self, value: Number, divisor: Number) -> Number:
        """The quotient of numbers that are not negative, without the remainder."""
        a, b = known(value), known(divisor)
        if a is not None and b is not None:
            return a // b
        return value if b == 1 else self.emit.binary(arith.DivUIOp, self.value(value), self.value(divisor))

    def remainder(self, value: Number, divisor: Number) -> Number:
        """What the quotient of numbers that are not negative leaves."""
        a, b = known(value), known(divisor)
        if a is not None and b is not None:
            return a % b
        return 0 if b == 1 else self.emit.binary(arith.RemUIOp, self.value(value), self.value(divisor))

    def scale(self, value: Number, factor: int, divisor: int) -> Number:
        """A number times a fraction."""
        # a runtime value costs one operation where the fraction can be reduced
        if factor % divisor == 0:
            return self.multiply(value, factor // divisor)
        if divisor % factor == 0:
            return self.divide(value, divisor // factor)
        return self.divide(self.multiply(value, factor), divisor)

    def greater(self, value: Number, bound: int) -> Condition:
        lowest, highest = limits_of(value)
        # what no number of the type can change is decided now; compilers warn of it
        if lowest > bound or highest <= bound:
            return lowest > bound
        return self._compared(value, bound, "sgt")

    def at_most(self, value: Number, bound: int) -> Condition:
        lowest, highest = limits_of(value)
        if highest <= bound or lowest > bound:
            return highest <= bound
        return self._compared(value, bound, "sle")

    def equal(self, first: Number, second: Number) -> Condition:
        a, b = known(first), known(second)
        if a is not None and b is not None:
            return a == b
        (low, high), (other_low, other_high) = limits_of(first), limits_of(second)
        if low > other_high or other_low > high:
            return False
        # one value is equal to itself without being known
        return first is second or self._compared(first, second, "eq")

    def negated(self, condition: Condition) -> Condition:
        if isinstance(condition, bool):
            return not condition
        return self.emit.binary(arith.XOrIOp, condition, self.emit.constant(1, i1))

    def all_of(self, *conditions: Condition) -> Condition:
        return self._joined(conditions, arith.AndIOp, neutral=True)

    def any_of(self, *conditions: Condition) -> Condition:
        return self._joined(conditions, arith.OrIOp, neutral=False)

    def select(self, condition: Condition, then: Number, otherwise: Number) -> Number:
        if isinstance(condition, bool):
            return then if condition else otherwise
        if then is otherwise or (known(then) is not None and known(then) == known(otherwise)):
            return then
        return self.emit.select(condition, self.value(then), self.value(otherwise))

    def computed_if(self, condition: Condition, compute: Callable[[Numbers], Number], otherwise: Number) -> Number:
        """What `compute` gives, which costs too much to do where it is not needed."""
        if isinstance(condition, bool):
            return compute(self) if condition else otherwise
        return self.emit.choose(
            condition,
            i64,
            lambda emit: (inner := Numbers(emit)).value(compute(inner)),
            lambda emit: Numbers(emit).value(otherwise),
        )

    def select_less(self, value: Number, bound: int, then: Number, otherwise: Number) -> Number:
        number = known(value)
        return self.select(self._compared(value, bound, "slt") if number is None else number < bound, then, otherwise)

    def select_greater(self, value: Number, bound: int, then: Number, otherwise: Number) -> Number:
        return self.select(self.greater(value, bound), then, otherwise)

    def word(self, known_bits: int, fields: Sequence[tuple[Field, Number]]) -> SSAValue:
        """A register word with these contents, which fit their fields."""
        word: SSAValue | None = self.emit.constant(known_bits, i64) if known_bits else None
        for field, number in fields:
            bits = self.value(number)
            # not masked, unlike `Emitter.word`: the checks have seen to it that it fits
            if field.lo > 0:
                bits = self.emit.binary(arith.ShLIOp, bits, self.value(field.lo))
            word = bits if word is None else self.emit.binary(arith.OrIOp, word, bits)
        return self.value(0 if word is None else word, i32)

    def _compared(self, first: Number, second: Number, predicate: str) -> SSAValue:
        return self.emit.compare(predicate, self.value(first), self.value(second))

    def _joined(
        self, conditions: Sequence[Condition], kind: type[arith.AndIOp | arith.OrIOp], *, neutral: bool
    ) -> Condition:
        if any(condition is (not neutral) for condition in conditions):
            return not neutral
        joined: Condition = neutral
        for condition in conditions:
            if isinstance(condition, SSAValue):
                joined = condition if isinstance(joined, bool) else self.emit.binary(kind, joined, condition)
        return joined
