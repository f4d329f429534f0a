"""Conversions between types."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from typing import Self, cast

from xdsl.dialects import arith as xdsl_arith
from xdsl.dialects.arith import FastMathFlagsAttr as FastMathFlagsAttr
from xdsl.dialects.arith import IntegerOverflowAttr as IntegerOverflowAttr
from xdsl.dialects.arith import IntegerOverflowFlag as IntegerOverflowFlag
from xdsl.dialects.builtin import (
    FixedBitwidthType,
    IntegerAttr,
    i32,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    IRDLOperation,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._derived import derived_op_definition
from tilewright.dialects._ods import op_definition
from tilewright.dialects.arith.types import (
    BITS,
    CASTABLE_TO_INDEX,
    FIXED_WIDTH_LIKE,
    FLOAT_LIKE,
    NO_FASTMATH,
    NO_OVERFLOW,
    ROUNDING,
    ROUNDING_MODES,
    Flagged,
    WithOptionalFastmath,
    WithOverflow,
    element_type,
    is_index,
    parse_fastmath,
    print_fastmath,
    verify_same_shape,
)
from tilewright.ir.shown import quoted


# Not by a format: flags stand between the operand and the dictionary, and differ by operation.
class _Cast(Flagged):
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
        # Before the elements, as in MLIR.
        verify_same_shape(source, target)
        if not self.converts(element_type(source), element_type(target)):
            raise VerifyException(
                f"operand type {quoted(source)} and result type {quoted(target)} are cast incompatible"
            )

    @staticmethod
    def converts(source: Attribute, target: Attribute) -> bool:
        """Whether a scalar of one type can become one of the other."""
        return True


def _width(type: Attribute) -> int:
    return cast(FixedBitwidthType, type).bitwidth


# A mixin, so that it can be put before any kind of cast.
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


class _FloatCast(WithOptionalFastmath, _Cast):
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
        # Optional here: no flags and no attribute are told apart.
        flags = parse_fastmath(parser)
        return properties if flags is NO_FASTMATH else properties | {"fastmath": flags}

    def print_flags(self, printer: Printer) -> None:
        if self.roundingmode is not None:
            printer.print_string(f" {ROUNDING_MODES[self.roundingmode.value.data]}")
        print_fastmath(printer, self.fastmath)


@derived_op_definition
class ExtSIOp(_Widening, _IntegerCast, xdsl_arith.ExtSIOp):
    traits = traits_def(Pure())


@derived_op_definition
class ExtUIOp(_Widening, _IntegerCast, xdsl_arith.ExtUIOp): ...


@derived_op_definition
class TruncIOp(WithOverflow, _Narrowing, _IntegerCast, xdsl_arith.TruncIOp):
    """The low bits of a number."""

    overflow_flags = prop_def(IntegerOverflowAttr, default_value=NO_OVERFLOW, prop_name="overflowFlags")


@derived_op_definition
class ExtFOp(_Widening, _FloatCast, xdsl_arith.ExtFOp): ...


@derived_op_definition
class TruncFOp(_Rounding, _Narrowing, _FloatCast, xdsl_arith.TruncFOp): ...


# No rule about widths: rounding is part of the conversion.
@derived_op_definition
class SIToFPOp(_IntegerToFloat, xdsl_arith.SIToFPOp): ...


@derived_op_definition
class UIToFPOp(_IntegerToFloat, xdsl_arith.UIToFPOp): ...


@derived_op_definition
class FPToSIOp(_FloatToInteger, xdsl_arith.FPToSIOp): ...


@derived_op_definition
class FPToUIOp(_FloatToInteger, xdsl_arith.FPToUIOp): ...


class _IndexCast(_Cast):
    input = operand_def(CASTABLE_TO_INDEX)
    result = result_def(CASTABLE_TO_INDEX)

    @staticmethod
    def converts(source: Attribute, target: Attribute) -> bool:
        # Between two integers there are extensions and truncations.
        return is_index(source) != is_index(target)


@derived_op_definition
class IndexCastOp(_IndexCast, xdsl_arith.IndexCastOp): ...


@op_definition
class IndexCastUIOp(_IndexCast):
    """Convert between an index and an integer; a wider result is filled with zeros."""

    name = "arith.index_castui"
    traits = traits_def(Pure())


@derived_op_definition
class BitcastOp(_Cast, xdsl_arith.BitcastOp):
    """The same bits as another type of the same width."""

    input = operand_def(BITS)
    result = result_def(BITS)

    @staticmethod
    def converts(source: Attribute, target: Attribute) -> bool:
        # An `index` has no width, and the constraint lets none through.
        return _width(source) == _width(target)


class _Scaling(Flagged):
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
        verify_same_shape(self.in_.type, self.out.type)


@op_definition
class ScalingExtFOp(WithOptionalFastmath, _Scaling):
    """A wider number from a narrow one and a scale."""

    name = "arith.scaling_extf"


@op_definition
class ScalingTruncFOp(_Rounding, _Scaling):
    """A narrow number from a wider one and a scale."""

    name = "arith.scaling_truncf"
