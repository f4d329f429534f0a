"""Scalar instructions on each element of a vector, and constants of either kind."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from llvmlite import ir
from xdsl.dialects.builtin import BFloat16Type, IndexType, IntegerType
from xdsl.ir import Attribute

from tilewright.native.types import INDEX_BITS
from tilewright.native.values import I32, value_type

Builder = ir.IRBuilder


def lane(builder: Builder, value: ir.Value, number: int) -> ir.Value:
    return builder.extract_element(value, ir.Constant(I32, number))


def assemble(builder: Builder, type: ir.VectorType, elements: Sequence[ir.Value]) -> ir.Value:
    """A vector of scalars."""
    vector: ir.Value = ir.Constant(type, ir.Undefined)
    for number, element in enumerate(elements):
        vector = builder.insert_element(vector, element, ir.Constant(I32, number))
    return vector


def each_lane(builder: Builder, build: Callable[..., ir.Value], *values: ir.Value) -> ir.Value:
    """What `build` makes of scalars, for the elements of vectors one after the other."""
    first = values[0].type
    if not isinstance(first, ir.VectorType):
        return build(*values)
    results = [build(*(lane(builder, value, number) for value in values)) for number in range(first.count)]
    return assemble(builder, ir.VectorType(results[0].type, first.count), results)


def shuffled(builder: Builder, value: ir.Value, order: Sequence[int], other: ir.Value | None = None) -> ir.Value:
    """The elements of a vector, or of two, in a given order."""
    mask = ir.Constant(ir.VectorType(I32, len(order)), list(order))
    return builder.shuffle_vector(value, ir.Constant(value.type, ir.Undefined) if other is None else other, mask)


def splat(builder: Builder, scalar: ir.Value, count: int) -> ir.Value:
    """A vector of copies."""
    type = ir.VectorType(scalar.type, count)
    first = builder.insert_element(ir.Constant(type, ir.Undefined), scalar, ir.Constant(I32, 0))
    return shuffled(builder, first, [0] * count)


def constant(type: Attribute, number: float) -> ir.Constant:
    """A scalar as an element of the given type, or a vector of copies of it."""
    native = value_type(type)
    element = getattr(type, "element_type", type)
    scalar = scalar_constant(element, number)
    return ir.Constant(native, [scalar] * native.count) if isinstance(native, ir.VectorType) else scalar


def scalar_constant(type: Attribute, number: float) -> ir.Constant:
    match type:
        case IntegerType() | IndexType():
            width = type.width.data if isinstance(type, IntegerType) else INDEX_BITS
            half = 1 << width - 1
            return ir.Constant(value_type(type), (int(number) + half) % (2 * half) - half)
        # Bits, as all bf16 values here.
        case BFloat16Type():
            return ir.Constant(value_type(type), struct.unpack("<H", type.pack((float(number),)))[0])
        case _:
            return ir.Constant(value_type(type), float(number))


def constant_like(value: ir.Value, number: float) -> ir.Constant:
    """A number of the type of a value, or a vector of them."""
    if isinstance(value.type, ir.VectorType):
        return ir.Constant(value.type, [ir.Constant(value.type.element, number)] * value.type.count)
    return ir.Constant(value.type, number)
