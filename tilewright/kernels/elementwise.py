"""Kernels that do the same with each element: copy, add, multiply, scale, bias, relu, zero, transpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.kernels import cost
from tilewright.kernels.definition import DTYPES, Array, Call, Check, Function, MemoryArg, ScalarArg, define
from tilewright.kernels.numbers import bf16, f32, wide, wrapped
from tilewright.sim.kernels import NativeKernel

TILE = 1024
"""Elements that the kernels without a length work on: it is written into their C++ sources."""
WORD_TYPES = ("ui8", "i16", "i32")
"""BIT_WIDTH of 8, 16 and 32."""
_SIDE = 16


def _define_copies(element: str) -> None:
    memory = [MemoryArg("in", element), MemoryArg("out", element)]

    @define("passThroughLine", [*memory, ScalarArg("lineWidth")], _copy_cost, "out = in")
    def _line(call: Call, source: Array, target: Array, count: int) -> None:
        call.part(target, count)[:] = call.part(source, count)

    @define(
        "passThroughTile",
        [*memory, ScalarArg("tileHeight"), ScalarArg("tileWidth")],
        _copy_cost,
        "out = in",
    )
    def _tile(call: Call, source: Array, target: Array, height: int, width: int) -> None:
        call.part(target, height * width)[:] = call.part(source, height * width)


def _copy_cost(call: Call, source: Array, _target: Array, *counts: int) -> int:
    size = int(np.prod(counts)) * source.itemsize
    return cost.moves(call, size, size)


for _element in WORD_TYPES:
    _define_copies(_element)


def _define_bf16(name: str, operation: Callable[[Any, Any], Any], sign: str) -> None:
    parameters = [MemoryArg(part, "bf16", TILE) for part in ("a_in", "b_in", "c_out")]

    def function(call: Call, a: Array, b: Array, c: Array) -> None:
        c[:] = bf16(operation(f32(a), f32(b)))

    define(f"eltwise_{name}_bf16_vector", parameters, cost.elementwise, f"c = a {sign} b")(function)
    define(f"eltwise_{name}_bf16_scalar", parameters, cost.scalar_loop, f"c = a {sign} b")(function)


_define_bf16("add", np.add, "+")
_define_bf16("mul", np.multiply, "*")


def _mul_or_add(call: Call, a: Array, b: Array, c: Array, is_mul: int) -> None:
    c[:] = bf16(f32(a) * f32(b) if is_mul else f32(a) + f32(b))


for _variant, _cost in (("vector", cost.elementwise), ("scalar", cost.scalar_loop)):
    _parameters = [
        *(MemoryArg(part, "bf16", TILE) for part in ("a_in", "b_in", "c_out")),
        ScalarArg("is_mul"),
    ]
    define(f"eltwise_mul_add_bf16_{_variant}", _parameters, _cost, "c = a * b, or a + b where is_mul is 0")(_mul_or_add)


@define(
    "bf16_relu",
    [MemoryArg("a_in", "bf16", TILE), MemoryArg("c_out", "bf16", TILE)],
    cost.elementwise,
    "c = max(a, 0)",
)
def relu(call: Call, a: Array, c: Array) -> None:
    """NaN stays NaN."""
    c[:] = np.maximum(a, a.dtype.type(0))


def _scale(call: Call, a: Array, c: Array, factor: Array, count: int) -> None:
    """The factor is cut to the elements' type, and so is the product."""
    # The factor is an i32 in memory, whatever the elements are.
    by = wide(wrapped(wide(factor[:1]), a.dtype))
    call.part(c, count)[:] = wrapped(wide(call.part(a, count)) * by, c.dtype)


