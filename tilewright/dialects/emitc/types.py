"""Types and attributes of C++ code, and the constraints on them in MLIR's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntAttr,
    IntegerType,
    Signedness,
    TensorType,
    TupleType,
)
from xdsl.dialects.emitc import EmitC_OpaqueAttr as OpaqueAttr
from xdsl.dialects.emitc import EmitC_OpaqueType as OpaqueType
from xdsl.dialects.emitc import EmitC_PtrDiffT as PtrDiffT
from xdsl.dialects.emitc import EmitC_SignedSizeT as SignedSizeT
from xdsl.dialects.emitc import EmitC_SizeT as SizeT
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import AnyAttr, AttrConstraint, base, irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.ir.constraints import described
from tilewright.ir.shown import quoted

# Those for which C++ has types: `bool` and the `intN_t`.
INTEGER_WIDTHS = (1, 8, 16, 32, 64)
POINTER_BITS = 64
FLOATS = (Float16Type, BFloat16Type, Float32Type, Float64Type)
POINTER_WIDE = (SizeT, SignedSizeT, PtrDiffT)


@irdl_attr_definition
class ArrayType(ParametrizedAttribute, TypeAttribute):
    """A C array of fixed size in each dimension."""

    name = "emitc.array"

    shape: ArrayAttr[IntAttr]
    element_type: Attribute

    @staticmethod
    def of(shape: Sequence[int], element_type: Attribute) -> ArrayType:
        return ArrayType(ArrayAttr(IntAttr(size) for size in shape), element_type)

    @property
    def sizes(self) -> list[int]:
        return [size.data for size in self.shape]

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            sizes, element_type = parser.parse_ranked_shape()
            return [ArrayAttr(IntAttr(size) for size in sizes), element_type]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string("".join(f"{size}x" for size in self.sizes))
            printer.print_attribute(self.element_type)

    def verify(self) -> None:
        if not self.shape.data:
            raise VerifyException("shape must not be empty")
        if any(size < 0 for size in self.sizes):
            raise VerifyException("expected static shape")
        # Arrays of arrays are one array with more dimensions.
        if isinstance(self.element_type, ArrayType) or not is_supported(self.element_type):
            raise VerifyException(f"invalid array element type {quoted(self.element_type)}")


@irdl_attr_definition
class LValueType(ParametrizedAttribute, TypeAttribute):
    """Something that can be assigned to and whose address can be taken."""

    name = "emitc.lvalue"

    value_type: Attribute

    def verify(self) -> None:
        if isinstance(self.value_type, ArrayType):
            raise VerifyException("!emitc.lvalue cannot wrap !emitc.array type")
        if not is_supported(self.value_type):
            raise VerifyException(f"!emitc.lvalue must wrap supported emitc type, but got {quoted(self.value_type)}")


@irdl_attr_definition
class PointerType(ParametrizedAttribute, TypeAttribute):
    """A pointer."""

    name = "emitc.ptr"

    pointee: Attribute

    def verify(self) -> None:
        if isinstance(self.pointee, LValueType):
            raise VerifyException("pointers to lvalues are not allowed")


def width_of(type: Attribute) -> int:
    """The bits of an integer; those of `size_t` and its like are as many as a pointer has on every host we know."""
    match type:
        case IntegerType():
            return type.width.data
        case _:
            return POINTER_BITS


def is_unsigned(type: Attribute) -> bool:
    """Whether C++ computes with it without sign."""
    match type:
        case IntegerType():
            return type.signedness.data is Signedness.UNSIGNED
        case _:
            # `index` becomes `size_t`.
            return isinstance(type, IndexType | SizeT)


def is_integer(type: Attribute) -> bool:
    """Whether C++ has an integer type for it."""
    return isinstance(type, IntegerType) and width_of(cast(Attribute, type)) in INTEGER_WIDTHS


def odd_integer(type: Attribute) -> IntegerType | None:
    """An integer of a width for which C++ has no type."""
    match type:
        case IntegerType() if type.bitwidth not in INTEGER_WIDTHS:
            return type
        case _:
            return None


def wider(type: IntegerType) -> IntegerType | None:
    """The narrowest type of C++ that holds all numbers of a signless integer; None if none does."""
    widths = [width for width in INTEGER_WIDTHS if width >= type.bitwidth]
    return IntegerType(widths[0]) if widths and type.signedness.data is Signedness.SIGNLESS else None


def is_integral(type: Attribute) -> bool:
    """Whether it is an integer, of a fixed width or as wide as a pointer."""
    return is_integer(type) or isinstance(type, (IndexType, *POINTER_WIDE))


def is_supported(type: Attribute) -> bool:
    """Whether C++ has a type for it."""
    match type:
        # A template over the element type and the sizes, so they have to be known.
        case TensorType():
            element = type.get_element_type()
            return type.has_static_shape() and not isinstance(element, ArrayType) and is_supported(element)
        case TupleType():
            return all(not isinstance(part, ArrayType) and is_supported(part) for part in type.types)
        case PointerType():
            return is_supported(type.pointee)
        case ArrayType():
            return is_supported(type.element_type)
        case _:
            return is_integral(type) or isinstance(type, (OpaqueType, *FLOATS))


def _is_integral_or_opaque(type: Attribute) -> bool:
    return is_integral(type) or isinstance(type, OpaqueType)


# Predicates over any attribute: MLIR's words name the union, not its parts.
EMITC_TYPE: AttrConstraint = described(AnyAttr(), "type supported by EmitC", is_supported)
INTEGRAL_OR_OPAQUE: AttrConstraint = described(
    AnyAttr(), "integer, index or opaque type supported by EmitC", _is_integral_or_opaque
)
NUMBER_OR_OPAQUE: AttrConstraint = described(
    AnyAttr(),
    "floating-point type supported by EmitC or integer, index or opaque type supported by EmitC",
    lambda type: isinstance(type, FLOATS) or _is_integral_or_opaque(type),
)
LVALUE = described(base(LValueType), "EmitC lvalue type")
POINTER = described(base(PointerType), "EmitC pointer type")
LVALUE_OR_ARRAY: AttrConstraint = described(
    AnyAttr(), "EmitC array type or EmitC lvalue type", lambda type: isinstance(type, ArrayType | LValueType)
)
LVALUE_OR_EMITC_TYPE: AttrConstraint = described(
    AnyAttr(), "type supported by EmitC or EmitC lvalue type", lambda t: isinstance(t, LValueType) or is_supported(t)
)

ATTRS: list[type[Attribute]] = [
    ArrayType,
    LValueType,
    OpaqueAttr,
    OpaqueType,
    PointerType,
    PtrDiffT,
    SignedSizeT,
    SizeT,
]
