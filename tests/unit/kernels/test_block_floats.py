"""Numbers that share exponents: what becomes of them, and the kernels on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from declared_kernels import call
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ml_dtypes import bfloat16

from tilewright.kernels.numbers import BLOCK, BLOCK_DTYPE, block_floats, block_values, rounded_blocks

ROUNDINGS = ("floor", "positive_inf", "symmetric_inf", "conv_even")
NUMBERS = st.lists(st.floats(-(2.0**100), 2.0**100, width=32), min_size=BLOCK, max_size=BLOCK)


def blocks_of(matrix: Any) -> Any:
    """A matrix as kernels take it: blocks of 8 x 8, each row of one an element."""
    height, width = matrix.shape
    tiles = matrix.reshape(height // 8, 8, width // 8, 8).swapaxes(1, 2)
    return block_floats(tiles.reshape(-1, 8))[:, 0]


def matrix_of(blocks: Any, height: int, width: int) -> Any:
    tiles = block_values(blocks.reshape(-1, 1)).reshape(height // 8, width // 8, 8, 8)
    return tiles.swapaxes(1, 2).reshape(height, width)


def test_a_block_is_nine_bytes_with_the_exponent_first():
    block = block_floats(np.array([1.0, -1, 0.5, 0, 0, 0, 0, 1.984375]))
    assert block.tobytes() == bytes([127, 64, 192, 32, 0, 0, 0, 0, 127])


def test_zeros_have_no_exponent():
    assert block_floats(np.zeros(8)).tobytes() == bytes(9)


@pytest.mark.parametrize("rounding", ROUNDINGS)
@given(values=NUMBERS)
def test_what_is_lost_is_less_than_one_unit_of_the_greatest(values: list[float], rounding: str):
    exact = np.array(values, np.float32)
    found = block_values(block_floats(exact, rounding))
    unit = np.ldexp(1.0, max(np.frexp(np.abs(exact).max())[1] - 7, -133))
    # What rounds up to the next power of two is the greatest mantissa instead.
    assert (np.abs(found - exact.astype(np.float64)) <= unit).all()
    if rounding == "floor":
        assert (found <= exact).all()


@given(values=NUMBERS)
@example(values=[0.0] * 6 + [7318349394477056.0, -7.149464837947392e16])
def test_a_block_that_is_made_again_is_the_same_unless_a_bit_is_lost(values: list[float]):
    once = block_values(block_floats(np.array(values, np.float32)))
    unit = np.ldexp(1.0, max(np.frexp(np.abs(values).max())[1] - 7, -133))
    # A mantissa of -128 is the next power of two, which takes the greater exponent when it is read again.
    lost = 2 * unit if (once == -128 * unit).any() else 0
    assert (np.abs(block_values(block_floats(once)) - once) <= lost).all()


def test_blocks_go_along_an_axis():
    matrix = np.outer(2.0 ** np.arange(16), np.ones(8)).astype(np.float32)
    assert (rounded_blocks(matrix, 1) == matrix).all()
    assert rounded_blocks(matrix, 0)[:2, 0].tolist() == [0.0, 2.0]  # half a unit of 2 goes to the even one
    assert rounded_blocks(matrix, 0)[9, 0] == 512.0


@settings(max_examples=10)
@given(seed=st.integers(0, 1 << 30), m=st.sampled_from([16, 32]), k=st.sampled_from([8, 24]))
def test_products_add_to_what_is_there(seed: int, m: int, k: int):
    generator = np.random.default_rng(seed)
    a, b, c = (generator.integers(-8, 8, shape).astype(np.float32) for shape in ((m, k), (k, 16), (m, 16)))
    out = blocks_of(c)
    call("matmul_vectorized_bfp16", blocks_of(a), blocks_of(b.T), out, device="npu2")
    wanted = block_values(blocks_of(a @ b + c).reshape(-1, 1))
    assert (block_values(out.reshape(-1, 1)) == wanted).all()


def test_products_of_bf16_and_blocks():
    generator = np.random.default_rng(3)
    a, b = generator.integers(-8, 8, (16, 16)).astype(np.float32), generator.integers(-8, 8, (16, 16))
    tiles = a.reshape(2, 8, 2, 8).swapaxes(1, 2).reshape(-1).astype(bfloat16)
    out = np.ones(256, bfloat16)
    call("matmul_vectorized_different_datatypes", tiles, blocks_of(b.T.astype(np.float32)), out, device="npu2")
    found = out.astype(np.float32).reshape(2, 2, 8, 8).swapaxes(1, 2).reshape(16, 16)
    assert (found == (a @ b + 1).astype(bfloat16).astype(np.float32)).all()


def test_rows_become_blocks_and_rows_again():
    rows = np.zeros(16 * 3, BLOCK_DTYPE)
    rows["exponent"] = np.arange(48)
    tiles, back = np.zeros_like(rows), np.zeros_like(rows)
    call("scalar_shuffle", rows, tiles, 24, 16, 0, device="npu2")
    assert tiles["exponent"][:9].tolist() == [0, 3, 6, 9, 12, 15, 18, 21, 1]
    call("scalar_shuffle", tiles, back, 24, 16, 1, device="npu2")
    assert (back == rows).all()


def test_blocks_are_cleared():
    blocks = np.full(32, 7, np.uint8).repeat(9).view(BLOCK_DTYPE)
    call("zero_kernel", blocks, device="npu2")
    assert not blocks.view(np.uint8).any()
