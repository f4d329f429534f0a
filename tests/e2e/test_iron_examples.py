"""The Python designs of the documents: each is compiled once and run for many sizes."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ml_dtypes import bfloat16

import tilewright as tw
from tilewright.simulation import LoadedDevice

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
LENGTHS = [1024, 2048, 3072, 4096, *(4 * n for n in np.random.default_rng(8).integers(1, 2048, 50))]


def loaded(name: str) -> LoadedDevice:
    return tw.compile(EXAMPLES / f"{name}.py").load()


def test_passthrough_of_any_length():
    """One build, one loaded device: runs do not disturb each other, whatever is left of the last line."""
    device = loaded("passthrough")
    source = np.random.default_rng(0).integers(0, 256, 1 << 20, dtype=np.uint8)
    for length in map(int, LENGTHS):
        target, rest = np.zeros_like(source), np.zeros(1024, np.uint8)
        device.run(source, target, rest, length)
        assert (target[:length] == source[:length]).all(), length
        assert not target[length:].any(), length


def test_passthrough_refuses_lengths_that_no_descriptor_has():
    design = tw.compile(EXAMPLES / "passthrough.py")
    with pytest.raises(tw.RangeError, match=r"passthrough\.py:\d+:\d+: error: length is 6 but must be divisible by 4"):
        design.txn(length=6)


@pytest.fixture(scope="module")
def adder() -> LoadedDevice:
    return loaded("vector_add")


@settings(max_examples=8, deadline=None)
@given(tiles=st.integers(1, 24), seed=st.integers(0, 99))
def test_vector_add(adder: LoadedDevice, tiles: int, seed: int):
    a, b = np.random.default_rng(seed).integers(-(1 << 31), 1 << 31, (2, 1 << 18), dtype=np.int32)
    c, size = np.zeros_like(a), tiles * 1024
    adder.run(a, b, c, tiles)
    assert (c[:size] == a[:size] + b[:size]).all()
    assert not c[size:].any()


@pytest.fixture(scope="module")
def transposer() -> LoadedDevice:
    return loaded("transpose")


@settings(max_examples=8, deadline=None)
@given(rows=st.integers(1, 8), columns=st.integers(1, 8))
def test_transpose(transposer: LoadedDevice, rows: int, columns: int):
    rows, columns = 32 * rows, 32 * columns
    matrix = np.arange(1 << 18, dtype=np.int32)
    result, size = np.zeros_like(matrix), rows * columns
    transposer.run(matrix, result, rows, columns)
    assert (result[:size].reshape(columns, rows) == matrix[:size].reshape(rows, columns).T).all()
    assert not result[size:].any()


def test_softmax_of_rows():
    device = loaded("softmax")
    x = np.random.default_rng(1).standard_normal((256, 1024)).astype(bfloat16)
    for pairs in (1, 4):
        y = np.zeros_like(x)
        device.run(x.reshape(-1), y.reshape(-1), pairs)
        e = np.exp(x[: 2 * pairs].astype(np.float64))
        np.testing.assert_allclose(y[: 2 * pairs].astype(np.float64), e / e.sum(1, keepdims=True), rtol=0.02)
        assert not y[2 * pairs :].any()


@pytest.fixture(scope="module")
def multiplier() -> LoadedDevice:
    return loaded("gemv")


@settings(max_examples=8, deadline=None)
@given(m=st.integers(1, 4), k=st.integers(1, 6), seed=st.integers(0, 99))
def test_gemv(multiplier: LoadedDevice, m: int, k: int, seed: int):
    m, k = 32 * m, 32 * k
    random = np.random.default_rng(seed)
    a = random.integers(-(1 << 15), 1 << 15, 1 << 18, dtype=np.int16)
    x = random.integers(-(1 << 15), 1 << 15, 1 << 12, dtype=np.int16)
    y = np.zeros(1 << 12, np.int32)
    multiplier.run(a, x, y, m, k)
    with np.errstate(over="ignore"):
        assert (y[:m] == a[: m * k].reshape(m, k).astype(np.int32) @ x[:k].astype(np.int32)).all()
