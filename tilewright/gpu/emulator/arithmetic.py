"""Arithmetic that is more than an operator: what generated code calls, on NumPy arrays and on single numbers.

Integers wrap at their width. Active lanes never divide by zero, which is looked for before; the others compute with
anything, and a division gives whatever NumPy gives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import ml_dtypes
import numpy as np

from tilewright.dialects.math.meaning import BIT_COUNTS, MATH, integer_power

Array = Any
_where = cast("Callable[..., Any]", np.where)  # its type fits several of its declarations
NARROW = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)


def wrap8(x: int) -> int:
    return x if -128 <= x < 128 else ((x + 128) & 255) - 128


def wrap16(x: int) -> int:
    return x if -32768 <= x < 32768 else ((x + 32768) & 65535) - 32768


def wrap32(x: int) -> int:
    return x if -(1 << 31) <= x < 1 << 31 else ((x + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


def wrap64(x: int) -> int:
    return x if -(1 << 63) <= x < 1 << 63 else ((x + (1 << 63)) & 0xFFFFFFFFFFFFFFFF) - (1 << 63)


def maximumf(a: Array, b: Array) -> Array:
    """The greater number, or NaN if one of them is; NumPy takes zeros for equal, here +0 is the greater."""
    return _where((a == 0) & (b == 0), a + b, np.maximum(a, b))[()]


def minimumf(a: Array, b: Array) -> Array:
    """The lesser number, or NaN if one of them is; of zeros -0."""
    return _where((a == 0) & (b == 0), -(-a - b), np.minimum(a, b))[()]


NOWHERE = -(1 << 63)
"""The place of an element whose number does not fit into 64 bits: no buffer has it."""


def fitting(number: int) -> int:
    """A number, or `NOWHERE` if it does not fit into 64 bits."""
    return number if number == wrap64(number) else NOWHERE


def place(base: Array, *factors: Array) -> Array:
    """The base plus the products of pairs of factors; `NOWHERE` where that does not fit into 64 bits."""
    pairs, reach = list(zip(factors[::2], factors[1::2], strict=True)), _reach(base)
    for a, b in pairs:
        reach += _reach(a) * _reach(b)
    # products and sums stay in 64 bits, whatever their signs
    if reach < -NOWHERE:
        for a, b in pairs:
            term = a if b.__class__ is int and b == 1 else a * b
            base = term if base.__class__ is int and base == 0 else base + term
        return base
    if all(isinstance(part, int) for part in (base, *factors)):
        return _exact_place(base, *factors)
    # Python's integers do not wrap; slow, but only numbers near 2^63 come here
    found: Array = np.frompyfunc(_exact_place, 1 + len(factors), 1)(base, *factors)
    return found.astype(np.int64)


def _exact_place(base: int, *factors: int) -> int:
    base, *rest = (int(part) for part in (base, *factors))
    terms = list(zip(rest[::2], rest[1::2], strict=True))
    if base == NOWHERE or any(NOWHERE in term and 0 not in term for term in terms):
        return NOWHERE
    return fitting(base + sum(a * b for a, b in terms))


def _reach(x: Array) -> int:
    """How far from zero a number is, or the farthest of an array."""
    if x.__class__ is int:
        return abs(x)
    # one pass if none is below zero; as a number without a sign such a one is huge
    farthest = int(np.maximum.reduce(x.view(np.uint64)))
    return farthest if farthest < -NOWHERE else max(-int(x.min()), int(x.max()))


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
    # Python raises where NumPy gives 0
    return a * 0 if isinstance(b, int) and b == 0 else a // b


def modulo(a: Array, b: Array) -> Array:
    """Never below zero, for a divisor above."""
    return a * 0 if isinstance(b, int) and b == 0 else a % b


def ceildivs(a: Array, b: Array) -> Array:
    return floordivs(a, b) + (modulo(a, b) != 0)


divu, remu, ceildivu = floordivs, modulo, ceildivs
"""For numbers that were made unsigned before."""


def shl(a: int, b: int, bits: int) -> int:
    """Of a single number; 0 for a shift by the width or more, of which MLIR does not say what it gives."""
    return _in_bits(a << b, bits) if b < bits else 0


def shrs(a: int, b: int, bits: int) -> int:
    return _in_bits(a >> min(b, bits), bits)


shru = shrs
"""For a number that was made unsigned before."""


def _in_bits(number: int, bits: int) -> Any:
    half = 1 << bits - 1
    return (number + half) % (2 * half) - half if bits > 1 else bool(number & 1)


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
    # 2^63 - 1 is no f64: the nearest one below the limit is
    inside = np.clip(wide, float(low), np.nextafter(float(high) + 1, 0))
    return inside.astype(target).view(dtype)


def bitcast(x: Array, dtype: np.dtype[Any], source: np.dtype[Any]) -> Array:
    if hasattr(x, "shape") and x.ndim:
        return x.view(dtype)
    found = np.array(x, dtype=source).view(dtype)[()]
    return found if dtype.kind in "fV" else found.item()


def _count(function: Callable[[int, int], int]) -> Any:
    def count(x: Array) -> Array:
        bits = np.asarray(x).dtype.itemsize * 8
        mask = (1 << bits) - 1
        found: Array = np.frompyfunc(lambda n: function(int(n) & mask, bits), 1, 1)(x)
        return found.astype(np.asarray(x).dtype)

    return count


def _ipowi(base: Array, exponent: Array) -> Array:
    dtype = np.asarray(base).dtype
    power = np.frompyfunc(lambda b, e: integer_power(int(b), int(e), dtype.itemsize * 8), 2, 1)
    return np.asarray(power(base, exponent)).astype(dtype)


FUNCTIONS: dict[str, Any] = {
    **MATH,
    **{name: _count(function) for name, function in BIT_COUNTS.items()},
    "ipowi": _ipowi,
}


def call_math(name: str, dtype: np.dtype[Any], scalar: bool, *values: Array) -> Array:
    """A function of `math`; narrow numbers are computed as f32 and rounded."""
    wide = [np.asarray(x, np.float32) if np.asarray(x).dtype in NARROW else np.asarray(x) for x in values]
    found = np.asarray(FUNCTIONS[name](*wide)).astype(dtype)
    if not scalar:
        return found
    # a float keeps its NumPy type: Python's have 64 bits
    return found[()] if dtype.kind in "fV" else found.item()
