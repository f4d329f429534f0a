"""Expressions over shape parameters: evaluated on columns of files, written as text, and emitted as arithmetic."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from tilewright.dialects import arith
from tilewright.rewrite.emitter import Emitter

Column = npt.NDArray[np.int64]
Columns = Mapping[str, Column]
"""Values of each parameter, one for each file."""


def varying(columns: Columns) -> dict[str, Column]:
    """Parameters that are not the same in all files."""
    return {name: column for name, column in columns.items() if len(column) and (column != column[0]).any()}


class Scope:
    """What expressions are emitted into: parameters as i64 values, and what has been computed already."""

    def __init__(self, emitter: Emitter, parameters: Mapping[str, SSAValue]):
        self.emitter, self.parameters = emitter, parameters
        self._made: dict[ShapeExpression, SSAValue] = {}
        self._conditions: dict[Condition, SSAValue] = {}

    def value(self, expression: ShapeExpression) -> SSAValue:
        """The i64 value of an expression, computed once."""
        if expression not in self._made:
            self._made[expression] = expression.emit(self)
        return self._made[expression]

    def holds(self, condition: Condition) -> SSAValue:
        """Whether a condition holds, computed once: contents of many words are chosen by the same few."""
        if condition not in self._conditions:
            self._conditions[condition] = condition.emit(self)
        return self._conditions[condition]

    def constant(self, number: int) -> SSAValue:
        return self.value(ShapeConstant(number))


class ShapeExpression(ABC):
    """A number that depends on parameters."""

    @property
    @abstractmethod
    def cost(self) -> int:
        """How much there is to say: the simplest of all that fit is wanted."""

    @property
    def parts(self) -> tuple[ShapeExpression, ...]:
        """The expressions that it is made of."""
        return ()

    @abstractmethod
    def evaluate(self, columns: Columns) -> Column: ...

    @abstractmethod
    def emit(self, scope: Scope) -> SSAValue: ...


def _length(columns: Columns) -> int:
    return len(next(iter(columns.values()), ()))


@dataclass(frozen=True)
class ShapeConstant(ShapeExpression):
    value: int

    @property
    def cost(self) -> int:
        return 1

    def __str__(self) -> str:
        return str(self.value) if abs(self.value) < 1 << 16 else hex(self.value)

    def evaluate(self, columns: Columns) -> Column:
        return np.full(_length(columns), self.value, dtype=np.int64)

    def emit(self, scope: Scope) -> SSAValue:
        return scope.emitter.constant(self.value, i64)


@dataclass(frozen=True)
class Parameter(ShapeExpression):
    name: str

    @property
    def cost(self) -> int:
        return 1

    def __str__(self) -> str:
        return self.name

    def evaluate(self, columns: Columns) -> Column:
        return columns[self.name]

    def emit(self, scope: Scope) -> SSAValue:
        return scope.parameters[self.name]


def _floor_divide(left: Column, right: Column) -> Column:
    return np.floor_divide(left, np.where(right == 0, 1, right))


def _ceil_divide(left: Column, right: Column) -> Column:
    return -_floor_divide(-left, right)


def _remainder(left: Column, right: Column) -> Column:
    return left - _floor_divide(left, right) * np.where(right == 0, 1, right)


def _emit_remainder(emitter: Emitter, left: SSAValue, right: SSAValue) -> SSAValue:
    whole = emitter.binary(arith.FloorDivSIOp, left, right)
    return emitter.binary(arith.SubiOp, left, emitter.binary(arith.MuliOp, whole, right))


def _by(op: Any) -> Callable[[Emitter, SSAValue, SSAValue], SSAValue]:
    return lambda emitter, left, right: emitter.binary(op, left, right)


_OPERATIONS: dict[str, tuple[Callable[[Column, Column], Column], Callable[[Emitter, SSAValue, SSAValue], SSAValue]]] = {
    "+": (np.add, _by(arith.AddiOp)),
    "*": (np.multiply, _by(arith.MuliOp)),
    "//": (_floor_divide, _by(arith.FloorDivSIOp)),
    "ceildiv": (_ceil_divide, _by(arith.CeilDivSIOp)),
    "%": (_remainder, _emit_remainder),
    "min": (np.minimum, _by(arith.MinSIOp)),
    "max": (np.maximum, _by(arith.MaxSIOp)),
}
"""By the sign: on columns of files, and as arithmetic of a sequence."""
DIVISIONS = ("//", "ceildiv", "%")


@dataclass(frozen=True)
class Binary(ShapeExpression):
    """Two expressions and what is done with them; a divisor of 0 counts as 1, so that no shape is an error."""

    operation: str
    left: ShapeExpression
    right: ShapeExpression

    @property
    def cost(self) -> int:
        return self.left.cost + self.right.cost + (1 if self.operation in "+*" else 2)

    @property
    def parts(self) -> tuple[ShapeExpression, ...]:
        return self.left, self.right

    def __str__(self) -> str:
        if self.operation in ("min", "max", "ceildiv"):
            return f"{self.operation}({self.left}, {self.right})"
        if self.operation == "+" and isinstance(self.right, ShapeConstant) and self.right.value < 0:
            return f"{self.left} - {ShapeConstant(-self.right.value)}"
        left, right = (f"({side})" if self._is_open(side) else str(side) for side in (self.left, self.right))
        return f"{left} {self.operation} {right}" if self.operation != "*" else f"{left}*{right}"

    def _is_open(self, side: ShapeExpression) -> bool:
        return self.operation != "+" and isinstance(side, Binary) and side.operation in ("+", "*", "//", "%")

    def evaluate(self, columns: Columns) -> Column:
        evaluate, _ = _OPERATIONS[self.operation]
        return evaluate(self.left.evaluate(columns), self.right.evaluate(columns))

    def emit(self, scope: Scope) -> SSAValue:
        left, right = scope.value(self.left), scope.value(self.right)
        if self.operation in DIVISIONS:
            right = self._divisor(scope, right)
        _, emit = _OPERATIONS[self.operation]
        return emit(scope.emitter, left, right)

    def _divisor(self, scope: Scope, right: SSAValue) -> SSAValue:
        if isinstance(self.right, ShapeConstant):
            return right
        is_zero = scope.emitter.compare("eq", right, scope.constant(0))
        return scope.emitter.select(is_zero, scope.constant(1), right)


_COMPARE: dict[str, Callable[[Column, np.int64], npt.NDArray[np.bool_]]] = {
    "==": np.equal,
    "<=": np.less_equal,
    ">": np.greater,
}
_PREDICATES = {"==": "eq", "<=": "sle", ">": "sgt"}


@dataclass(frozen=True)
class Condition:
    """A comparison of an expression with a number: `==`, `<=` or `>`."""

    expression: ShapeExpression
    relation: str
    bound: int

    @property
    def cost(self) -> int:
        return self.expression.cost + 2

    def __str__(self) -> str:
        return f"{self.expression} {self.relation} {self.bound}"

    def holds(self, columns: Columns) -> npt.NDArray[np.bool_]:
        values = self.expression.evaluate(columns)
        return _COMPARE[self.relation](values, np.int64(self.bound))

    def emit(self, scope: Scope) -> SSAValue:
        return scope.emitter.compare(
            _PREDICATES[self.relation], scope.value(self.expression), scope.constant(self.bound)
        )


@dataclass(frozen=True)
class ShapeChoice(ShapeExpression):
    """One expression where a condition holds, another one where it does not."""

    condition: Condition
    then: ShapeExpression
    otherwise: ShapeExpression

    @property
    def cost(self) -> int:
        return self.condition.cost + self.then.cost + self.otherwise.cost

    @property
    def parts(self) -> tuple[ShapeExpression, ...]:
        return self.condition.expression, self.then, self.otherwise

    def __str__(self) -> str:
        return f"{self.then} if {self.condition} else {self.otherwise}"

    def evaluate(self, columns: Columns) -> Column:
        return np.where(self.condition.holds(columns), self.then.evaluate(columns), self.otherwise.evaluate(columns))

    def emit(self, scope: Scope) -> SSAValue:
        then, otherwise = scope.value(self.then), scope.value(self.otherwise)
        condition = scope.holds(self.condition)
        assert condition.type == i1
        return scope.emitter.select(condition, then, otherwise)


MOST_PIECES = 16


@dataclass(frozen=True)
class LargestDivisor(ShapeExpression):
    """A number divided by the smallest of 1 to 16 that leaves no rest and no more than a limit; else the number itself.

    That is how programs cut sizes into pieces of equal length, so that each fits into a buffer.
    """

    of: ShapeExpression
    limit: int

    @property
    def cost(self) -> int:
        return self.of.cost + 2

    def __str__(self) -> str:
        return f"divisor({self.of}, {self.limit})"

    @property
    def parts(self) -> tuple[ShapeExpression, ...]:
        return (self.of,)

    def evaluate(self, columns: Columns) -> Column:
        whole = self.of.evaluate(columns)
        result = whole
        for pieces in range(MOST_PIECES, 0, -1):
            part = np.floor_divide(whole, pieces)
            result = np.where((part * pieces == whole) & (part <= self.limit), part, result)
        return result

    def emit(self, scope: Scope) -> SSAValue:
        emitter, whole, limit = scope.emitter, scope.value(self.of), scope.constant(self.limit)
        result = whole
        for pieces in range(MOST_PIECES, 0, -1):
            count = scope.constant(pieces)
            part = emitter.binary(arith.FloorDivSIOp, whole, count)
            has_no_rest = emitter.compare("eq", emitter.binary(arith.MuliOp, part, count), whole)
            fits = emitter.compare("sle", part, limit)
            result = emitter.select(emitter.binary(arith.AndIOp, has_no_rest, fits), part, result)
        return result


@dataclass(frozen=True)
class ReciprocalBits(ShapeExpression):
    """The bits of 1 / n as a 32-bit floating-point number, for n from 1 to 2^30; rounded to the nearest."""

    of: ShapeExpression

    @property
    def cost(self) -> int:
        return self.of.cost + 2

    def __str__(self) -> str:
        return f"float_bits(1/({self.of}))"

    @property
    def parts(self) -> tuple[ShapeExpression, ...]:
        return (self.of,)

    def evaluate(self, columns: Columns) -> Column:
        values = np.clip(self.of.evaluate(columns), 1, 1 << 30)
        length = (values[:, None] >= 1 << np.arange(31)).sum(axis=1)
        rounded = _floor_divide(_floor_divide(1 << 24 + length, values) + 1, np.full_like(values, 2))
        return (126 - length << 23) + rounded

    def emit(self, scope: Scope) -> SSAValue:
        emit = scope.emitter
        bound = scope.value(Binary("min", Binary("max", self.of, ShapeConstant(1)), ShapeConstant(1 << 30)))
        length = scope.constant(0)
        for bit in range(31):
            is_reached = emit.compare("sge", bound, scope.constant(1 << bit))
            length = emit.binary(arith.AddiOp, length, emit.cast(arith.ExtUIOp, is_reached, i64))
        dividend = emit.binary(arith.ShLIOp, scope.constant(1 << 24), length)
        doubled = emit.binary(arith.AddiOp, emit.binary(arith.FloorDivSIOp, dividend, bound), scope.constant(1))
        rounded = emit.binary(arith.FloorDivSIOp, doubled, scope.constant(2))
        exponent = emit.binary(arith.SubiOp, scope.constant(126), length)
        return emit.binary(arith.AddiOp, emit.binary(arith.ShLIOp, exponent, scope.constant(23)), rounded)


@dataclass(frozen=True)
class Fields(ShapeExpression):
    """A word of several fields: each an expression, and where its lowest bit lies, upwards."""

    fields: tuple[tuple[int, ShapeExpression], ...]

    @property
    def cost(self) -> int:
        return sum(1 + part.cost for part in self.parts)

    @property
    def parts(self) -> tuple[ShapeExpression, ...]:
        return tuple(part for _, part in self.fields)

    def __str__(self) -> str:
        ends = [*(shift for shift, _ in self.fields[1:]), 32]
        named = [f"bits {end - 1}:{shift} = {part}" for (shift, part), end in zip(self.fields, ends, strict=True)]
        return f"[{'; '.join(reversed(named))}]"

    def evaluate(self, columns: Columns) -> Column:
        word = np.zeros(_length(columns), dtype=np.int64)
        for shift, part in self.fields:
            word += part.evaluate(columns) << shift
        return word

    def emit(self, scope: Scope) -> SSAValue:
        emitter, word = scope.emitter, scope.constant(0)
        for shift, part in self.fields:
            value = scope.value(part)
            if shift:
                value = emitter.binary(arith.ShLIOp, value, scope.constant(shift))
            word = emitter.folded_sum(word, value)
        return word


def affine(expression: ShapeExpression, scale: int, offset: int) -> ShapeExpression:
    """`scale * expression + offset`, without what changes nothing."""
    scaled = expression if scale == 1 else Binary("*", ShapeConstant(scale), expression)
    return scaled if offset == 0 else Binary("+", scaled, ShapeConstant(offset))
