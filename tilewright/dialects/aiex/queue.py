"""Starting descriptors: the address of the host's buffer, and the push onto a channel's task queue."""

from __future__ import annotations

from typing import ClassVar, Self

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, i1, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, operand_def, opt_operand_def, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.device import DeviceModel, DmaDirection, TileId
from tilewright.dialects._ods import enum_to_attr, i32_attr, op_definition, unsigned_attr
from tilewright.dialects._older import OlderAttributes
from tilewright.dialects._syntax import parse_enum, parse_i32, print_attributes, print_types
from tilewright.dialects.aie.lookup import constant_value, device_model
from tilewright.ir.create import initialize
from tilewright.ir.interned import i32_number

from .attributes import DmaChannelUser, register_number

TRUE, FALSE = IntegerAttr(1, i1), IntegerAttr(0, i1)
TOO_LARGE_BD_ID = "BD ID exceeds the maximum ID."
MAX_QUEUE_REPEAT = 255  # the field holds runs - 1 in eight bits


@op_definition
class NpuAddressPatchOp(IRDLOperation):
    """Write the address of a host buffer, plus an offset in bytes, into the address words of a descriptor.

    The register is `addr`, unless it is only known at run time: then `addr_val` is.
    """

    name = "aiex.npu.address_patch"

    addr = prop_def(unsigned_attr(32))
    addr_val = opt_operand_def(i32)
    arg_idx = prop_def(i32_attr())
    arg_plus = operand_def(i32)

    def __init__(self, addr: int, arg_idx: int, arg_plus: SSAValue, addr_val: SSAValue | None = None):
        operands = (arg_plus,) if addr_val is None else (addr_val, arg_plus)  # in the order of the declarations
        initialize(self, operands, {"addr": register_number(addr), "arg_idx": i32_number(arg_idx)})

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        arg_plus = _parse_typed_operand(parser) if parser.parse_optional_punctuation("(") else None
        addr_val = None
        if arg_plus is not None:
            parser.parse_punctuation(")")
            addr_val = _parse_typed_operand(parser) if parser.parse_optional_keyword("addr") else None
        attributes = OlderAttributes.parse(parser)
        if arg_plus is None:
            arg_plus = attributes.take_operand("arg_plus")
        attributes.drop("arg_plus")  # one generation had a zero beside the operand
        properties, others = attributes.split(cls)
        operands = [arg_plus] if addr_val is None else [addr_val, arg_plus]
        return cls.create(operands=operands, properties=properties, attributes=others)

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        _print_typed_operand(printer, self.arg_plus)
        printer.print_string(")")
        if self.addr_val is not None:
            printer.print_string(" addr ")
            _print_typed_operand(printer, self.addr_val)
        print_attributes(printer, self)


def _parse_typed_operand(parser: Parser) -> SSAValue:
    operand = parser.parse_unresolved_operand()
    parser.parse_punctuation(":")
    return parser.resolve_operand(operand, parser.parse_type())


def _print_typed_operand(printer: Printer, value: SSAValue) -> None:
    printer.print_ssa_value(value)
    printer.print_string(" : ")
    printer.print_attribute(value.type)


@op_definition
class NpuPushQueueOp(DmaChannelUser):
    """Append a task to the queue of a DMA channel: run a descriptor chain `repeat_count` + 1 times."""

    name = "aiex.npu.push_queue"

    column = prop_def(i32_attr())
    row = prop_def(i32_attr())
    issue_token = prop_def(BoolAttr)
    repeat_count = operand_def(i32)
    bd_id = operand_def(i32)

    SPELT_OUT: ClassVar = ("column", "row", "direction", "channel")

    def __init__(
        self,
        column: int,
        row: int,
        direction: DmaDirection,
        channel: int,
        *,
        bd_id: SSAValue,
        repeat_count: SSAValue,
        issue_token: bool,
    ):
        properties: dict[str, Attribute] = {
            "column": i32_number(column),
            "row": i32_number(row),
            "direction": i32_number(direction),
            "channel": i32_number(channel),
            "issue_token": TRUE if issue_token else FALSE,
        }
        initialize(self, (repeat_count, bd_id), properties)

    @property
    def place(self) -> TileId:
        """The tile whose channel it is."""
        # upstream reads both unsigned, so a negative one is far outside the array and not an error of its own
        return TileId(self.column.value.data & 0xFFFFFFFF, self.row.value.data & 0xFFFFFFFF)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser.parse_punctuation("(")
        place: dict[str, Attribute] = {"column": parse_i32(parser)}
        parser.parse_punctuation(",")
        place["row"] = parse_i32(parser)
        parser.parse_punctuation(",")
        place["direction"] = enum_to_attr(parse_enum(parser, DmaDirection, "direction"))
        parser.parse_punctuation(":")
        place["channel"] = parse_i32(parser)
        parser.parse_punctuation(")")
        if parser.parse_optional_keyword("bd_id"):
            bd_id = parser.parse_unresolved_operand()
            parser.parse_keyword("repeat")
            repeat_count = parser.parse_unresolved_operand()
            attributes = OlderAttributes.parse(parser)
            parser.parse_punctuation(":")
            bd_id = parser.resolve_operand(bd_id, parser.parse_type())
            parser.parse_punctuation(",")
            repeat_count = parser.resolve_operand(repeat_count, parser.parse_type())
        else:
            attributes = OlderAttributes.parse(parser)
            bd_id = attributes.take_operand("bd_id")
            repeat_count = attributes.take_operand("repeat_count")
        properties, others = attributes.split(cls)
        return cls.create(operands=[repeat_count, bd_id], properties=place | properties, attributes=others)

    def print(self, printer: Printer) -> None:
        column, row, channel = (attr.value.data for attr in (self.column, self.row, self.channel))
        printer.print_string(f"({column}, {row}, {self.dma_direction} : {channel}) bd_id ")
        printer.print_ssa_value(self.bd_id)
        printer.print_string(" repeat ")
        printer.print_ssa_value(self.repeat_count)
        print_attributes(printer, self, self.SPELT_OUT)
        printer.print_string(" : ")
        print_types(printer, (self.bd_id.type, self.repeat_count.type))

    def verify_(self) -> None:
        if text := self.violation(device_model(self)):
            raise VerifyException(text)

    def violation(self, device: DeviceModel) -> str | None:
        """Why the queue cannot take what is known of the task."""
        bd_id, repeat_count = constant_value(self.bd_id), constant_value(self.repeat_count)
        # upstream lets the count itself through
        if bd_id is not None and bd_id & 0xFFFFFFFF > device.num_bds(*self.place):
            return TOO_LARGE_BD_ID
        if repeat_count is not None and repeat_count & 0xFFFFFFFF > MAX_QUEUE_REPEAT:
            return f"Repeat count exceeds the [0:{MAX_QUEUE_REPEAT}] range."
        return None


OPS = [NpuAddressPatchOp, NpuPushQueueOp]
