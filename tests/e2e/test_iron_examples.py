"""The Python designs of the documents: each is compiled once and run for many sizes."""

import linecache
from typing import Any

import numpy as np
import pytest
from helpers import EXAMPLES
from hypothesis import given, settings
from hypothesis import strategies as st
from iron_programs import Pipe, vector
from ml_dtypes import bfloat16

import tilewright as tw
from tilewright.driver.loaded_device import LoadedDevice
from tilewright.ir.diagnostics import file_position

LENGTHS = [1024, 2048, 3072, 4096, *(4 * n for n in np.random.default_rng(8).integers(1, 2048, 50))]


def loaded(name: str) -> LoadedDevice:
    return tw.compile(EXAMPLES / f"{name}.py").load()


def test_passthrough_of_any_length():
    """One build, one loaded device: runs do not disturb each other, whatever is left of the last line."""
    device = loaded("passthrough")
    for length in map(int, LENGTHS):
        source = np.random.default_rng(length).integers(0, 256, length, dtype=np.uint8)
        target, rest = np.zeros_like(source), np.zeros(1024, np.uint8)
        device.run(source, target, rest, length)
        assert (target == source).all(), length


def test_passthrough_does_not_leave_its_arrays():
    """Nothing in the types says how long they are, but the simulator knows."""
    source, target = np.zeros(64, np.uint8), np.zeros(128, np.uint8)
    with pytest.raises(
        tw.Fault, match=r"passthrough\.py:\d+:\d+: error: .* reads bytes 0 to 128 of argument a, which has 64"
    ):
        loaded("passthrough").run(source, target, np.zeros(1024, np.uint8), 128)


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
    a, b = np.random.default_rng(seed).integers(-(1 << 31), 1 << 31, (2, tiles * 1024), dtype=np.int32)
    c = np.zeros_like(a)
    adder.run(a, b, c, tiles)
    assert (c == a + b).all()


@pytest.fixture(scope="module")
def transposer() -> LoadedDevice:
    return loaded("transpose")


@settings(max_examples=8, deadline=None)
@given(rows=st.integers(1, 8), columns=st.integers(1, 8))
def test_transpose(transposer: LoadedDevice, rows: int, columns: int):
    matrix = np.arange(rows * columns * 1024, dtype=np.int32).reshape(32 * rows, 32 * columns)
    result = np.zeros_like(matrix.T, order="C")
    transposer.run(matrix, result, *matrix.shape)
    assert (result == matrix.T).all()


def test_softmax_of_rows():
    device = loaded("softmax")
    for pairs in (1, 4):
        x = np.random.default_rng(pairs).standard_normal((2 * pairs, 1024)).astype(bfloat16)
        y = np.zeros_like(x)
        device.run(x, y, pairs)
        e = np.exp(x.astype(np.float64))
        np.testing.assert_allclose(y.astype(np.float64), e / e.sum(1, keepdims=True), rtol=0.02)


@pytest.fixture(scope="module")
def multiplier() -> LoadedDevice:
    return loaded("gemv")


@settings(max_examples=8, deadline=None)
@given(m=st.integers(1, 4), k=st.integers(1, 6), seed=st.integers(0, 99))
def test_gemv(multiplier: LoadedDevice, m: int, k: int, seed: int):
    random = np.random.default_rng(seed)
    a = random.integers(-(1 << 15), 1 << 15, (32 * m, 32 * k), dtype=np.int16)
    x = random.integers(-(1 << 15), 1 << 15, 32 * k, dtype=np.int16)
    y = np.zeros(32 * m, np.int32)
    multiplier.run(a, x, y, *a.shape)
    with np.errstate(over="ignore"):
        assert (y == a.astype(np.int32) @ x.astype(np.int32)).all()


def test_a_hang_names_lines_of_the_program():
    """The core never hands its results over: who waits for what is said with the lines that wait."""

    def core(source: Any, target: Any) -> None:
        source.acquire(1)
        target.acquire(1)
        source.release(1)

    def sequence(a: Any, b: Any, source: Any, target: Any) -> None:
        source.fill(a)
        target.drain(b, wait=True)  # waits

    design = tw.compile(Pipe(None, core).program(sequence, vector(64), vector(64)))
    with pytest.raises(tw.Hang) as caught:
        design.run(np.zeros(64, np.int32), np.zeros(64, np.int32))
    file, line, _ = file_position(caught.value.diagnostics[0].location) or ("", 0, 0)
    assert file == __file__
    assert linecache.getline(file, line).rstrip().endswith("# waits")
