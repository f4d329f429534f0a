"""Elements as they lie in a message: whole bytes, of types that LLVM has too."""

from __future__ import annotations

from math import prod
from typing import cast

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    VectorType,
    i8,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects import arith
from tilewright.ir.diagnostics import fail_op
from tilewright.rewrite.emitter import CastOperation, Emitter, cast_op
from tilewright.rewrite.folding.constants import FloatType, as_integer_type, is_shaped, width_of

_LLVM_FLOATS = (Float16Type, BFloat16Type, Float32Type, Float64Type)
_WIDTHS = 8, 16, 32, 64, 128
_CASTS: dict[type[Attribute], tuple[type[CastOperation], type[CastOperation]]] = {
    IndexType: (arith.IndexCastOp, arith.IndexCastOp),
    IntegerType: (arith.ExtUIOp, arith.TruncIOp),
}
"""How types that LLVM lacks become what lies in a message, and back; others keep their bits."""


def wire_type(op: Operation, type: Attribute) -> Attribute:
    """What an element of `type` is in a message."""
    integer = as_integer_type(type)
    if isinstance(type, IndexType):
        return i64
    if integer is not None and integer.width.data <= _WIDTHS[-1]:
        return IntegerType(next(width for width in _WIDTHS if width >= integer.width.data))
    if isinstance(type, _LLVM_FLOATS):
        return type
    if isinstance(type, FloatType) and type.bitwidth <= 8:
        return i8
    if is_shaped(type) and size_bytes(type):
        return type
    fail_op(op, f"moves elements of type {type}, which messages between ranks cannot hold")


def size_bytes(type: Attribute) -> int:
    """Bytes of an element in a message; 0 if its size is no whole number of them."""
    width = width_of(type)
    if width is None or width % 8:
        return 0
    return width // 8 * (prod(cast(VectorType[Attribute], type).get_shape()) if is_shaped(type) else 1)


def to_wire(emitter: Emitter, value: SSAValue, wire: Attribute) -> SSAValue:
    """An element as it lies in a message."""
    if value.type == wire:
        return value
    return emitter.value(cast_op(_CASTS.get(value.type.__class__, (arith.BitcastOp,))[0], value, wire))


def from_wire(emitter: Emitter, value: SSAValue, type: Attribute) -> SSAValue:
    """An element of `type`, from what lies in a message."""
    if value.type == type:
        return value
    return emitter.value(cast_op(_CASTS.get(type.__class__, (arith.BitcastOp,))[-1], value, type))
