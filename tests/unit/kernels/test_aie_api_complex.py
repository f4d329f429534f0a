"""Complex vectors of the headers against NumPy: sums, products, conjugates, accumulators."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from cpp_cases import FLOOR, NONE, POSITIVE_INF, SATURATE, compile_source, core_of

N = 8
SOURCE = """
using namespace aie::operators;

template <class T, class R, class Acc> void all(const T *a, const T *b, const R *r, T *out, int shift) {
  constexpr unsigned N = 8;
  auto x = aie::load_v<N>(a), y = aie::load_v<N>(b);
  auto z = aie::load_v<N>(r);
  auto put = [&](aie::vector<T, N> v) { aie::store_v(out, v), out += N; };
  auto acc = aie::mul(x, y);
  static_assert(std::is_same_v<decltype(acc), aie::accum<Acc, N>>);
  put(x + y);
  put(x - y);
  put(aie::neg(x));
  put(aie::conj(x));
  put(aie::add(x, a[2]));
  put(acc.template to_vector<T>(shift));
  put(aie::mac(acc, x, z).template to_vector<T>(shift));
  put(aie::msc(acc, aie::op_conj(x), y).template to_vector<T>(shift));
  put(aie::negmul(x, b[1]).template to_vector<T>(shift));
  put(aie::mul(aie::op_conj(y), r[2]).template to_vector<T>(shift));
  put(aie::add(acc, acc).template to_vector<T>(shift));
  put(aie::accum<Acc, N>(x, shift).template to_vector<T>(shift));
  put(aie::broadcast<T, N>(a[3]));
  put(aie::zeros<T, N>());
  put(aie::concat(x.template extract<N / 2>(1), x.template extract<N / 2>(0)));
  put(aie::broadcast<T, N>(aie::reduce_add(x)));
  put(aie::broadcast<T, N>(T{aie::real(x).get(1), aie::imag(x).get(2)}));
}

extern "C" {
void all_int16(cint16 *a, cint16 *b, int16 *r, cint16 *out, int32 s) { all<cint16, int16, cacc64>(a, b, r, out, s); }
void all_int32(cint32 *a, cint32 *b, int32 *r, cint32 *out, int32 s) { all<cint32, int32, cacc64>(a, b, r, out, s); }
void all_float32(cfloat *a, cfloat *b, float *r, cfloat *o, int32 s) { all<cfloat, float, caccfloat>(a, b, r, o, s); }
}

static_assert(aie::vector<cint16>::size() == 16 && v8cint32::is_complex() && !v8int32::is_complex());
static_assert(sizeof(v4cacc64) == 64 && sizeof(v8cint16) == 32 && aie::accum<cacc64, 8>::is_complex());
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return compile_source(tmp_path_factory.mktemp("complex"), SOURCE)


def as_complex(parts: np.ndarray) -> list[tuple[Any, Any]]:
    return [(real, imag) for real, imag in parts.reshape(-1, 2).tolist()]


Number = tuple[Any, Any]


def times(a: Number, b: Number) -> Number:
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def plus(a: Number, b: Number) -> Number:
    return a[0] + b[0], a[1] + b[1]


def scaled(a: Number, by: Any) -> Number:
    return a[0] * by, a[1] * by


def expected(a: list[Number], b: list[Number], r: list[Any]) -> tuple[list[list[Number]], list[list[Number]]]:
    """Vectors that are as wide as their operands, and sums of products that are shifted."""
    turned = [(x[0], -x[1]) for x in a]
    products = [times(x, y) for x, y in zip(a, b, strict=True)]
    total = (sum(x[0] for x in a), sum(x[1] for x in a))
    narrow = [
        [plus(x, y) for x, y in zip(a, b, strict=True)],
        [plus(x, scaled(y, -1)) for x, y in zip(a, b, strict=True)],
        [scaled(x, -1) for x in a],
        turned,
        [plus(x, a[2]) for x in a],
    ]
    wide = [
        products,
        [plus(p, scaled(x, z)) for p, x, z in zip(products, a, r, strict=True)],
        [plus(p, scaled(times(x, y), -1)) for p, x, y in zip(products, turned, b, strict=True)],
        [scaled(times(x, b[1]), -1) for x in a],
        [scaled((y[0], -y[1]), r[2]) for y in b],
        [scaled(p, 2) for p in products],
    ]
    last = [a, [a[3]] * N, [(0, 0)] * N, a[N // 2 :] + a[: N // 2], [total] * N, [(a[1][0], a[2][1])] * N]
    return narrow, [*wide, *last]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.float32])
@pytest.mark.parametrize(
    "shift, rounding, saturation", [(0, FLOOR, NONE), (3, FLOOR, NONE), (7, POSITIVE_INF, SATURATE)]
)
def test_complex_numbers(
    library: ctypes.CDLL, dtype: Any, seed: int, shift: int, rounding: int, saturation: int
) -> None:
    rng, is_float = np.random.default_rng(seed), dtype is np.float32
    limit = {np.int16: 1 << 14, np.int32: 1 << 29}.get(dtype, 1)
    draw = rng.standard_normal if is_float else lambda size: rng.integers(-limit, limit, size)
    a, b, r = (np.ascontiguousarray(draw(size), dtype=dtype) for size in (2 * N, 2 * N, N))
    out = np.zeros(17 * 2 * N, dtype)
    core = core_of(library)
    core.rounding, core.saturation = rounding, saturation
    run = getattr(library, f"all_{np.dtype(dtype).name}")
    run(*(array.ctypes.data_as(ctypes.c_void_p) for array in (a, b, r, out)), 0 if is_float else shift)
    narrow, wide = expected(as_complex(a), as_complex(b), r.tolist())
    found = out.reshape(17, N, 2)
    if is_float:
        np.testing.assert_allclose(found, np.array([*narrow, *wide]), rtol=1e-4, atol=1e-5)
        return
    for row, vector in enumerate([*narrow, *wide]):
        is_product = len(narrow) <= row < len(narrow) + 6
        wanted = [
            [_settled(part, dtype, shift if is_product else 0, rounding, saturation, is_product) for part in x]
            for x in vector
        ]
        assert found[row].tolist() == wanted, row


def _settled(value: int, dtype: Any, shift: int, rounding: int, saturation: int, is_product: bool) -> int:
    """A sum of products shifted, rounded and held in its type; anything else wraps."""
    info = np.iinfo(dtype)
    if is_product:
        value = (value + (1 << shift >> 1 if rounding == POSITIVE_INF else 0)) >> shift
        if saturation == SATURATE:
            return min(max(value, info.min), info.max)
    return (value - info.min) % (1 << info.bits) + info.min
