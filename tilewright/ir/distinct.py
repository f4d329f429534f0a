"""`distinct[id]<attribute>`, which xDSL does not have: an attribute that equals only those of the same id."""

from __future__ import annotations

from xdsl.dialects.builtin import IntAttr, UnitAttr
from xdsl.ir import Attribute, BuiltinAttribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.printer import Printer


@irdl_attr_definition
class DistinctAttr(ParametrizedAttribute, BuiltinAttribute):
    name = "builtin.distinct"

    identifier: IntAttr
    referenced: Attribute

    def print_builtin(self, printer: Printer) -> None:
        printer.print_string(f"distinct[{self.identifier.data}]<")
        if not isinstance(self.referenced, UnitAttr):
            printer.print_attribute(self.referenced)
        printer.print_string(">")
