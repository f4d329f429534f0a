"""Matrix products against sums written out: integers wrap, f32 adds up, bf16 is rounded to nearest even at the end."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from declared_kernels import call, kernel
from hypothesis import given, settings
from hypothesis import strategies as st
from ml_dtypes import bfloat16

from tilewright.device import Arch
from tilewright.device.vector_unit import vector_unit
from tilewright.ir.diagnostics import DiagnosedError
from tilewright.isa.float_meaning import _float, _product, total
from tilewright.isa.numbers import PLAIN
from tilewright.kernels.matmul import COMBINATIONS, blocked, dims_of, product_of, unblocked
from tilewright.sim.kernels import cost_of

Array = npt.NDArray[Any]
NUMPY: dict[str, Any] = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "bf16": bfloat16, "f32": np.float32}
ARCHES = {"npu1": Arch.AIE2, "npu2": Arch.AIE2p}


def random_matrix(rng: np.random.Generator, rows: int, columns: int, element: str) -> Array:
    if element in ("bf16", "f32"):
        return rng.normal(size=(rows, columns)).astype(NUMPY[element])
    limits = np.iinfo(NUMPY[element])
    return rng.integers(limits.min, limits.max, (rows, columns), NUMPY[element], endpoint=True)


def wrapped(value: int, bits: int) -> int:
    return (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def sum_of_products(a: Array, b: Array, c: Array, step: int) -> Array:
    """One element at a time, in Python's integers, or in f32: sums of `step` products, and the sum of those."""
    result = c.copy()
    for row in range(c.shape[0]):
        for column in range(c.shape[1]):
            if c.dtype.kind == "i":
                total = int(c[row, column]) + sum(int(x) * int(y) for x, y in zip(a[row], b[:, column], strict=True))
                result[row, column] = wrapped(total, 8 * c.itemsize)
            else:
                total = np.float32(c[row, column])
                for k in range(0, a.shape[1], step):
                    products = a[row, k : k + step].astype(np.float32) * b[k : k + step, column].astype(np.float32)
                    total += sum(products[1:], start=products[0])
                result[row, column] = total.astype(c.dtype)
    return result


@pytest.mark.parametrize("device", ARCHES)
@pytest.mark.parametrize("pair", COMBINATIONS, ids="_".join)
@given(seed=st.integers(0, 1 << 30), flags=st.sampled_from(["", '"-DB_COL_MAJ"', '"-DC_COL_MAJ", "-DB_COL_MAJ"']))
@settings(max_examples=3)
def test_product_in_blocks(device: str, pair: tuple[str, str], seed: int, flags: str) -> None:
    blocks = vector_unit(ARCHES[device]).blocks[pair]
    (r, s, t), rng = blocks.dims, np.random.default_rng(seed)
    m, k, n = r * blocks.rows, 2 * s, t * blocks.columns
    a, b, c = (random_matrix(rng, *shape) for shape in ((m, k, pair[0]), (k, n, pair[0]), (m, n, pair[1])))
    b_turned, c_turned = "B_COL" in flags, "C_COL" in flags
    memory = blocked(a, r, s), blocked(b, s, t, b_turned), blocked(c, r, t, c_turned)
    call(f"matmul_{'_'.join(pair)}", *memory, device=device, flags=flags)
    result = unblocked(memory[2], m, n, r, t, c_turned)
    np.testing.assert_array_equal(result, sum_of_products(a, b, c, s))


def test_sums_are_as_near_to_a_device_as_those_rounded_once() -> None:
    """Of 5,000 sums of 64 products in steps of 8, so many come out as the device's meaning has them."""
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(64, 5000)).astype(bfloat16) for _ in range(2))
    device, once = (np.zeros(5000, np.float32) for _ in range(2))
    zero = np.zeros((1, 1), np.float32)
    ours = np.array([product_of(x[None], y[:, None], zero, 8) for x, y in zip(a.T, b.T, strict=True)])
    for first in range(0, 64, 8):
        x, y = a[first : first + 8], b[first : first + 8]
        bits = (part.view(np.uint16).astype(np.int64) for part in (x, y))
        products = [_product(PLAIN, *pair) for pair in zip(*bits, strict=True)]
        device = np.frombuffer(total(PLAIN, [*products, _float(PLAIN, device.tobytes())]), np.float32)
        once = (once + (x.astype(np.float64) * y.astype(np.float64)).sum(axis=0)).astype(np.float32)
    assert (ours.reshape(-1) == device).mean() > 0.98 * (once == device).mean() > 0.8


