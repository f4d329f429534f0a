"""The llvm dialect: xDSL's, printed as MLIR prints it, with a few operations that it lacks."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects import llvm as xdsl_llvm
from xdsl.dialects.builtin import IntegerAttr, StringAttr, VectorType, i64
from xdsl.dialects.llvm import (
    AddressOfOp,
    AllocaOp,
    CallIntrinsicOp,
    CallOp,
    ExtractValueOp,
    FuncOp,
    GEPOp,
    ICmpOp,
    InlineAsmOp,
    InsertValueOp,
    IntToPtrOp,
    LinkageAttr,
    LLVMArrayType,
    LLVMFunctionType,
    LLVMPointerType,
    LLVMStructType,
    LLVMVoidType,
    PtrToIntOp,
    ReturnOp,
    SExtOp,
    ZeroOp,
)
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, base, operand_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._derived import derived_dialect, derived_op_definition
from tilewright.dialects._llvm_memory import AtomicCmpXchgOp, AtomicRMWOp, FenceOp, LoadOp, StoreOp
from tilewright.dialects._ods import i64_attr, op_definition
from tilewright.dialects._syntax import print_attributes
from tilewright.ir.constraints import described
from tilewright.ir.print_attributes import ATTRIBUTE_TEXT, AttributePrinter, string_text
from tilewright.ir.shown import quoted

DEFAULT = IntegerAttr(0, i64)
UNNAMED = {1: " local_unnamed_addr", 2: " unnamed_addr"}
SPELLED = "global_type", "sym_name", "linkage", "constant", "thread_local_", "unnamed_addr", "value"


def _struct_text(p: AttributePrinter, t: LLVMStructType) -> str:
    name = f"{string_text(t.struct_name.data)}, " if t.struct_name.data else ""
    return f"!llvm.struct<{name}({_nested_texts(p, t.types.data)})>"


def _array_text(p: AttributePrinter, t: LLVMArrayType) -> str:
    return f"!llvm.array<{t.size.data} x {_nested_text(p, t.type)}>"


def _function_text(p: AttributePrinter, t: LLVMFunctionType) -> str:
    inputs = _nested_texts(p, t.inputs.data)
    if t.is_variadic:
        inputs += ", ..." if inputs else "..."
    return f"!llvm.func<{_nested_text(p, t.output)} ({inputs})>"


def _nested_texts(p: AttributePrinter, types: Sequence[Attribute]) -> str:
    return ", ".join([_nested_text(p, type) for type in types])


def _nested_text(p: AttributePrinter, type: Attribute) -> str:
    """A type inside an LLVM type."""
    # upstream leaves the prefix out inside its own brackets
    return p.attribute_text(type).removeprefix("!llvm.")


# xDSL reads types without the prefix and writes them with it: our printer writes them by these functions instead.
ATTRIBUTE_TEXT.update(
    {
        LLVMStructType: _struct_text,
        LLVMArrayType: _array_text,
        LLVMFunctionType: _function_text,
        LinkageAttr: lambda p, a: f"#llvm.linkage<{a.linkage.data}>",
    }
)


@derived_op_definition
class ConstantOp(xdsl_llvm.ConstantOp):
    """A known value."""

    traits = traits_def(Pure(), ConstantLike())

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        printer.print_attribute(self.value)
        printer.print_string(") : ")
        printer.print_attribute(self.result.type)


@derived_op_definition
class GlobalOp(xdsl_llvm.GlobalOp):
    """Memory with a name; a string tells its own type."""

    visibility_ = prop_def(i64_attr(), DEFAULT)
    unnamed_addr = prop_def(i64_attr(), DEFAULT)

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.linkage.linkage.data}")
        printer.print_string(" thread_local" if self.thread_local_ is not None else "")
        # neither is the default, which has no word
        printer.print_string(UNNAMED.get(self.unnamed_addr.value.data, ""))
        printer.print_string(" constant " if self.constant is not None else " ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string("(")
        if self.value is not None:
            printer.print_attribute(self.value)
        printer.print_string(")")
        print_attributes(printer, self, SPELLED)
        if not isinstance(self.value, StringAttr):  # an array of as many bytes as it has
            printer.print_string(" : ")
            printer.print_attribute(self.global_type)
        if self.body.blocks:
            printer.print_string(" ")
            printer.print_region(self.body)


@op_definition
class PoisonOp(IRDLOperation):
    """A value that must not matter."""

    name = "llvm.mlir.poison"
    res = result_def()
    traits = traits_def(Pure(), ConstantLike())
    assembly_format = "attr-dict `:` type($res)"


@op_definition
class AddrSpaceCastOp(IRDLOperation):
    """The same place as an address of another space."""

    name = "llvm.addrspacecast"
    arg = operand_def(base(LLVMPointerType))
    res = result_def(base(LLVMPointerType))
    traits = traits_def(Pure())
    assembly_format = "$arg attr-dict `:` type($arg) `to` type($res)"


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
            result_types=[type.element_type],  # not in the text
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


LLVM = derived_dialect(
    xdsl_llvm.LLVM,
    [
        AddrSpaceCastOp,
        AtomicCmpXchgOp,
        AtomicRMWOp,
        ConstantOp,
        ExtractElementOp,
        FenceOp,
        GlobalOp,
        LoadOp,
        PoisonOp,
        StoreOp,
    ],
)

__all__ = [
    "LLVM",
    "AddrSpaceCastOp",
    "AddressOfOp",
    "AllocaOp",
    "AtomicCmpXchgOp",
    "AtomicRMWOp",
    "CallIntrinsicOp",
    "CallOp",
    "ConstantOp",
    "ExtractElementOp",
    "ExtractValueOp",
    "FenceOp",
    "FuncOp",
    "GEPOp",
    "GlobalOp",
    "ICmpOp",
    "InlineAsmOp",
    "InsertValueOp",
    "IntToPtrOp",
    "LLVMArrayType",
    "LLVMFunctionType",
    "LLVMPointerType",
    "LLVMStructType",
    "LLVMVoidType",
    "LinkageAttr",
    "LoadOp",
    "PoisonOp",
    "PtrToIntOp",
    "ReturnOp",
    "SExtOp",
    "StoreOp",
    "ZeroOp",
]
