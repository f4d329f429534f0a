"""The arith dialect, with the syntax and the checks of upstream MLIR."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, ClassVar, Self, cast

from xdsl.dialects import arith as xdsl_arith
from xdsl.dialects.arith import CMPF_COMPARISON_OPERATIONS, CMPI_COMPARISON_OPERATIONS
from xdsl.dialects.arith import FastMathFlagsAttr as FastMathFlagsAttr
from xdsl.dialects.arith import IntegerOverflowAttr as IntegerOverflowAttr
from xdsl.dialects.arith import IntegerOverflowFlag as IntegerOverflowFlag
from xdsl.dialects.builtin import (
    AnyFloat,
    AnyFloatConstr,
    ContainerType,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    FixedBitwidthType,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneType,
    ShapedType,
    Signedness,
    SignlessIntegerConstraint,
    TensorType,
    UnitAttr,
    UnrankedTensorType,
    VectorType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, TypedAttribute
from xdsl.irdl import (
    AnyAttr,
    AttrConstraint,
    IRDLOperation,
    VarConstraint,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Commutative, ConstantLike, NoMemoryEffect, Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._amend import amend, amended
from tilewright.dialects._ods import op_definition
from tilewright.dialects._syntax import parse_enum_word
from tilewright.ir.constraints import described
from tilewright.ir.shown import quoted


def element_type(type: Any) -> Attribute:
    """The element type of a vector, tensor or memref, and any other type itself."""
    return cast("ContainerType[Attribute]", type).get_element_type() if isinstance(type, ContainerType) else type


def is_signless(type: Any) -> bool:
    return isinstance(type, IntegerType) and cast(IntegerType, type).signedness.data is Signedness.SIGNLESS


def _element_is(*predicates: Callable[[Attribute], bool]) -> Callable[[Attribute], bool]:
    """Whether a scalar, or the elements of a vector or tensor, fit one of the predicates."""

    def holds(type: Attribute) -> bool:
        element = element_type(type) if isinstance(type, VectorType | TensorType | UnrankedTensorType) else type
        return any(predicate(element) for predicate in predicates)

    return holds


def _is_index(type: Attribute) -> bool:
    return isinstance(type, IndexType)


def _is_float(type: Attribute) -> bool:
    return isinstance(type, AnyFloat)


ANY = AnyAttr()
INTEGER_LIKE = described(ANY, "signless-integer-like", _element_is(is_signless, _is_index))
FIXED_WIDTH_LIKE = described(ANY, "signless-fixed-width-integer-like", _element_is(is_signless))
FLOAT_LIKE = described(ANY, "floating-point-like", _element_is(_is_float))
BOOL_LIKE = described(ANY, "bool-like", _element_is(lambda type: type == i1))
MEMREF_OF_NUMBERS = MemRefType.constr(SignlessIntegerConstraint | AnyFloatConstr)
CASTABLE_TO_INDEX = described(
    ANY,
    "signless-integer-like or memref of signless-integer",
    lambda type: (
        INTEGER_LIKE.verifies(type)
        or (isinstance(type, MemRefType) and _element_is(is_signless, _is_index)(element_type(type)))
    ),
)
BITS = described(
    ANY,
    "signless-integer-or-float-like or memref of signless-integer or float",
    lambda type: _element_is(is_signless, _is_float)(type) or MEMREF_OF_NUMBERS.verifies(type),
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
        printer.print_string(" overflow")
        flags.print_parameter(printer)


def _print_overflow_flags(self: IntegerOverflowAttr, printer: Printer) -> None:
    """MLIR puts a space behind the comma here, though not in fastmath flags."""
    flags = ", ".join(flag.value for flag in IntegerOverflowFlag if flag in self.data)
    printer.print_string(f"<{flags or 'none'}>")


IntegerOverflowAttr.print_parameter = _print_overflow_flags


class _Flags(IRDLOperation):
    """Properties that stand between the operands and the attribute dictionary."""

    @classmethod
    def parse_flags(cls, parser: Parser) -> dict[str, Attribute]:
        return {}

    def print_flags(self, printer: Printer) -> None:
        pass


class _Overflow(_Flags):
    @classmethod
    def parse_flags(cls, parser: Parser) -> dict[str, Attribute]:
        return {"overflowFlags": parse_overflow(parser)}

    def print_flags(self, printer: Printer) -> None:
        print_overflow(printer, cast(IntegerOverflowAttr, self.properties["overflowFlags"]))


class _Fastmath(_Flags):
    @classmethod
    def parse_flags(cls, parser: Parser) -> dict[str, Attribute]:
        return {"fastmath": parse_fastmath(parser)}

    def print_flags(self, printer: Printer) -> None:
        print_fastmath(printer, cast(FastMathFlagsAttr, self.properties["fastmath"]))


class _Exact(_Flags):
    is_exact = opt_prop_def(UnitAttr, prop_name="isExact")

    @classmethod
    def parse_flags(cls, parser: Parser) -> dict[str, Attribute]:
        return {} if parser.parse_optional_keyword("exact") is None else {"isExact": UnitAttr()}

    def print_flags(self, printer: Printer) -> None:
        if self.is_exact is not None:
            printer.print_string(" exact")


class _Binary(_Flags):
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


class _IntegerBinary(_Binary):
    T: ClassVar = VarConstraint("T", INTEGER_LIKE)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)


class _FloatBinary(_Fastmath, _Binary):
    T: ClassVar = VarConstraint("T", FLOAT_LIKE)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)


class _Cast(_Flags):
    """`%a FLAGS {attributes} : type to type`."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value = parser.parse_unresolved_operand()
        properties = cls.parse_flags(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        source = parser.parse_type()
        parser.parse_keyword("to")
        return cls.create(
            operands=(parser.resolve_operand(value, source),),
            result_types=(parser.parse_type(),),
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.operands[0])
        self.print_flags(printer)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.operands[0].type)
        printer.print_string(" to ")
        printer.print_attribute(self.results[0].type)

    def verify_(self) -> None:
        source, target = self.operands[0].type, self.results[0].type
        _verify_same_shape(source, target)
        if not self.converts(element_type(source), element_type(target)):
            raise VerifyException(
                f"operand type {quoted(source)} and result type {quoted(target)} are cast incompatible"
            )

    @staticmethod
    def converts(source: Attribute, target: Attribute) -> bool:
        """Whether a scalar of one type can become one of the other."""
        return True


