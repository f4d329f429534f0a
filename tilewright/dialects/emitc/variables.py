"""Constants, variables and what refers to them."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import (
    IndexType,
    StringAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.irdl.declarative_assembly_format import (
    ParsingState,
    PrintingState,
    TypeDirective,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import op_definition
from tilewright.ir.print_operations import PartDirective
from tilewright.ir.shown import quoted

from .operators import CExpression
from .types import (
    EMITC_TYPE,
    LVALUE,
    LVALUE_OR_ARRAY,
    POINTER_WIDE,
    LValueType,
    OpaqueAttr,
)


def opaque(text: str) -> OpaqueAttr:
    """C++ text as an attribute."""
    return OpaqueAttr(StringAttr(text))


def _verify_initial_value(value: Attribute, type: Attribute) -> None:
    # Attributes without a type, such as strings, go with everything.
    given = getattr(value, "type", None)
    if isinstance(type, LValueType):
        type = type.value_type
    if not isinstance(value, OpaqueAttr) and isinstance(given, Attribute) and not _same_type(given, type):
        raise VerifyException(
            f"requires attribute to either be an #emitc.opaque attribute or it's type ({quoted(given)}) "
            f"to match the op's result type ({quoted(type)})"
        )


def _same_type(given: Attribute, type: Attribute) -> bool:
    # `size_t` has no attributes of its own: an index stands for it.
    return given == type or (isinstance(given, IndexType) and isinstance(type, POINTER_WIDE))


@op_definition
class ConstantOp(IRDLOperation):
    """A constant, which is a variable of its own in the C++ code."""

    name = "emitc.constant"
    value = prop_def()
    result = result_def(EMITC_TYPE)
    traits = traits_def(ConstantLike(), Pure(), CExpression())

    def __init__(self, value: Attribute, type: Attribute):
        super().__init__(properties={"value": value}, result_types=[type])

    def verify_(self) -> None:
        _verify_initial_value(self.value, self.result.type)
        if isinstance(self.value, OpaqueAttr) and not self.value.value.data:
            raise VerifyException("value must not be empty")


@op_definition
class VariableOp(IRDLOperation):
    """A variable that can be assigned to, with its initial value; an empty one leaves it uninitialized."""

    name = "emitc.variable"
    value = prop_def()
    result = result_def(LVALUE_OR_ARRAY)

    def __init__(self, value: Attribute, type: Attribute):
        super().__init__(properties={"value": value}, result_types=[type])

    @staticmethod
    def uninitialized(type: Attribute) -> VariableOp:
        return VariableOp(opaque(""), LValueType(type))

    def verify_(self) -> None:
        _verify_initial_value(self.value, self.result.type)


@op_definition
class LiteralOp(IRDLOperation):
    """C++ text that stands for a value, written wherever the value is used."""

    name = "emitc.literal"
    value = prop_def(StringAttr)
    result = result_def(EMITC_TYPE)
    traits = traits_def(Pure(), CExpression())
    assembly_format = "$value attr-dict `:` type($result)"

    def __init__(self, value: str, type: Attribute):
        super().__init__(properties={"value": StringAttr(value)}, result_types=[type])

    def verify_(self) -> None:
        if not self.value.data:
            raise VerifyException("value must not be empty")


def parse_lvalue_type(parser: Parser) -> LValueType:
    """`<i32>`, or the same with `!emitc.lvalue` before it."""
    # MLIR prints only what is inside where the type is known to be an lvalue, and reads both.
    if parser.parse_optional_punctuation("<") is None:
        type = parser.parse_type()
        if not isinstance(type, LValueType):
            parser.raise_error("expected '<'")
        return type
    pointee = parser.parse_type()
    parser.parse_punctuation(">")
    return LValueType(pointee)


def _print_short(directive: TypeDirective, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
    (type,) = directive.get(op)
    state.print_whitespace(printer)
    printer.print_string("<")
    printer.print_attribute(cast(LValueType, type).value_type)
    printer.print_string(">")


@irdl_custom_directive
class LValue(PartDirective):
    """The type of an lvalue, in short."""

    type: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.type.set(state, (parse_lvalue_type(parser),))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        _print_short(self.type, printer, state, op)


@irdl_custom_directive
class LValueOfResult(PartDirective):
    """The same, which tells the type of the value."""

    written: TypeDirective
    told: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        type = parse_lvalue_type(parser)
        self.written.set(state, (type,))
        self.told.set(state, (type.value_type,))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        _print_short(self.written, printer, state, op)


@op_definition
class LoadOp(IRDLOperation):
    """The value of a variable now."""

    name = "emitc.load"
    operand = operand_def(LVALUE)
    result = result_def()
    traits = traits_def(CExpression())

    def __init__(self, variable: SSAValue):
        super().__init__(operands=[variable], result_types=[cast(LValueType, variable.type).value_type])

    custom_directives = (LValueOfResult,)
    assembly_format = "$operand attr-dict `:` custom<LValueOfResult>(type($operand), type($result))"

    def verify_(self) -> None:
        if self.result.type != cast(LValueType, self.operand.type).value_type:
            raise VerifyException("failed to verify that result type matches value type of 'operand'")


@op_definition
class AssignOp(IRDLOperation):
    """`variable = value;`"""

    name = "emitc.assign"
    var = operand_def(LVALUE)
    value = operand_def(EMITC_TYPE)

    def __init__(self, variable: SSAValue, value: SSAValue):
        super().__init__(operands=[variable, value])

    custom_directives = (LValue,)
    assembly_format = "$value `:` type($value) `to` $var `:` custom<LValue>(type($var)) attr-dict"

    def verify_(self) -> None:
        if isinstance(self.var.owner, Operation) and self.var.owner.name not in _ASSIGNABLE:
            raise VerifyException(f"cannot assign to block argument or result of {self.var.owner.name}")
        type = cast(LValueType, self.var.type).value_type
        if self.value.type != type:
            raise VerifyException(
                f"requires value's type ({quoted(self.value.type)}) to match variable's type ({quoted(type)})"
            )


_ASSIGNABLE = frozenset(
    f"emitc.{name}" for name in ("variable", "subscript", "member", "member_of_ptr", "get_global", "dereference")
)


OPS = [AssignOp, ConstantOp, LiteralOp, LoadOp, VariableOp]
