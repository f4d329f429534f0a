"""Events, which stand for the end of what was started, and waiting for them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    base,
    irdl_attr_definition,
    operand_def,
    opt_result_def,
    result_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from tilewright.dialects._ods import op_definition
from tilewright.dialects._syntax import parse_bare_operands, print_attributes, resolve_all
from tilewright.ir.constraints import described


@irdl_attr_definition
class EventType(ParametrizedAttribute, TypeAttribute):
    """Stands for the end of something that the runtime started."""

    name = "airrt.event"


EVENT = EventType()
ANY_EVENT = described(base(EventType), "airrt event type")


@op_definition
class WaitAllOp(IRDLOperation):
    """Wait for all of the events, or give one that stands for all of them."""

    name = "airrt.wait_all"

    events = var_operand_def(ANY_EVENT)
    event = opt_result_def(ANY_EVENT)

    @classmethod
    def parse(cls, parser: Parser) -> WaitAllOp:
        events = resolve_all(parser, parse_bare_operands(parser), EVENT)
        attributes = parser.parse_optional_attr_dict()
        types: list[Attribute] = []
        if parser.parse_optional_punctuation(":") is not None:
            types = [parser.parse_type()]
        return cls.create(operands=events, result_types=types, attributes=attributes)

    def print(self, printer: Printer) -> None:
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_ssa_value)
        print_attributes(printer, self)
        if self.event is not None:
            printer.print_string(" : ")
            printer.print_attribute(self.event.type)


@op_definition
class AllocOp(IRDLOperation):
    """Memory of a segment or herd."""

    name = "airrt.alloc"

    result = result_def(MemRefType)

    assembly_format = "attr-dict `:` type($result)"


@op_definition
class DeallocOp(IRDLOperation):
    """The end of the life of such memory."""

    name = "airrt.dealloc"

    memref = operand_def(MemRefType)

    assembly_format = "attr-dict $memref `:` type($memref)"


def is_event(value: SSAValue) -> bool:
    return isinstance(value.type, EventType)


OPS: Sequence[type[IRDLOperation]] = [WaitAllOp, AllocOp, DeallocOp]
ATTRS: list[type[Attribute]] = [EventType]
