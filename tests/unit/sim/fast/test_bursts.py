"""Bursts between host memory and shim tiles: native code cuts runs where the plain model does."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.device.descriptors import BdDimension, byte_addresses
from tilewright.device.layout import WORD_BYTES
from tilewright.sim.fast.state import BD_NUMBERS, BdField, FastState
from tilewright.sim.fast.transfers import burst_words
from tilewright.sim.host import burst_starts


def native_starts(dimensions: tuple[BdDimension, ...], length: int, base: int, burst: int) -> list[int]:
    row = [0] * BD_NUMBERS
    row[BdField.LENGTH], row[BdField.BASE], row[BdField.BURST] = length, base, burst
    for level, dimension in enumerate(dimensions):
        row[BdField.WRAP + level], row[BdField.STEP + level] = dimension.wrap, dimension.step
    state = cast("FastState", SimpleNamespace(channel_descriptor=row))
    found = [0]
    while found[-1] < length:
        found.append(found[-1] + burst_words(state, 0, found[-1]))
    return found


@given(
    sizes=st.lists(st.tuples(st.integers(1, 40), st.integers(1, 50)), min_size=2, max_size=2),
    last_step=st.integers(1, 50),
    linear=st.booleans(),
    length=st.integers(1, 300),
    word=st.integers(0, 200),
    burst=st.sampled_from([64, 128, 256, 512]),
)
def test_native_code_cuts_as_the_plain_model(
    sizes: list[tuple[int, int]], last_step: int, linear: bool, length: int, word: int, burst: int
) -> None:
    dimensions = *(BdDimension(wrap, step) for wrap, step in sizes), BdDimension(0, last_step)
    if linear:
        dimensions = BdDimension(0, 1), *dimensions[1:]
    base = (1 << 32) + WORD_BYTES * word
    expected = burst_starts(byte_addresses(dimensions, length, base), burst)
    assert native_starts(dimensions, length, base, burst) == expected


@pytest.mark.parametrize(
    "first_byte, run, bursts",
    [
        pytest.param(0, 128, [0, 64, 128], id="two whole bursts"),
        pytest.param(128, 64, [0, 32, 64], id="not aligned: two bursts for one"),
        pytest.param(0, 28, [0, 28], id="56 bf16: one burst, most of it for nothing"),
    ],
)
def test_runs_are_cut_where_bursts_end(first_byte: int, run: int, bursts: list[int]) -> None:
    addresses = first_byte + WORD_BYTES * np.arange(run, dtype=np.int64)
    assert burst_starts(addresses, 256) == bursts
