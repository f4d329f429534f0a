"""Products of matrices: c += a * b, in the blocks that the vector unit takes, or in plain rows."""

from __future__ import annotations

from collections.abc import Generator
from functools import reduce
from math import isqrt
from typing import Any, NamedTuple

import numpy as np

from tilewright.device.vector_unit import Blocks
from tilewright.kernels import cost
from tilewright.kernels.definition import Array, Call, MemoryArg, ScalarArg, define
from tilewright.kernels.numbers import rounded_blocks, wide, wrapped
from tilewright.sim.kernels import CallingCore, KernelError, NativeKernel

COMBINATIONS = (
    ("i8", "i8"),
    ("i8", "i16"),
    ("i8", "i32"),
    ("i16", "i16"),
    ("i16", "i32"),
    ("bf16", "bf16"),
    ("bf16", "f32"),
)
"""Types of the operands and of the sum."""
EMULATED = "AIE_API_EMULATE_BFLOAT16_MMUL_WITH_BFP16"
_EXACT_BYTES = 1 << 10  # so many products of eight bits add up exactly in an f32
A_COL_MAJ = "A_COL_MAJ"
"""The left operand stands column by column: what `mm.cc` of mlir-aie has for the others only."""
MACROS = (A_COL_MAJ, "B_COL_MAJ", "C_COL_MAJ", EMULATED)
CASCADED = tuple(pair for pair in COMBINATIONS if pair[0] != "i8")
_ACCUMULATOR_BYTES = 64


class Dims(NamedTuple):
    """The product of M rows and K columns with K rows and N columns."""

    m: int
    k: int
    n: int


