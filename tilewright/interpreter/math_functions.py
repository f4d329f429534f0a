"""`math` on scalars and vectors: functions of NumPy's numbers, narrow ones as f32."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, cast

import numpy as np
from xdsl.ir import Operation

from tilewright.dialects.math.meaning import BIT_COUNTS, MATH, integer_power
from tilewright.dialects.vector.types import element_type
from tilewright.interpreter.numbers import (
    Call,
    FloatKind,
    Function,
    IntegerKind,
    Kind,
    Number,
    float_function,
    kind_of,
    on_elements,
    pairs,
    truth,
    width_of,
)
from tilewright.rewrite.folding.arith_floats import FLOATS
from tilewright.rewrite.folding.floats import round_to
from tilewright.rewrite.integers import mask, signed


def _math(name: str) -> Callable[[Operation], Call]:
    def make(op: Operation) -> Call:
        kinds = [kind_of(element_type(value.type)) for value in (*op.operands, op.results[0])]
        *sources, target = kinds

        def compute(*values: Number) -> Any:
            wide = [_wide(kind, value) for kind, value in zip(sources, values, strict=True)]
            with np.errstate(all="ignore"):
                found = MATH[name](*wide)
            if isinstance(found, tuple):
                return tuple(target.of(number.item()) for number in cast("tuple[Any, ...]", found))
            number = np.asarray(found).item()
            return truth(number) if isinstance(number, bool) else target.of(number)

        return (pairs if len(op.results) > 1 else on_elements)(op.results[0].type, compute)

    return make


def _wide(kind: Kind, value: Number) -> Any:
    """A number in NumPy's type that arithmetic is done in."""
    if isinstance(kind, FloatKind):
        return kind.wide(value)
    assert isinstance(kind, IntegerKind)
    return np.asarray(value, f"i{max(kind.size, 1)}")[()]


def _counted_bits(function: Callable[[int, int], int]) -> Callable[[Operation], Call]:
    def make(op: Operation) -> Call:
        width = width_of(op.results[0].type)
        return on_elements(op.results[0].type, lambda a: signed(function(a & mask(width), width), width))

    return make


def _integer_power(op: Operation) -> Call:
    width = width_of(op.results[0].type)
    return on_elements(op.results[0].type, lambda base, exponent: integer_power(base, exponent, width))


def _fma(op: Operation) -> Call:
    """Rounded once."""
    type = cast(Any, element_type(op.results[0].type))

    def compute(a: float, b: float, c: float) -> float:
        plain = FLOATS.combine("+", FLOATS.combine("*", a, b), c)
        if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
            return plain
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        # Of a zero the plain sum has the sign.
        return round_to(exact, type) if exact else plain

    return on_elements(op.results[0].type, compute)


def _clamp(op: Operation) -> Call:
    highest, lowest = (float_function(f"arith.{name}", cast(Any, element_type(op.results[0].type)))
                       for name in ("maxnumf", "minnumf"))  # fmt: skip
    return on_elements(op.results[0].type, lambda value, low, high: lowest(highest(value, low), high))


COMPUTE: dict[str, Callable[[Any], Function]] = {
    **{f"math.{name}": _math(name) for name in MATH},
    "math.fma": _fma,
    "vector.fma": _fma,
    "math.clampf": _clamp,
    "math.ipowi": _integer_power,
    **{f"math.{name}": _counted_bits(function) for name, function in BIT_COUNTS.items()},
}
"""By operation: what gives the function that computes its results."""
