"""Calls, and C++ text with values in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    FlatSymbolRefAttrConstr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    StringAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import SymbolUserOpInterface
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import op_definition
from tilewright.ir.shown import quoted
from tilewright.ir.symbols import lookup_symbol

from .functions import FuncOp
from .operators import CExpression
from .types import EMITC_TYPE, LVALUE_OR_EMITC_TYPE, ArrayType, OpaqueAttr

COMMENT = "comment"
"""Attribute with what a reader of the C++ code is told about an operation."""


CALL_FORMAT = "$callee `(` $call_operands `)` attr-dict `:` functional-type($call_operands, results)"


def operand_number(argument: Attribute) -> int | None:
    """Which operand an entry of `args` stands for; None if it is a constant."""
    match argument:
        # An `index` in `args` is the number of an operand; a constant of that type cannot be written.
        case IntegerAttr(value=number, type=IndexType()):
            return number.data
        case _:
            return None


@op_definition
class CallOpaqueOp(IRDLOperation):
    """A call of a C++ function that is not defined here; `args` mixes operands, by number, with constants."""

    name = "emitc.call_opaque"
    callee = prop_def(StringAttr)
    args = opt_prop_def(ArrayAttr)
    template_args = opt_prop_def(ArrayAttr)
    call_operands = var_operand_def(EMITC_TYPE)
    res = var_result_def(EMITC_TYPE)
    traits = traits_def(CExpression())
    assembly_format = CALL_FORMAT

    def __init__(self, callee: str, operands: Sequence[SSAValue], result_types: Sequence[Attribute] = ()):
        super().__init__(operands=[operands], result_types=[result_types], properties={"callee": StringAttr(callee)})

    def verify_(self) -> None:
        if not self.callee.data:
            raise VerifyException("callee must not be empty")
        for argument in self.args or ():
            number = operand_number(argument)
            if number is not None and not 0 <= number < len(self.operands):
                raise VerifyException("index argument is out of range")
            # C++ has no literal for it without a type.
            if isinstance(argument, ArrayAttr):
                raise VerifyException("array argument has no type")
        for argument in self.template_args or ():
            if not isinstance(argument, TypeAttribute | IntegerAttr | FloatAttr | OpaqueAttr):
                raise VerifyException("template argument has invalid type")
        # As in C++, where functions cannot return arrays.
        if any(isinstance(type, ArrayType) for type in self.result_types):
            raise VerifyException("cannot return array type")


class CalledFunctionUse(SymbolUserOpInterface):
    """The callee must be a function of the call's type."""

    def verify(self, op: Operation) -> None:
        assert isinstance(op, CallOp)
        callee = lookup_symbol(op, op.callee)
        if not isinstance(callee, FuncOp):
            raise VerifyException(f"'{op.callee.string_value()}' does not reference a valid function")
        inputs, outputs = callee.function_type.inputs.data, callee.function_type.outputs.data
        if len(inputs) != len(op.operands):
            raise VerifyException("incorrect number of operands for callee")
        for number, (expected, given) in enumerate(zip(inputs, op.operand_types, strict=True)):
            if expected != given:
                raise VerifyException(
                    f"operand type mismatch: expected operand type {quoted(expected)}, but provided {quoted(given)} "
                    f"for operand number {number}"
                )
        if len(outputs) != len(op.results):
            raise VerifyException("incorrect number of results for callee")
        # There is at most one result.
        if outputs != tuple(op.result_types):
            raise VerifyException("result type mismatch at index 0")


@op_definition
class CallOp(IRDLOperation):
    """A call of an `emitc.func`."""

    name = "emitc.call"
    callee = prop_def(FlatSymbolRefAttrConstr)
    call_operands = var_operand_def()
    res = var_result_def()
    traits = traits_def(CExpression(), CalledFunctionUse())
    assembly_format = CALL_FORMAT


@op_definition
class VerbatimOp(IRDLOperation):
    """C++ text as it is, with each `{}` replaced by an operand; `{{` is a brace where there are operands."""

    name = "emitc.verbatim"
    value = prop_def(StringAttr)
    arguments = var_operand_def(LVALUE_OR_EMITC_TYPE)
    assembly_format = "$value (`args` $arguments^ `:` type($arguments))? attr-dict"

    def __init__(self, value: str, arguments: Sequence[SSAValue] = ()):
        super().__init__(operands=[arguments], properties={"value": StringAttr(value)})

    @property
    def pieces(self) -> list[str | None]:
        """The text cut at its placeholders, which are None."""
        # Without operands braces are plain text: most verbatim code has some.
        if not self.operands:
            return [self.value.data]
        return list(_pieces(self.value.data))

    def verify_(self) -> None:
        if self.operands and self.pieces.count(None) != len(self.operands):
            raise VerifyException("requires operands for each placeholder in the format string")


def _pieces(text: str) -> Iterator[str | None]:
    literal, position = "", 0
    while position < len(text):
        # Two characters, since `{{` and `{}` begin alike.
        match text[position : position + 2]:
            case "{{":
                literal += "{"
                position += 2
            case "{}":
                yield literal
                yield None
                literal = ""
                position += 2
            case "{":
                raise VerifyException("expected '}' after unescaped '{' at end of string")
            case two if two[0] == "{":
                raise VerifyException("expected '}' after unescaped '{'")
            case two:
                literal += two[0]
                position += 1
    if literal:
        yield literal


OPS = [CallOp, CallOpaqueOp, VerbatimOp]
