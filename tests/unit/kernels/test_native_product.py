"""Products of matrices as machine code give what the library's functions of NumPy define, bit for bit."""

from __future__ import annotations

import threading
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.device import Arch
from tilewright.device.vector_unit import vector_unit
from tilewright.kernels.definition import DTYPES
from tilewright.kernels.matmul import COMBINATIONS, blocked, product_of, unblocked
from tilewright.kernels.native_product import ProductShape, native_product, native_zero
from tilewright.native.host import host_key

Array = npt.NDArray[Any]


def expected(shape: ProductShape, a: Array, b: Array, c: Array) -> Array:
    left = unblocked(a, shape.m, shape.k, shape.r, shape.s, shape.a_turned)
    right = unblocked(b, shape.k, shape.n, shape.s, shape.t, shape.b_turned)
    total = unblocked(c, shape.m, shape.n, shape.r, shape.t, shape.c_turned)
    return blocked(product_of(left, right, total, shape.s), shape.r, shape.t, shape.c_turned)


def multiplied(shape: ProductShape, a: Array, b: Array, c: Array) -> Array:
    found = c.copy()
    native_product(shape).call(a, b, found).make()
    return found


@pytest.mark.parametrize("features", ["", "+avx2", "+avx2,+avx512f"], ids=["none", "AVX2", "AVX-512 without VNNI"])
@pytest.mark.parametrize("pair", COMBINATIONS, ids="_".join)
def test_computers_without_newer_instructions_have_the_same_products(pair: tuple[str, str], features: str) -> None:
    if not all(feature in host_key() for feature in features.split(",")):
        pytest.skip(f"this computer is without {features}")
    shape = ProductShape(*pair, 16, 24, 48, *vector_unit(Arch.AIE2).blocks[pair].dims, b_turned=True)
    a, b, c = operands(shape, np.random.default_rng(2))
    found = c.copy()
    native_product(shape, features).call(a, b, found).make()
    assert found.tobytes() == expected(shape, a, b, c).astype(c.dtype).tobytes()


def operands(shape: ProductShape, random: np.random.Generator) -> list[Array]:
    def some(count: int, element: str) -> Array:
        dtype = DTYPES[element]
        if dtype.kind == "i":
            return random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, count, endpoint=True).astype(dtype)
        return (random.standard_normal(count) * np.exp2(random.integers(-6, 7, count))).astype(dtype)

    sizes = (shape.m * shape.k, shape.operand), (shape.k * shape.n, shape.operand), (shape.m * shape.n, shape.total)
    return [some(*size) for size in sizes]


@st.composite
def shapes(draw: st.DrawFn) -> ProductShape:
    """Few, each of which is compiled: those that kernels are declared with."""
    pair = draw(st.sampled_from(COMBINATIONS))
    blocks = vector_unit(draw(st.sampled_from([Arch.AIE2, Arch.AIE2p]))).blocks[pair]
    steps = blocks.r * blocks.rows, blocks.s, blocks.t * blocks.columns
    m, k, n = (step * draw(st.integers(1, 3)) for step in steps)
    return ProductShape(*pair, m, k, n, *blocks.dims, *(draw(st.booleans()) for _ in range(3)))


@settings(max_examples=25, deadline=None)
@given(shapes(), st.integers(0, 99))
def test_products_equal_those_of_numpy(shape: ProductShape, seed: int) -> None:
    a, b, c = operands(shape, np.random.default_rng(seed))
    assert multiplied(shape, a, b, c).tobytes() == expected(shape, a, b, c).astype(c.dtype).tobytes()


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3.3e38, 1e-40])
@pytest.mark.parametrize("total", ["bf16", "f32"])
def test_what_is_no_finite_number_comes_out_as_numpy_has_it(value: float, total: str) -> None:
    shape = ProductShape("bf16", total, 16, 16, 16, 4, 8, 4)
    a, b, c = operands(shape, np.random.default_rng(0))
    a[5], b[7], c[3] = (np.float32(value).astype(ml_dtypes.bfloat16) for _ in range(3))
    found = multiplied(shape, a, b, c).astype(np.float32)
    with np.errstate(invalid="ignore", over="ignore"):
        wanted = expected(shape, a, b, c).astype(np.float32)
    assert np.array_equal(found, wanted, equal_nan=True)


def test_sums_of_bytes_longer_than_a_float_is_exact_are_exact() -> None:
    shape = ProductShape("i8", "i32", 16, 2048, 16, 4, 8, 8)
    a, b, c = (np.full(size, -128, np.int8) for size in (16 * 2048, 2048 * 16, 16 * 16))
    assert (multiplied(shape, a, b, c.astype(np.int32)) == 2048 * 128 * 128 - 128).all()


def test_what_is_cleared_is_all_of_it_and_no_more() -> None:
    memory = np.arange(1, 41, dtype=np.int16)
    native_zero(2 * 24).call(memory[8:32]).make()
    assert np.flatnonzero(memory).tolist() == [*range(8), *range(32, 40)]


def test_threads_that_ask_at_once_get_the_same_product() -> None:
    shape = ProductShape("i16", "i32", 16, 8, 16, 4, 4, 4)
    a, b, c = operands(shape, np.random.default_rng(1))
    found = list[Array]()
    threads = [threading.Thread(target=lambda: found.append(multiplied(shape, a, b, c))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all((each == expected(shape, a, b, c)).all() for each in found)