def _verify_same_shape(source: Attribute, target: Attribute) -> None:
    if isinstance(source, TensorType) and isinstance(target, TensorType):
        if source.get_shape() != target.get_shape():
            raise VerifyException("failed to verify that input and output have the same tensor dimensions")
        return
    if _shape(source) != _shape(target):
        raise VerifyException("requires the same shape for all operands and results")


def _shape(type: Any) -> object:
    if isinstance(type, VectorType):
        return VectorType, type.get_shape(), type.get_scalable_dims()
    return (type.name, type.get_shape()) if isinstance(type, ShapedType) else None


def _width(type: Attribute) -> int:
    return cast(FixedBitwidthType, type).bitwidth


class _Widening:
    @staticmethod
    def converts(source: Attribute, target: Attribute) -> bool:
        return _width(source) < _width(target)


class _Narrowing:
    @staticmethod
    def converts(source: Attribute, target: Attribute) -> bool:
        return _width(source) > _width(target)


class _IntegerCast(_Cast):
    input = operand_def(FIXED_WIDTH_LIKE)
    result = result_def(FIXED_WIDTH_LIKE)


class _OptionalFastmath(_Flags):
    fastmath = opt_prop_def(FastMathFlagsAttr)

    @classmethod
    def parse_flags(cls, parser: Parser) -> dict[str, Attribute]:
        flags = parse_fastmath(parser)
        return {} if flags is NO_FASTMATH else {"fastmath": flags}

    def print_flags(self, printer: Printer) -> None:
        print_fastmath(printer, self.fastmath)


