"""Events, which stand for the end of what was started, and waiting for them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    base,
    irdl_attr_definition,
    operand_def,
    opt_result_def,
    result_def,
    var_operand_def,
)

from tilewright.dialects._ods import op_definition
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
    event = opt_result_def(ANY_EVENT)  # with it, nothing waits here

    assembly_format = "$events attr-dict (`:` type($event)^)?"


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


OPS: Sequence[type[IRDLOperation]] = [WaitAllOp, AllocOp, DeallocOp]
ATTRS: list[type[Attribute]] = [EventType]
