"""Kernels for elements, reductions and pictures against what Python's own numbers give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from declared_kernels import call
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from ml_dtypes import bfloat16

Array = npt.NDArray[Any]
I32 = st.integers(-(1 << 31), (1 << 31) - 1)
LINES = arrays(np.uint8, 64)
ALL_BF16 = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16).view(bfloat16)


def cut(value: int, dtype: Any) -> int:
    bits = 8 * np.dtype(dtype).itemsize
    return (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32])
def test_copy_stops_where_it_is_told(dtype: Any) -> None:
    source, target = np.arange(1, 97).astype(dtype), np.zeros(96, dtype)
    call("passThroughLine", source, target, 64)
    assert (target[:64] == source[:64]).all() and not target[64:].any()
    call("passThroughTile", source, target, 3, 32)
    assert (target == source).all()


@pytest.mark.parametrize("dtype", [np.int16, np.int32])
@pytest.mark.parametrize("form", ["vector", "scalar"])
@given(data=st.data(), factor=I32)
@settings(max_examples=10)
def test_scale_wraps(dtype: Any, form: str, data: st.DataObject, factor: int) -> None:
    a = data.draw(arrays(dtype, 32))
    c = np.zeros_like(a)
    call(f"vector_scalar_mul_{form}", a, c, np.array([factor], np.int32), 32)
    assert c.tolist() == [cut(int(x) * cut(factor, dtype), dtype) for x in a]


@pytest.mark.parametrize("name, operation", [("add", np.add), ("mul", np.multiply)])
def test_bf16_is_rounded_to_nearest_even(name: str, operation: Any) -> None:
    """For every bf16 number, with another one; exact in f64, since a product or sum of two has few bits."""
    rng = np.random.default_rng(5)
    finite = ALL_BF16[np.isfinite(ALL_BF16.astype(np.float32))]
    a, b = finite[: len(finite) // 1024 * 1024], rng.permutation(finite)[: len(finite) // 1024 * 1024]
    moderate = (np.abs(a.astype(np.float64)) < 1e15) & (np.abs(a.astype(np.float64)) > 1e-15)
    for first in range(0, len(a), 8 * 1024):
        x, y, c = a[first : first + 1024], b[first : first + 1024], np.zeros(1024, bfloat16)
        with np.errstate(over="ignore"):
            call(f"eltwise_{name}_bf16_vector", x, y, c)
        exact = operation(x.astype(np.float64), y.astype(np.float64))
        checked = moderate[first : first + 1024] & (np.abs(exact) < 1e38) & (np.abs(exact) > 1e-30)
        neighbour = np.abs(exact - c.astype(np.float64))
        for other in (np.nextafter(c, bfloat16(np.inf)), np.nextafter(c, bfloat16(-np.inf))):
            further = np.abs(exact - other.astype(np.float64))
            assert (neighbour <= further)[checked].all()


@given(arrays(np.int32, 64))
def test_reductions(values: Array) -> None:
    for name, wanted in (
        ("add", cut(sum(map(int, values)), np.int32)),
        ("min", min(map(int, values))),
        ("max", max(map(int, values))),
    ):
        for form in ("vector", "scalar"):
            out = np.zeros(1, np.int32)
            call(f"reduce_{name}_{form}", values, out, 64)
            assert out[0] == wanted


def test_reduction_of_nothing_is_what_it_starts_from() -> None:
    out = np.zeros(1, np.int32)
    call("reduce_min_vector", np.arange(16, dtype=np.int32), out, 0)
    assert out[0] == 2**31 - 1


def test_greatest_of_bf16_leaves_the_rest_of_the_word() -> None:
    values, out = np.linspace(-3, 2, 64).astype(bfloat16), np.array([7, 9], bfloat16)
    call("reduce_max_vector_bfloat16", values, out, 64)
    assert out.astype(float).tolist() == [2, 9]
    call("compute_max_bfloat16", np.array([1, 5], bfloat16), np.array([3, 0], bfloat16), out)
    assert out.astype(float).tolist() == [3, 9]


@pytest.mark.parametrize("element", ["i8", "i16", "i32", "bf16", "f32"])
def test_zero(element: str) -> None:
    dtype = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "bf16": bfloat16, "f32": np.float32}[element]
    for form in ("", "scalar_", "vectorized_"):
        memory = np.ones(32, dtype)
        call(f"zero_{form}{element}", memory)
        assert not memory.any()


def test_bias_is_added_to_each_row() -> None:
    matrix, bias, out = np.arange(12, dtype=np.float32), np.array([1, 2, 3, 4], np.float32), np.zeros(12, np.float32)
    call("row_wise_bias_add_f32_f32", matrix, bias, out)
    assert out.reshape(3, 4).tolist() == (matrix.reshape(3, 4) + bias).tolist()


@given(rgba=arrays(np.uint8, 128))
def test_colours(rgba: Array) -> None:
    pixels = [tuple(map(int, pixel)) for pixel in rgba.reshape(-1, 4)]
    gray, back = np.zeros(32, np.uint8), np.zeros(128, np.uint8)
    call("rgba2grayLine", rgba, gray, 32)
    assert gray.tolist() == [(9798 * r + 19235 * g + 3736 * b + (1 << 14)) >> 15 for r, g, b, _ in pixels]
    call("gray2rgbaLine", gray, back, 32)
    assert back.reshape(-1, 4).tolist() == [[value] * 3 + [255] for value in gray.tolist()]


def divided_hue(r: int, g: int, b: int) -> int:
    """As the source for scalars has it; division cuts towards zero."""
    high, span = max(r, g, b), max(r, g, b) - min(r, g, b)
    if span == 0:
        return 0
    start, apart = (0, g - b) if high == r else (170, b - r) if high == g else (340, r - g)
    return ((start + int(85 * apart / span) + 1) >> 1) % 256


@given(rgba=arrays(np.uint8, 128))
def test_hue(rgba: Array) -> None:
    wanted = [divided_hue(*map(int, pixel[:3])) for pixel in rgba.reshape(-1, 4)]
    by_division, by_table = np.zeros(32, np.uint8), np.zeros(32, np.uint8)
    call("rgba2hueLine", rgba, by_division, 32, device="npu2")
    assert by_division.tolist() == wanted
    call("rgba2hueLine", rgba, by_table, 32, device="npu1")
    apart = (by_table.astype(int) - wanted + 128) % 256 - 128
    one_greatest = [len({max(p[:3])} & {p[0]}) + len({max(p[:3])} & {p[1]}) < 2 for p in rgba.reshape(-1, 4).tolist()]
    assert (np.abs(apart)[one_greatest] <= 1).all()


@given(line=LINES, limit=st.integers(0, 255), top=st.integers(0, 255), kind=st.integers(0, 5))
def test_threshold(line: Array, limit: int, top: int, kind: int) -> None:
    rules: list[Callable[[int], int]] = [
        lambda x: top if x > limit else 0,
        lambda x: 0 if x > limit else top,
        lambda x: min(x, limit),
        lambda x: x if x > limit else 0,
        lambda x: 0 if x > limit else x,
        lambda x: min(x, limit),
    ]
    out = np.zeros(64, np.uint8)
    call("thresholdLine", line, out, 64, limit, top, kind)
    assert out.tolist() == [rules[kind](x) for x in line.tolist()]


@given(a=LINES, b=LINES, alpha=st.integers(-(1 << 15), (1 << 15) - 1), gamma=st.integers(0, 127))
def test_weighted_sum_saturates(a: Array, b: Array, alpha: int, gamma: int) -> None:
    out = np.zeros(64, np.uint8)
    call("addWeightedLine", a, b, out, 64, alpha, 16384, gamma)
    sums = [(alpha * x + 16384 * y + gamma) >> 14 for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert out.tolist() == [min(255, max(0, total)) for total in sums]


@given(lines=st.tuples(LINES, LINES, LINES), weights=arrays(np.int16, 9))
@settings(max_examples=20)
def test_filter_repeats_the_ends_of_lines(lines: tuple[Array, Array, Array], weights: Array) -> None:
    out = np.zeros(64, np.uint8)
    call("filter2dLine", *lines, out, 64, weights)
    for place in (0, 1, 30, 63):
        around = [min(63, max(0, place + step)) for step in (-1, 0, 1)]
        pixels = [int(line[x]) for line in lines for x in around]
        total = sum((int(weight) >> 8) * pixel for weight, pixel in zip(weights, pixels, strict=True)) >> 4
        assert out[place] == min(255, max(0, total))


def test_filter_takes_the_pixel_but_one_at_its_seams() -> None:
    """A line of 128 is made in four steps: the last two see the pixel before the one on their left."""
    lines = [np.zeros(128, np.uint8) for _ in range(3)]
    lines[1][:] = np.arange(128)
    out, left = np.zeros(128, np.uint8), np.zeros(9, np.int16)
    left[3] = 16 << 8
    call("filter2dLine", *lines, out, 128, left)
    wanted = [max(0, x - 1) for x in range(128)]
    wanted[64], wanted[96] = 62, 94
    assert out.tolist() == wanted


def test_bits() -> None:
    a, b, out = np.array([12, 255], np.uint8), np.array([10, 128], np.uint8), np.zeros(2, np.uint8)
    call("bitwiseANDLine", a, b, out, 2)
    assert out.tolist() == [8, 128]
    call("bitwiseORTile", a, b, out, 1, 2)
    assert out.tolist() == [14, 255]


def test_squares_are_turned_over() -> None:
    matrix = np.arange(64, dtype=np.int32)
    out = np.zeros(64, np.int32)
    call("transpose_4x4", matrix, out, flags='"-DDIM_m=8"')
    squares = matrix.reshape(2, 4, 2, 4)
    assert (out.reshape(2, 4, 2, 4) == squares.transpose(0, 3, 2, 1)).all()