class _FloatCast(_OptionalFastmath, _Cast):
    input = operand_def(FLOAT_LIKE)
    result = result_def(FLOAT_LIKE)


class _IntegerToFloat(_Cast):
    input = operand_def(FIXED_WIDTH_LIKE)
    result = result_def(FLOAT_LIKE)


class _FloatToInteger(_Cast):
    input = operand_def(FLOAT_LIKE)
    result = result_def(FIXED_WIDTH_LIKE)


class _Rounding(IRDLOperation):
    """`ROUNDING fastmath<flags>`, each of them optional."""

    roundingmode = opt_prop_def(ROUNDING)
    fastmath = opt_prop_def(FastMathFlagsAttr)

    @classmethod
    def parse_flags(cls, parser: Parser) -> dict[str, Attribute]:
        properties: dict[str, Attribute] = {}
        mode = parser.parse_optional_keyword_in(ROUNDING_MODES)
        if mode is not None:
            properties["roundingmode"] = IntegerAttr(ROUNDING_MODES.index(mode), i32)
        flags = parse_fastmath(parser)
        return properties if flags is NO_FASTMATH else properties | {"fastmath": flags}

    def print_flags(self, printer: Printer) -> None:
        if self.roundingmode is not None:
            printer.print_string(f" {ROUNDING_MODES[self.roundingmode.value.data]}")
        print_fastmath(printer, self.fastmath)