def dims_of(a: int, b: int, c: int) -> Dims | None:
    """The dimensions that three matrices with so many elements have, if they fit together."""
    # a = MK, b = KN, c = MN, so M^2 = ac / b and so on; the check below rejects what has no integer root.
    if not a * b * c or a * c % b or a * b % c or b * c % a:
        return None
    dims = Dims(isqrt(a * c // b), isqrt(a * b // c), isqrt(b * c // a))
    return dims if (dims.m * dims.k, dims.k * dims.n, dims.m * dims.n) == (a, b, c) else None


def check_scalar(call: Call) -> str | None:
    if dims_of(*call.sizes) is None:
        a, b, c = call.sizes
        return f"takes matrices of {a} and {b} elements and gives one of {c}: no M, K and N fit"
    return None


def _check_blocks(call: Call, pair: tuple[str, str]) -> str | None:
    dims = dims_of(*call.sizes)
    if dims is None:
        return check_scalar(call)
    blocks = blocks_of(call, pair)
    wanted = blocks.r * blocks.rows, blocks.s, blocks.t * blocks.columns
    if any(size % step for size, step in zip(dims, wanted, strict=True)):
        return "multiplies matrices with M, K, N of {}, {}, {}, which have to be multiples of {}, {}, {}".format(
            *dims, *wanted
        )
    return None


def blocks_of(call: Call, pair: tuple[str, str]) -> Blocks:
    # Emulation changes the shape of the blocks, and so where elements stand, not only their precision.
    table = call.unit.emulated_blocks if EMULATED in call.macros else call.unit.blocks
    return table[pair]


def known_dims(call: Call) -> Dims:
    dims = dims_of(*call.sizes)
    assert dims is not None  # the declaration has been checked
    return dims


def _integer_sum(a: Array, b: Array, c: Array) -> Array:
    """Exact: products of 16 bits and their sums have a place in a double. What does not fit into c wraps."""
    # Floats, since NumPy multiplies integer matrices without BLAS.
    exact = np.float32 if a.dtype.itemsize == 1 and a.shape[1] <= _EXACT_BYTES else np.float64
    products = a.astype(exact) @ b.astype(exact)
    return wrapped(products.astype(np.int64), c.dtype) + c


def _float_sum(a: Array, b: Array, c: Array, step: int) -> Array:
    """Add `step` products at a time to an f32: their sum, one after the other, as `mmul` of our `aie_api` does.

    A device adds the products of a step and the accumulator at once, after it has rounded each to the unit of the
    largest (`isa.float_meaning`). Sums in f32 are as near to that as exact ones that are rounded once: see
    docs/kernels.md.
    """
    total = c.astype(np.float32)
    columns, rows = a.T.astype(np.float32), b.astype(np.float32)
    for first in range(0, len(rows), step):
        # products of bf16 are exact
        products = map(np.multiply.outer, columns[first : first + step], rows[first : first + step])
        total += reduce(np.add, products)
    return total.astype(c.dtype)


def product_of(a: Array, b: Array, c: Array, step: int) -> Array:
    """c + a * b in the type of c: integers wrap, and f32 is rounded to bf16 at the end."""
    return _integer_sum(a, b, c) if c.dtype.kind == "i" else _float_sum(a, b, c, step)


def blocked(matrix: Array, rows: int, columns: int, column_major: bool = False) -> Array:
    """A matrix as blocks of so many rows and columns, in a row; of column-major ones both orders are turned."""
    if column_major:
        return blocked(matrix.T, columns, rows)
    height, width = matrix.shape
    return matrix.reshape(height // rows, rows, width // columns, columns).swapaxes(1, 2).reshape(-1)


def unblocked(data: Array, height: int, width: int, rows: int, columns: int, column_major: bool = False) -> Array:
    """The inverse of `blocked`."""
    if column_major:
        return unblocked(data, width, height, columns, rows).T
    return data.reshape(height // rows, width // columns, rows, columns).swapaxes(1, 2).reshape(height, width)


def _define_vector(pair: tuple[str, str]) -> None:
    def function(call: Call, a: Array, b: Array, c: Array) -> None:
        dims, (r, s, t) = known_dims(call), blocks_of(call, pair).dims
        c_turned = "C_COL_MAJ" in call.macros
        left = unblocked(a, dims.m, dims.k, r, s, A_COL_MAJ in call.macros)
        right = unblocked(b, dims.k, dims.n, s, t, "B_COL_MAJ" in call.macros)
        # The older cores ignore the macro: only AIE2P has instructions for block floating point.
        if pair[0] == "bf16" and EMULATED in call.macros and call.unit.native_functions:
            left, right = rounded_blocks(left, 1), rounded_blocks(right, 0)
        # An accumulator takes the s products of a block at once: f32 is rounded after each block, not each product.
        total = product_of(left, right, unblocked(c, dims.m, dims.n, r, t, c_turned), s)
        c[:] = blocked(total, r, t, c_turned)

    def vector_cost(call: Call, *_arguments: Array) -> int:
        return call.unit.product_cycles(pair, *known_dims(call))

    def check(call: Call) -> str | None:
        return _check_blocks(call, pair)

    def native(call: Call) -> NativeKernel | None:
        if EMULATED in call.macros:
            return None
        # few programs multiply matrices
        from tilewright.kernels.native_product import ProductShape, native_product

        turned = [macro in call.macros for macro in (A_COL_MAJ, "B_COL_MAJ", "C_COL_MAJ")]
        return native_product(ProductShape(*pair, *known_dims(call), *blocks_of(call, pair).dims, *turned))

    parameters, name, summary = matrices(pair), "_".join(pair), "c += a * b, in blocks"
    define(f"matmul_{name}", parameters, vector_cost, summary, check=check, macros=MACROS, native=native)(function)


def _zero_columns(call: Call, tile: Array, depth: int, height: int, width: int, count: int) -> None:
    if depth < 1 or height < 1 or width < 1 or tile.size % (depth * height) or depth % width or not 0 <= count <= depth:
        raise KernelError(f"no {count} columns of {depth} in blocks of {height} x {width} fit {tile.size} elements")
    blocks = tile.reshape(-1, depth // width, height, width)
    whole, rest = divmod(count, width)
    blocks[:, :whole] = 0
    if rest:
        blocks[:, whole, :, :rest] = 0


def _zero_columns_cost(call: Call, tile: Array, depth: int, _height: int, _width: int, count: int) -> int:
    return cost.moves(call, 0, tile.nbytes * count // max(depth, 1))


for _element in ("i8", "i16", "bf16"):
    _parameters = [MemoryArg("tile", _element), *map(ScalarArg, ("depth", "height", "width", "count"))]
    define(f"zero_columns_{_element}", _parameters, _zero_columns_cost, "the first columns of a, in blocks, = 0")(
        _zero_columns
    )


def matrices(pair: tuple[str, str]) -> list[MemoryArg]:
    return [MemoryArg("a_in", pair[0]), MemoryArg("b_in", pair[0]), MemoryArg("c_out", pair[1])]


def rows_of(call: Call, a: Array, b: Array, c: Array) -> tuple[Array, Array, Array]:
    """The matrices of a kernel for scalars: row by row, or column by column if it is compiled so."""
    dims = known_dims(call)
    b_turned, c_turned = "B_COL_MAJ" in call.macros, "C_COL_MAJ" in call.macros
    right = b.reshape(dims.n, dims.k).T if b_turned else b.reshape(dims.k, dims.n)
    return a.reshape(dims.m, dims.k), right, c.reshape(dims.n, dims.m).T if c_turned else c.reshape(dims.m, dims.n)


def _scalar_sum(left: Array, right: Array, target: Array) -> Array:
    """a * b, added up from zero in the type of c as the source's variable does: bf16 is rounded after each product."""
    total = np.zeros(target.shape, target.dtype)
    if target.dtype.kind == "i":
        return _integer_sum(left, right, total)
    for column, row in zip(left.T.astype(np.float32), right.astype(np.float32), strict=True):
        total = (total + np.multiply.outer(column, row)).astype(target.dtype)
    return total


def _scalar_product(call: Call, a: Array, b: Array, c: Array) -> None:
    left, right, target = rows_of(call, a, b, c)
    target[:] = _added(target, _scalar_sum(left, right, target))


def scalar_cost(call: Call, *_arguments: Any) -> int:
    return int(np.prod(known_dims(call), dtype=np.int64)) * call.unit.scalar_mac_cycles


for _pair in COMBINATIONS:
    _define_vector(_pair)
    _name, _scalar_macros = f"matmul_scalar_{'_'.join(_pair)}", ("B_COL_MAJ", "C_COL_MAJ")
    define(_name, matrices(_pair), scalar_cost, "c += a * b, in rows", check=check_scalar, macros=_scalar_macros)(
        _scalar_product
    )


def _check_vector(call: Call) -> str | None:
    a, b, c = call.sizes
    return None if a == b * c else f"multiplies a matrix of {a} elements with a vector of {b} into one of {c}"


def _check_transposed(call: Call) -> str | None:
    m, k = call.sizes[2], call.sizes[1]
    if found := _check_vector(call):
        return found
    # The loop of the C++ source has no remainder.
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


_vectors = [MemoryArg("a_in", "i16"), MemoryArg("b_in", "i16"), MemoryArg("c_out", "i32")]
define("matvec_scalar_i16_i32", _vectors, _scalar_matvec_cost, "c += a * b", check=_check_vector)(_matvec)
define("matvec_vectorized_i16_i32", _vectors, _matvec_cost, "c += a * b, a turned in words", check=_check_transposed)(
    _transposed_matvec
)


def _accumulators(values: Array) -> list[bytes]:
    """Each number as the first of an accumulator's sixteen, cut to an integer."""
    words = np.zeros((values.size, _ACCUMULATOR_BYTES // 4), np.int32)
    words[:, 0] = wrapped(wide(values.reshape(-1)), words.dtype)
    return [row.tobytes() for row in words]


def _define_cascade(pair: tuple[str, str]) -> None:
    """Products that come from one neighbour, go to the next, or both; only `get_only` writes c."""

    def product(call: Call, a: Array, b: Array, c: Array) -> Array:
        left, right, target = rows_of(call, a, b, c)
        return _scalar_sum(left, right, target).reshape(-1)

    def put_only(core: CallingCore, call: Call, a: Array, b: Array, c: Array) -> Generator[Any, Any, None]:
        for data in _accumulators(product(call, a, b, c)):
            yield from core.put_cascade(data)

    def get(core: CallingCore, total: Array) -> Generator[Any, Any, None]:
        for place in range(total.size):
            data = yield from core.get_cascade(_ACCUMULATOR_BYTES)
            total[place] = _added(total[place], int.from_bytes(data[:4], "little", signed=True))

    def get_only(core: CallingCore, call: Call, a: Array, b: Array, c: Array) -> Generator[Any, Any, None]:
        total = product(call, a, b, c)
        yield from get(core, total)
        c[:] = _added(c, total)

    def put_get(core: CallingCore, call: Call, a: Array, b: Array, c: Array) -> Generator[Any, Any, None]:
        total = product(call, a, b, c)
        for place in range(total.size):
            # Number by number, as the source does: to wait for all of them first could deadlock a chain of cores.
            yield from get(core, total[place : place + 1])
            yield from core.put_cascade(_accumulators(total[place : place + 1])[0])

    summaries = {"put_only": "cascade = a * b", "get_only": "c += a * b + cascade", "put_get": "cascade += a * b"}
    for kind, function in (("put_only", put_only), ("get_only", get_only), ("put_get", put_get)):
        name = f"matmul_scalar_cascade_{kind}_{'_'.join(pair)}"
        define(name, matrices(pair), scalar_cost, summaries[kind], check=check_scalar, on_core=True)(function)


def _added(a: Any, b: Any) -> Any:
    if np.asarray(a).dtype.kind == "i":
        return wrapped(wide(np.asarray(a)) + wide(np.asarray(b)), np.asarray(a).dtype)
    return (np.float32(a) + np.asarray(b, np.float32)).astype(np.asarray(a).dtype)


for _pair in CASCADED:
    _define_cascade(_pair)
