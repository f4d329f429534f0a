"""The llvm dialect: xDSL's, printed as MLIR prints it, with a few operations that it lacks.

Inside an LLVM type the prefix `!llvm.` of nested types is left out. xDSL reads that and does not write it, so the
printing of its types is replaced here.
"""

from __future__ import annotations

from typing import Self, cast

from xdsl.dialects import llvm as xdsl_llvm
from xdsl.dialects.builtin import VectorType
from xdsl.dialects.llvm import LinkageAttr, LLVMArrayType, LLVMFunctionType, LLVMStructType
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import IRDLOperation, base, operand_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._amend import amended
from tilewright.dialects._llvm_globals import OPS as GLOBAL_OPS
from tilewright.dialects._llvm_memory import OPS as MEMORY_OPS
from tilewright.dialects._ods import op_definition
from tilewright.dialects._syntax import print_attributes
from tilewright.ir.constraints import described
from tilewright.ir.shown import quoted


def print_nested_type(printer: Printer, type: Attribute) -> None:
    """A type inside an LLVM type."""
    if isinstance(type, ParametrizedAttribute) and type.name.startswith("llvm."):
        printer.print_string(type.name.removeprefix("llvm."))
        type.print_parameters(printer)
    else:
        printer.print_attribute(type)


def _print_struct(self: LLVMStructType, printer: Printer) -> None:
    printer.print_string("<")
    if self.struct_name.data:
        printer.print_string_literal(self.struct_name.data)
        printer.print_string(", ")
    printer.print_string("(")
    printer.print_list(self.types.data, lambda type: print_nested_type(printer, type))
    printer.print_string(")>")


def _print_array(self: LLVMArrayType, printer: Printer) -> None:
    printer.print_string(f"<{self.size.data} x ")
    print_nested_type(printer, self.type)
    printer.print_string(">")


def _print_function(self: LLVMFunctionType, printer: Printer) -> None:
    printer.print_string("<")
    print_nested_type(printer, self.output)
    printer.print_string(" (")
    printer.print_list(self.inputs, lambda type: print_nested_type(printer, type))
    if self.is_variadic:
        printer.print_string(", ..." if self.inputs.data else "...")
    printer.print_string(")>")


def _print_linkage(self: LinkageAttr, printer: Printer) -> None:
    printer.print_string(f"<{self.linkage.data}>")


LLVMStructType.print_parameters = _print_struct
LLVMArrayType.print_parameters = _print_array
LLVMFunctionType.print_parameters = _print_function
LinkageAttr.print_parameters = _print_linkage


@op_definition
class PoisonOp(IRDLOperation):
    """A value that must not matter."""

    name = "llvm.mlir.poison"
    res = result_def()
    traits = traits_def(Pure(), ConstantLike())
    assembly_format = "attr-dict `:` type($res)"


@op_definition
class ExtractElementOp(IRDLOperation):
    """One element of a vector."""

    name = "llvm.extractelement"
    vector = operand_def(described(base(VectorType), "LLVM dialect-compatible vector type"))
    position = operand_def()
    res = result_def()
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        vector = parser.parse_unresolved_operand()
        with parser.in_square_brackets():
            position = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            position_type = parser.parse_type()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        position_of_type = parser.pos
        type = parser.parse_type()
        if not isinstance(type, VectorType):
            parser.raise_error("expected LLVM dialect-compatible vector type for operand #1", position_of_type)
        type = cast(VectorType, type)
        return cls.create(
            operands=[parser.resolve_operand(vector, type), parser.resolve_operand(position, position_type)],
            result_types=[type.element_type],
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.vector)
        printer.print_string("[")
        printer.print_ssa_value(self.position)
        printer.print_string(" : ")
        printer.print_attribute(self.position.type)
        printer.print_string("]")
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.vector.type)

    def verify_(self) -> None:
        expected = cast(VectorType, self.vector.type).element_type
        if self.res.type != expected:
            raise VerifyException(
                f"Type mismatch: extracting from {quoted(self.vector.type)} should produce {quoted(expected)}"
            )


LLVM = amended(xdsl_llvm.LLVM, [ExtractElementOp, PoisonOp, *GLOBAL_OPS, *MEMORY_OPS])
