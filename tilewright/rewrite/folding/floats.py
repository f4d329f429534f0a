"""IEEE arithmetic in the precision of a float type, rounding to nearest even.

Sums, products, quotients and conversions are computed in double precision and rounded once more: for formats of at most
24 bits of precision that gives the correctly rounded result.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple, TypeAlias, cast

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, f64
from xdsl.dialects.builtin import _FloatType as FloatType

Binary: TypeAlias = Callable[[float, float], float]


class Format(NamedTuple):
    precision: int
    """Significant bits, the hidden one included."""
    max_exponent: int
    """Of the largest finite number, as `2**max_exponent <= number`."""

    @property
    def largest(self) -> float:
        return math.ldexp(2.0 - math.ldexp(1.0, 1 - self.precision), self.max_exponent)


_FORMATS: dict[type[FloatType], Format] = {
    BFloat16Type: Format(8, 127),
    Float16Type: Format(11, 15),
    Float32Type: Format(24, 127),
    Float64Type: Format(53, 1023),
}

NAN = float("nan")


def format_of(type: FloatType) -> Format | None:
    """None for the formats that a Python float cannot hold."""
    return _FORMATS.get(type.__class__)


def round_to(value: float | Fraction, type: FloatType) -> float:
    """The number of `type` nearest to `value`, ties to even; infinity where that is too large."""
    found = format_of(type)
    if found is None:
        return float(value)
    if isinstance(value, float):
        if found.precision == 53 or value == 0.0 or not math.isfinite(value):
            return value
        exponent = math.frexp(value)[1] - 1
    elif not value:
        return 0.0
    else:
        exponent = _floor_log2(Fraction(abs(value)))
    # below the smallest normal exponent the steps stay as they are: subnormal numbers
    scale = max(exponent, 1 - found.max_exponent) - found.precision + 1
    steps = round(math.ldexp(value, -scale) if isinstance(value, float) else value / Fraction(2) ** scale)
    # an integer may be too large even for a Python float
    try:
        rounded = math.ldexp(float(abs(steps)), scale)
    except OverflowError:
        rounded = math.inf
    magnitude = math.inf if rounded > found.largest else rounded
    return -magnitude if value < 0 else magnitude


def _floor_log2(value: Fraction) -> int:
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    return exponent if Fraction(2) ** exponent <= value else exponent - 1


def is_exact(value: float, type: FloatType) -> bool:
    """Whether `type` has the number `value`, or the NaN with all its bits."""
    found = format_of(type)
    if value != value and found is not None:
        payload = cast(int, to_bits(value, f64)) & ((1 << 52) - 1)
        return payload & ((1 << (53 - found.precision)) - 1) == 0
    return not math.isfinite(value) or round_to(value, type) == value


def _propagates_nan(compute: Binary) -> Binary:
    """`compute` of numbers; a NaN that goes in comes out, the first of two."""
    return lambda a, b: a if a != a else b if b != b else compute(a, b)


@_propagates_nan
def add(a: float, b: float) -> float:
    return _canonical(a + b)


@_propagates_nan
def subtract(a: float, b: float) -> float:
    return _canonical(a - b)


@_propagates_nan
def multiply(a: float, b: float) -> float:
    return _canonical(a * b)


@_propagates_nan
def divide(a: float, b: float) -> float:
    # Python raises where IEEE gives infinity
    if b == 0:
        return NAN if a == 0 else math.copysign(math.inf, math.copysign(1.0, a) * math.copysign(1.0, b))
    return _canonical(a / b)


@_propagates_nan
def remainder(a: float, b: float) -> float:
    """With the sign of the dividend."""
    return NAN if math.isinf(a) or b == 0 else math.fmod(a, b)


def negate(a: float) -> float:
    return -a


@_propagates_nan
def maximum(a: float, b: float) -> float:
    """NaN if either is; +0 is greater than -0."""
    if a == b:
        return b if math.copysign(1.0, a) < 0 else a
    return a if a > b else b


@_propagates_nan
def minimum(a: float, b: float) -> float:
    if a == b:
        return a if math.copysign(1.0, a) < 0 else b
    return a if a < b else b


def maximum_number(a: float, b: float) -> float:
    """A number rather than NaN."""
    if a != a:
        return b
    return a if b != b else maximum(a, b)


def minimum_number(a: float, b: float) -> float:
    if a != a:
        return b
    return a if b != b else minimum(a, b)


def _canonical(value: float) -> float:
    """Hardware may make a negative NaN where MLIR makes a positive one."""
    return NAN if value != value else value


def is_negative_zero(value: float | None) -> bool:
    return value == 0 and math.copysign(1.0, value) < 0


def is_positive_zero(value: float | None) -> bool:
    return value == 0 and math.copysign(1.0, value) > 0


_PACKED: dict[type[FloatType], str] = {Float16Type: "<e", Float32Type: "<f", Float64Type: "<d"}


def to_bits(value: float, type: FloatType) -> int | None:
    """The encoding of a number of `type`."""
    # the upper half of an f32; struct has no code for it
    if isinstance(type, BFloat16Type):
        return int.from_bytes(struct.pack("<f", value), "little") >> 16
    code = _PACKED.get(type.__class__)
    return None if code is None else int.from_bytes(struct.pack(code, value), "little")


def from_bits(bits: int, type: FloatType) -> float | None:
    if isinstance(type, BFloat16Type):
        return struct.unpack("<f", (bits << 16).to_bytes(4, "little"))[0]
    code = _PACKED.get(type.__class__)
    return None if code is None else struct.unpack(code, bits.to_bytes(struct.calcsize(code), "little"))[0]
