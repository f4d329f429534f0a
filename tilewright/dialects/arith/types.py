"""Types and flags of the arith dialect."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Self, cast

from xdsl.dialects.arith import FastMathFlagsAttr as FastMathFlagsAttr
from xdsl.dialects.arith import IntegerOverflowAttr as IntegerOverflowAttr
from xdsl.dialects.arith import IntegerOverflowFlag as IntegerOverflowFlag
from xdsl.dialects.builtin import (
    AnyFloat,
    AnyFloatConstr,
    ContainerType,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ShapedType,
    Signedness,
    SignlessIntegerConstraint,
    TensorType,
    UnrankedTensorType,
    VectorType,
    i1,
    i32,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    opt_prop_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

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


class RoundingMode(StrEnum):
    """How a number is fitted into a narrower type; the position in the list is the value of its attribute."""

    TO_NEAREST_EVEN = "to_nearest_even"
    DOWNWARD = "downward"
    UPWARD = "upward"
    TOWARD_ZERO = "toward_zero"
    TO_NEAREST_AWAY = "to_nearest_away"


# In the order of MLIR's enumeration: positions are what the attribute holds.
ROUNDING_MODES = tuple(RoundingMode)
ROUNDING = described(
    IntegerAttr.constr(i32),
    "Floating point rounding mode",
    lambda attribute: 0 <= attribute.value.data < len(ROUNDING_MODES),
)


def parse_fastmath(parser: Parser) -> FastMathFlagsAttr:
    """`fastmath<flags>`, or nothing."""
    if parser.parse_optional_keyword("fastmath") is None:
        return NO_FASTMATH
    return FastMathFlagsAttr(FastMathFlagsAttr.parse_parameter(parser))


def print_fastmath(printer: Printer, flags: FastMathFlagsAttr | None) -> None:
    """The inverse of `parse_fastmath`."""
    if flags is not None and flags != NO_FASTMATH:
        printer.print_string(" fastmath")
        flags.print_parameter(printer)


def parse_overflow(parser: Parser) -> IntegerOverflowAttr:
    """`overflow<flags>`, or nothing."""
    if parser.parse_optional_keyword("overflow") is None:
        return NO_OVERFLOW
    return IntegerOverflowAttr(IntegerOverflowAttr.parse_parameter(parser))


def print_overflow(printer: Printer, flags: IntegerOverflowAttr) -> None:
    """The inverse of `parse_overflow`."""
    if flags != NO_OVERFLOW:
        printer.print_string(f" overflow{_overflow_text(flags)}")


def _overflow_text(flags: IntegerOverflowAttr) -> str:
    # MLIR puts a space behind the comma here, though not in fastmath flags.
    return f"<{', '.join(flag.value for flag in IntegerOverflowFlag if flag in flags.data) or 'none'}>"


# In the printer's table, since xDSL's class prints without the space.
ATTRIBUTE_TEXT[IntegerOverflowAttr] = lambda p, a: f"#{IntegerOverflowAttr.name}{_overflow_text(a)}"


class Flagged(IRDLOperation):
    """Properties that stand between the operands and the attribute dictionary."""

    @classmethod
    def parse_flags(cls, parser: Parser) -> dict[str, Attribute]:
        return {}

    def print_flags(self, printer: Printer) -> None:
        pass


class WithOverflow(Flagged):
    @classmethod
    def parse_flags(cls, parser: Parser) -> dict[str, Attribute]:
        return {"overflowFlags": parse_overflow(parser)}

    def print_flags(self, printer: Printer) -> None:
        print_overflow(printer, cast(IntegerOverflowAttr, self.properties["overflowFlags"]))


class WithFastmath(Flagged):
    @classmethod
    def parse_flags(cls, parser: Parser) -> dict[str, Attribute]:
        return {"fastmath": parse_fastmath(parser)}

    def print_flags(self, printer: Printer) -> None:
        print_fastmath(printer, cast(FastMathFlagsAttr, self.properties["fastmath"]))


class WithOptionalFastmath(Flagged):
    fastmath = opt_prop_def(FastMathFlagsAttr)

    @classmethod
    def parse_flags(cls, parser: Parser) -> dict[str, Attribute]:
        flags = parse_fastmath(parser)
        return {} if flags is NO_FASTMATH else {"fastmath": flags}

    def print_flags(self, printer: Printer) -> None:
        print_fastmath(printer, self.fastmath)


class Binary(Flagged):
    """`%a, %b FLAGS {attributes} : type`, the one type being that of everything."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        rhs = parser.parse_unresolved_operand()
        properties = cls.parse_flags(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        return cls.create(
            operands=(parser.resolve_operand(lhs, type), parser.resolve_operand(rhs, type)),
            # Extended multiplications have two results of the same type.
            result_types=(type,) * len(cls.get_irdl_definition().results),
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        lhs, rhs = self.operands
        printer.print_string(" ")
        printer.print_ssa_value(lhs)
        printer.print_string(", ")
        printer.print_ssa_value(rhs)
        self.print_flags(printer)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.results[0].type)


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
