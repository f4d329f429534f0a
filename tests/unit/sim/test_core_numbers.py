"""Arithmetic of core programs against NumPy, on edges and on random numbers of each type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from core_programs import ELEMENTS, elementwise, elementwise_each

Array = npt.NDArray[Any]
BF16 = np.dtype(ml_dtypes.bfloat16)
INTEGERS = [np.dtype(t) for t in (np.int8, np.int16, np.int32, np.int64)]
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BF16]
names = ELEMENTS.__getitem__
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")


def integers(dtype: np.dtype[Any], count: int = 600) -> tuple[Array, Array]:
    """Pairs of edges, then random ones; half of the random numbers are small."""
    info, random = np.iinfo(dtype), np.random.default_rng(7)
    edges = np.array([info.min, info.min + 1, -2, -1, 0, 1, 2, info.max - 1, info.max], dtype)
    left, right = (grid.reshape(-1) for grid in np.meshgrid(edges, edges))
    wide = random.integers(info.min, info.max, (2, count // 2), dtype, endpoint=True)
    small = random.integers(-9, 9, (2, count // 2), dtype, endpoint=True)
    return np.concatenate([left, wide[0], small[0]]), np.concatenate([right, wide[1], small[1]])


def reals(dtype: np.dtype[Any], count: int = 2000) -> tuple[Array, Array]:
    """Pairs of special numbers, then numbers of random bits, of which many are subnormal, infinite or no numbers."""
    random, bits = np.random.default_rng(11), np.dtype(f"uint{8 * dtype.itemsize}")
    tiny = 2.0 ** int(np.log2(float(ml_dtypes.finfo(dtype).tiny)))
    special = np.array([0, -0.0, 1, -1, 1.5, 3, tiny, -tiny, np.inf, -np.inf, np.nan]).astype(dtype)
    left, right = (grid.reshape(-1) for grid in np.meshgrid(special, special))
    raw = random.integers(0, np.iinfo(bits).max, (2, count), bits, endpoint=True).view(dtype)
    near = (random.normal(size=(2, count)) * 3).astype(dtype)
    return np.concatenate([left, raw[0], near[0]]), np.concatenate([right, raw[1], near[1]])


def same_bits(found: Array, expected: Array) -> None:
    """Equal to the last bit, but for which NaN a NaN is."""
    wrong = ~(found.view(f"uint{8 * found.itemsize}") == expected.view(f"uint{8 * found.itemsize}"))
    wrong &= ~(np.isnan(found.astype(np.float64)) & np.isnan(expected.astype(np.float64)))
    assert not wrong.any(), list(zip(found[wrong][:5], expected[wrong][:5], strict=True))


def guarded(divide: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """A division that gives 0 where it has no result."""

    def compute(left: Array, right: Array) -> Array:
        bad = (right == 0) | ((right == -1) & (left == np.iinfo(left.dtype).min))
        return np.where(bad, 0, divide(left, np.where(bad, 1, right).astype(left.dtype))).astype(left.dtype)

    return compute


def as_unsigned(compute: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    def run(left: Array, right: Array) -> Array:
        unsigned = f"uint{8 * left.itemsize}"
        bad = right == 0
        fixed = np.where(bad, 1, right).astype(left.dtype) if compute in (np.floor_divide, np.remainder) else right
        found = compute(left.view(unsigned), fixed.view(unsigned)).view(left.dtype)
        return np.where(bad, 0, found) if fixed is not right else found

    return run


def shifted(shift: Callable[[Array, Array], Array], unsigned: bool = False) -> Callable[[Array, Array], Array]:
    def run(left: Array, right: Array) -> Array:
        width = 8 * left.itemsize
        fits = (right >= 0) & (right < width)
        amount = np.where(fits, right, 0).astype(left.dtype)
        source = left.view(f"uint{width}") if unsigned else left
        found = shift(source, amount.view(source.dtype)).view(left.dtype)
        return np.where(fits, found, 0).astype(left.dtype)

    return run


def truncating_divide(left: Array, right: Array) -> Array:
    quotient = left // right
    return np.where((left % right != 0) & ((left < 0) != (right < 0)), quotient + 1, quotient).astype(left.dtype)


INTEGER_OPERATIONS: dict[str, Callable[[Array, Array], Array]] = {
    "addi": np.add,
    "subi": np.subtract,
    "muli": np.multiply,
    "andi": np.bitwise_and,
    "ori": np.bitwise_or,
    "xori": np.bitwise_xor,
    "maxsi": np.maximum,
    "minsi": np.minimum,
    "maxui": as_unsigned(np.maximum),
    "minui": as_unsigned(np.minimum),
    "divsi": guarded(truncating_divide),
    "remsi": guarded(np.fmod),
    "divui": as_unsigned(np.floor_divide),
    "remui": as_unsigned(np.remainder),
    "floordivsi": guarded(np.floor_divide),
    "ceildivsi": guarded(lambda x, y: x // y + (x % y != 0)),
    "shli": shifted(np.left_shift),
    "shrsi": shifted(np.right_shift),
    "shrui": shifted(np.right_shift, unsigned=True),
}


@pytest.mark.parametrize("dtype", INTEGERS, ids=names)
def test_integer_operations_wrap_and_never_crash(dtype: np.dtype[Any]) -> None:
    left, right = integers(dtype)
    bodies = {name: f"%r = arith.{name} %x, %y : {names(dtype)}" for name in INTEGER_OPERATIONS}
    for name, found in elementwise_each(bodies, left, right, result=dtype).items():
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(found, INTEGER_OPERATIONS[name](left, right), name)


@pytest.mark.parametrize("dtype", INTEGERS, ids=names)
def test_integer_comparisons(dtype: np.dtype[Any]) -> None:
    left, right = integers(dtype)
    unsigned = f"uint{8 * dtype.itemsize}"
    signs = {"s": (left, right), "u": (left.view(unsigned), right.view(unsigned))}
    compares = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}
    cases: dict[str, Array] = {"eq": left == right, "ne": left != right}
    cases |= {sign + name: compare(*pair) for sign, pair in signs.items() for name, compare in compares.items()}
    bodies = {name: f"%r = arith.cmpi {name}, %x, %y : {names(dtype)}" for name in cases}
    for name, found in elementwise_each(bodies, left, right, result=np.bool_).items():
        np.testing.assert_array_equal(found, cases[name], name)


FLOAT_OPERATIONS: dict[str, Callable[[Array, Array], Array]] = {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "remf": np.fmod,
}


@pytest.mark.parametrize("dtype", FLOATS, ids=names)
def test_float_operations_round_once_to_nearest_even(dtype: np.dtype[Any]) -> None:
    """Also in bf16 and f16: computing in f32 and rounding again gives the correctly rounded result."""
    left, right = reals(dtype)
    wide = dtype if dtype.itemsize > 2 else np.dtype(np.float64)
    bodies = {name: f"%r = arith.{name} %x, %y : {names(dtype)}" for name in FLOAT_OPERATIONS}
    for name, found in elementwise_each(bodies, left, right, result=dtype).items():
        with np.errstate(all="ignore"):
            exact = FLOAT_OPERATIONS[name](left.astype(wide), right.astype(wide))
            same_bits(found, exact.astype(np.float32 if wide != dtype else dtype).astype(dtype))


@pytest.mark.parametrize("dtype", FLOATS, ids=names)
def test_extremes_differ_in_what_they_do_with_nan(dtype: np.dtype[Any]) -> None:
    left, right = reals(dtype, 200)
    wide = [side.astype(np.float64) for side in (left, right)]
    keep = (wide[0] != wide[1]) | (np.signbit(wide[0]) == np.signbit(wide[1]))
    left, right = left[keep], right[keep]
    cases = {"maximumf": np.maximum, "minimumf": np.minimum, "maxnumf": np.fmax, "minnumf": np.fmin}
    bodies = {name: f"%r = arith.{name} %x, %y : {names(dtype)}" for name in cases}
    for name, found in elementwise_each(bodies, left, right, result=dtype).items():
        same_bits(found, cases[name](left.astype(np.float64), right.astype(np.float64)).astype(dtype))


def test_maximum_prefers_positive_zero() -> None:
    left, right = np.array([0.0, -0.0], np.float32), np.array([-0.0, 0.0], np.float32)
    found = elementwise("%r = arith.maximumf %x, %y : f32", left, right, result=np.float32)
    assert not np.signbit(found).any()


@pytest.mark.parametrize("dtype", FLOATS, ids=names)
def test_float_comparisons_with_nan(dtype: np.dtype[Any]) -> None:
    left, right = reals(dtype, 200)
    x, y = left.astype(np.float64), right.astype(np.float64)
    unordered = np.isnan(x) | np.isnan(y)
    plain = {"eq": x == y, "gt": x > y, "ge": x >= y, "lt": x < y, "le": x <= y, "ne": x != y}
    cases: dict[str, Array] = {f"o{name}": found & ~unordered for name, found in plain.items()}
    cases |= {f"u{name}": found | unordered for name, found in plain.items()}
    cases |= {"ord": ~unordered, "uno": unordered, "false": unordered & False, "true": unordered | True}
    bodies = {name: f"%r = arith.cmpf {name}, %x, %y : {names(dtype)}" for name in cases}
    for name, found in elementwise_each(bodies, left, right, result=np.bool_).items():
        np.testing.assert_array_equal(found, cases[name], name)


@pytest.mark.parametrize("source", [np.dtype(np.float32), np.dtype(np.float64)], ids=names)
@pytest.mark.parametrize("target", [BF16, np.dtype(np.float16)], ids=names)
def test_truncf_rounds_ties_to_even(source: np.dtype[Any], target: np.dtype[Any]) -> None:
    """Halfway between two bf16 numbers, a little above and a little below, and numbers of random bits."""
    grid = np.arange(0, 1 << 16, 7, dtype=np.uint16).view(target).astype(np.float64)
    with np.errstate(all="ignore"):
        middle = (grid[:-1] + grid[1:]) / 2
        exact = np.concatenate([middle, middle * (1 + 2.0**-22), middle * (1 - 2.0**-22), middle * (1 + 2.0**-50)])
        numbers = np.concatenate([exact.astype(source), reals(source)[0]])
        expected = correctly_rounded(numbers.astype(np.float64), target)
    same_bits(
        elementwise(f"%r = arith.truncf %x : {names(source)} to {names(target)}", numbers, result=target), expected
    )


def correctly_rounded(numbers: Array, target: np.dtype[Any]) -> Array:
    """The nearest number of the target, of two equally near ones the even one; NumPy is right about f16 only."""
    if target != BF16:
        return numbers.astype(target)
    first = numbers.astype(np.float32).astype(target)
    bits = first.view(np.uint16).astype(np.int64)
    candidates = [np.clip(bits + step, 0, 0xFFFF).astype(np.uint16).view(target) for step in (-1, 0, 1)]
    best, distance = first, np.full(numbers.shape, np.inf)
    with np.errstate(all="ignore"):
        for candidate in candidates:
            away = np.abs(candidate.astype(np.float64) - numbers)
            even = candidate.view(np.uint16) % 2 == 0
            closer = (away < distance) | ((away == distance) & even)
            usable = closer & np.isfinite(candidate.astype(np.float64)) & np.isfinite(first.astype(np.float64))
            best = np.where(usable, candidate, best).astype(target)
            distance = np.where(usable, away, distance)
    return best


@pytest.mark.parametrize("source", [BF16, np.dtype(np.float16)], ids=names)
def test_extf_is_exact(source: np.dtype[Any]) -> None:
    numbers = np.arange(1 << 16, dtype=np.uint16).view(source)
    found = elementwise(f"%r = arith.extf %x : {names(source)} to f32", numbers, result=np.float32)
    same_bits(found, numbers.astype(np.float32))


def test_integers_to_floats_and_back() -> None:
    numbers = np.array([0, 1, -1, 2**24 + 1, -(2**24) - 1, 2**31 - 1, -(2**31), 257, 65519, 65520], np.int32)
    assert elementwise("%r = arith.sitofp %x : i32 to f32", numbers, result=np.float32).tolist() == (
        numbers.astype(np.float32).tolist()
    )
    halves = elementwise("%r = arith.sitofp %x : i32 to f16", numbers, result=np.float16)
    with np.errstate(over="ignore"):
        same_bits(halves, numbers.astype(np.float64).astype(np.float16))
    unsigned = elementwise("%r = arith.uitofp %x : i32 to f64", numbers, result=np.float64)
    assert unsigned.tolist() == numbers.view(np.uint32).astype(np.float64).tolist()


def test_floats_to_integers_saturate() -> None:
    numbers = np.array([1.9, -1.9, 3e9, -3e9, np.nan, np.inf, -np.inf, 2147483520.0], np.float32)
    found = elementwise("%r = arith.fptosi %x : f32 to i32", numbers, result=np.int32)
    top, bottom = 2**31 - 1, -(2**31)
    assert found.tolist() == [1, -1, top, bottom, 0, top, bottom, 2147483520]
    found = elementwise("%r = arith.fptoui %x : f32 to i8", numbers, result=np.int8)
    assert found.view(np.uint8).tolist() == [1, 0, 255, 0, 0, 255, 0, 255]


def test_both_halves_of_a_product() -> None:
    left, right = integers(np.dtype(np.int32))
    high = elementwise("%l, %r = arith.mulsi_extended %x, %y : i32", left, right, result=np.int32)
    product = left.astype(np.int64) * right.astype(np.int64)
    np.testing.assert_array_equal(high, (product >> 32).astype(np.int32))
    high = elementwise("%l, %r = arith.mului_extended %x, %y : i32", left, right, result=np.int32)
    product = left.view(np.uint32).astype(np.uint64) * right.view(np.uint32).astype(np.uint64)
    np.testing.assert_array_equal(high.view(np.uint32), (product >> np.uint64(32)).astype(np.uint32))


MATH: dict[str, Callable[[Array], Array]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "cbrt": np.cbrt,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "absf": np.abs,
    "ceil": np.ceil,
    "floor": np.floor,
    "trunc": np.trunc,
    "roundeven": np.round,
}


@pytest.mark.parametrize(
    "dtype, tolerance", [(np.dtype(np.float32), 1e-6), (np.dtype(np.float64), 1e-14), (BF16, 2.0**-8)]
)
def test_math_functions(dtype: np.dtype[Any], tolerance: float) -> None:
    numbers = np.concatenate([np.linspace(-4, 4, 97), [0.5, 1.5, 2.5, -0.5]]).astype(dtype)
    bodies = {name: f"%r = math.{name} %x : {names(dtype)}" for name in MATH}
    for name, found in elementwise_each(bodies, numbers, result=dtype).items():
        with np.errstate(all="ignore"):
            expected = MATH[name](numbers.astype(np.float64))
        np.testing.assert_allclose(found.astype(np.float64), expected, rtol=tolerance, atol=1e-12, err_msg=name)


def test_math_of_several_operands() -> None:
    x, y = np.array([2.0, 9.0, -8.0], np.float32), np.array([3.0, 0.5, 2.0], np.float32)
    assert elementwise("%r = math.powf %x, %y : f32", x, y, result=np.float32).tolist() == [8, 3, 64]
    assert elementwise("%r = math.copysign %y, %x : f32", x, y, result=np.float32).tolist() == [3, 0.5, -2]
    assert elementwise("%r = math.fma %x, %y, %z : f32", x, y, y, result=np.float32).tolist() == [9, 5, -14]
    base, exponent = np.array([2, -3, 7, 1, 0], np.int32), np.array([10, 3, 0, -5, 2], np.int32)
    found = elementwise("%r = math.ipowi %x, %y : i32", base, exponent, result=np.int32)
    assert found.tolist() == [1024, -27, 1, 1, 0]


def test_bits_of_integers() -> None:
    numbers = np.array([0, 1, -1, 40, -128], np.int8)
    assert elementwise("%r = math.ctlz %x : i8", numbers, result=np.int8).tolist() == [8, 7, 0, 2, 0]
    assert elementwise("%r = math.cttz %x : i8", numbers, result=np.int8).tolist() == [8, 0, 0, 3, 7]
    assert elementwise("%r = math.ctpop %x : i8", numbers, result=np.int8).tolist() == [0, 1, 8, 2, 1]
    assert elementwise("%r = math.absi %x : i8", numbers, result=np.int8).tolist() == [0, 1, 1, 40, -128]


@pytest.mark.parametrize(
    "type, infinity, dtype",
    [
        ("f32", "0x7F800000", np.float32),
        ("f64", "0x7FF0000000000000", np.float64),
        ("f16", "0x7C00", np.float16),
        ("bf16", "0x7F80", BF16),
    ],
)
def test_constants(type: str, infinity: str, dtype: Any) -> None:
    ones = np.zeros(1, np.int8)
    for text, number in (("0.1", 0.1), ("-2.5", -2.5), (infinity, np.inf)):
        found = elementwise(f"%r = arith.constant {text} : {type}", ones, result=dtype)
        same_bits(found, np.array([number]).astype(np.float32 if dtype == BF16 else dtype).astype(dtype))
    body = f"""%v = arith.constant dense<[1.5, {infinity}]> : vector<2x{type}>
      %r = vector.extract %v[1] : {type} from vector<2x{type}>"""
    assert np.isinf(elementwise(body, ones, result=dtype).astype(np.float32))[0]


@pytest.mark.parametrize("text, number", [("-1 : i8", -1), ("255 : i8", -1), ("true", 1), ("-128 : i8", -128)])
def test_integer_constants(text: str, number: int) -> None:
    resize = (
        "%r = arith.extui %c : i1 to i8"
        if text == "true"
        else "%z = arith.constant 0 : i8\n%r = arith.addi %c, %z : i8"
    )
    found = elementwise(f"%c = arith.constant {text}\n{resize}", np.zeros(1, np.int8), result=np.int8)
    assert found.tolist() == [number]


def test_index_dialect() -> None:
    left, right = integers(np.dtype(np.int64), 40)
    cases = {
        "add": "addi",
        "sub": "subi",
        "mul": "muli",
        "divs": "divsi",
        "remu": "remui",
        "maxs": "maxsi",
        "shru": "shrui",
    }
    convert = "%a = arith.index_cast %x : i64 to index\n%b = arith.index_cast %y : i64 to index\n"
    bodies = {n: f"{convert}%c = index.{n} %a, %b\n%r = arith.index_cast %c : index to i64" for n in cases}
    for name, found in elementwise_each(bodies, left, right, result=np.int64).items():
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(found, INTEGER_OPERATIONS[cases[name]](left, right), name)
    body = f"{convert}%r = index.cmp slt(%a, %b)"
    np.testing.assert_array_equal(elementwise(body, left, right, result=np.bool_), left < right)
