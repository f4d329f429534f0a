"""Ways to combine elements, as reductions and contractions of `vector` name them, and products of vectors."""

from __future__ import annotations

from llvmlite import ir
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Attribute

from tilewright.native import floats
from tilewright.native.arithmetic import combine_floats, combine_integers
from tilewright.native.integers import resize
from tilewright.native.values import element_of, value_type

_KINDS = {
    "add": ("arith.addi", "arith.addf"),
    "mul": ("arith.muli", "arith.mulf"),
    "minui": ("arith.minui", ""),
    "minsi": ("arith.minsi", ""),
    "maxui": ("arith.maxui", ""),
    "maxsi": ("arith.maxsi", ""),
    "and": ("arith.andi", ""),
    "or": ("arith.ori", ""),
    "xor": ("arith.xori", ""),
    "minnumf": ("", "arith.minnumf"),
    "maxnumf": ("", "arith.maxnumf"),
    "minimumf": ("", "arith.minimumf"),
    "maximumf": ("", "arith.maximumf"),
}
"""The operation on integers and that on other numbers."""


def combine(builder: ir.IRBuilder, kind: str, type: Attribute, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """Two scalars or vectors of the given element type made one."""
    on_integers, on_floats = _KINDS[kind]
    if isinstance(type, AnyFloat):
        return combine_floats(builder, on_floats, type, lhs, rhs)
    return combine_integers(builder, on_integers, lhs, rhs)


def convert(builder: ir.IRBuilder, value: ir.Value, source: Attribute, target: Attribute) -> ir.Value:
    """Elements of a product as those of what it is added to, which may be wider."""
    if source == target:
        return value
    element = element_of(value_type(target))
    if isinstance(target, AnyFloat):
        return floats.extend(builder, value, source, element)
    return resize(builder, value, element, unsigned=False)