@pytest.mark.parametrize("pair", COMBINATIONS, ids="_".join)
@given(dims=st.tuples(*[st.integers(1, 6)] * 3), seed=st.integers(0, 1 << 30), turned=st.booleans())
@settings(max_examples=5)
def test_product_in_rows_takes_any_size(
    pair: tuple[str, str], dims: tuple[int, int, int], seed: int, turned: bool
) -> None:
    (m, k, n), rng = dims, np.random.default_rng(seed)
    a, b, c = (random_matrix(rng, *shape) for shape in ((m, k, pair[0]), (k, n, pair[0]), (m, n, pair[1])))
    if c.dtype.kind == "i":
        wanted = sum_of_products(a, b, c, 1)
    else:
        # Added up from zero in the type of the result, as the source's variable has it.
        total = np.zeros((m, n), c.dtype)
        for step in range(k):
            products = np.outer(a[:, step].astype(np.float32), b[step].astype(np.float32))
            total = (total.astype(np.float32) + products).astype(c.dtype)
        wanted = (c.astype(np.float32) + total.astype(np.float32)).astype(c.dtype)
    memory = a.reshape(-1), np.ascontiguousarray(b.T if turned else b).reshape(-1), c.reshape(-1)
    call(f"matmul_scalar_{'_'.join(pair)}", *memory, flags='"-DB_COL_MAJ"' if turned else "")
    np.testing.assert_array_equal(memory[2].reshape(m, n), wanted)


def test_scalar_bf16_sum_is_rounded_after_each_product() -> None:
    """256 and four halves: 256.5 has no place in bf16, so that each half is lost; the vector kernel keeps them."""
    a = np.ones((1, 5), bfloat16)
    b = np.array([[256], [0.5], [0.5], [0.5], [0.5]], bfloat16)
    c = np.zeros(1, bfloat16)
    call("matmul_scalar_bf16_bf16", a.reshape(-1), b.reshape(-1), c)
    assert float(c[0]) == 256
    assert float(sum_of_products(a, b, np.zeros((1, 1), bfloat16), 1)[0, 0]) == 258
    chain, memory = Chain(), (a.reshape(-1), b.reshape(-1), c)
    for _ in kernel("matmul_scalar_cascade_put_only_bf16_bf16", *memory)(chain, *memory):
        pass
    assert int.from_bytes(chain.waiting[0][:4], "little") == 256


@given(st.tuples(*[st.integers(1, 40)] * 3))
def test_dimensions_follow_from_sizes(dims: tuple[int, int, int]) -> None:
    m, k, n = dims
    assert dims_of(m * k, k * n, m * n) == dims


def test_blocks_turn_both_orders() -> None:
    matrix = np.arange(24).reshape(4, 6)
    assert blocked(matrix, 2, 3).tolist()[:6] == [0, 1, 2, 6, 7, 8]
    assert blocked(matrix, 2, 3, column_major=True).tolist()[:6] == [0, 6, 1, 7, 2, 8]


@pytest.mark.parametrize(
    "device, dims, per_cycle",
    [
        pytest.param("npu1", (80, 88, 96), 146.0, id="npu1: 256 at the peak"),
        pytest.param("npu2", (96, 64, 96), 256.0, id="npu2: 512 at the peak"),
    ],
)
def test_cost_is_that_of_a_published_tile(device: str, dims: tuple[int, int, int], per_cycle: float) -> None:
    m, k, n = dims
    memory = [np.zeros(m * k, np.int8), np.zeros(k * n, np.int8), np.zeros(m * n, np.int32)]
    assert m * k * n / cost_of(kernel("matmul_i8_i32", *memory, device=device), memory) == pytest.approx(
        per_cycle, 0.001
    )
    assert cost_of(kernel("matmul_scalar_i8_i32", *memory, device=device), memory) == 10 * m * k * n


