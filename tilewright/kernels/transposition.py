"""Matrices turned over, whole or in little squares."""

from __future__ import annotations

from tilewright.kernels import cost
from tilewright.kernels.definition import Array, Call, Check, Function, Memory, define
from tilewright.kernels.elementwise import WORD_TYPES

_SIDE = 16


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
    _memory = [Memory("in_ptr", _element), Memory("out_ptr", _element)]
    for _side in (4, 8):
        define(
            f"transpose_{_side}x{_side}",
            _memory,
            cost.elementwise,
            f"out = in, each square of {_side} turned over",
            check=_check_squares(_side),
            macros=("DIM_m",),
        )(_squares(_side))
_square = [Memory("in", "ui8", _SIDE * _SIDE), Memory("out", "ui8", _SIDE * _SIDE)]
define("transpose_16x16", _square, cost.elementwise, "out = in, turned over")(_whole)
