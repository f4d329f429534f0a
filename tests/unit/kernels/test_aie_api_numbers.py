"""`aie_api`: from accumulators to vectors and back, bfloat16, fixed point, functions and tables."""

# ruff: noqa: E501 -- rows of a table

from __future__ import annotations

import ctypes
from fractions import Fraction
from math import ceil, floor

import numpy as np
import pytest
from ml_dtypes import bfloat16

from tests.unit.kernels.cpp_cases import (
    AWAY_FROM_ZERO,
    CEIL,
    CONV_EVEN,
    CONV_ODD,
    FLOOR,
    NEGATIVE_INF,
    NONE,
    POSITIVE_INF,
    SATURATE,
    SYMMETRIC,
    SYMMETRIC_INF,
    SYMMETRIC_ZERO,
    TOWARDS_ZERO,
    Case,
    cases_source,
    check,
    compile_source,
    core_of,
)


def nearest(down: int, up: int, exact: Fraction, tie: int) -> int:
    below, above = exact - down, up - exact
    return tie if below == above else down if below < above else up


# Which of the two neighbours a mode takes; `exact` lies between them.
ROUNDINGS = {
    FLOOR: lambda d, u, x: d,
    CEIL: lambda d, u, x: u,
    TOWARDS_ZERO: lambda d, u, x: d if x > 0 else u,
    AWAY_FROM_ZERO: lambda d, u, x: u if x > 0 else d,
    NEGATIVE_INF: lambda d, u, x: nearest(d, u, x, d),
    POSITIVE_INF: lambda d, u, x: nearest(d, u, x, u),
    SYMMETRIC_ZERO: lambda d, u, x: nearest(d, u, x, d if x > 0 else u),
    SYMMETRIC_INF: lambda d, u, x: nearest(d, u, x, u if x > 0 else d),
    CONV_EVEN: lambda d, u, x: nearest(d, u, x, d if d % 2 == 0 else u),
    CONV_ODD: lambda d, u, x: nearest(d, u, x, d if d % 2 else u),
}
MODES = list(ROUNDINGS)


def srs(values: np.ndarray, shift: int, element: str, rounding: int, saturation: int) -> np.ndarray:
    """Shift, round, saturate, in this order, with exact numbers."""
    info = np.iinfo(element)
    results: list[int] = []
    for value in values:
        exact = Fraction(int(value)) / Fraction(2) ** shift
        down, up = floor(exact), ceil(exact)
        rounded = down if down == up else ROUNDINGS[rounding](down, up, exact)
        if saturation:
            low = -info.max if saturation == SYMMETRIC and info.min < 0 else info.min
            rounded = min(max(rounded, low), info.max)
        results.append((rounded - info.min) % (info.max - info.min + 1) + info.min)
    return np.array(results, element)


def shifting() -> list[Case]:
    cases: list[Case] = []
    for tag, element in [
        ("acc32", "int8"),
        ("acc32", "uint8"),
        ("acc32", "int16"),
        ("acc64", "int16"),
        ("acc64", "int32"),
        ("acc64", "uint32"),
    ]:
        for rounding in MODES:
            for shift, saturation in [(4, NONE), (5, SATURATE), (20, SATURATE)]:
                cases.append(
                    Case(
                        f"to_vector<{element}>({shift}) rounds {rounding} saturates {saturation}",
                        f"a.to_vector<{element}>({shift})",
                        (f"{tag}x16",),
                        f"{element}x16",
                        lambda x, s=shift, e=element, r=rounding, t=saturation: srs(x, s, e, r, t),
                        rounding,
                        saturation,
                    )
                )
        for shift, saturation in [(0, NONE), (0, SATURATE), (0, SYMMETRIC), (-2, NONE), (-2, SATURATE), (34, NONE)]:
            cases.append(
                Case(
                    f"to_vector<{element}>({shift}) saturates {saturation}",
                    f"a.to_vector<{element}>({shift})",
                    (f"{tag}x16",),
                    f"{element}x16",
                    lambda x, s=shift, e=element, t=saturation: srs(x, s, e, FLOOR, t),
                    FLOOR,
                    saturation,
                )
            )
    cases += [
        Case("ups", "aie::accum<acc32, 16>(a, 5)", ("int16x16",), "acc32x16", lambda x: x.astype(np.int32) << 5),
        Case("ups to 64 bits", "aie::accum<acc64, 16>(a, 40)", ("int16x16",), "acc64x16", lambda x: x.astype(np.int64) << 40),
        Case("from_vector", "[&] { b.from_vector(a); return b; }()", ("uint8x32", "acc32x32"), "acc32x32", lambda x, _: x),
        Case("signs may be named", "a.to_vector_sign<int8>(false, 0).cast_to<uint8>()", ("acc32x16",), "uint8x16", lambda x: srs(x, 0, "uint8", FLOOR, SATURATE), FLOOR, SATURATE),
        Case("accum extract", "a.extract<8>(1)", ("acc64x16",), "acc64x8", lambda x: x[8:]),
        Case("accum insert", "a.insert(0, b)", ("acc32x16", "acc32x8"), "acc32x16", lambda x, y: np.concatenate([y, x[8:]])),
        Case("accum concat", "aie::concat(a, a)", ("acc32x16",), "acc32x32", lambda x: np.tile(x, 2)),
        Case("accum zeros", "aie::zeros<acc64, 8>()", (), "acc64x8", lambda: np.zeros(8)),
        Case("float bits in an acc32", "aie::accum<acc32, 16>(a)", ("floatx16",), "acc32x16", lambda x: x.view(np.int32)),
        Case("acc32 bits as floats", "a.to_vector<float>()", ("acc32x16",), "floatx16", lambda x: x.view(np.float32)),
        Case("floats travel in an acc32", "[&] { aie::accum<acc32, 16> acc = aie::add(a, b); aie::vector<float, 16> out = acc; return out; }()", ("floatx16", "floatx16"), "floatx16", np.add),
        Case("wider lanes", "aie::accum<acc64, 16>(a)", ("acc32x16",), "acc64x16", lambda x: x),
    ]  # fmt: skip
    return cases


