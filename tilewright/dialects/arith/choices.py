"""Constants, comparisons and selection."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self, cast

from xdsl.dialects import arith as xdsl_arith
from xdsl.dialects.arith import CMPF_COMPARISON_OPERATIONS, CMPI_COMPARISON_OPERATIONS
from xdsl.dialects.arith import FastMathFlagsAttr as FastMathFlagsAttr
from xdsl.dialects.arith import IntegerOverflowAttr as IntegerOverflowAttr
from xdsl.dialects.arith import IntegerOverflowFlag as IntegerOverflowFlag
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    FloatAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    NoneType,
    i1,
    i32,
)
from xdsl.ir import Attribute, TypedAttribute
from xdsl.irdl import (
    AnyAttr,
    AttrConstraint,
    IRDLOperation,
    VarConstraint,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.device import Keyword
from tilewright.dialects._derived import derived_op_definition
from tilewright.dialects._ods import EnumConstraint
from tilewright.dialects.arith.types import (
    BOOL_LIKE,
    FASTMATH,
    FLOAT_LIKE,
    INTEGER_LIKE,
    bool_like,
    is_signless,
)
from tilewright.ir.constraints import following


@derived_op_definition
class ConstantOp(xdsl_arith.ConstantOp):
    """A number, or a vector or tensor of numbers."""

    result = result_def()
    value = prop_def()
    traits = traits_def(Pure(), ConstantLike())

    @staticmethod
    def from_int_and_width(
        value: int | IntAttr, value_type: int | IntegerType | IndexType, *, truncate_bits: bool = False
    ) -> ConstantOp:
        # xDSL's static methods make its own class.
        made = xdsl_arith.ConstantOp.from_int_and_width(value, value_type, truncate_bits=truncate_bits)
        return ConstantOp(made.value)

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
        type, value = self.result.type, self.value
        if type is i32 and isinstance(value, IntegerAttr) and cast(Any, value).type is type:
            return  # nearly all
        # Both are in memory, and the generic form can have them differ.
        if isinstance(value, TypedAttribute) and value.get_type() != type:
            raise VerifyException("failed to verify that all of {value, result} have same type")
        if not isinstance(value, IntegerAttr | FloatAttr | DenseIntOrFPElementsAttr | DenseResourceAttr):
            raise VerifyException("value must be an integer, float, or elements attribute")
        if isinstance(type, IntegerType) and not is_signless(type):
            raise VerifyException("integer return type must be signless")


def _type_of(value: Attribute) -> Attribute:
    """The type that a constant's value has; `none` where it has no type, for the verifier to complain about."""
    return value.get_type() if isinstance(value, TypedAttribute) else NoneType()


def _same(type: Attribute) -> Attribute:
    return type


def _comparison_format(flags: str = "") -> str:
    return f"$predicate `,` $lhs `,` $rhs {flags} attr-dict `:` type($lhs)"


class _Comparison(IRDLOperation):
    result = result_def(following(BOOL_LIKE, bool_like))

    def verify_(self) -> None:
        lhs, rhs = self.operands
        if lhs.type != rhs.type:
            raise VerifyException("requires all operands to have the same type")
        # The result's type is never written in the custom form.
        if self.results[0].type != bool_like(lhs.type):
            raise VerifyException("failed to verify that result type has i1 element type and same shape as operands")


def _predicate(names: Sequence[str]) -> AttrConstraint[IntegerAttr[IntegerType]]:
    # The position in xDSL's list, which is in MLIR's order.
    cases = Keyword("Predicate", list(names), start=0)
    text = "allowed 64-bit signless integer cases: " + ", ".join(map(str, range(len(names))))
    return EnumConstraint(64, cases=cases, description=text)


@derived_op_definition
class CmpiOp(_Comparison, xdsl_arith.CmpiOp):
    """Compare integers."""

    predicate = prop_def(_predicate(CMPI_COMPARISON_OPERATIONS))
    lhs = operand_def(VarConstraint("T", INTEGER_LIKE))
    rhs = operand_def(following(INTEGER_LIKE, _same))
    assembly_format = _comparison_format()


@derived_op_definition
class CmpfOp(_Comparison, xdsl_arith.CmpfOp):
    """Compare floating-point numbers."""

    predicate = prop_def(_predicate(CMPF_COMPARISON_OPERATIONS))
    lhs = operand_def(VarConstraint("T", FLOAT_LIKE))
    rhs = operand_def(following(FLOAT_LIKE, _same))
    assembly_format = _comparison_format(FASTMATH)


@derived_op_definition
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
        # Of two types the first is the condition's: a mask with one bit for each element.
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
        # One bit chooses a whole vector.
        if self.cond.type not in (i1, bool_like(self.result.type)):
            raise VerifyException("failed to verify that condition is signless i1 or has matching shape")
