"""Unsigned integers: the program's types say that they are, operations work on their bits."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, Signedness, UnrealizedConversionCastOp
from xdsl.ir import Attribute, SSAValue

from tilewright.iron.builders.operations import build
from tilewright.iron.builders.types import is_integer_type


def is_unsigned(type: Attribute) -> bool:
    """Whether numbers of a type have no sign."""
    return is_integer_type(type) and type.signedness.data is Signedness.UNSIGNED


def signless_type(type: Attribute) -> Attribute:
    """The type that operations take and give for numbers of a type."""
    return IntegerType(type.bitwidth) if is_integer_type(type) else type


def signless(value: SSAValue) -> SSAValue:
    """A number as operations take it."""
    wanted = signless_type(value.type)
    if value.type == wanted:
        return value
    maker = value.owner
    if isinstance(maker, UnrealizedConversionCastOp) and maker.operands[0].type == wanted:
        return maker.operands[0]
    return build(UnrealizedConversionCastOp, results=[wanted], inputs=[value]).results[0]


def with_sign(value: SSAValue, type: Attribute) -> SSAValue:
    """What an operation gave, as a number of the type that it stands for."""
    if value.type == type:
        return value
    return build(UnrealizedConversionCastOp, results=[type], inputs=[value]).results[0]