def to_bfloat(value: float, rounding: int) -> np.ndarray:
    """The neighbour that the mode takes, found by stepping through all bfloat16."""
    guess = np.float32(bfloat16(value))
    if not np.isfinite(value) or guess == value:
        return np.array([value]).astype(bfloat16)
    bits = int(np.array([guess]).astype(bfloat16).view(np.uint16)[0])
    other = bits + (1 if abs(guess) < abs(value) else -1)
    pair = np.array([bits, other], np.uint16).view(bfloat16)
    down, up = sorted(float(one) for one in pair)
    # Neighbours as integers with the parity of their mantissas, on the side of zero that they are on.
    even = int(np.array([down]).astype(bfloat16).view(np.uint16)[0]) % 2 == 0
    base = (2 if even else 3) if value > 0 else (-4 if even else -3)
    exact = base + (Fraction(value) - Fraction(down)) / (Fraction(up) - Fraction(down))
    chosen = ROUNDINGS[rounding](base, base + 1, exact)
    return np.array([down if chosen == base else up]).astype(bfloat16)


def bfloats(rounding: int):
    def meaning(values: np.ndarray) -> np.ndarray:
        return np.concatenate([to_bfloat(float(value), rounding) for value in values])

    return meaning


def halves(rounding: int):
    """The same for floats half way between two bfloat16."""

    def meaning(values: np.ndarray) -> np.ndarray:
        return bfloats(rounding)(((values.view(np.uint32) & 0xFFFF0000) | 0x8000).view(np.float32))

    return meaning


def fixed(values: np.ndarray, shift: int, element: str, rounding: int) -> np.ndarray:
    info = np.iinfo(element)
    results: list[int] = []
    for value in values:
        exact = Fraction(float(value)) * Fraction(2) ** shift
        down, up = floor(exact), ceil(exact)
        results.append(min(max(down if down == up else ROUNDINGS[rounding](down, up, exact), info.min), info.max))
    return np.array(results, element)


