"""Types and flags of the arith dialect."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from xdsl.dialects.arith import FastMathFlagsAttr as FastMathFlagsAttr
from xdsl.dialects.arith import IntegerOverflowAttr as IntegerOverflowAttr
from xdsl.dialects.arith import IntegerOverflowFlag as IntegerOverflowFlag
from xdsl.dialects.builtin import (
    AnyFloat,
    AnyFloatConstr,
    ContainerType,
    IndexType,
    IntegerType,
    MemRefType,
    ShapedType,
    Signedness,
    SignlessIntegerConstraint,
    TensorType,
    UnrankedTensorType,
    VectorType,
    i1,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    AnyAttr,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.device import Keyword
from tilewright.dialects._ods import enum_attr
from tilewright.ir.constraints import described
from tilewright.ir.print_attributes import ATTRIBUTE_TEXT


def element_type(type: Any) -> Attribute:
    """The element type of a vector, tensor or memref, and any other type itself."""
    return cast("ContainerType[Attribute]", type).get_element_type() if isinstance(type, ContainerType) else type


def is_signless(type: Any) -> bool:
    return isinstance(type, IntegerType) and cast(IntegerType, type).signedness.data is Signedness.SIGNLESS


def _element_is(*predicates: Callable[[Attribute], bool]) -> Callable[[Attribute], bool]:
    """Whether a scalar, or the elements of a vector or tensor, fit one of the predicates."""

    def holds(type: Attribute) -> bool:
        # Memrefs are not among them: they hold numbers, and are none.
        element = element_type(type) if isinstance(type, VectorType | TensorType | UnrankedTensorType) else type
        return any(predicate(element) for predicate in predicates)

    return holds


def is_index(type: Attribute) -> bool:
    return isinstance(type, IndexType)


def is_float(type: Attribute) -> bool:
    return isinstance(type, AnyFloat)


ANY = AnyAttr()
INTEGER_LIKE = described(ANY, "signless-integer-like", _element_is(is_signless, is_index))
FIXED_WIDTH_LIKE = described(ANY, "signless-fixed-width-integer-like", _element_is(is_signless))
FLOAT_LIKE = described(ANY, "floating-point-like", _element_is(is_float))
BOOL_LIKE = described(ANY, "bool-like", _element_is(lambda type: type == i1))
# Bitcasts also reinterpret buffers.
MEMREF_OF_NUMBERS = MemRefType.constr(SignlessIntegerConstraint | AnyFloatConstr)
CASTABLE_TO_INDEX = described(
    ANY,
    "signless-integer-like or memref of signless-integer",
    lambda type: (
        INTEGER_LIKE.verifies(type)
        or (isinstance(type, MemRefType) and _element_is(is_signless, is_index)(element_type(type)))
    ),
)
BITS = described(
    ANY,
    "signless-integer-or-float-like or memref of signless-integer or float",
    lambda type: _element_is(is_signless, is_float)(type) or MEMREF_OF_NUMBERS.verifies(type),
)

NO_FASTMATH = FastMathFlagsAttr("none")
NO_OVERFLOW = IntegerOverflowAttr("none")


class RoundingMode(Keyword):
    """How a number is fitted into a narrower type."""

    to_nearest_even = 0
    downward = 1
    upward = 2
    toward_zero = 3
    to_nearest_away = 4


ROUNDING = enum_attr(RoundingMode, "Floating point rounding mode")


def _overflow_text(flags: IntegerOverflowAttr) -> str:
    # MLIR puts a space behind the comma here, though not in fastmath flags.
    return f"<{', '.join(flag.value for flag in IntegerOverflowFlag if flag in flags.data) or 'none'}>"


# In the printer's table, since xDSL's class prints without the space.
ATTRIBUTE_TEXT[IntegerOverflowAttr] = lambda p, a: f"#{IntegerOverflowAttr.name}{_overflow_text(a)}"


OVERFLOW = "(`overflow` `` $overflowFlags^)?"
FASTMATH = "(`fastmath` `` $fastmath^)?"


def binary_format(flags: str = "", result: str = "result") -> str:
    """`%a, %b FLAGS {attributes} : type`, the one type being that of everything."""
    return f"$lhs `,` $rhs {flags} attr-dict `:` type(${result})"


def verify_same_shape(source: Attribute, target: Attribute) -> None:
    # MLIR has other words for tensors, whose dynamic sizes must agree as well.
    if isinstance(source, TensorType) and isinstance(target, TensorType):
        if source.get_shape() != target.get_shape():
            raise VerifyException("failed to verify that input and output have the same tensor dimensions")
        return
    if _shape(source) != _shape(target):
        raise VerifyException("requires the same shape for all operands and results")


def _shape(type: Any) -> object:
    if isinstance(type, VectorType):
        # A scalable vector is of another shape than a fixed one.
        return VectorType, type.get_shape(), type.get_scalable_dims()
    return (type.name, type.get_shape()) if isinstance(type, ShapedType) else None


def bool_like(type: Attribute) -> Attribute:
    """`i1` in the shape of a type."""
    match type:
        case VectorType():
            return VectorType(i1, type.shape, type.scalable_dims)
        case TensorType():
            return TensorType(i1, type.shape, type.encoding)
        case UnrankedTensorType():
            return UnrankedTensorType(i1)
        case _:
            return i1