def test_sizes_that_do_not_fit_are_refused_at_the_declaration() -> None:
    with pytest.raises(DiagnosedError, match=r"design\.mlir:2:3: error: @matmul_i16_i16 takes matrices of 64 and 48"):
        call("matmul_i16_i16", *(np.zeros(size, np.int16) for size in (64, 48, 64)))
    with pytest.raises(DiagnosedError, match="M, K, N of 4, 4, 4, which have to be multiples of 8, 4, 8"):
        call("matmul_i16_i16", *(np.zeros(16, np.int16) for _ in range(3)))


@given(st.integers(0, 1 << 30))
@settings(max_examples=10)
def test_vector_product_takes_the_matrix_turned_in_words(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (random_matrix(rng, *shape, "i16") for shape in ((32, 16), (16, 1)))
    c = random_matrix(rng, 32, 1, "i32")
    wanted = sum_of_products(a, b, c, 8)
    plain, turned = c.copy().reshape(-1), c.copy().reshape(-1)
    call("matvec_scalar_i16_i32", a.reshape(-1), b.reshape(-1), plain)
    words = np.ascontiguousarray(a).view(np.int32).T  # a word holds two neighbours of a row
    call("matvec_vectorized_i16_i32", np.ascontiguousarray(words).view(np.int16).reshape(-1), b.reshape(-1), turned)
    np.testing.assert_array_equal(plain, wanted[:, 0])
    np.testing.assert_array_equal(turned, wanted[:, 0])


def test_block_floating_point_keeps_what_eight_bits_can() -> None:
    """With 1.0 in its block, a number keeps seven bits behind the point; alone, it keeps all of bf16's."""
    a, b = np.zeros((16, 8), bfloat16), np.zeros((8, 16), bfloat16)
    a[0], a[1, 0] = [1.0, 1 / 64, 1 / 256, 0, 0, 0, 0, 0], 1 / 256
    b[np.arange(8), np.arange(8)] = 1.0
    c = np.zeros(256, np.float32)
    flags = '"-DAIE_API_EMULATE_BFLOAT16_MMUL_WITH_BFP16"'
    call("matmul_bf16_f32", blocked(a, 8, 8), blocked(b, 8, 8), c, device="npu2", flags=flags)
    result = unblocked(c, 16, 16, 8, 8)
    assert result[0, :3].tolist() == [1.0, 1 / 64, 0.0]
    assert result[1, 0] == 1 / 256


class Chain:
    """The cascade between cores that run one after the other."""

    def __init__(self) -> None:
        self.waiting: list[bytes] = []

    def put_cascade(self, data: bytes) -> Iterator[None]:
        self.waiting.append(data)
        yield

    def get_cascade(self, size_bytes: int) -> Generator[None, None, bytes]:
        yield
        data = self.waiting.pop(0)
        assert len(data) == size_bytes
        return data


@pytest.mark.parametrize("pair", [("i16", "i16"), ("i16", "i32"), ("bf16", "f32")], ids="_".join)
def test_products_add_up_along_the_cascade(pair: tuple[str, str]) -> None:
    rng, chain = np.random.default_rng(7), Chain()
    parts = [(rng.integers(-9, 9, (4, 6)), rng.integers(-9, 9, (6, 5))) for _ in range(3)]
    start = rng.integers(-9, 9, (4, 5))
    c = start.astype(NUMPY[pair[1]]).reshape(-1)
    for kind, (a, b) in zip(("put_only", "put_get", "get_only"), parts, strict=True):
        memory = a.astype(NUMPY[pair[0]]).reshape(-1), b.astype(NUMPY[pair[0]]).reshape(-1), c
        running = kernel(f"matmul_scalar_cascade_{kind}_{'_'.join(pair)}", *memory)(chain, *memory)
        for _ in running:
            pass
    assert c.reshape(4, 5).tolist() == (start + sum(a @ b for a, b in parts)).tolist()