def floats() -> list[Case]:
    cases: list[Case] = []
    at_half = (
        "[&] {{ auto u = aie::bit_or(aie::bit_and(a.cast_to<uint32>(), 0xffff0000u), 0x8000u); return {}; }}()".format
    )
    for rounding in MODES:
        acc = "aie::accum<accfloat, 16>({})".format
        cases += [
            Case(f"float to bfloat16 rounds {rounding}", acc("a") + ".to_vector<bfloat16>()", ("floatx16",), "bfloat16x16", bfloats(rounding), rounding),
            Case(f"half way to bfloat16 rounds {rounding}", at_half(acc("u.cast_to<float>()") + ".to_vector<bfloat16>()"), ("floatx16",), "bfloat16x16", halves(rounding), rounding),
        ]  # fmt: skip
    close = 2.0**-20
    cases += [
        Case("bfloat16 is exact in accfloat", "aie::accum<accfloat, 16>(a)", ("bfloat16x16",), "accfloatx16", lambda x: x),
        Case("to_float", "aie::to_float(a, 4)", ("int32x16",), "floatx16", lambda x: x.astype(np.float32) / 16),
        Case("to_float of bytes", "aie::to_float(a)", ("uint8x32",), "floatx32", lambda x: x),
        Case("to_float<bfloat16>", "aie::to_float<bfloat16>(a)", ("int16x16",), "bfloat16x16", lambda x: x.astype(np.float32), CONV_EVEN),
        Case("to_fixed of floats", "aie::to_fixed<int16>(a, 8)", ("floatx16",), "int16x16", lambda x: fixed(x, 8, "int16", SYMMETRIC_ZERO)),
        Case("to_fixed of floats to 32 bits", "aie::to_fixed(a, 2)", ("floatx16",), "int32x16", lambda x: fixed(x, 2, "int32", SYMMETRIC_ZERO)),
        Case("to_fixed of bfloat16", "aie::to_fixed<int32>(a, 3)", ("bfloat16x16",), "int32x16", lambda x: fixed(x, 3, "int32", FLOOR)),
        Case("to_fixed of a scalar", "aie::to_fixed<int32>(a, 3)", ("float",), "int32", lambda x: fixed(x, 3, "int32", SYMMETRIC_ZERO)),
        Case("inv", "aie::inv(a)", ("floatx16",), "floatx16", lambda x: 1 / x, tolerance=close),
        Case("inv of a scalar", "aie::inv(a)", ("float",), "float", lambda x: 1 / x, tolerance=close),
        Case("sqrt", "aie::sqrt(aie::abs(a))", ("floatx16",), "floatx16", lambda x: np.sqrt(np.abs(x)), tolerance=close),
        Case("invsqrt", "aie::invsqrt(aie::abs(a))", ("floatx16",), "floatx16", lambda x: 1 / np.sqrt(np.abs(x)), tolerance=close),
        Case("exp2", "aie::exp2<bfloat16>(a)", ("floatx16",), "bfloat16x16", lambda x: np.exp2(x.astype(np.float64)), CONV_EVEN, tolerance=2.0**-8),
        Case("exp", "aie::exp(a)", ("floatx16",), "floatx16", lambda x: np.exp(x.astype(np.float64)), tolerance=2.0**-18),
        Case("tanh", "aie::tanh<bfloat16>(a)", ("floatx16",), "bfloat16x16", lambda x: np.tanh(x.astype(np.float64)), CONV_EVEN, tolerance=2.0**-8),
        Case("tanh of an accumulator", "aie::tanh<float>(a)", ("accfloatx16",), "floatx16", lambda x: np.tanh(x.astype(np.float64)), tolerance=close),
        Case("log2", "aie::log2(aie::abs(a))", ("floatx16",), "floatx16", lambda x: np.log2(np.abs(x).astype(np.float64)), tolerance=2.0**-15),
        Case("sin", "aie::sin(a)", ("floatx16",), "floatx16", lambda x: np.sin(x.astype(np.float64)), tolerance=2.0**-12),
        Case("cos", "aie::sincos(a).second", ("floatx16",), "floatx16", lambda x: np.cos(x.astype(np.float64)), tolerance=2.0**-12),
        Case("div", "aie::div(a, b)", ("floatx16", "floatx16"), "floatx16", lambda x, y: x / y),
    ]  # fmt: skip
    return cases


# A table of x * 3 + 1 for 64 entries: rows of 16 bytes, each twice.
TABLES = """
struct Table { alignas(32) int16 values[128]; Table() { for (int i = 0; i < 64; ++i) for (int c = 0; c < 2; ++c) values[i / 8 * 16 + c * 8 + i % 8] = int16(3 * i + 1); } };
static const Table direct;
struct Line { alignas(32) int16 values[128]; Line() { for (int i = 0; i < 32; ++i) for (int c = 0; c < 2; ++c) { int16 *p = values + i / 4 * 16 + c * 8 + i % 4 * 2; p[0] = int16(i - 3); p[1] = int16(10 * i); } } };
static const Line line;
struct Curve { alignas(32) float values[64]; Curve() { for (int i = 0; i < 16; ++i) for (int c = 0; c < 2; ++c) { float *p = values + i / 2 * 8 + c * 4 + i % 2 * 2; p[0] = 0.5f * (i - 8); p[1] = float(i); } } };
static const Curve curve;
using direct_lut = aie::lut<4, int16>;
using curve_lut = aie::lut<4, float, bfloat16>;
static const direct_lut direct_table(64, direct.values, direct.values), line_table(32, line.values, line.values);
static const curve_lut curve_table(16, curve.values, curve.values);
"""


