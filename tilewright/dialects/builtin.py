"""The builtin dialect: xDSL's, with modules that are read, printed and checked as upstream's are."""
# pyright: reportIncompatibleMethodOverride=false

from __future__ import annotations

from typing import Self

from xdsl.dialects import builtin as xdsl_builtin
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block
from xdsl.irdl import opt_prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._derived import derived_dialect, derived_op_definition
from tilewright.dialects._syntax import print_attributes, split_attributes


@derived_op_definition
class ModuleOp(xdsl_builtin.ModuleOp):
    """A program, or a part of one with names of its own."""

    sym_visibility = opt_prop_def(StringAttr)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_optional_symbol_name()
        written = parser.parse_optional_attr_dict_with_keyword()
        properties, attributes = split_attributes(cls, {} if written is None else written.data)
        if name is not None:
            properties["sym_name"] = name
        body = parser.parse_region()
        if body.blocks.first is None:  # `{}` has no block, a module always has one
            body.add_block(Block())
        return cls.create(properties=properties, attributes=attributes, regions=[body])

    def print(self, printer: Printer) -> None:
        if self.sym_name is not None:
            printer.print_string(" ")
            printer.print_symbol_name(self.sym_name.data)
        print_attributes(printer, self, ("sym_name",), keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_empty_block=False)

    def verify_(self) -> None:
        # plain names are for what an operation defines itself; a module defines its name and visibility only
        for name in self.attributes:
            if "." not in name:
                raise VerifyException(f"can only contain attributes with dialect-prefixed names, found: '{name}'")
        if self.body.block.args:
            raise VerifyException("region should have no arguments")


BUILTIN = derived_dialect(xdsl_builtin.Builtin, [ModuleOp])
