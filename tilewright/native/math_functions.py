"""`math` on scalars and vectors: instructions where there are some, the C library's functions elsewhere.

`bf16` and `f16` are computed in `f32` and rounded once more.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial

import llvmlite.binding as llvm
from llvmlite import ir
from xdsl.ir import Attribute, Operation

from tilewright.dialects.arith.meaning import MEANING
from tilewright.dialects.vector.types import element_type
from tilewright.native.floats import LlvmFloats, intrinsic, narrow, widen
from tilewright.native.functions import CHECK_SIGNALS
from tilewright.native.integers import LlvmIntegers
from tilewright.native.lanes import constant_like, each_lane
from tilewright.native.lowering import Handler, Lowering, on_values
from tilewright.native.types import declared
from tilewright.native.values import F32, I1, element_of
from tilewright.support.lazy import once

LIBRARY = {
    **{
        f"math.{name}": name
        for name in (
            *("exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "cbrt", "erf", "erfc", "atan2"),
            *("sin", "cos", "tan", "asin", "acos", "atan"),
            *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
        )
    },
    "math.powf": "pow",
}
"""Operations and the functions of the C library that compute them in double precision."""
INTRINSICS = {
    "math.absf": "llvm.fabs",
    "math.ceil": "llvm.ceil",
    "math.floor": "llvm.floor",
    "math.trunc": "llvm.trunc",
    "math.round": "llvm.round",
    "math.roundeven": "llvm.roundeven",
    "math.sqrt": "llvm.sqrt",
    "math.fma": "llvm.fma",
    "math.copysign": "llvm.copysign",
    "vector.fma": "llvm.fma",
}
CALLED_BY_LLVM = ("fma", "floor", "ceil", "trunc", "round", "roundeven", "fmod", "sqrt")
"""What LLVM calls where the processor has no instruction for an intrinsic."""


@once
def provide_library() -> None:
    """Tell LLVM where the C library's functions are: it would end the process if it found none."""
    process = ctypes.CDLL(None)
    _provide(ctypes.pythonapi, CHECK_SIGNALS)
    for name in ("memcpy", "memmove", "memset", "aligned_alloc", "free"):
        _provide(process, name)
    for name in (*LIBRARY.values(), *CALLED_BY_LLVM):
        _provide(process, name)
        _provide(process, f"{name}f")


def _provide(library: ctypes.CDLL, name: str) -> None:
    function = getattr(library, name, None)  # not all of them are in every C library
    address = ctypes.cast(function, ctypes.c_void_p).value if function is not None else None
    if address is not None:
        llvm.add_symbol(name, address)


def call_library(builder: ir.IRBuilder, name: str, *values: ir.Value) -> ir.Value:
    """A function of the C library on scalars or on each element."""
    element = element_of(values[0].type)
    # C's names of the functions in single precision.
    full = f"{name}f" if element == F32 else name
    function = declared(builder.module, full, element, [element for _ in values])
    return each_lane(builder, lambda *scalars: builder.call(function, scalars), *values)


def on_numbers(build: Callable[..., ir.Value]) -> Handler:
    """A handler that computes in the type that arithmetic is done in."""

    def lower(lowering: Lowering, op: Operation) -> None:
        builder, type = lowering.builder, element_type(op.results[0].type)
        values = [widen(builder, lowering[operand], type) for operand in op.operands]
        lowering[op.results[0]] = narrow(builder, build(builder, *values), type)

    return lower


def _named(call: Callable[..., ir.Value], name: str, builder: ir.IRBuilder, *values: ir.Value) -> ir.Value:
    return call(builder, name, *values)


