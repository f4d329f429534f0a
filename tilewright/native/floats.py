"""Floating-point arithmetic as LLVM instructions: a system of numbers for the definitions in `dialects.arith.meaning`.

`bf16` and `f16` are computed in `f32` and rounded to nearest, ties to even: `f32` has more than twice their precision
and two bits, so that for + - * / and the square root the second rounding does no harm.
"""

from __future__ import annotations

from llvmlite import ir
from xdsl.dialects.builtin import BFloat16Type, Float16Type
from xdsl.ir import Attribute

from tilewright.dialects.arith.meaning import Floats
from tilewright.native.lanes import constant_like
from tilewright.native.types import BFloat, declared
from tilewright.native.values import F32, F64, I1, I16, I32, element_of, with_element

Builder = ir.IRBuilder
NARROW = BFloat16Type, Float16Type
"""Types of which the hardware of the host knows little more than the format."""
BF16_SHIFT = 16
"""A bf16 is the upper half of an f32."""
GPU_TRIPLES = "nvptx", "amdgcn"
"""How the names of targets begin whose code generators convert to `bf16` by themselves."""


def widen(builder: Builder, value: ir.Value, element: Attribute) -> ir.Value:
    """The type that arithmetic is done in."""
    match element:
        case BFloat16Type():
            bits = builder.zext(value, with_element(value.type, I32))
            shifted = builder.shl(bits, constant_like(bits, BF16_SHIFT))
            return builder.bitcast(shifted, with_element(value.type, F32))
        case Float16Type():
            return builder.fpext(value, with_element(value.type, F32))
        case _:
            return value


def narrow(builder: Builder, value: ir.Value, element: Attribute) -> ir.Value:
    """The inverse of `widen`, with rounding."""
    match element:
        case BFloat16Type():
            return _to_bf16(builder, value)
        case Float16Type():
            return builder.fptrunc(value, with_element(value.type, ir.HalfType()))
        case _:
            return value


def _to_bf16(builder: Builder, value: ir.Value) -> ir.Value:
    """Round to nearest even by adding a little less than half to the bits; a NaN stays one, made quiet."""
    if builder.module.triple.startswith(GPU_TRIPLES):
        short = builder.fptrunc(value, with_element(value.type, BFloat()))
        return builder.bitcast(short, with_element(value.type, I16))
    # Few processors have an instruction for it, and LLVM calls a library for the others.
    bits = builder.bitcast(value, with_element(value.type, I32))
    upper = builder.lshr(bits, constant_like(bits, BF16_SHIFT))
    odd = builder.and_(upper, constant_like(bits, 1))
    rounded = builder.add(bits, builder.add(odd, constant_like(bits, 0x7FFF)))
    rounded = builder.lshr(rounded, constant_like(bits, BF16_SHIFT))
    # The uppermost bit of the fraction: without it a NaN whose lower bits are cut could become an infinity.
    quiet = builder.or_(upper, constant_like(bits, 0x40))
    is_nan = builder.fcmp_unordered("uno", value, value)
    return builder.trunc(builder.select(is_nan, quiet, rounded), with_element(value.type, I16))


def extend(builder: Builder, value: ir.Value, source: Attribute, target: ir.Type) -> ir.Value:
    """`arith.extf`: to a type that holds every value of the old one; `target` is an element type."""
    wide = widen(builder, value, source)
    return wide if element_of(wide.type) == target else builder.fpext(wide, with_element(value.type, target))


def to_odd(builder: Builder, value: ir.Value) -> ir.Value:
    """`f64` to `f32`, inexact numbers to the odd neighbour: rounding that again is as rounding once."""
    nearest = builder.fptrunc(value, with_element(value.type, F32))
    bits = builder.bitcast(nearest, with_element(value.type, I32))
    back = builder.fpext(nearest, value.type)
    exact = builder.or_(builder.fcmp_ordered("==", back, value), builder.fcmp_unordered("uno", value, value))
    positive = builder.icmp_signed(">=", bits, constant_like(bits, 0))
    above = builder.fcmp_ordered(">", back, value)
    too_far = builder.icmp_unsigned("==", above, positive)
    inward = builder.select(too_far, builder.sub(bits, constant_like(bits, 1)), bits)
    odd = builder.select(exact, bits, builder.or_(inward, constant_like(bits, 1)))
    return builder.bitcast(odd, nearest.type)


def intrinsic(builder: Builder, name: str, *values: ir.Value, result: ir.Type | None = None) -> ir.Value:
    """A call of an intrinsic that is overloaded on its result and, where that differs, on its first argument."""
    result = result or values[0].type
    # LLVM names an intrinsic after all types that are not fixed.
    overloads = [result] if result == values[0].type else [result, values[0].type]
    full = ".".join([name, *(suffix(type) for type in overloads)])
    return builder.call(declared(builder.module, full, result, [value.type for value in values]), values)


def suffix(type: ir.Type) -> str:
    """How an overloaded intrinsic's name spells a type."""
    if isinstance(type, ir.VectorType):
        return f"v{type.count}{suffix(type.element)}"
    if isinstance(type, ir.PointerType):
        return "p0"
    return f"i{type.width}" if isinstance(type, ir.IntType) else _FLOAT_NAMES[type]


_FLOAT_NAMES: dict[ir.Type, str] = {ir.HalfType(): "f16", F32: "f32", F64: "f64"}

_INSTRUCTIONS = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv", "%": "frem"}


class LlvmFloats(Floats[ir.Value]):
    """Builds instructions on scalars and vectors of the type that arithmetic is done in."""

    def __init__(self, builder: Builder):
        self.builder = builder

    def combine(self, operator: str, a: ir.Value, b: ir.Value) -> ir.Value:
        return getattr(self.builder, _INSTRUCTIONS[operator])(a, b)

    def negate(self, a: ir.Value) -> ir.Value:
        return self.builder.fneg(a)

    def extreme(self, operator: str, a: ir.Value, b: ir.Value, numbers: bool) -> ir.Value:
        kind = "num" if numbers else "imum"
        return intrinsic(self.builder, f"llvm.{'max' if operator == '>' else 'min'}{kind}", a, b)

    def compare(self, operator: str, a: ir.Value, b: ir.Value, ordered: bool) -> ir.Value:
        return (self.builder.fcmp_ordered if ordered else self.builder.fcmp_unordered)(operator, a, b)

    def truth(self, answer: bool, like: ir.Value) -> ir.Value:
        return constant_like(ir.Constant(with_element(like.type, I1), ir.Undefined), int(answer))