@amend
class ConstantOp(xdsl_arith.ConstantOp):
    """A number, or a vector or tensor of numbers."""

    result = result_def()
    value = prop_def()
    traits = traits_def(Pure(), ConstantLike())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        value = parser.parse_attribute()
        return cls.create(result_types=(_type_of(value),), properties={"value": value}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_attribute(self.value)

    def verify_(self) -> None:
        type = self.result.type
        if isinstance(self.value, TypedAttribute) and self.value.get_type() != type:
            raise VerifyException("failed to verify that all of {value, result} have same type")
        if not isinstance(self.value, IntegerAttr | FloatAttr | DenseIntOrFPElementsAttr | DenseResourceAttr):
            raise VerifyException("value must be an integer, float, or elements attribute")
        if isinstance(type, IntegerType) and not is_signless(type):
            raise VerifyException("integer return type must be signless")


def _type_of(value: Attribute) -> Attribute:
    """The type that a constant's value has; `none` where it has no type, for the verifier to complain about."""
    return value.get_type() if isinstance(value, TypedAttribute) else NoneType()


@amend
class AddiOp(_Overflow, _IntegerBinary, xdsl_arith.AddiOp): ...


@amend
class SubiOp(_Overflow, _IntegerBinary, xdsl_arith.SubiOp): ...


@amend
class MuliOp(_Overflow, _IntegerBinary, xdsl_arith.MuliOp): ...


@amend
class ShLIOp(_Overflow, _IntegerBinary, xdsl_arith.ShLIOp): ...


@amend
class ShRUIOp(_Exact, _IntegerBinary, xdsl_arith.ShRUIOp): ...


@amend
class ShRSIOp(_Exact, _IntegerBinary, xdsl_arith.ShRSIOp): ...


@amend
class DivUIOp(_Exact, _IntegerBinary, xdsl_arith.DivUIOp): ...


@amend
class DivSIOp(_Exact, _IntegerBinary, xdsl_arith.DivSIOp): ...


@amend
class FloorDivSIOp(_IntegerBinary, xdsl_arith.FloorDivSIOp): ...


@amend
class CeilDivSIOp(_IntegerBinary, xdsl_arith.CeilDivSIOp): ...


@amend
class CeilDivUIOp(_IntegerBinary, xdsl_arith.CeilDivUIOp): ...


@amend
class RemUIOp(_IntegerBinary, xdsl_arith.RemUIOp):
    traits = traits_def(NoMemoryEffect())


@amend
class RemSIOp(_IntegerBinary, xdsl_arith.RemSIOp):
    traits = traits_def(NoMemoryEffect())


@amend
class MinUIOp(_IntegerBinary, xdsl_arith.MinUIOp):
    traits = traits_def(Pure(), Commutative())


@amend
class MaxUIOp(_IntegerBinary, xdsl_arith.MaxUIOp):
    traits = traits_def(Pure(), Commutative())


@amend
class MinSIOp(_IntegerBinary, xdsl_arith.MinSIOp):
    traits = traits_def(Pure(), Commutative())


@amend
class MaxSIOp(_IntegerBinary, xdsl_arith.MaxSIOp):
    traits = traits_def(Pure(), Commutative())


@amend
class AndIOp(_IntegerBinary, xdsl_arith.AndIOp): ...


@amend
class OrIOp(_IntegerBinary, xdsl_arith.OrIOp): ...


@amend
class XOrIOp(_IntegerBinary, xdsl_arith.XOrIOp): ...


class _ExtendedMultiplication(_Binary):
    T: ClassVar = VarConstraint("T", INTEGER_LIKE)
    lhs = operand_def(T)
    rhs = operand_def(T)
    low = result_def(T)
    high = result_def(T)


@amend
class MulUIExtendedOp(_ExtendedMultiplication, xdsl_arith.MulUIExtendedOp): ...


@amend
class MulSIExtendedOp(_ExtendedMultiplication, xdsl_arith.MulSIExtendedOp): ...


@amend
class AddUIExtendedOp(xdsl_arith.AddUIExtendedOp):
    """A sum, and whether it overflowed as an unsigned number."""

    T: ClassVar = VarConstraint("T", INTEGER_LIKE)
    lhs = operand_def(T)
    rhs = operand_def(T)
    sum = result_def(T)
    overflow = result_def(BOOL_LIKE)

    def verify_(self) -> None:
        if self.overflow.type != bool_like(self.sum.type):
            raise VerifyException("failed to verify that if an operand is non-scalar, then all results must be too")


@amend
class AddfOp(_FloatBinary, xdsl_arith.AddfOp):
    traits = traits_def(Pure(), Commutative())


@amend
class SubfOp(_FloatBinary, xdsl_arith.SubfOp): ...


@amend
class MulfOp(_FloatBinary, xdsl_arith.MulfOp):
    traits = traits_def(Pure(), Commutative())


@amend
class DivfOp(_FloatBinary, xdsl_arith.DivfOp): ...


@op_definition
class RemfOp(_FloatBinary):
    """The remainder of a division, with the sign of the dividend."""

    name = "arith.remf"
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FASTMATH)
    traits = traits_def(Pure())


@amend
class MaximumfOp(_FloatBinary, xdsl_arith.MaximumfOp):
    traits = traits_def(Pure(), Commutative())


@amend
class MaxnumfOp(_FloatBinary, xdsl_arith.MaxnumfOp):
    traits = traits_def(Pure(), Commutative())


@amend
class MinimumfOp(_FloatBinary, xdsl_arith.MinimumfOp):
    traits = traits_def(Pure(), Commutative())


@amend
class MinnumfOp(_FloatBinary, xdsl_arith.MinnumfOp):
    traits = traits_def(Pure(), Commutative())


@amend
class NegfOp(xdsl_arith.NegfOp):
    """The number with the other sign."""

    T: ClassVar = VarConstraint("T", FLOAT_LIKE)
    operand = operand_def(T)
    result = result_def(T)


@amend
class ExtSIOp(_Widening, _IntegerCast, xdsl_arith.ExtSIOp):
    traits = traits_def(Pure())


@amend
class ExtUIOp(_Widening, _IntegerCast, xdsl_arith.ExtUIOp): ...