def _rsqrt(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    return builder.fdiv(constant_like(value, 1.0), intrinsic(builder, "llvm.sqrt", value))


def _clamp(builder: ir.IRBuilder, value: ir.Value, low: ir.Value, high: ir.Value) -> ir.Value:
    numbers = LlvmFloats(builder)
    return numbers.extreme("<", numbers.extreme(">", value, low, numbers=True), high, numbers=True)


def _sincos(lowering: Lowering, op: Operation) -> None:
    builder, type = lowering.builder, element_type(op.results[0].type)
    value = widen(builder, lowering[op.operands[0]], type)
    for result, name in zip(op.results, ("sin", "cos"), strict=True):
        lowering[result] = narrow(builder, call_library(builder, name, value), type)


def _classify(test: Callable[[ir.IRBuilder, ir.Value, ir.Value], ir.Value]) -> Handler:
    """A handler for a question about a number and its absolute value."""

    def lower(lowering: Lowering, op: Operation) -> None:
        builder = lowering.builder
        value = widen(builder, lowering[op.operands[0]], element_type(op.operands[0].type))
        lowering[op.results[0]] = test(builder, value, intrinsic(builder, "llvm.fabs", value))

    return lower


INFINITY = float("inf")
DEFINED_AT_ZERO = ir.Constant(I1, 0)
"""Tells an intrinsic that zero is a number like others."""


def _absi(builder: ir.IRBuilder, type: Attribute, values: list[ir.Value]) -> ir.Value:
    (value,) = values
    zero = constant_like(value, 0)
    # The smallest integer stays as it is: its negation wraps around.
    return builder.select(builder.icmp_signed("<", value, zero), builder.sub(zero, value), value)


def _fpowi(lowering: Lowering, op: Operation) -> None:
    builder, type = lowering.builder, element_type(op.results[0].type)
    base = widen(builder, lowering[op.operands[0]], type)
    exponent = builder.sitofp(lowering[op.operands[1]], base.type)
    lowering[op.results[0]] = narrow(builder, call_library(builder, "pow", base, exponent), type)


def integer_power(builder: ir.IRBuilder, base: ir.Value, exponent: ir.Value) -> ir.Value:
    """By squaring. A power below 0 is that of the inverse, which is 0 but for a base of 1 or -1."""
    type = base.type
    zero, one, minus_one = (ir.Constant(type, number) for number in (0, 1, -1))
    below = builder.icmp_signed("<", exponent, zero)
    # Of 0 that is 0 here: what divides by zero is undefined.
    inverse = MEANING["arith.divsi"](LlvmIntegers(builder), one, base)
    square: ir.Value = builder.select(below, inverse, base)
    left: ir.Value = builder.select(below, builder.mul(exponent, minus_one), exponent)
    power: ir.Value = one
    for _ in range(type.width):
        odd = builder.trunc(left, I1) if type.width > 1 else left
        power = builder.select(odd, builder.mul(power, square), power)
        square = builder.mul(square, square)
        left = builder.lshr(left, one)
    return power


HANDLERS: dict[str, Handler] = {
    **{name: on_numbers(partial(_named, call_library, function)) for name, function in LIBRARY.items()},
    **{name: on_numbers(partial(_named, intrinsic, function)) for name, function in INTRINSICS.items()},
    "math.rsqrt": on_numbers(_rsqrt),
    "math.clampf": on_numbers(_clamp),
    "math.sincos": _sincos,
    "math.isnan": _classify(lambda b, x, size: b.fcmp_unordered("uno", x, x)),
    "math.isinf": _classify(lambda b, x, size: b.fcmp_ordered("==", size, constant_like(x, INFINITY))),
    "math.isfinite": _classify(lambda b, x, size: b.fcmp_ordered("<", size, constant_like(x, INFINITY))),
    "math.absi": on_values(_absi),
    "math.ctlz": on_values(lambda b, type, x: intrinsic(b, "llvm.ctlz", x[0], DEFINED_AT_ZERO)),
    "math.cttz": on_values(lambda b, type, x: intrinsic(b, "llvm.cttz", x[0], DEFINED_AT_ZERO)),
    "math.ctpop": on_values(lambda b, type, x: intrinsic(b, "llvm.ctpop", x[0])),
    "math.fpowi": _fpowi,
    "math.ipowi": on_values(lambda b, type, x: each_lane(b, partial(integer_power, b), *x)),
}
