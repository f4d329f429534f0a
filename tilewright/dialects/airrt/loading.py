"""Loading segments and herds onto the array, with the values that their cores are given."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr, i64
from xdsl.irdl import IRDLOperation, opt_result_def, prop_def, result_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from tilewright.dialects._ods import op_definition
from tilewright.dialects._syntax import PAREN, parse_operands, print_attributes, print_operands
from tilewright.dialects.airrt.events import ANY_EVENT


@op_definition
class SegmentLoadOp(IRDLOperation):
    """Load a segment."""

    name = "airrt.segment_load"

    sym_name = prop_def(StringAttr)
    p = result_def(i64)
    event = opt_result_def(ANY_EVENT)

    assembly_format = "$sym_name attr-dict `:` type($p) (`,` type($event)^)?"


@op_definition
class HerdLoadOp(IRDLOperation):
    """Load a herd; its cores are released with these values."""

    name = "airrt.herd_load"

    sym_name = prop_def(StringAttr)
    rtp = var_operand_def()
    h = result_def(i64)
    event = opt_result_def(ANY_EVENT)

    @classmethod
    def parse(cls, parser: Parser) -> HerdLoadOp:
        name = StringAttr(parser.parse_str_literal())
        operands = parse_operands(parser, PAREN)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_function_type()
        values = parser.resolve_operands(operands, type.inputs.data, parser.pos)
        return cls.create(
            operands=values,
            result_types=type.outputs.data,
            properties={"sym_name": name},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.sym_name)
        printer.print_string(" ")
        print_operands(printer, self.rtp, "()")
        print_attributes(printer, self, ("sym_name",))
        printer.print_string(" : ")
        printer.print_function_type([value.type for value in self.rtp], [result.type for result in self.results])


OPS: Sequence[type[IRDLOperation]] = [SegmentLoadOp, HerdLoadOp]