@amend
class TruncIOp(_Overflow, _Narrowing, _IntegerCast, xdsl_arith.TruncIOp):
    """The low bits of a number."""

    overflow_flags = prop_def(IntegerOverflowAttr, default_value=NO_OVERFLOW, prop_name="overflowFlags")


@amend
class ExtFOp(_Widening, _FloatCast, xdsl_arith.ExtFOp): ...


@amend
class TruncFOp(_Rounding, _Narrowing, _FloatCast, xdsl_arith.TruncFOp): ...


@amend
class SIToFPOp(_IntegerToFloat, xdsl_arith.SIToFPOp): ...


@amend
class UIToFPOp(_IntegerToFloat, xdsl_arith.UIToFPOp): ...


@amend
class FPToSIOp(_FloatToInteger, xdsl_arith.FPToSIOp): ...


@amend
class FPToUIOp(_FloatToInteger, xdsl_arith.FPToUIOp): ...


class _IndexCast(_Cast):
    input = operand_def(CASTABLE_TO_INDEX)
    result = result_def(CASTABLE_TO_INDEX)

    @staticmethod
    def converts(source: Attribute, target: Attribute) -> bool:
        return _is_index(source) != _is_index(target)


@amend
class IndexCastOp(_IndexCast, xdsl_arith.IndexCastOp): ...


@op_definition
class IndexCastUIOp(_IndexCast):
    """Convert between an index and an integer; a wider result is filled with zeros."""

    name = "arith.index_castui"
    traits = traits_def(Pure())


@amend
class BitcastOp(_Cast, xdsl_arith.BitcastOp):
    """The same bits as another type of the same width."""

    input = operand_def(BITS)
    result = result_def(BITS)

    @staticmethod
    def converts(source: Attribute, target: Attribute) -> bool:
        return _width(source) == _width(target)


class _Scaling(_Flags):
    """`%value, %scale FLAGS {attributes} : type, type to type`."""

    in_ = operand_def(FLOAT_LIKE)
    scale = operand_def(FLOAT_LIKE)
    out = result_def(FLOAT_LIKE)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        scale = parser.parse_unresolved_operand()
        properties = cls.parse_flags(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        source = parser.parse_type()
        parser.parse_punctuation(",")
        scale_type = parser.parse_type()
        parser.parse_keyword("to")
        return cls.create(
            operands=(parser.resolve_operand(value, source), parser.resolve_operand(scale, scale_type)),
            result_types=(parser.parse_type(),),
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.in_)
        printer.print_string(", ")
        printer.print_ssa_value(self.scale)
        self.print_flags(printer)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.in_.type)
        printer.print_string(", ")
        printer.print_attribute(self.scale.type)
        printer.print_string(" to ")
        printer.print_attribute(self.out.type)

    def verify_(self) -> None:
        _verify_same_shape(self.in_.type, self.out.type)


@op_definition
class ScalingExtFOp(_OptionalFastmath, _Scaling):
    """A wider number from a narrow one and a scale."""

    name = "arith.scaling_extf"


@op_definition
class ScalingTruncFOp(_Rounding, _Scaling):
    """A narrow number from a wider one and a scale."""

    name = "arith.scaling_truncf"


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


