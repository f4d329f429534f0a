"""Starting descriptors: the address of the host's buffer, and the push onto a channel's task queue."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import ClassVar, Self

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, prop_def, var_operand_def
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.device import DeviceModel, DmaDirection, TileId
from tilewright.dialects._ods import enum_to_attr, i32_attr, op_definition, unsigned_attr
from tilewright.dialects._older import OlderAttributes
from tilewright.dialects._syntax import parse_enum, parse_i32, parse_types, print_attributes, print_types
from tilewright.dialects.aie.lookup import device_model
from tilewright.ir.create import initialize
from tilewright.ir.interned import i32_number

from .attributes import DmaChannelUser, register_number
from .runtime_fields import (
    WORD_VALUE,
    RuntimeFields,
    field_names,
    known_word,
    parse_typed_operand,
    print_typed_operand,
)

TRUE, FALSE = IntegerAttr(1, i1), IntegerAttr(0, i1)
TOO_LARGE_BD_ID = "BD ID exceeds the maximum ID."
MAX_QUEUE_REPEAT = 255  # the field holds runs - 1 in eight bits


@op_definition
class NpuAddressPatchOp(RuntimeFields):
    """Write the address of a host buffer, plus an offset in bytes, into the address words of a descriptor.

    The register is `addr` and the argument `arg_idx`, unless they are only known at run time: then `addr_val` and
    `arg_val` are.
    """

    name = "aiex.npu.address_patch"

    addr = prop_def(unsigned_attr(32))
    values = var_operand_def(WORD_VALUE)  # before the other one, as upstream has the register
    arg_idx = prop_def(i32_attr())
    arg_plus = operand_def(WORD_VALUE)

    OTHER_OPERANDS: ClassVar = 1
    RUNTIME_FIELDS: ClassVar = ("addr", "arg_idx")
    SHOWN_BESIDE: ClassVar = ("addr",)
    KEEPS_ORDER: ClassVar = True

    def __init__(
        self,
        addr: int,
        arg_idx: int,
        arg_plus: SSAValue,
        addr_val: SSAValue | None = None,
        arg_val: SSAValue | None = None,
    ):
        operands, names = _patch_operands(arg_plus, addr_val, arg_val)
        initialize(self, operands, {"addr": register_number(addr), "arg_idx": i32_number(arg_idx), **names})

    @property
    def addr_val(self) -> SSAValue | None:
        """The register, if it is a value."""
        return self.runtime.get("addr")

    @property
    def arg_val(self) -> SSAValue | None:
        """The number of the argument, if it is a value."""
        return self.runtime.get("arg_idx")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        arg_plus = parse_typed_operand(parser) if parser.parse_optional_punctuation("(") else None
        addr_val = arg_val = None
        if arg_plus is not None:
            parser.parse_punctuation(")")
            addr_val = parse_typed_operand(parser) if parser.parse_optional_keyword("addr") else None
            arg_val = parse_typed_operand(parser) if parser.parse_optional_keyword("arg") else None
        attributes = OlderAttributes.parse(parser)
        if arg_plus is None:
            arg_plus = attributes.take_operand("arg_plus")
        attributes.drop("arg_plus")  # one generation had a zero beside the operand
        properties, others = attributes.split(cls)
        operands, names = _patch_operands(arg_plus, addr_val, arg_val)
        if arg_val is not None:
            properties.setdefault("arg_idx", i32_number(0))
        return cls.create(operands=operands, properties=properties | names, attributes=others)

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        print_typed_operand(printer, self.arg_plus)
        printer.print_string(")")
        elided = ["runtime_fields"]
        if self.addr_val is not None:
            printer.print_string(" addr ")
            print_typed_operand(printer, self.addr_val)
        if self.arg_val is not None:
            printer.print_string(" arg ")
            print_typed_operand(printer, self.arg_val)
            elided.append("arg_idx")
        print_attributes(printer, self, elided)

    def verify_(self) -> None:
        self.verify_runtime_fields()

    def _needs_names(self, names: Sequence[str]) -> bool:
        return "arg_idx" in names  # a register alone needs no name: upstream has that form


def _patch_operands(
    arg_plus: SSAValue, addr_val: SSAValue | None, arg_val: SSAValue | None
) -> tuple[list[SSAValue], dict[str, Attribute]]:
    """The operands of a patch in their order, and the property that tells them apart where that is needed."""
    values = {"addr": addr_val, "arg_idx": arg_val}
    given = {name: value for name, value in values.items() if value is not None}
    # a register alone needs no name: upstream has that form
    return [*given.values(), arg_plus], field_names(list(given)) if arg_val is not None else {}


@op_definition
class NpuPushQueueOp(DmaChannelUser, RuntimeFields):
    """Append a task to the queue of a DMA channel: run a descriptor chain `repeat_count` + 1 times.

    Column, row, direction, channel and `issue_token` may be values, which then stand in the place of the numbers.
    """

    name = "aiex.npu.push_queue"

    column = prop_def(i32_attr())
    row = prop_def(i32_attr())
    issue_token = prop_def(BoolAttr)
    repeat_count = operand_def(WORD_VALUE)
    bd_id = operand_def(WORD_VALUE)

    OTHER_OPERANDS: ClassVar = 2
    SPELT_OUT: ClassVar = ("column", "row", "direction", "channel")
    RUNTIME_FIELDS: ClassVar = (*SPELT_OUT, "issue_token")
    KEEPS_ORDER: ClassVar = True

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
    def place(self) -> TileId | None:
        """The tile whose channel it is, if that is known."""
        column, row = self.known_number("column"), self.known_number("row")
        if column is None or row is None:
            return None
        # upstream reads both unsigned, so a negative one is far outside the array and not an error of its own
        return TileId(column & 0xFFFFFFFF, row & 0xFFFFFFFF)

    def channels(self, device: DeviceModel) -> Iterator[tuple[TileId, DmaDirection, int]]:
        """The channels that it can be for: one, unless that depends on runtime values."""
        column, row = self.known_number("column"), self.known_number("row")
        direction, channel = self.known_number("direction"), self.known_number("channel")
        if direction not in (None, *DmaDirection):
            return
        if column is not None and row is not None and direction is not None and channel is not None:
            yield TileId(column, row), DmaDirection(direction), channel
            return
        directions = DmaDirection if direction is None else (DmaDirection(direction),)
        for tile, way in product(device.tiles, directions):
            if column in (None, tile[0]) and row in (None, tile[1]):
                numbers = range(device.num_dma_channels(*tile, way)) if channel is None else (channel,)
                yield from ((TileId(*tile), way, number) for number in numbers)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        fields = _PlaceParser(parser)
        parser.parse_punctuation("(")
        fields.read("column", parse_i32)
        parser.parse_punctuation(",")
        fields.read("row", parse_i32)
        parser.parse_punctuation(",")
        fields.read("direction", lambda parser: enum_to_attr(parse_enum(parser, DmaDirection, "direction")))
        parser.parse_punctuation(":")
        fields.read("channel", parse_i32)
        parser.parse_punctuation(")")
        if parser.parse_optional_keyword("bd_id"):
            task = [parser.parse_unresolved_operand()]
            parser.parse_keyword("repeat")
            task.append(parser.parse_unresolved_operand())
            if parser.parse_optional_keyword("issue_token"):
                fields.read("issue_token", lambda parser: parser.raise_error("expected SSA operand"))
            attributes = OlderAttributes.parse(parser)
            position = parser.pos
            parser.parse_punctuation(":")
            types = parse_types(parser)
            bd_id, repeat_count, *values = parser.resolve_operands([*task, *fields.values.values()], types, position)
        else:
            attributes, values = OlderAttributes.parse(parser), list[SSAValue]()
            bd_id = attributes.take_operand("bd_id")
            repeat_count = attributes.take_operand("repeat_count")
            if fields.values:
                parser.raise_error("expected 'bd_id' and 'repeat' where the channel is a value")
        properties, others = attributes.split(cls)
        properties = fields.properties | properties | field_names(list(fields.values))
        return cls.create(operands=[repeat_count, bd_id, *values], properties=properties, attributes=others)

    def print(self, printer: Printer) -> None:
        runtime, printed = self.runtime, {"direction": str(self.dma_direction)}
        printer.print_string("(")
        for name, separator in zip(self.SPELT_OUT, (", ", ", ", " : ", ")"), strict=True):
            if name in runtime:
                printer.print_ssa_value(runtime[name])
            else:
                printer.print_string(printed.get(name) or str(self.number(name)))
            printer.print_string(separator)
        printer.print_string(" bd_id ")
        printer.print_ssa_value(self.bd_id)
        printer.print_string(" repeat ")
        printer.print_ssa_value(self.repeat_count)
        elided = [*self.SPELT_OUT, "runtime_fields"]
        if "issue_token" in runtime:
            printer.print_string(" issue_token ")
            printer.print_ssa_value(runtime["issue_token"])
            elided.append("issue_token")
        print_attributes(printer, self, elided)
        printer.print_string(" : ")
        values = (runtime[name] for name in self.RUNTIME_FIELDS if name in runtime)
        print_types(printer, [value.type for value in (self.bd_id, self.repeat_count, *values)])

    def verify_(self) -> None:
        self.verify_runtime_fields()
        if self.place is not None and (text := self.violation(device_model(self), self.place)):
            raise VerifyException(text)

    def violation(self, device: DeviceModel, place: TileId) -> str | None:
        """Why the queue of a tile cannot take what is known of the task."""
        bd_id, repeat_count = known_word(self.bd_id), known_word(self.repeat_count)
        # upstream lets the count itself through
        if bd_id is not None and bd_id & 0xFFFFFFFF > device.num_bds(*place):
            return TOO_LARGE_BD_ID
        if repeat_count is not None and repeat_count & 0xFFFFFFFF > MAX_QUEUE_REPEAT:
            return f"Repeat count exceeds the [0:{MAX_QUEUE_REPEAT}] range."
        return None


class _PlaceParser:
    """Reads the numbers of a channel, each of which may be a value instead."""

    def __init__(self, parser: Parser):
        self.parser = parser
        self.properties: dict[str, Attribute] = {}
        self.values: dict[str, UnresolvedOperand] = {}

    def read(self, name: str, number: Callable[[Parser], Attribute]) -> None:
        if (value := self.parser.parse_optional_unresolved_operand()) is None:
            self.properties[name] = number(self.parser)
        else:
            self.values[name] = value
            self.properties[name] = FALSE if name == "issue_token" else i32_number(0)


OPS = [NpuAddressPatchOp, NpuPushQueueOp]
