"""Kernels on numbers that share exponents: products of matrices in blocks, and the order that those take."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.kernels import cost
from tilewright.kernels.definition import Array, Call, MemoryArg, ScalarArg, define
from tilewright.kernels.matmul import Dims, blocked, dims_of, product_of, unblocked
from tilewright.kernels.numbers import BLOCK, bf16, block_floats, block_values

BLOCKS = "v8bfp16ebs8"
_ROWS = BLOCK
"""Of a block of a matrix, which has eight columns: one `bfp16ebs8` is one row of it."""


def _values(array: Array) -> Array:
    """The numbers of an argument, which is of blocks or of bf16."""
    return block_values(array) if array.dtype.names is not None else array


def _count(memory: MemoryArg, size: int) -> int:
    return size * BLOCK if memory.element == BLOCKS else size


def _dims(call: Call, memories: list[MemoryArg]) -> Dims | None:
    return dims_of(*(_count(memory, size) for memory, size in zip(memories, call.sizes, strict=True)))


def _define_product(name: str, left: str, target: str) -> None:
    memories = [MemoryArg("a_in", left), MemoryArg("b_in", BLOCKS), MemoryArg("c_out", target)]

    def check(call: Call) -> str | None:
        dims = _dims(call, memories)
        if dims is None:
            return "takes matrices of {} and {} elements and gives one of {}: no M, K and N fit".format(*call.sizes)
        # The loop of the C++ source takes two blocks at a time.
        if dims.m % (2 * _ROWS) or dims.k % BLOCK or dims.n % (2 * BLOCK):
            return "has M, K, N of {}, {}, {}, which have to be multiples of 16, 8, 16".format(*dims)
        return None

    def product(call: Call, a: Array, b: Array, c: Array) -> None:
        dims = _dims(call, memories)
        assert dims is not None  # the declaration has been checked
        # A core multiplies block floats only: what is bf16 becomes one of them before.
        rows = _values(a) if left == BLOCKS else block_values(block_floats(a))
        a_matrix = unblocked(rows, dims.m, dims.k, _ROWS, BLOCK)
        # B stands turned: so do its exponents, which go along K.
        b_matrix = unblocked(_values(b), dims.n, dims.k, _ROWS, BLOCK).T
        c_matrix = unblocked(_values(c), dims.m, dims.n, _ROWS, BLOCK).astype(np.float32)
        total = blocked(product_of(a_matrix, b_matrix, c_matrix, BLOCK), _ROWS, BLOCK)
        c[:] = block_floats(total) if target == BLOCKS else bf16(total)

    def vector_cost(call: Call, *_arguments: Array) -> int:
        dims = _dims(call, memories)
        assert dims is not None
        return cost.products(call, "bf16", dims.m * dims.k * dims.n)

    define(name, memories, vector_cost, "c += a * b, b turned, in blocks of 8 x 8", check=check)(product)


_define_product("matmul_vectorized_bfp16", BLOCKS, BLOCKS)
_define_product("matmul_vectorized_different_datatypes", "bf16", "bf16")


def _zero_cost(call: Call, target: Array) -> int:
    return cost.moves(call, 0, target.nbytes)


def _zero(_call: Call, target: Array) -> None:
    target[...] = np.zeros_like(target)


define("zero_kernel", [MemoryArg("c_out", BLOCKS)], _zero_cost, "c = 0")(_zero)
define("zero_kernel_bf16", [MemoryArg("c_out", "bf16")], _zero_cost, "c = 0")(_zero)


def _shuffle_cost(_call: Call, source: Array, *_rest: Any) -> int:
    return source.nbytes * cost.SCALAR_ELEMENT_CYCLES


@define(
    "scalar_shuffle",
    [
        MemoryArg("a_in", BLOCKS),
        MemoryArg("c_out", BLOCKS),
        ScalarArg("tile_width", "i64"),
        ScalarArg("tile_height", "i64"),
        ScalarArg("unshuffle", "i1"),
    ],
    _shuffle_cost,
    "a row by row as blocks of 8 x 8, or back",
)
def scalar_shuffle(call: Call, source: Array, target: Array, width: int, height: int, unshuffle: int) -> None:
    count = width // BLOCK * height
    blocks, found = call.part(source, count), call.part(target, count)
    columns = width // BLOCK
    if unshuffle:
        found[:] = unblocked(blocks, height, columns, _ROWS, 1).reshape(-1)
    else:
        found[:] = blocked(blocks.reshape(height, columns), _ROWS, 1)