class _Comparison(_Flags):
    """`PREDICATE, %a, %b FLAGS {attributes} : type`."""

    PREDICATES: ClassVar[Sequence[str]]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        predicate = parse_enum_word(parser, cls.PREDICATES, "predicate")
        parser.parse_punctuation(",")
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        rhs = parser.parse_unresolved_operand()
        properties = cls.parse_flags(parser)
        properties["predicate"] = IntegerAttr(cls.PREDICATES.index(predicate), i64)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        return cls.create(
            operands=(parser.resolve_operand(lhs, type), parser.resolve_operand(rhs, type)),
            result_types=(bool_like(type),),
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        lhs, rhs = self.operands
        predicate = cast("IntegerAttr[IntegerType]", self.properties["predicate"])
        printer.print_string(f" {self.PREDICATES[predicate.value.data]}, ")
        printer.print_ssa_value(lhs)
        printer.print_string(", ")
        printer.print_ssa_value(rhs)
        self.print_flags(printer)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(lhs.type)

    def verify_(self) -> None:
        lhs, rhs = self.operands
        if lhs.type != rhs.type:
            raise VerifyException("requires all operands to have the same type")
        if self.results[0].type != bool_like(lhs.type):
            raise VerifyException("failed to verify that result type has i1 element type and same shape as operands")


def _predicate(count: int) -> AttrConstraint[IntegerAttr]:
    return described(
        IntegerAttr.constr(i64),
        "allowed 64-bit signless integer cases: " + ", ".join(map(str, range(count))),
        lambda attribute: 0 <= attribute.value.data < count,
    )


@amend
class CmpiOp(_Comparison, xdsl_arith.CmpiOp):
    """Compare integers."""

    PREDICATES: ClassVar = CMPI_COMPARISON_OPERATIONS
    predicate = prop_def(_predicate(len(CMPI_COMPARISON_OPERATIONS)))
    lhs = operand_def(INTEGER_LIKE)
    rhs = operand_def(INTEGER_LIKE)
    result = result_def(BOOL_LIKE)


@amend
class CmpfOp(_Fastmath, _Comparison, xdsl_arith.CmpfOp):
    """Compare floating-point numbers."""

    PREDICATES: ClassVar = CMPF_COMPARISON_OPERATIONS
    predicate = prop_def(_predicate(len(CMPF_COMPARISON_OPERATIONS)))
    lhs = operand_def(FLOAT_LIKE)
    rhs = operand_def(FLOAT_LIKE)
    result = result_def(BOOL_LIKE)


@amend
class SelectOp(xdsl_arith.SelectOp):
    """One value or the other, as a whole or element by element."""

    T: ClassVar = VarConstraint("T", AnyAttr())
    cond = operand_def(BOOL_LIKE)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        condition = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        rhs = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        condition_type, type = i1, parser.parse_type()
        if parser.parse_optional_punctuation(",") is not None:
            condition_type, type = type, parser.parse_type()
        return cls.create(
            operands=(
                parser.resolve_operand(condition, condition_type),
                parser.resolve_operand(lhs, type),
                parser.resolve_operand(rhs, type),
            ),
            result_types=(type,),
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        if self.cond.type != i1:
            printer.print_attribute(self.cond.type)
            printer.print_string(", ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        if self.cond.type not in (i1, bool_like(self.result.type)):
            raise VerifyException("failed to verify that condition is signless i1 or has matching shape")


ARITH = amended(
    xdsl_arith.Arith,
    [
        AddUIExtendedOp,
        AddfOp,
        AddiOp,
        AndIOp,
        BitcastOp,
        CeilDivSIOp,
        CeilDivUIOp,
        CmpfOp,
        CmpiOp,
        ConstantOp,
        DivSIOp,
        DivUIOp,
        DivfOp,
        ExtFOp,
        ExtSIOp,
        ExtUIOp,
        FPToSIOp,
        FPToUIOp,
        FloorDivSIOp,
        IndexCastOp,
        IndexCastUIOp,
        MaxSIOp,
        MaxUIOp,
        MaximumfOp,
        MaxnumfOp,
        MinSIOp,
        MinUIOp,
        MinimumfOp,
        MinnumfOp,
        MulSIExtendedOp,
        MulUIExtendedOp,
        MulfOp,
        MuliOp,
        NegfOp,
        OrIOp,
        RemSIOp,
        RemUIOp,
        RemfOp,
        SIToFPOp,
        ScalingExtFOp,
        ScalingTruncFOp,
        SelectOp,
        ShLIOp,
        ShRSIOp,
        ShRUIOp,
        SubfOp,
        SubiOp,
        TruncFOp,
        TruncIOp,
        UIToFPOp,
        XOrIOp,
    ],
)
