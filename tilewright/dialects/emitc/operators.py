"""C++ operators: each makes an expression of its operands."""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar, Self

from xdsl.dialects.builtin import FunctionType, IndexType, IntegerAttr, IntegerType, StringAttr, i1, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, VarConstraint, operand_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import OpTrait
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import i64_attr, op_definition
from tilewright.dialects._syntax import parse_enum_word, print_attributes
from tilewright.ir.shown import quoted

from .types import (
    EMITC_TYPE,
    FLOATS,
    INTEGRAL_OR_OPAQUE,
    LVALUE_OR_EMITC_TYPE,
    NUMBER_OR_OPAQUE,
    POINTER_WIDE,
    LValueType,
    OpaqueType,
    PointerType,
    PtrDiffT,
    is_integral,
)


class CExpression(OpTrait):
    """The operation can be part of a bigger C++ expression."""


FORMAT = "operands attr-dict `:` functional-type(operands, results)"


class UnaryOp(IRDLOperation):
    """`operator operand`"""

    operand = operand_def(EMITC_TYPE)
    result = result_def(EMITC_TYPE)
    traits = traits_def(CExpression())

    def __init__(self, operand: SSAValue, type: Attribute | None = None):
        super().__init__(operands=[operand], result_types=[type or operand.type])


class BinaryOp(IRDLOperation):
    """`lhs operator rhs`"""

    lhs = operand_def(EMITC_TYPE)
    rhs = operand_def(EMITC_TYPE)
    result = result_def(EMITC_TYPE)
    traits = traits_def(CExpression())

    def __init__(self, lhs: SSAValue, rhs: SSAValue, type: Attribute | None = None):
        super().__init__(operands=[lhs, rhs], result_types=[type or lhs.type])


# C++ has no `%` for floating-point numbers.
class IntegerBinaryOp(BinaryOp):
    """An operator for integers only."""

    lhs = operand_def(INTEGRAL_OR_OPAQUE)
    rhs = operand_def(INTEGRAL_OR_OPAQUE)
    result = result_def(INTEGRAL_OR_OPAQUE)


class NumberBinaryOp(BinaryOp):
    """An operator for numbers only, not for pointers."""

    lhs = operand_def(NUMBER_OR_OPAQUE)
    rhs = operand_def(NUMBER_OR_OPAQUE)
    result = result_def(NUMBER_OR_OPAQUE)


def _is_integer_or_opaque(type: Attribute) -> bool:
    return isinstance(type, (IntegerType, OpaqueType, IndexType, *POINTER_WIDE))


@op_definition
class AddOp(BinaryOp):
    name = "emitc.add"
    assembly_format = FORMAT

    def verify_(self) -> None:
        # Pointer arithmetic is that of C++: a pointer and a number, in either order.
        pointers = [type for type in self.operand_types if isinstance(type, PointerType)]
        if len(pointers) == 2:
            raise VerifyException("requires that at most one operand is a pointer")
        if pointers and not any(_is_integer_or_opaque(type) for type in self.operand_types):
            raise VerifyException("requires that one operand is an integer or of opaque type if the other is a pointer")


@op_definition
class SubOp(BinaryOp):
    name = "emitc.sub"
    assembly_format = FORMAT

    def verify_(self) -> None:
        lhs, rhs, result = self.lhs.type, self.rhs.type, self.result.type
        if isinstance(rhs, PointerType) and not isinstance(lhs, PointerType):
            raise VerifyException("rhs can only be a pointer if lhs is a pointer")
        # What follows is about pointers.
        if not isinstance(lhs, PointerType):
            return
        if not isinstance(rhs, PointerType) and not _is_integer_or_opaque(rhs):
            raise VerifyException("requires that rhs is an integer, pointer or of opaque type if lhs is a pointer")
        if isinstance(rhs, PointerType) and not isinstance(result, IntegerType | OpaqueType | PtrDiffT):
            raise VerifyException(
                "requires that the result is an integer, ptrdiff_t or of opaque type if lhs and rhs are pointers"
            )


@op_definition
class MulOp(NumberBinaryOp):
    name = "emitc.mul"
    assembly_format = FORMAT


@op_definition
class DivOp(NumberBinaryOp):
    name = "emitc.div"
    assembly_format = FORMAT


@op_definition
class RemOp(IntegerBinaryOp):
    name = "emitc.rem"
    assembly_format = FORMAT


@op_definition
class BitwiseAndOp(BinaryOp):
    name = "emitc.bitwise_and"
    assembly_format = FORMAT


@op_definition
class BitwiseOrOp(BinaryOp):
    name = "emitc.bitwise_or"
    assembly_format = FORMAT


@op_definition
class BitwiseXorOp(BinaryOp):
    name = "emitc.bitwise_xor"
    assembly_format = FORMAT


@op_definition
class BitwiseLeftShiftOp(BinaryOp):
    name = "emitc.bitwise_left_shift"
    assembly_format = FORMAT


@op_definition
class BitwiseRightShiftOp(BinaryOp):
    name = "emitc.bitwise_right_shift"
    assembly_format = FORMAT


@op_definition
class BitwiseNotOp(UnaryOp):
    name = "emitc.bitwise_not"
    assembly_format = FORMAT


@op_definition
class UnaryMinusOp(UnaryOp):
    name = "emitc.unary_minus"
    assembly_format = FORMAT


@op_definition
class UnaryPlusOp(UnaryOp):
    name = "emitc.unary_plus"
    assembly_format = FORMAT


class LogicalBinaryOp(BinaryOp):
    """A combination of two truth values."""

    result = result_def(i1)

    def __init__(self, lhs: SSAValue, rhs: SSAValue):
        super().__init__(lhs, rhs, i1)


