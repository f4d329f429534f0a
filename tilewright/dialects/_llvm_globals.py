"""Constants and globals of the llvm dialect, printed as MLIR prints them."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm as xdsl_llvm
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.irdl import IRDLOperation, prop_def, traits_def
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure

from tilewright.dialects._amend import amend
from tilewright.dialects._ods import i64_attr
from tilewright.dialects._syntax import print_attributes

DEFAULT = IntegerAttr(0, i64)
UNNAMED = {1: " local_unnamed_addr", 2: " unnamed_addr"}
SPELLED = "global_type", "sym_name", "linkage", "constant", "thread_local_", "unnamed_addr", "value"


@amend
class ConstantOp(xdsl_llvm.ConstantOp):
    """A known value."""

    traits = traits_def(Pure(), ConstantLike())

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        printer.print_attribute(self.value)
        printer.print_string(") : ")
        printer.print_attribute(self.result.type)


@amend
class GlobalOp(xdsl_llvm.GlobalOp):
    """Memory with a name; a string tells its own type."""

    visibility_ = prop_def(i64_attr(), DEFAULT)
    unnamed_addr = prop_def(i64_attr(), DEFAULT)

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.linkage.linkage.data}")
        printer.print_string(" thread_local" if self.thread_local_ is not None else "")
        printer.print_string(UNNAMED.get(self.unnamed_addr.value.data, ""))
        printer.print_string(" constant " if self.constant is not None else " ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string("(")
        if self.value is not None:
            printer.print_attribute(self.value)
        printer.print_string(")")
        print_attributes(printer, self, SPELLED)
        if not isinstance(self.value, StringAttr):
            printer.print_string(" : ")
            printer.print_attribute(self.global_type)
        if self.body.blocks:
            printer.print_string(" ")
            printer.print_region(self.body)


OPS: Sequence[type[IRDLOperation]] = [ConstantOp, GlobalOp]
