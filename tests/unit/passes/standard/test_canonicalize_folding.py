"""Each folded result is what Python computes, on all widths and in the corners of the number formats."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from helpers import WIDTHS, toward_zero
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f16, f32

from tilewright.ir.context import make_context
from tilewright.ir.parser import parse_source
from tilewright.passes.standard.canonicalize import CanonicalizePass
from tilewright.rewrite.folding.arith import PATTERNS
from tilewright.rewrite.folding.constants import constant_of
from tilewright.rewrite.folding.floats import round_to

FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


def wrap(value: int, width: int) -> int:
    """`value` modulo two to the width, as a signed number."""
    half = 1 << (width - 1)
    return (value + half) % (1 << width) - half


def unsigned(value: int, width: int) -> int:
    return value % (1 << width)


SIGNED: dict[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "maxsi": max,
    "minsi": min,
}
DIVISIONS: dict[str, Callable[[int, int], int]] = {
    "divsi": toward_zero,
    "floordivsi": lambda a, b: a // b,
    "remsi": lambda a, b: a - toward_zero(a, b) * b,
}
UNSIGNED: dict[str, Callable[[int, int], int]] = {
    "divui": lambda a, b: a // b,
    "remui": lambda a, b: a % b,
    "ceildivui": lambda a, b: -(-a // b),
    "maxui": max,
    "minui": min,
    "shli": lambda a, b: a << b,
    "shrui": lambda a, b: a >> b,
}
COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}

integers = st.tuples(st.sampled_from(sorted(WIDTHS)), st.integers(), st.integers()).map(
    lambda drawn: (drawn[0], wrap(drawn[1], WIDTHS[drawn[0]]), wrap(drawn[2], WIDTHS[drawn[0]]))
)


def literal(value: int | float, type: str) -> str:
    if type == "i1":
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value} : {type}"
    bits = int.from_bytes(FLOATS[type](value).tobytes(), "little")
    return f"0x{bits:0{FLOATS[type]().nbytes * 2}X} : {type}"


def fold(op: str, result: str, *operands: tuple[int | float, str]) -> int | float | None:
    """What canonicalization makes of `op` on constants, None if it leaves it alone."""
    lines = [f"%{n} = arith.constant {literal(value, type)}" for n, (value, type) in enumerate(operands)]
    text = "\n  ".join([*lines, f"%r = {op}", f"return %r : {result}"])
    ctx = make_context()
    module = parse_source(ctx, f"func.func @f() -> {result} {{\n  {text}\n}}", "fold.mlir")
    CanonicalizePass().apply(ctx, module)
    (end,) = (op for op in module.walk() if op.name == "func.return")
    value = constant_of(end.operands[0])
    return value.value.data if isinstance(value, IntegerAttr | FloatAttr) else None


@pytest.mark.parametrize("name", sorted(SIGNED))
@given(drawn=integers)
def test_signed(name: str, drawn: tuple[str, int, int]) -> None:
    type, a, b = drawn
    folded = fold(f"arith.{name} %0, %1 : {type}", type, (a, type), (b, type))
    assert folded == wrap(SIGNED[name](a, b), WIDTHS[type])


@pytest.mark.parametrize("name", sorted(DIVISIONS))
@given(drawn=integers.filter(lambda drawn: drawn[0] != "i1"))
def test_division(name: str, drawn: tuple[str, int, int]) -> None:
    """Neither division by zero nor a quotient that does not fit is decided at compile time."""
    type, a, b = drawn
    folded = fold(f"arith.{name} %0, %1 : {type}", type, (a, type), (b, type))
    expected = DIVISIONS[name](a, b) if b else None
    fits = expected is not None and wrap(expected, WIDTHS[type]) == expected
    assert folded == (expected if fits else None)


@pytest.mark.parametrize("name", sorted(UNSIGNED))
@given(drawn=integers)
def test_unsigned(name: str, drawn: tuple[str, int, int]) -> None:
    type, a, b = drawn
    width = WIDTHS[type]
    folded = fold(f"arith.{name} %0, %1 : {type}", type, (a, type), (b, type))
    x, y = unsigned(a, width), unsigned(b, width)
    defined = y < width if name.startswith("sh") else y != 0 or name in ("maxui", "minui")
    assert folded == (wrap(UNSIGNED[name](x, y), width) if defined else None)


@pytest.mark.parametrize("name", sorted(COMPARE))
@given(drawn=integers)
def test_comparison(name: str, drawn: tuple[str, int, int]) -> None:
    type, a, b = drawn
    width = WIDTHS[type]
    for sign in "su" if name not in ("eq", "ne") else [""]:
        folded = fold(f"arith.cmpi {sign}{name}, %0, %1 : {type}", "i1", (a, type), (b, type))
        x, y = (unsigned(a, width), unsigned(b, width)) if sign == "u" else (a, b)
        assert folded == (-1 if COMPARE[name](x, y) else 0)


numbers = st.tuples(
    st.sampled_from(sorted(FLOATS)),
    st.floats(allow_nan=False) | st.sampled_from([0.0, -0.0, 1.0, math.inf]),
    st.floats(allow_nan=False) | st.sampled_from([0.0, -0.0, 1.0, -math.inf]),
)
REAL: dict[str, Callable[[np.floating, np.floating], np.floating]] = {
    "addf": lambda a, b: a + b,
    "subf": lambda a, b: a - b,
    "mulf": lambda a, b: a * b,
    "divf": lambda a, b: a / b,
    "remf": np.fmod,
    "maximumf": np.maximum,
    "minimumf": np.minimum,
}


@pytest.mark.parametrize("name", sorted(REAL))
@given(drawn=numbers)
def test_real(name: str, drawn: tuple[str, float, float]) -> None:
    type = drawn[0]
    with np.errstate(all="ignore"):
        a, b = FLOATS[type](drawn[1]), FLOATS[type](drawn[2])
        expected = REAL[name](a, b)
    folded = fold(f"arith.{name} %0, %1 : {type}", type, (float(a), type), (float(b), type))
    assert isinstance(folded, float)
    if math.isnan(expected):
        assert math.isnan(folded)
    else:
        assert folded == expected
    if expected == 0 and a != b:
        assert math.copysign(1, folded) == math.copysign(1, expected)


@given(st.sampled_from(sorted(FLOATS)), st.sampled_from(["i8", "i32", "i64"]), st.integers())
def test_integer_to_float(real: str, type: str, value: int) -> None:
    value = wrap(value, WIDTHS[type])
    assert is_nearest(fold(f"arith.sitofp %0 : {type} to {real}", real, (value, type)), value, real)
    positive = unsigned(value, WIDTHS[type])
    assert is_nearest(fold(f"arith.uitofp %0 : {type} to {real}", real, (value, type)), positive, real)


def is_nearest(found: int | float | None, value: int, real: str) -> bool:
    """Whether no number of the float type is closer to `value`."""
    assert isinstance(found, float)
    largest = float(np.finfo(FLOATS[real]).max)
    if math.isinf(found):
        return abs(value) > largest
    number = FLOATS[real](found)
    neighbours = [np.nextafter(number, FLOATS[real](side)) for side in (-np.inf, np.inf)]
    distances = [abs(Fraction(float(n)) - value) for n in neighbours if np.isfinite(n)]
    return float(number) == found and all(abs(Fraction(found) - value) <= distance for distance in distances)


@given(st.sampled_from(["i8", "i32", "i64"]), st.floats(width=32))
def test_float_to_integer(type: str, value: float) -> None:
    folded = fold(f"arith.fptosi %0 : f32 to {type}", type, (value, "f32"))
    fits = math.isfinite(value) and wrap(math.trunc(value), WIDTHS[type]) == math.trunc(value)
    assert folded == (math.trunc(value) if fits else None)


@given(st.sampled_from(sorted(WIDTHS)), st.sampled_from(sorted(WIDTHS)), st.integers())
def test_extension_and_truncation(narrow: str, wide: str, value: int) -> None:
    if "index" in (narrow, wide) or WIDTHS[narrow] >= WIDTHS[wide]:
        return
    value = wrap(value, WIDTHS[narrow])
    assert fold(f"arith.extsi %0 : {narrow} to {wide}", wide, (value, narrow)) == value
    assert fold(f"arith.extui %0 : {narrow} to {wide}", wide, (value, narrow)) == wrap(
        unsigned(value, WIDTHS[narrow]), WIDTHS[wide]
    )
    assert fold(f"arith.trunci %0 : {wide} to {narrow}", narrow, (value, wide)) == value


@given(st.floats(allow_nan=False))
def test_rounding_is_to_nearest_even(value: float) -> None:
    with np.errstate(all="ignore"):
        assert round_to(value, f16) == np.float16(value)
        assert round_to(value, f32) == np.float32(value)


def test_every_pattern_has_a_name_of_its_own() -> None:
    for functions in PATTERNS.values():
        assert len({function.__name__ for function in functions}) == len(functions)
