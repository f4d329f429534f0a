"""Block floats in C++ kernels against the blocks of `kernels.numbers`: making, reading, streams, products."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ml_dtypes import bfloat16

from tests.unit.kernels.cpp_cases import (
    AWAY_FROM_ZERO,
    CEIL,
    CONV_EVEN,
    CONV_ODD,
    FLOOR,
    NEGATIVE_INF,
    POSITIVE_INF,
    SYMMETRIC_INF,
    SYMMETRIC_ZERO,
    TOWARDS_ZERO,
    compile_source,
    core_of,
)
from tilewright.kernels.numbers import block_floats, block_values, rounded_blocks

SOURCE = """
using floats = aie::accum<accfloat, 64>;
extern "C" {
void encode(const floats *from, bfp16ebs8 *to, int count) {
  aie::block_vector_output_buffer_stream<bfp16ebs8, 64> out(to);
  for (int i = 0; i < count; ++i)
    out << from[i].to_vector<bfp16ebs8>();
}
void decode(const bfp16ebs8 *from, floats *to, int count) {
  aie::block_vector_input_buffer_stream<bfp16ebs8, 64> in(from);
  for (int i = 0; i < count; ++i)
    to[i] = floats(in.pop());
}
void encode16(const floats *from, bfp16ebs16 *to) { *(v64bfp16ebs16 *)to = from->to_vector<bfp16ebs16>(); }
void decode16(const bfp16ebs16 *from, floats *to) { to->from_vector(*(const v64bfp16ebs16 *)from); }
void multiply(const bfp16ebs8 *a, const bfp16ebs8 *b, floats *c) {
  aie::block_vector<bfp16ebs8, 64> left, right;
  aie::block_vector_input_buffer_stream<bfp16ebs8, 64>(a) >> left;
  aie::block_vector_input_buffer_stream<bfp16ebs8, 64>(b) >> right;
  c[1] = msc_8x8_8x8T(left, right, c[0]);
  c[2] = mul_8x8_8x8T(left, right);
  c[0] = mac_8x8_8x8T(left, right, c[0]);
}
void every_other(const bfp16ebs8 *from, bfp16ebs8 *to, int count) {
  aie::block_vector_input_buffer_stream<bfp16ebs8, 64> in(from);
  aie::block_vector_output_buffer_stream<bfp16ebs8, 64> out(to);
  in.seek(1);
  for (int i = 0; i < count; ++i)
    out.push(in.pop_seek(1));
}
void parts(const v128bfp16ebs8 *from, v128bfp16ebs8 *to) {
  *to = concat(from->extract<64>(1), from->extract<64>(0));
}
void emulated(const bfloat16 *a, const bfloat16 *b, floats *c) {
  aie::mmul<8, 8, 8, bfloat16, bfloat16> product(*c);
  product.mac(aie::load_v<64>(a), aie::load_v<64>(b));
  *c = product.to_accum();
}
unsigned sizes() { return 100 * sizeof(bfp16ebs8) + sizeof(v64bfp16ebs8); }
}
"""
POINTER = ctypes.c_void_p
HALF = np.float64(0.5)
ROUNDINGS = {
    FLOOR: np.floor,
    CEIL: np.ceil,
    TOWARDS_ZERO: np.trunc,
    AWAY_FROM_ZERO: lambda x: np.sign(x) * np.ceil(np.abs(x)),
    NEGATIVE_INF: lambda x: np.ceil(x - HALF),
    POSITIVE_INF: lambda x: np.floor(x + HALF),
    SYMMETRIC_ZERO: lambda x: np.sign(x) * np.ceil(np.abs(x) - HALF),
    SYMMETRIC_INF: lambda x: np.sign(x) * np.floor(np.abs(x) + HALF),
    CONV_EVEN: np.rint,
    CONV_ODD: lambda x: 2 * np.rint((x - 1) / 2) + 1 if x % 1 == HALF else np.rint(x),
}
NUMBERS = st.floats(-(2.0**90), 2.0**90, width=32, allow_subnormal=False).filter(lambda x: x == 0 or abs(x) > 2.0**-90)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    options = "-O1", "-ffp-contract=off", "-D__AIE2P__", "-DAIE_API_EMULATE_BFLOAT16_MMUL_WITH_BFP16"
    return compile_source(tmp_path_factory.mktemp("blocks"), SOURCE, *options)


def pointers(*arrays: np.ndarray) -> list[ctypes.c_void_p]:
    return [array.ctypes.data_as(POINTER) for array in arrays]


def encoded(library: ctypes.CDLL, values: np.ndarray, rounding: int = FLOOR) -> np.ndarray:
    blocks = np.zeros(values.size // 8 * 9, np.uint8)
    core_of(library).rounding = rounding
    library.encode(*pointers(values, blocks), values.size // 64)
    core_of(library).rounding = FLOOR
    return blocks


@given(st.lists(NUMBERS, min_size=64, max_size=64))
@settings(max_examples=200)
def test_blocks_are_those_of_numpy(library: ctypes.CDLL, numbers: list[float]) -> None:
    """Made under both modes that kernels use, and read back."""
    values = np.array(numbers, np.float32)
    for rounding, name in ((FLOOR, "floor"), (CONV_EVEN, "conv_even")):
        blocks, wanted = encoded(library, values, rounding), block_floats(values, name)
        assert blocks.tobytes() == wanted.tobytes()
        read = np.zeros(64, np.float32)
        library.decode(*pointers(blocks, read), 1)
        assert (read == block_values(wanted)).all()


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_mantissas_obey_the_rounding_mode(library: ctypes.CDLL, rounding: int) -> None:
    """Beside a one, numbers are in steps of 1/64: halves and quarters of a step show each mode."""
    steps = np.arange(-28, 28) / 4
    values = np.array([*np.concatenate([np.r_[1, part / 64] for part in steps.reshape(8, 7)])], np.float32)
    mantissas = encoded(library, values, rounding).reshape(8, 9)[:, 2:].view(np.int8).reshape(-1)
    assert mantissas.tolist() == [ROUNDINGS[rounding](step) for step in steps]


def test_sixteen_share_an_exponent(library: ctypes.CDLL) -> None:
    rng = np.random.default_rng(1)
    values = (rng.standard_normal(64) * 2.0 ** rng.integers(-5, 5, 64)).astype(np.float32)
    blocks, read = np.zeros(4 * 17, np.uint8), np.zeros(64, np.float32)
    library.encode16(*pointers(values, blocks))
    exponents = np.frexp(np.abs(values).reshape(4, 16).max(axis=1))[1] - 1
    assert (blocks.reshape(4, 17)[:, 0] == exponents + 127).all()
    library.decode16(*pointers(blocks, read))
    units = 2.0 ** (exponents - 6)[:, None]
    assert (read.reshape(4, 16) == np.floor(values.reshape(4, 16) / units) * units).all()


@given(st.integers(0, 1 << 30))
@settings(max_examples=50)
def test_products_take_the_second_matrix_by_columns(library: ctypes.CDLL, seed: int) -> None:
    """The eight products of a lane are exact, and one rounding joins them with it."""
    rng = np.random.default_rng(seed)
    a, b = (block_floats((rng.standard_normal(64) * 2.0 ** rng.integers(-4, 4, 64)).astype(np.float32)) for _ in "ab")
    c = rng.standard_normal(192).astype(np.float32)
    before = c[:64].reshape(8, 8).astype(np.float64)
    library.multiply(*pointers(a, b, c))
    product = block_values(a).reshape(8, 8).astype(np.float64) @ block_values(b).reshape(8, 8).T.astype(np.float64)
    for found, wanted in zip(c.reshape(3, 8, 8), (before + product, before - product, product), strict=True):
        assert (found == wanted.astype(np.float32)).all()


@given(st.integers(0, 1 << 30))
@settings(max_examples=30)
def test_bf16_matrices_are_multiplied_as_blocks_where_asked(library: ctypes.CDLL, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (rng.standard_normal((8, 8)).astype(bfloat16) for _ in "ab")
    c = rng.standard_normal((8, 8)).astype(np.float32)
    wanted = c + rounded_blocks(a, 1).astype(np.float64) @ rounded_blocks(b, 0).astype(np.float64)
    core_of(library).rounding = CONV_EVEN
    library.emulated(*pointers(a, b, c))
    core_of(library).rounding = FLOOR
    assert (c == wanted.astype(np.float32)).all()


def test_streams_count_vectors(library: ctypes.CDLL) -> None:
    """72 bytes a vector, from where the stream is; nothing is aligned."""
    assert library.sizes() == 972
    source = np.random.default_rng(2).integers(0, 256, 8 * 72 + 1, dtype=np.uint8)
    target = np.zeros(4 * 72, np.uint8)
    library.every_other(*pointers(source[1:], target), 4)
    assert (target.reshape(4, 72) == source[1:].reshape(8, 72)[1::2]).all()
    swapped = np.zeros(144, np.uint8)
    library.parts(*pointers(source[1:], swapped))
    assert (swapped.reshape(2, 72) == source[1:145].reshape(2, 72)[::-1]).all()


def test_zero_has_no_exponent(library: ctypes.CDLL) -> None:
    assert not encoded(library, np.zeros(64, np.float32)).any()
