"""Integer operations computed on Python integers.

A number stands for its residue modulo the width: what goes in may have a sign or none, and so may what comes out.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache
from typing import Any

from tilewright.dialects.arith.meaning import Integers

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
"""Comparisons of Python numbers by their operators."""


class UndefinedResult(ArithmeticError):
    """MLIR does not say what an operation gives."""


def mask(width: int) -> int:
    return (1 << width) - 1


def signed(number: int, width: int) -> int:
    """The number that some bits are when the uppermost is the sign."""
    number &= (1 << width) - 1
    return number - (1 << width) if number >> width - 1 else number


def fits_signed(number: int, width: int) -> bool:
    return -(1 << width - 1) <= number < 1 << width - 1


class PythonIntegers(Integers[int]):
    """Integers of one width."""

    def __init__(self, width: int, overflow_wraps: bool):
        self.width, self.overflow_wraps = width, overflow_wraps

    def read(self, number: int, is_signed: bool | None) -> int:
        return signed(number, self.width) if is_signed else number & mask(self.width)

    def constant(self, number: int, like: int) -> int:
        return number

    def addi(self, a: int, b: int) -> int:
        return a + b

    def subi(self, a: int, b: int) -> int:
        return a - b

    def muli(self, a: int, b: int) -> int:
        return a * b

    def andi(self, a: int, b: int) -> int:
        return a & b

    def ori(self, a: int, b: int) -> int:
        return a | b

    def xori(self, a: int, b: int) -> int:
        return a ^ b

    def quotient(self, a: int, b: int, signed: bool) -> int:
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)

    def remainder(self, a: int, b: int, signed: bool) -> int:
        return a - self.quotient(a, b, signed) * b

    def shift_left(self, a: int, b: int, signed: bool) -> int:
        return a << b

    def shift_right(self, a: int, b: int, signed: bool) -> int:
        return a >> b

    def compare(self, symbol: str, a: int, b: int, signed: bool | None) -> int:
        return COMPARE[symbol](self.read(a, signed), self.read(b, signed))

    def select(self, condition: int, a: int, b: int) -> int:
        return a if condition & 1 else b

    def divided(self, a: int, b: int, signed: bool, compute: Callable[[int, int, bool], int]) -> int:
        a, b = self.read(a, signed), self.read(b, signed)
        if b == 0:
            raise UndefinedResult
        result = compute(a, b, signed)
        if signed and not self.overflow_wraps and not fits_signed(result, self.width):
            raise UndefinedResult
        return result

    def shifted(self, a: int, b: int, signed: bool, compute: Callable[[int, int, bool], int]) -> int:
        a, b = self.read(a, signed), self.read(b, False)
        if b >= self.width:
            raise UndefinedResult
        return compute(a, b, signed)


@cache
def integers(width: int, overflow_wraps: bool = False) -> PythonIntegers:
    """The integers of a width; their quotients that do not fit are undefined, or wrap around."""
    return PythonIntegers(width, overflow_wraps)


def compute(name: str, a: int, b: int, width: int, overflow_wraps: bool = False) -> int | None:
    """The result of `arith`'s operation of that name; None where it is undefined."""
    try:
        return getattr(integers(width, overflow_wraps), name)(a, b)
    except UndefinedResult:
        return None
