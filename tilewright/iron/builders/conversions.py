"""Numbers of one type as numbers of another, as NumPy's `astype` converts them."""

from __future__ import annotations

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, IndexType, i1, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation

from tilewright.dialects import arith
from tilewright.iron.builders.arithmetic import compare, number, width
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.signs import is_unsigned, signless, signless_type, with_sign
from tilewright.iron.builders.types import is_float_type, is_integer_type


def convert(value: SSAValue, type: Attribute) -> SSAValue:
    """A number as one of this type: integers wrap, fractions are cut off, floating-point numbers are rounded."""
    if value.type == type:
        return value
    if type == i1:
        return compare("ne", value, number(0, value.type))
    source, target = signless(value), signless_type(type)
    if is_float_type(value.type):
        made = _from_float(source, target, type)
    elif is_float_type(type):
        made = _to_float(source, target, _is_natural_type(value.type))
    else:
        made = _resized(source, target, _is_natural_type(value.type))
    return with_sign(made, type)


def _is_natural_type(type: Attribute) -> bool:
    """Whether all numbers of a type are natural ones; true is 1."""
    return is_unsigned(type) or type == i1


def _cast(op_class: type[IRDLOperation], value: SSAValue, type: Attribute) -> SSAValue:
    return build(op_class, results=[type], input=value).results[0]


def _resized(value: SSAValue, target: Attribute, is_natural: bool) -> SSAValue:
    if value.type == target:
        return value
    if isinstance(value.type, IndexType) or isinstance(target, IndexType):
        return _cast(arith.IndexCastUIOp if is_natural else arith.IndexCastOp, value, target)
    if width(value.type) > width(target):
        return _cast(arith.TruncIOp, value, target)
    return _cast(arith.ExtUIOp if is_natural else arith.ExtSIOp, value, target)


def _to_float(value: SSAValue, target: Attribute, is_natural: bool) -> SSAValue:
    if isinstance(value.type, IndexType):
        value = _cast(arith.IndexCastOp, value, i64)
    return _cast(arith.UIToFPOp if is_natural else arith.SIToFPOp, value, target)


def _from_float(value: SSAValue, target: Attribute, asked: Attribute) -> SSAValue:
    if isinstance(target, IndexType):
        return _cast(arith.IndexCastOp, _cast(arith.FPToSIOp, value, i64), target)
    if is_integer_type(target):
        return _cast(arith.FPToUIOp if is_unsigned(asked) else arith.FPToSIOp, value, target)
    if _bits(value.type) == _bits(target):  # f16 and bf16: each holds what the other does not
        value = _cast(arith.ExtFOp, value, Float32Type())
    return _cast(arith.ExtFOp if _bits(value.type) < _bits(target) else arith.TruncFOp, value, target)


def _bits(type: Attribute) -> int:
    return 16 if isinstance(type, Float16Type | BFloat16Type) else 32 if isinstance(type, Float32Type) else 64
