"""Functions of bf16 and convolutions against plain formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from declared_kernels import call
from hypothesis import given, settings
from hypothesis import strategies as st
from ml_dtypes import bfloat16

from tilewright.iron import kernels

Array = npt.NDArray[Any]
DEVICES = ("npu1", "npu2")


def test_exp_is_right_for_every_number() -> None:
    everything = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16).view(bfloat16)
    with np.errstate(all="ignore"):
        exact = np.exp(everything.astype(np.float64))
        wanted = exact.astype(np.float32).astype(bfloat16)
    for first in range(0, 1 << 16, 8192):
        out = np.zeros(1024, bfloat16)
        call("exp_bf16_1024", everything[first : first + 1024], out)
        np.testing.assert_array_equal(out, wanted[first : first + 1024])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name, reference", [("silu", kernels.silu_ref), ("gelu", kernels.gelu_ref)])
def test_activations_are_close(device: str, name: str, reference: Any) -> None:
    x, out = np.linspace(-8, 8, 1024).astype(bfloat16), np.zeros(1024, bfloat16)
    call(f"{name}_bf16", x, out, device=device)
    np.testing.assert_allclose(out.astype(float), reference(x).astype(float), rtol=0.06, atol=0.05)


@pytest.mark.parametrize("device", DEVICES)
@given(seed=st.integers(0, 1 << 30), count=st.sampled_from([16, 64, 256]))
@settings(max_examples=5)
def test_softmax_adds_up_to_one(device: str, seed: int, count: int) -> None:
    x = np.random.default_rng(seed).normal(size=count).astype(bfloat16)
    out = np.full(count, 7, bfloat16)
    call("softmax_bf16", x, out, count, device=device)
    np.testing.assert_allclose(out.astype(float), kernels.softmax_ref(x, tile_size=count).astype(float), rtol=0.03)
    assert abs(out.astype(float).sum() - 1) < 0.02


def test_softmax_of_the_newer_core_takes_the_maximum_off() -> None:
    x = np.full(16, 200, bfloat16)
    out = np.zeros(16, bfloat16)
    call("softmax_bf16", x, out, 16, device="npu2")
    assert (out.astype(float) == 1 / 16).all()
    call("softmax_bf16", x, out, 16, device="npu1")
    assert np.isnan(out.astype(float)).all()  # exp(200) is infinite, and so is its sum


@given(seed=st.integers(0, 1 << 30))
@settings(max_examples=5)
def test_norms(seed: int) -> None:
    x = np.random.default_rng(seed).normal(2, 3, size=128).astype(bfloat16)
    wide, out = x.astype(np.float64), np.zeros(128, bfloat16)
    call("layer_norm", x, out, 128)
    np.testing.assert_allclose(out.astype(float), (wide - wide.mean()) / wide.std(), rtol=0.05, atol=0.03)
    call("rms_norm", x, out, 128)
    np.testing.assert_allclose(out.astype(float), wide / np.sqrt((wide**2).mean()), rtol=0.03)


def convolution(lines: list[Array], weights: Array, zero_row: int | None) -> Array:
    """Sums of (width, outputs) for lines of (width, inputs) and weights of (outputs, inputs, rows, columns)."""
    outputs, _inputs, height, width_of_kernel = weights.shape
    width = lines[0].shape[0]
    total = np.zeros((width, outputs), np.int64)
    for x in range(width):
        for row in range(height):
            for column in range(width_of_kernel):
                place = x + column - width_of_kernel // 2
                if row != zero_row and 0 <= place < width:
                    total[x] += weights[:, :, row, column].astype(np.int64) @ lines[row][place].astype(np.int64)
    return total


def line_memory(line: Array) -> Array:
    width, channels = line.shape
    return np.ascontiguousarray(line.reshape(width, channels // 8, 8).swapaxes(0, 1)).reshape(-1)


def weight_memory(weights: Array) -> Array:
    outputs, inputs, height, width = weights.shape
    grouped = weights.reshape(outputs // 8, 8, inputs // 8, 8, height, width)
    return np.ascontiguousarray(grouped.transpose(0, 2, 4, 5, 3, 1)).reshape(-1)


def rounded(sums: Array, scale: int, low: int, high: int) -> Array:
    return np.clip((sums + (1 << (scale - 1))) >> scale, low, high)


@pytest.mark.parametrize("element", [np.int8, np.uint8])
@pytest.mark.parametrize("check, zero_row", [(0, 0), (1, None), (2, 2)], ids=["top", "middle", "bottom"])
def test_square_convolution(element: Any, check: int, zero_row: int | None) -> None:
    rng, name = np.random.default_rng(check), "conv2dk3_i8" if element == np.int8 else "conv2dk3_ui8"
    low = -128 if element == np.int8 else 0
    lines = [rng.integers(low, low + 256, (8, 16)).astype(element) for _ in range(3)]
    weights = rng.integers(-128, 128, (16, 16, 3, 3)).astype(np.int8)
    output = np.zeros(8 * 8, np.uint8)
    memory = [line_memory(line) for line in lines]
    call(name, *memory, weight_memory(weights), output, 8, 16, 8, 3, 3, check, 11, 8)
    wanted = rounded(convolution(lines, weights[8:], zero_row), 11, 0, 255)  # from channel 8 on
    np.testing.assert_array_equal(output, line_memory(wanted))


def test_pointwise_convolutions_differ_in_rounding_and_limits() -> None:
    rng = np.random.default_rng(1)
    line, weights = rng.integers(-128, 128, (8, 16)).astype(np.int8), rng.integers(-128, 128, (8, 16, 1, 1))
    sums = convolution([line], weights, None)
    unsigned, signed = np.zeros(64, np.uint8), np.zeros(64, np.int8)
    memory = line_memory(line), weight_memory(weights.astype(np.int8))
    call("conv2dk1_i8", *memory, unsigned, 8, 16, 8, 8)
    np.testing.assert_array_equal(unsigned, line_memory(rounded(sums, 8, 0, 255)))
    call("conv2dk1_i8", *memory, signed, 8, 16, 8, 8)
    away = np.sign(sums) * ((np.abs(sums) + 128) >> 8)
    np.testing.assert_array_equal(signed, line_memory(np.clip(away, -128, 127)))


def test_skip_is_added_after_the_first_saturation() -> None:
    rng = np.random.default_rng(2)
    source = rng.integers(0, 256, (8, 32)).astype(np.uint8)
    weights = rng.integers(-128, 128, (8, 32, 1, 1))
    skip, output = rng.integers(-128, 128, (8, 8)).astype(np.int8), np.zeros(64, np.uint8)
    halves = line_memory(source[:, :16]), line_memory(source[:, 16:])
    call("conv2dk1_skip_i8", *halves, weight_memory(weights.astype(np.int8)), output, line_memory(skip), 8, 32, 8, 9, 1)
    first = rounded(convolution([source], weights, None), 9, -128, 127)
    np.testing.assert_array_equal(output, line_memory(rounded(first + skip, 1, 0, 255)))


def even(sums: Array, scale: int, low: int, high: int) -> Array:
    return np.clip(np.rint(sums / (1 << scale)).astype(np.int64), low, high)


def test_bottlenecks_round_to_even() -> None:
    rng = np.random.default_rng(3)
    line, weights = rng.integers(0, 256, (8, 16)).astype(np.uint8), rng.integers(-128, 128, (8, 16, 1, 1))
    skip, output = rng.integers(-128, 128, (8, 8)).astype(np.int8), np.zeros(64, np.int8)
    memory = line_memory(line), weight_memory(weights.astype(np.int8))
    first = even(convolution([line], weights, None), 8, -128, 127)
    call("conv2dk1_ui8_i8", *memory, output, 8, 16, 8, 8)
    np.testing.assert_array_equal(output, line_memory(first))
    call("conv2dk1_skip_ui8_i8_i8", *memory, output, line_memory(skip), 8, 16, 8, 8, 1)
    np.testing.assert_array_equal(output, line_memory(even(first + skip, 1, -128, 127)))


def test_every_other_place() -> None:
    rng = np.random.default_rng(4)
    lines = [rng.integers(-128, 128, (8, 8)).astype(np.int8) for _ in range(3)]
    weights, output = rng.integers(-128, 128, (8, 8, 3, 3)).astype(np.int8), np.zeros(32, np.uint8)
    call("conv2dk3_stride2_i8", *map(line_memory, lines), weight_memory(weights), output, 8, 8, 8, 3, 3, 0, 9, 0)
    np.testing.assert_array_equal(output, line_memory(even(convolution(lines, weights, 0)[::2], 9, 0, 255)))


@pytest.mark.parametrize("stride", [1, 2])
def test_each_channel_on_its_own(stride: int) -> None:
    rng = np.random.default_rng(5)
    lines = [rng.integers(0, 256, (8, 16)).astype(np.uint8) for _ in range(3)]
    weights, output = rng.integers(-128, 128, (16, 3, 3)).astype(np.int8), np.zeros(128 // stride, np.uint8)
    full = np.zeros((16, 16, 3, 3), np.int8)
    full[np.arange(16), np.arange(16)] = weights
    memory = np.ascontiguousarray(weights.reshape(2, 8, 3, 3).transpose(0, 2, 3, 1)).reshape(-1)
    name = f"conv2dk3_dw_stride{stride}_relu_ui8_ui8"
    call(name, *map(line_memory, lines), memory, output, 8, 16, 16, 3, 3, 2, 7, 0)
    np.testing.assert_array_equal(output, line_memory(even(convolution(lines, full, 2)[::stride], 7, 0, 255)))
