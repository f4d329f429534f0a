"""Integer operations computed on Python integers.

A number stands for its residue modulo the width: what goes in may have a sign or none, and so may what comes out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from tilewright.dialects.arith.meaning import MEANING, Integers

OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": int.__add__,
    "-": int.__sub__,
    "*": int.__mul__,
    "&": int.__and__,
    "|": int.__or__,
    "^": int.__xor__,
    "<<": int.__lshift__,
    ">>": int.__rshift__,
    "==": int.__eq__,
    "!=": int.__ne__,
    "<": int.__lt__,
    "<=": int.__le__,
    ">": int.__gt__,
    ">=": int.__ge__,
}


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

    def combine(self, operator: str, a: int, b: int) -> int:
        return OPERATORS[operator](a, b)

    def divide(self, operator: str, a: int, b: int, signed: bool) -> int:
        # Python rounds down, so that both are computed without signs
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return quotient if operator == "/" else a - quotient * b

    def shift(self, operator: str, a: int, b: int, signed: bool) -> int:
        return OPERATORS[operator](a, b)

    def compare(self, operator: str, a: int, b: int, signed: bool | None) -> int:
        return OPERATORS[operator](self.read(a, signed), self.read(b, signed))

    def select(self, condition: int, a: int, b: int) -> int:
        return a if condition & 1 else b

    def where_divisible(self, a: int, b: int, signed: bool, compute: Callable[[int, int], int]) -> int:
        a, b = self.read(a, signed), self.read(b, signed)
        result = compute(a, b) if b else None
        # the least number divided by -1 is the one quotient that does not fit
        if result is None or (signed and not self.overflow_wraps and not fits_signed(result, self.width)):
            raise UndefinedResult
        return result

    def where_shiftable(self, a: int, b: int, signed: bool, compute: Callable[[int, int], int]) -> int:
        # the amount has no sign, whatever is shifted: a negative one is a large one
        a, b = self.read(a, signed), self.read(b, False)
        if b >= self.width:
            raise UndefinedResult
        return compute(a, b)


@cache
def integers(width: int, overflow_wraps: bool = False) -> PythonIntegers:
    """The integers of a width; their quotients that do not fit are undefined, or wrap around."""
    return PythonIntegers(width, overflow_wraps)


def compute(name: str, a: int, b: int, width: int, overflow_wraps: bool = False) -> int | None:
    """The result of `arith`'s operation of that name; None where it is undefined."""
    try:
        return MEANING[name](integers(width, overflow_wraps), a, b)
    except UndefinedResult:
        return None