LOGICAL_FORMAT = "operands attr-dict `:` type(operands)"


@op_definition
class LogicalAndOp(LogicalBinaryOp):
    name = "emitc.logical_and"
    assembly_format = LOGICAL_FORMAT


@op_definition
class LogicalOrOp(LogicalBinaryOp):
    name = "emitc.logical_or"
    assembly_format = LOGICAL_FORMAT


@op_definition
class LogicalNotOp(UnaryOp):
    name = "emitc.logical_not"
    result = result_def(i1)
    assembly_format = LOGICAL_FORMAT

    def __init__(self, operand: SSAValue):
        super().__init__(operand, i1)


# The numbers are MLIR's, and stand in the generic form.
class Predicate(IntEnum):
    """What `emitc.cmp` compares for, in MLIR's order."""

    eq = 0
    ne = 1
    lt = 2
    le = 3
    gt = 4
    ge = 5
    three_way = 6


@op_definition
class CmpOp(IRDLOperation):
    """A comparison of two values."""

    name = "emitc.cmp"
    predicate = prop_def(i64_attr(0, max(Predicate)))
    lhs = operand_def(EMITC_TYPE)
    rhs = operand_def(EMITC_TYPE)
    result = result_def(EMITC_TYPE)
    traits = traits_def(CExpression())

    def __init__(self, predicate: Predicate, lhs: SSAValue, rhs: SSAValue):
        super().__init__(
            operands=[lhs, rhs], result_types=[i1], properties={"predicate": IntegerAttr(int(predicate), i64)}
        )

    @property
    def comparison(self) -> Predicate:
        return Predicate(self.predicate.value.data)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        # An attribute of 64 bits: the keyword enums of formats have 32.
        word = parse_enum_word(parser, [predicate.name for predicate in Predicate], "predicate")
        parser.parse_punctuation(",")
        position = parser.pos
        operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        if not isinstance(type, FunctionType):
            parser.raise_error("expected function type", position)
        return cls.create(
            operands=parser.resolve_operands(operands, type.inputs.data, position),
            result_types=type.outputs.data,
            properties={"predicate": IntegerAttr(int(Predicate[word]), i64)},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.comparison.name}, ")
        printer.print_list(self.operands, printer.print_ssa_value)
        print_attributes(printer, self, ("predicate",))
        printer.print_string(" : ")
        printer.print_attribute(FunctionType.from_lists(self.operand_types, self.result_types))


@op_definition
class ConditionalOp(IRDLOperation):
    """`condition ? true_value : false_value`"""

    name = "emitc.conditional"
    T: ClassVar = VarConstraint("T", EMITC_TYPE)
    condition = operand_def(i1)
    true_value = operand_def(T)
    false_value = operand_def(T)
    result = result_def(T)
    traits = traits_def(CExpression())
    assembly_format = "operands attr-dict `:` type($result)"

    def __init__(self, condition: SSAValue, true_value: SSAValue, false_value: SSAValue):
        super().__init__(operands=[condition, true_value, false_value], result_types=[true_value.type])


@op_definition
class CastOp(IRDLOperation):
    """`(type) source`"""

    name = "emitc.cast"
    source = operand_def(EMITC_TYPE)
    dest = result_def(EMITC_TYPE)
    traits = traits_def(CExpression())
    assembly_format = "$source attr-dict `:` type($source) `to` type($dest)"

    def __init__(self, source: SSAValue, type: Attribute):
        super().__init__(operands=[source], result_types=[type])

    def verify_(self) -> None:
        source, dest = self.source.type, self.dest.type
        if not (_is_castable(source) and _is_castable(dest)):
            raise VerifyException(f"operand type {quoted(source)} and result type {quoted(dest)} are cast incompatible")


def _is_castable(type: Attribute) -> bool:
    # Arrays and tensors have no casts in C++; an opaque type may be anything.
    return is_integral(type) or isinstance(type, (OpaqueType, PointerType, *FLOATS))


@op_definition
class ApplyOp(IRDLOperation):
    """`&operand` or `*operand`"""

    name = "emitc.apply"
    applicable_operator = prop_def(StringAttr, prop_name="applicableOperator")
    operand = operand_def(LVALUE_OR_EMITC_TYPE)
    result = result_def(EMITC_TYPE)
    traits = traits_def(CExpression())
    assembly_format = "$applicableOperator `(` $operand `)` attr-dict `:` functional-type($operand, results)"

    def verify_(self) -> None:
        match self.applicable_operator.data:
            case "":
                raise VerifyException("applicable operator must not be empty")
            # Only what can be assigned to has an address.
            case "&":
                if not isinstance(self.operand.type, LValueType):
                    raise VerifyException("operand type must be an lvalue when applying `&`")
                if not isinstance(self.result.type, PointerType):
                    raise VerifyException("result type must be a pointer when applying `&`")
            case "*":
                if not isinstance(self.operand.type, PointerType):
                    raise VerifyException("operand type must be a pointer when applying `*`")
            case _:
                raise VerifyException("applicable operator is illegal")


OPS = [
    AddOp,
    ApplyOp,
    BitwiseAndOp,
    BitwiseLeftShiftOp,
    BitwiseNotOp,
    BitwiseOrOp,
    BitwiseRightShiftOp,
    BitwiseXorOp,
    CastOp,
    CmpOp,
    ConditionalOp,
    DivOp,
    LogicalAndOp,
    LogicalNotOp,
    LogicalOrOp,
    MulOp,
    RemOp,
    SubOp,
    UnaryMinusOp,
    UnaryPlusOp,
]
