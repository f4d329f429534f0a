"""Products of a matrix and a vector: c += a * b."""

from __future__ import annotations

from tilewright.kernels import cost
from tilewright.kernels.definition import Array, Call, Memory, define
from tilewright.kernels.matmul import product_of


def _check_vector(call: Call) -> str | None:
    a, b, c = call.sizes
    return None if a == b * c else f"multiplies a matrix of {a} elements with a vector of {b} into one of {c}"


def _check_transposed(call: Call) -> str | None:
    m, k = call.sizes[2], call.sizes[1]
    if found := _check_vector(call):
        return found
    return None if m % 16 == 0 and k % 8 == 0 else f"has M, K of {m}, {k}, which have to be multiples of 16, 8"


def _matvec(call: Call, a: Array, b: Array, c: Array) -> None:
    c[:] = product_of(a.reshape(c.size, b.size), b[:, None], c[:, None], 1)[:, 0]


def _transposed_matvec(call: Call, a: Array, b: Array, c: Array) -> None:
    """The matrix is turned in units of four bytes: pairs of columns stand together."""
    matrix = a.reshape(b.size // 2, c.size, 2).swapaxes(0, 1).reshape(c.size, b.size)
    c[:] = product_of(matrix, b[:, None], c[:, None], 8)[:, 0]


def _matvec_cost(call: Call, a: Array, _b: Array, c: Array) -> int:
    return max(cost.products(call, "i16", a.size), cost.moves(call, a.nbytes, c.nbytes))


def _scalar_matvec_cost(call: Call, a: Array, _b: Array, _c: Array) -> int:
    return a.size * call.unit.scalar_mac_cycles


_vectors = [Memory("a_in", "i16"), Memory("b_in", "i16"), Memory("c_out", "i32")]
define("matvec_scalar_i16_i32", _vectors, _scalar_matvec_cost, "c += a * b", check=_check_vector)(_matvec)
define("matvec_vectorized_i16_i32", _vectors, _matvec_cost, "c += a * b, a turned in words", check=_check_transposed)(
    _transposed_matvec
)
