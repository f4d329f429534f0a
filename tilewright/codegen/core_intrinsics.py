"""Intrinsics of LLVM that the back end for cores has no rule for, as instructions that it has, on scalars."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from llvmlite import ir

from tilewright.native.floats import intrinsic
from tilewright.native.lanes import constant_like
from tilewright.native.math_functions import call_library
from tilewright.native.values import I32, bit_width

Build: TypeAlias = Callable[..., ir.Value]
"""Takes a builder, the type of the result and the operands."""


def _again(name: str) -> Build:
    """The same intrinsic on scalars."""

    def build(builder: ir.IRBuilder, result: ir.Type, *values: ir.Value) -> ir.Value:
        return intrinsic(builder, name, *values)

    return build


def _extreme(operator: str, numbers: bool) -> Build:
    """The larger or the smaller number. A NaN wins, or loses where `numbers` are asked for; -0 is less than 0."""

    def build(builder: ir.IRBuilder, result: ir.Type, a: ir.Value, b: ir.Value) -> ir.Value:
        bits = ir.IntType(bit_width(result))
        left, right = builder.bitcast(a, bits), builder.bitcast(b, bits)
        zero = builder.bitcast((builder.and_ if operator == ">" else builder.or_)(left, right), result)
        chosen = builder.select(builder.fcmp_ordered(operator, a, b), a, b)
        chosen = builder.select(builder.fcmp_ordered("==", a, b), zero, chosen)
        no_left, no_right = (builder.fcmp_unordered("uno", value, value) for value in (a, b))
        first, second = (b, a) if numbers else (a, b)
        return builder.select(no_left, first, builder.select(no_right, second, chosen))

    return build


def _saturated(signed: bool) -> Build:
    """A number as an integer: what does not fit becomes the nearest that does, a NaN becomes 0."""

    def build(builder: ir.IRBuilder, result: ir.Type, value: ir.Value) -> ir.Value:
        width = result.width
        low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
        # Both limits are powers of two, which every type of floating-point numbers here has.
        above, below = ir.Constant(value.type, float(high + 1)), ir.Constant(value.type, float(low))
        # The back end converts to words: a narrower result would be one of those, cut off.
        word = ir.IntType(max(width, I32.width))
        inside = (builder.fptosi if signed or width < I32.width else builder.fptoui)(value, word)
        found = inside if word.width == width else builder.trunc(inside, result)
        found = builder.select(builder.fcmp_ordered(">=", value, above), ir.Constant(result, high), found)
        found = builder.select(builder.fcmp_ordered("<", value, below), ir.Constant(result, low), found)
        return builder.select(builder.fcmp_unordered("uno", value, value), ir.Constant(result, 0), found)

    return build


def _library(name: str) -> Build:
    def build(builder: ir.IRBuilder, result: ir.Type, *values: ir.Value) -> ir.Value:
        return call_library(builder, name, *values)

    return build


def _copysign(builder: ir.IRBuilder, result: ir.Type, size: ir.Value, sign: ir.Value) -> ir.Value:
    bits = ir.IntType(bit_width(result))
    top = ir.Constant(bits, 1 << bits.width - 1)
    parts = builder.bitcast(size, bits), builder.bitcast(sign, bits)
    kept = builder.and_(parts[0], ir.Constant(bits, (1 << bits.width - 1) - 1))
    return builder.bitcast(builder.or_(kept, builder.and_(parts[1], top)), result)


def _ones(builder: ir.IRBuilder, result: ir.Type, value: ir.Value) -> ir.Value:
    """How many bits are set: sums of neighbours, of more and more bits at once."""
    width = result.width
    room = 1 << (width - 1).bit_length()
    wide = ir.IntType(room)
    total = value if room == width else builder.zext(value, wide)
    step = 1
    while step < room:
        mask = ir.Constant(wide, sum(((1 << step) - 1) << place for place in range(0, room, 2 * step)))
        other = builder.and_(builder.lshr(total, ir.Constant(wide, step)), mask)
        total = builder.add(builder.and_(total, mask), other)
        step *= 2
    return total if room == width else builder.trunc(total, result)


def _leading_ones(builder: ir.IRBuilder, result: ir.Type, value: ir.Value, _: ir.Value) -> ir.Value:
    """How many zeros there are above the first one: all bits below it are set, and the others counted."""
    if result == I32:
        return _again("llvm.ctlz")(builder, result, value, _)
    step = 1
    while step < result.width:
        value = builder.or_(value, builder.lshr(value, ir.Constant(result, step)))
        step *= 2
    return _ones(builder, result, builder.not_(value))


def _trailing(builder: ir.IRBuilder, result: ir.Type, value: ir.Value, _: ir.Value) -> ir.Value:
    below = builder.and_(builder.not_(value), builder.sub(value, constant_like(value, 1)))
    return _ones(builder, result, below)


EXPANSIONS: dict[str, Build] = {
    "llvm.maximum": _extreme(">", numbers=False),
    "llvm.minimum": _extreme("<", numbers=False),
    "llvm.maxnum": _extreme(">", numbers=True),
    "llvm.minnum": _extreme("<", numbers=True),
    "llvm.fptosi.sat": _saturated(signed=True),
    "llvm.fptoui.sat": _saturated(signed=False),
    "llvm.copysign": _copysign,
    "llvm.ctpop": _ones,
    "llvm.cttz": _trailing,
    "llvm.ctlz": _leading_ones,
    **{f"llvm.{name}": _library(name) for name in ("sqrt", "floor", "ceil", "trunc", "roundeven", "round", "fma")},
}
"""Intrinsics that the back end has no rule for. Names that begin as others come first."""
SCALARS: dict[str, Build] = {"llvm.fabs": _again("llvm.fabs")}