def tables() -> list[Case]:
    def line(x: np.ndarray) -> np.ndarray:
        index = np.clip((x.astype(np.int64) >> 3) + 16, 0, 31)
        return (index - 3) * (x & 7) + (10 * index << 2)

    def curve(x: np.ndarray) -> np.ndarray:
        values = x.astype(np.float32)
        index = np.clip(np.floor(values * 4) + 8, 0, 15).astype(np.float32)
        return np.float32(0.5) * (index - 8) * values + index

    lookup = "aie::parallel_lookup<{}>(direct_table, {}).fetch(a)".format
    return [
        Case("parallel_lookup saturates", lookup("int16, direct_lut", "6, 4"), ("int16x16",), "int16x16", lambda x: 3 * np.clip((x >> 6) + 4, 0, 63) + 1),
        Case("parallel_lookup truncates", lookup("uint16, direct_lut, aie::lut_oor_policy::truncate", "2"), ("uint16x16",), "int16x16", lambda x: 3 * ((x >> 2) & 63) + 1),
        Case("linear_approx", "aie::linear_approx<int16, direct_lut>(line_table, 3, 16, 2).compute(a)", ("int16x16",), "acc64x16", line),
        Case("linear_approx of floats", "aie::linear_approx<bfloat16, curve_lut>(curve_table, -2, 8, 0).compute(a)", ("bfloat16x16",), "accfloatx16", curve, tolerance=1e-6),
    ]  # fmt: skip


CASES = [*shifting(), *floats(), *tables()]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return compile_source(tmp_path_factory.mktemp("numbers"), TABLES + cases_source(CASES) + SCALARS, "-O1")


@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{case.name}: {', '.join(case.inputs)}" for case in CASES])
def test_expression(library: ctypes.CDLL, number: int) -> None:
    check(library, CASES, number, samples=4)


SCALARS = """
extern "C" float bfloat_scalars(float x) {
  bfloat16 b = x, c = 2;
  b += c;
  b = b < c ? b * c : b - bfloat16(1);
  return b;
}
static_assert(sizeof(bfloat16) == 2 && std::is_trivially_copyable_v<aie::vector<bfloat16, 32>>);
static_assert(sizeof(v16int32) == 64 && sizeof(v16acc64) == 128 && sizeof(v4bfloat16) == 8 && sizeof(aie::vector<int4, 64>) == 32);
static_assert(std::is_same_v<v32bfloat16, aie::vector<bfloat16, 32>> && std::is_same_v<v16accfloat, aie::accum<accfloat, 16>>);
static_assert(float(std::numeric_limits<bfloat16>::max()) > 3.3e38f && float(std::numeric_limits<bfloat16>::lowest()) < -3.3e38f);
static_assert(aie::vector<int16>::size() == 32 && aie::vector_decl_align == 32 && alignof(v16int32) <= 2);
extern "C" void modes() {
  aie::set_saturation(aie::saturation_mode::saturate);
  aie::rounding_mode old = aie::swap_rounding(aie::rounding_mode::conv_even);
  if (old == aie::rounding_mode::floor)
    aie::tile::current().set_rounding(aie::rounding_mode::symmetric_inf);
}
extern "C" int lonely() {
  try {
    tilewright::cascade_put(nullptr, 64);
  } catch (const std::exception &error) {
    return __builtin_strstr(error.what(), "cascade") != nullptr;
  }
  return 0;
}
"""


def test_scalars(library: ctypes.CDLL) -> None:
    """A bfloat16 converts to float and back, rounding to the nearest, and computes as float."""
    library.bfloat_scalars.restype, library.bfloat_scalars.argtypes = ctypes.c_float, [ctypes.c_float]
    for value in (0.1, -3.7, 1e30):
        rounded = np.float32(bfloat16(float(np.float32(bfloat16(value))) + 2))
        expected = bfloat16(rounded * 2 if rounded < 2 else rounded - 1)
        assert library.bfloat_scalars(value) == np.float32(expected)


def test_modes_outlive_the_call(library: ctypes.CDLL) -> None:
    core = core_of(library)
    core.rounding, core.saturation = FLOOR, NONE
    library.modes()
    assert (core.rounding, core.saturation) == (SYMMETRIC_INF, SATURATE)
    core.rounding, core.saturation = FLOOR, NONE


def test_no_core_is_an_exception(library: ctypes.CDLL) -> None:
    """Reaching for the cascade outside a simulated tile is an error with a name, not a crash."""
    assert library.lonely() == 1
