"""Arithmetic that is more than an operator: what generated code calls, on NumPy arrays and on single numbers.

Integers wrap at their width; a division by zero is undefined in MLIR and gives whatever NumPy gives, without a stop:
lanes that are not active compute with anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

Array = Any
NARROW = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)


def wrap8(x: int) -> int:
    return x if -128 <= x < 128 else ((x + 128) & 255) - 128


def wrap16(x: int) -> int:
    return x if -32768 <= x < 32768 else ((x + 32768) & 65535) - 32768


def wrap32(x: int) -> int:
    return x if -(1 << 31) <= x < 1 << 31 else ((x + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


def wrap64(x: int) -> int:
    return x if -(1 << 63) <= x < 1 << 63 else ((x + (1 << 63)) & 0xFFFFFFFFFFFFFFFF) - (1 << 63)


def divs(a: Array, b: Array) -> Array:
    """Rounded toward zero."""
    if isinstance(a, int) and isinstance(b, int):
        return 0 if b == 0 else (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1)
    return (a - np.fmod(a, b)) // b


def rems(a: Array, b: Array) -> Array:
    """With the sign of the dividend."""
    if isinstance(a, int) and isinstance(b, int):
        return 0 if b == 0 else (abs(a) % abs(b)) * (1 if a >= 0 else -1)
    return np.fmod(a, b)


def floordivs(a: Array, b: Array) -> Array:
    if isinstance(b, int) and b == 0:
        return a * 0
    return a // b


def ceildivs(a: Array, b: Array) -> Array:
    if isinstance(b, int) and b == 0:
        return a * 0
    return a // b + (a % b != 0)


def modulo(a: Array, b: Array) -> Array:
    """Never below zero, for a divisor above."""
    if isinstance(b, int) and b == 0:
        return a * 0
    return a % b


def divu(a: Array, b: Array) -> Array:
    """Of numbers without signs."""
    if isinstance(b, int) and b == 0:
        return a * 0
    return a // b


def remu(a: Array, b: Array) -> Array:
    if isinstance(b, int) and b == 0:
        return a * 0
    return a % b


def ceildivu(a: Array, b: Array) -> Array:
    return divu(a, b) + (remu(a, b) != 0)


def mulhigh(a: Array, b: Array, bits: int, signed: bool) -> Array:
    """The upper half of a product."""
    mask = (1 << bits) - 1

    def one(x: int, y: int) -> int:
        x, y = int(x), int(y)
        full = x * y if signed else (x & mask) * (y & mask)
        high = (full >> bits) & mask
        return high - (1 << bits) if high >> (bits - 1) else high

    if isinstance(a, int) and isinstance(b, int):
        return one(a, b)
    found: Array = np.frompyfunc(one, 2, 1)(a, b)
    return found.astype(f"i{bits // 8}")


def to_integer(x: Array, dtype: np.dtype[Any], bits: int, signed: bool) -> Array:
    """Rounded toward zero; what does not fit becomes the nearest that does, a NaN becomes 0."""
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    wide = np.trunc(np.nan_to_num(np.asarray(x, dtype=np.float64), nan=0.0, posinf=float(high), neginf=float(low)))
    target = np.dtype(f"{'i' if signed else 'u'}{bits // 8}") if bits > 1 else np.dtype(bool)
    inside = np.clip(wide, float(low), np.nextafter(float(high) + 1, 0))
    return inside.astype(target).view(dtype)


def bitcast(x: Array, dtype: np.dtype[Any], source: np.dtype[Any]) -> Array:
    if hasattr(x, "shape") and x.ndim:
        return x.view(dtype)
    found = np.array(x, dtype=source).view(dtype)[()]
    return found if dtype.kind in "fV" else found.item()


def _round(x: Array) -> Array:
    """Half away from zero."""
    whole = np.trunc(x)
    return whole + np.copysign((abs(x - whole) >= 0.5).astype(np.asarray(x).dtype), x)


def _fma(a: Array, b: Array, c: Array) -> Array:
    """Rounded once; for f32 by way of f64, which holds the product."""
    dtype = np.asarray(a).dtype
    wide = np.asarray(a, np.float64) * np.asarray(b, np.float64) + np.asarray(c, np.float64)
    return wide.astype(dtype)


def _ones(n: int, bits: int) -> int:
    return n.bit_count()


def _leading_zeros(n: int, bits: int) -> int:
    return bits - n.bit_length()


def _trailing_zeros(n: int, bits: int) -> int:
    return bits if n == 0 else (n & -n).bit_length() - 1


def _count(function: Callable[[int, int], int]) -> Any:
    def count(x: Array) -> Array:
        bits = np.asarray(x).dtype.itemsize * 8
        mask = (1 << bits) - 1
        found: Array = np.frompyfunc(lambda n: function(int(n) & mask, bits), 1, 1)(x)
        return found.astype(np.asarray(x).dtype)

    return count


def _rsqrt(x: Array) -> Array:
    return 1 / np.sqrt(x)


def _erf(x: Array) -> Array:
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(np.asarray(x, np.float64)), np.float64)


MATH: dict[str, Any] = {
    "absf": np.abs,
    "absi": np.abs,
    "atan2": np.arctan2,
    "powf": np.power,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "roundeven": np.rint,
    "rsqrt": _rsqrt,
    "round": _round,
    "fma": _fma,
    "erf": _erf,
    "ctpop": _count(_ones),
    "ctlz": _count(_leading_zeros),
    "cttz": _count(_trailing_zeros),
    "ipowi": np.power,
    **{
        name: getattr(np, name)
        for name in (
            *("exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "cbrt", "copysign", "sqrt", "isnan", "isinf"),
            *("sin", "cos", "tan", "sinh", "cosh", "tanh", "ceil", "floor", "trunc", "isfinite"),
        )
    },
}


def call_math(name: str, dtype: np.dtype[Any], scalar: bool, *values: Array) -> Array:
    """A function of `math`; narrow numbers are computed as f32 and rounded."""
    wide = [np.asarray(x, np.float32) if np.asarray(x).dtype in NARROW else np.asarray(x) for x in values]
    found = np.asarray(MATH[name](*wide)).astype(dtype)
    if not scalar:
        return found
    return found[()] if dtype.kind in "fV" else found.item()
