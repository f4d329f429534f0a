"""The meaning of `math`: functions of NumPy's numbers, single ones and arrays, and of Python's integers.

    interpreter/math_functions.py   single numbers
    gpu/emulator/arithmetic.py      lanes

Native code calls the C library, whose results may differ from these in their last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Array = Any


def _round(x: Array) -> Array:
    """Half away from zero."""
    whole = np.trunc(x)
    return whole + np.copysign((abs(x - whole) >= 0.5).astype(np.asarray(x).dtype), x)


def _fma(a: Array, b: Array, c: Array) -> Array:
    """Rounded once; for f32 by way of f64, which holds the product."""
    wide = np.asarray(a, np.float64) * np.asarray(b, np.float64) + np.asarray(c, np.float64)
    return wide.astype(np.asarray(a).dtype)


def _rsqrt(x: Array) -> Array:
    return 1 / np.sqrt(x)


def _erf(x: Array) -> Array:
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(np.asarray(x, np.float64)), np.float64)


def _erfc(x: Array) -> Array:
    return np.asarray(np.frompyfunc(math.erfc, 1, 1)(np.asarray(x, np.float64)), np.float64)


def _sincos(x: Array) -> tuple[Array, Array]:
    return np.sin(x), np.cos(x)


def _fpowi(base: Array, exponent: Array) -> Array:
    return np.power(base, np.asarray(exponent).astype(np.asarray(base).dtype))


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
    "erfc": _erfc,
    "fpowi": _fpowi,
    "sincos": _sincos,
    **{
        name: getattr(np, name)
        for name in (
            *("exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "cbrt", "copysign", "sqrt", "isnan", "isinf"),
            *("sin", "cos", "tan", "sinh", "cosh", "tanh", "ceil", "floor", "trunc", "isfinite"),
        )
    },
}
"""Functions of floating-point numbers, and of integers where NumPy has them; narrow types are computed as f32."""

BIT_COUNTS: dict[str, Callable[[int, int], int]] = {
    "ctpop": lambda n, bits: n.bit_count(),
    "ctlz": lambda n, bits: bits - n.bit_length(),
    "cttz": lambda n, bits: (n & -n).bit_length() - 1 if n else bits,
}
"""Of a number without its sign, and its width."""


def integer_power(base: int, exponent: int, bits: int) -> int:
    """Modulo the width; a power below 0 is that of the inverse, which is 0 but for a base of 1 or -1."""
    if exponent < 0:
        return 0 if abs(base) != 1 else base if exponent % 2 else 1
    found = pow(base, exponent, 1 << bits)
    return found - (1 << bits) if found >> bits - 1 else found