def _vector_scale_cost(call: Call, a: Array, _c: Array, _factor: Array, count: int) -> int:
    size = count * a.itemsize
    # A product of 32 bits takes two of 16.
    return max(cost.moves(call, size, size), cost.products(call, "i16", count * (a.itemsize // 2)))


def _scalar_scale_cost(_call: Call, _a: Array, _c: Array, _factor: Array, count: int) -> int:
    return count * cost.SCALAR_ELEMENT_CYCLES


for _element in ("i16", "i32"):
    _parameters = [
        MemoryArg("a_in", _element),
        MemoryArg("c_out", _element),
        MemoryArg("factor", "i32"),
        ScalarArg("N"),
    ]
    define("vector_scalar_mul_vector", _parameters, _vector_scale_cost, "c = a * factor")(_scale)
    define("vector_scalar_mul_scalar", _parameters, _scalar_scale_cost, "c = a * factor")(_scale)


def _zero(call: Call, c: Array) -> None:
    c[:] = 0


def _zero_cost(call: Call, c: Array) -> int:
    return cost.moves(call, 0, c.nbytes)


def _define_zero(element: str) -> None:
    def native(call: Call) -> NativeKernel | None:
        # the size of a memref may be known to the program alone
        if not call.sizes[0]:
            return None
        # few programs clear memory
        from tilewright.kernels.native_product import native_zero

        return native_zero(call.sizes[0] * DTYPES[element].itemsize)

    parameters = [MemoryArg("c_out", element)]
    define(f"zero_{element}", parameters, _zero_cost, "c = 0", native=native)(_zero)
    define(f"zero_vectorized_{element}", parameters, _zero_cost, "c = 0", native=native)(_zero)
    define(f"zero_scalar_{element}", parameters, cost.scalar_loop, "c = 0")(_zero)


for _element in ("i8", "i16", "i32", "bf16", "f32"):
    _define_zero(_element)


def _check_bias(call: Call) -> str | None:
    matrix, bias, out = call.sizes
    if matrix != out:
        return f"takes and gives matrices of {matrix} and {out} elements, which should be the same"
    return None if matrix % bias == 0 else f"adds a row of {bias} elements to a matrix of {matrix}"


@define(
    "row_wise_bias_add_f32_f32",
    [MemoryArg("in", "f32"), MemoryArg("bias", "f32"), MemoryArg("out", "f32")],
    cost.elementwise,
    "out = in + bias, in each row",
    check=_check_bias,
)
def row_wise_bias_add(call: Call, matrix: Array, bias: Array, out: Array) -> None:
    out[:] = (matrix.reshape(-1, bias.size) + bias).reshape(-1)


def _squares(side: int) -> Function:
    def function(call: Call, source: Array, target: Array) -> None:
        width = int(call.macros["DIM_m"])
        rows = source.reshape(-1, side, width // side, side)
        target[:] = rows.swapaxes(1, 3).reshape(-1)

    return function


def _check_squares(side: int) -> Check:
    def check(call: Call) -> str | None:
        width = call.macros.get("DIM_m", "")
        if not width.isdigit():
            return 'has to know how wide the matrix is: tilewright.compile_flags = ["-DDIM_m=..."]'
        fits = call.sizes[0] == call.sizes[1] and call.sizes[0] % (side * int(width)) == 0 == int(width) % side
        return None if fits else f"turns squares of {side} in a matrix of {call.sizes[0]} elements, {width} wide"

    return check


def _whole(call: Call, source: Array, target: Array) -> None:
    target[:] = source.reshape(_SIDE, _SIDE).T.reshape(-1)


for _element in (*WORD_TYPES, "i8", "ui16", "ui32"):
    _memory = [MemoryArg("in_ptr", _element), MemoryArg("out_ptr", _element)]
    for _side in (4, 8):
        define(
            f"transpose_{_side}x{_side}",
            _memory,
            cost.elementwise,
            f"out = in, each square of {_side} turned over",
            check=_check_squares(_side),
            macros=("DIM_m",),
        )(_squares(_side))
_square = [MemoryArg("in", "ui8", _SIDE * _SIDE), MemoryArg("out", "ui8", _SIDE * _SIDE)]
define("transpose_16x16", _square, cost.elementwise, "out = in, turned over")(_whole)
