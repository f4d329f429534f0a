"""Kernels of MobileNet's last blocks against loops over single products."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from typing import Any

import numpy as np
import pytest
from declared_kernels import call, kernel
from hypothesis import given, settings
from hypothesis import strategies as st

WIDTH = 7
SEEDS = st.integers(0, 1 << 30)


class Cascade:
    """What a kernel sees of its core: a cascade that leads back to it."""

    def __init__(self) -> None:
        self.sent = deque[bytes]()

    def put_cascade(self, data: bytes) -> Generator[Any, Any, None]:
        self.sent.append(data)
        yield

    def get_cascade(self, size_bytes: int) -> Generator[Any, Any, bytes]:
        data = self.sent.popleft()
        assert len(data) == size_bytes
        yield
        return data


def run(core: Cascade, name: str, *arguments: Any) -> None:
    for _ in kernel(name, *arguments)(core, *arguments):
        pass


def rounded(total: int, scale: int, low: int, high: int) -> int:
    """Halves to even, then saturated."""
    quotient, rest = divmod(total, 1 << scale)
    half = 1 << (scale - 1)
    quotient += rest > half or (rest == half and quotient % 2 == 1)
    return min(max(quotient, low), high)


def line(values: Any) -> Any:
    """(channels, width) as kernels take it."""
    channels, width = values.shape
    return np.ascontiguousarray(values.reshape(channels // 8, 8, width).swapaxes(1, 2)).reshape(-1)


def chunk(weights: Any) -> Any:
    """(outputs, inputs) as kernels take it."""
    outputs, inputs = weights.shape
    return np.ascontiguousarray(weights.reshape(outputs // 8, 8, inputs).swapaxes(1, 2)).reshape(-1)


def bytes_of(seed: int, *shape: int, signed: bool = True) -> Any:
    low, high, kind = (-128, 128, np.int8) if signed else (0, 256, np.uint8)
    return np.random.default_rng(seed).integers(low, high, shape).astype(kind)


@pytest.mark.parametrize("block", [13, 14])
@settings(max_examples=5)
@given(seed=SEEDS, group=st.integers(0, 1))
def test_two_cores_share_the_channels_of_a_line(block: int, seed: int, group: int):
    data, weights = bytes_of(seed, 16, WIDTH), bytes_of(seed + 1, 16, 16)
    out = np.zeros(16 * WIDTH, np.uint8)
    core = Cascade()
    sizes = (WIDTH, 16, 16)
    first, second = chunk(weights[:, :8]), chunk(weights[:, 8:])
    run(core, f"bn{block}_1_conv2dk1_i8_ui8_partial_width_put_new", line(data), first, *sizes, 2, 0, 0, group)
    rest = (9, 2, 1, 0, 0, group)
    run(core, f"bn{block}_1_conv2dk1_i8_ui8_partial_width_get_new", line(data), second, out, *sizes, *rest)
    assert not core.sent
    sums = weights.astype(np.int64) @ data.astype(np.int64)
    wanted = np.array([[rounded(int(total), 9, 0, 255) for total in row] for row in sums])
    wanted[: group * 8], wanted[group * 8 + 8 :] = 0, 0
    assert (out == line(wanted.astype(np.uint8))).all()


@pytest.mark.parametrize("block", [13, 14])
@settings(max_examples=5)
@given(seed=SEEDS)
def test_two_cores_have_half_of_the_input_each_and_add_what_is_skipped(block: int, seed: int):
    first, second = bytes_of(seed, 8, WIDTH, signed=False), bytes_of(seed + 1, 8, WIDTH, signed=False)
    weights, skip = bytes_of(seed + 2, 8, 16), bytes_of(seed + 3, 8, WIDTH)
    out = np.zeros(8 * WIDTH, np.int8)
    core = Cascade()
    sizes = (WIDTH, 16, 8)
    name = f"bn{block}_1_conv2dk1_ui8_ui8_input_split_partial_width_put_new"
    run(core, name, line(first), chunk(weights[:, :8]), *sizes, 2, 0, 0, 0)
    name = f"bn_{block}_2_conv2dk1_ui8_i8_i8_scalar_input_split_partial_width_get_new"
    run(core, name, line(second), chunk(weights[:, 8:]), out, line(skip), *sizes, 10, 1, 2, 1, 0, 0, 0)
    sums = weights.astype(np.int64) @ np.concatenate([first, second]).astype(np.int64)
    wanted = [
        [
            rounded(rounded(int(total), 10, -128, 127) + int(added), 1, -128, 127)
            for total, added in zip(*rows, strict=True)
        ]
        for rows in zip(sums, skip, strict=True)
    ]
    assert (out == line(np.array(wanted, np.int8))).all()


@settings(max_examples=5)
@given(seed=SEEDS, check=st.sampled_from([0, 1, 2]))
def test_each_channel_is_on_its_own_and_the_halves_go_apart(seed: int, check: int):
    lines = [bytes_of(seed + row, 16, WIDTH, signed=False) for row in range(3)]
    weights = bytes_of(seed + 3, 16, 3, 3)
    out = [np.zeros(8 * WIDTH, np.uint8) for _ in range(2)]
    packed = np.ascontiguousarray(weights.reshape(2, 8, 3, 3).transpose(0, 2, 3, 1)).reshape(-1)
    numbers = (WIDTH, 16, 16, 3, 3, check, 8, 0)
    call("bn13_conv2dk3_ui8_out_split", *map(line, lines), packed, *out, *numbers)
    wanted = np.zeros((16, WIDTH), np.uint8)
    for channel in range(16):
        for x in range(WIDTH):
            total = sum(
                int(weights[channel, row, tap]) * int(lines[row][channel, x + tap - 1])
                for row in range(3)
                for tap in range(3)
                if 0 <= x + tap - 1 < WIDTH and (row, check) not in ((0, 0), (2, 2))
            )
            wanted[channel, x] = rounded(total, 8, 0, 255)
    assert (np.concatenate(out) == line(wanted)).all()


def test_lines_add_up_and_the_last_one_gives_the_mean():
    width, inputs, outputs = 7, 8, 16
    picture = [bytes_of(row, inputs, width) for row in range(width)]
    weights = bytes_of(9, outputs, inputs)
    out = np.full(24, 5, np.uint16)
    for row, values in enumerate(picture):
        numbers = (width, inputs, outputs, 24, 6, row, 1, 0)
        call("conv2dk1_xy_pool_fused_relu_large_padded_i8_ui8", line(values), chunk(weights), out, *numbers)
    sums = [weights.astype(np.int64) @ values.astype(np.int64) for values in picture]
    totals = np.sum([[[rounded(int(v), 6, 0, 255) for v in row] for row in each] for each in sums], axis=(0, 2))
    means = [total / 49 for total in totals]
    wanted = [int(m) + int(m) % 2 if int(m * 10) % 10 == 5 else int(m + 0.5) for m in means]
    assert out.tolist() == [*wanted, *[0] * 8]


def test_weights_of_the_classifier_have_room_for_more_channels():
    inputs, padded, outputs = 16, 24, 8
    data = np.random.default_rng(1).integers(0, 256, inputs).astype(np.uint16)
    weights = bytes_of(2, outputs, padded)
    out = np.zeros(outputs, np.uint16)
    call("post_L2_conv2dk1_relu_i16_ui16_pad", data, chunk(weights), out, 1, inputs, padded, outputs, 7)
    sums = weights[:, :inputs].astype(np.int64) @ data.astype(np.int64)
    assert out.tolist() == [rounded(int(total), 7, 0, 255) for total in sums]
