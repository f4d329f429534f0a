"""Instructions of the NPU's command processor: register writes, waits, queue pushes, guards.

Older programs write numbers as attributes that are operands now; they are read as constants placed before the
instruction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from xdsl.dialects.builtin import (
    BoolAttr,
    FlatSymbolRefAttrConstr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    Signedness,
    SymbolRefAttr,
    UnitAttr,
    i1,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, ParsePropInAttrDict, operand_def, opt_operand_def, opt_prop_def, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.device import DmaDirection
from tilewright.dialects._ods import enum_to_attr, enum_value, i32_attr, op_definition, unsigned_attr
from tilewright.dialects._pending import constant_before
from tilewright.dialects._syntax import (
    PAREN,
    parse_types,
    print_attributes,
    print_operands,
    print_types,
    split_attributes,
)
from tilewright.dialects.aie.attributes import DIRECTION, parse_enum
from tilewright.dialects.aie.lookup import constant_value, device_model

UI32 = IntegerType(32, Signedness.UNSIGNED)
ATTR_DICT = (ParsePropInAttrDict(),)
MAX_QUEUE_REPEAT = 255  # the field holds runs - 1 in eight bits


@dataclass
class OlderAttributes:
    """An attribute dictionary in which older programs write numbers that are operands now."""

    parser: Parser
    position: int
    entries: dict[str, Attribute]

    @classmethod
    def parse(cls, parser: Parser) -> OlderAttributes:
        return cls(parser, parser.pos, dict(parser.parse_optional_attr_dict()))

    def take_operand(self, name: str) -> SSAValue:
        """The number `name` as a constant before the instruction."""
        attr = self.entries.pop(name, None)
        if not isinstance(attr, IntegerAttr):
            self.parser.raise_error(f"requires attribute '{name}'", self.position)
        return constant_before(self.parser, attr.value.data)

    def drop(self, *names: str) -> None:
        """Forget placeholders: one generation had the operands, and zeros next to them."""
        for name in names:
            self.entries.pop(name, None)

    def split(self, op: type[IRDLOperation]) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
        """The properties of an operation, and the other attributes."""
        return split_attributes(op, self.entries)


class ValueInstruction(IRDLOperation):
    """An instruction written `(operands) {attributes} : types`."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        names = [name for name, _ in cls.get_irdl_definition().operands]
        written = parser.parse_optional_comma_separated_list(PAREN, parser.parse_unresolved_operand)
        attributes = OlderAttributes.parse(parser)
        if written is None:
            operands = [attributes.take_operand(name) for name in names]
        else:
            position = parser.pos
            parser.parse_punctuation(":")
            operands = parser.resolve_operands(written, parse_types(parser), position)
            attributes.drop(*names)
        properties, others = attributes.split(cls)
        return cls.create(operands=operands, properties=properties, attributes=others)

    def print(self, printer: Printer) -> None:
        print_operands(printer, self.operands, "()")
        print_attributes(printer, self)
        printer.print_string(" : ")
        print_types(printer, self.operand_types)


class Placed(IRDLOperation):
    """An instruction on an address that may be relative to a buffer, or to the tile at (`column`, `row`)."""

    buffer = opt_prop_def(FlatSymbolRefAttrConstr)
    column = opt_prop_def(i32_attr())
    row = opt_prop_def(i32_attr())


@op_definition
class NpuWrite32Op(ValueInstruction, Placed):
    """Write one register or memory word."""

    name = "aiex.npu.write32"

    address = operand_def(i32)
    value = operand_def(i32)

    def __init__(self, address: SSAValue, value: SSAValue, column: int | None = None, row: int | None = None):
        super().__init__(operands=[address, value], properties=_place(column, row))


@op_definition
class NpuMaskWrite32Op(ValueInstruction, Placed):
    """Write the bits of one word that the mask names."""

    name = "aiex.npu.maskwrite32"

    address = operand_def(i32)
    value = operand_def(i32)
    mask = operand_def(i32)

    def __init__(
        self, address: SSAValue, value: SSAValue, mask: SSAValue, column: int | None = None, row: int | None = None
    ):
        super().__init__(operands=[address, value, mask], properties=_place(column, row))


def _place(column: int | None, row: int | None) -> Mapping[str, Attribute | None]:
    return {
        "column": None if column is None else IntegerAttr(column, i32),
        "row": None if row is None else IntegerAttr(row, i32),
    }


@op_definition
class NpuBlockWriteOp(Placed):
    """Write consecutive words, given as a constant global."""

    name = "aiex.npu.blockwrite"

    address = prop_def(unsigned_attr(32))
    data = operand_def(MemRefType)

    irdl_options = ATTR_DICT
    assembly_format = "`(` $data `)` attr-dict `:` type($data)"

    def __init__(self, data: SSAValue, address: int):
        super().__init__(operands=[data], properties={"address": IntegerAttr(address, UI32)})


@op_definition
class NpuSyncOp(ValueInstruction):
    """Wait for the completion token of a DMA channel; direction 0 is S2MM."""

    name = "aiex.npu.sync"

    column = operand_def(i32)
    row = operand_def(i32)
    direction = operand_def(i32)
    channel = operand_def(i32)
    column_num = operand_def(i32)
    row_num = operand_def(i32)

    def __init__(self, operands: Sequence[SSAValue]):
        super().__init__(operands=operands)


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
        super().__init__(
            operands=[addr_val, arg_plus],
            properties={"addr": IntegerAttr(addr, UI32), "arg_idx": IntegerAttr(arg_idx, i32)},
        )

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
        attributes.drop("arg_plus")
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
class NpuPushQueueOp(IRDLOperation):
    """Append a task to the queue of a DMA channel: run a descriptor chain `repeat_count` + 1 times."""

    name = "aiex.npu.push_queue"

    column = prop_def(i32_attr())
    row = prop_def(i32_attr())
    direction = prop_def(DIRECTION)
    channel = prop_def(i32_attr())
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
        super().__init__(
            operands=[repeat_count, bd_id],
            properties={
                "column": IntegerAttr(column, i32),
                "row": IntegerAttr(row, i32),
                "direction": enum_to_attr(direction),
                "channel": IntegerAttr(channel, i32),
                "issue_token": IntegerAttr(issue_token, i1),
            },
        )

    @property
    def dma_direction(self) -> DmaDirection:
        return enum_value(DmaDirection, self.direction)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser.parse_punctuation("(")
        place: dict[str, Attribute] = {"column": _parse_i32(parser)}
        parser.parse_punctuation(",")
        place["row"] = _parse_i32(parser)
        parser.parse_punctuation(",")
        place["direction"] = enum_to_attr(parse_enum(parser, DmaDirection, "direction"))
        parser.parse_punctuation(":")
        place["channel"] = _parse_i32(parser)
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
        bd_count = device_model(self).num_bds(self.column.value.data, self.row.value.data)
        bd_id, repeat_count = constant_value(self.bd_id), constant_value(self.repeat_count)
        if bd_id is not None and bd_id & 0xFFFFFFFF > bd_count:  # upstream lets the count itself through
            raise VerifyException("BD ID exceeds the maximum ID.")
        if repeat_count is not None and repeat_count & 0xFFFFFFFF > MAX_QUEUE_REPEAT:
            raise VerifyException(f"Repeat count exceeds the [0:{MAX_QUEUE_REPEAT}] range.")


def _parse_i32(parser: Parser) -> Attribute:
    return IntegerAttr(parser.parse_integer(allow_boolean=False), i32)


@op_definition
class NpuWriteRTPOp(IRDLOperation):
    """Set one 32-bit runtime parameter in a core's buffer."""

    name = "aiex.npu.rtp_write"

    buffer = prop_def(FlatSymbolRefAttrConstr)
    index = prop_def(unsigned_attr(32))  # counts 4-byte words
    value = operand_def(i32)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser.parse_punctuation("(")
        buffer = SymbolRefAttr(parser.parse_symbol_name())
        parser.parse_punctuation(",")
        index = IntegerAttr(parser.parse_integer(allow_boolean=False, allow_negative=False), UI32)
        parser.parse_punctuation(",")
        written = parser.parse_optional_unresolved_operand()
        value = constant_before(parser, parser.parse_integer()) if written is None else None
        parser.parse_punctuation(")")
        attributes = dict(parser.parse_optional_attr_dict())
        if written is not None:
            parser.parse_punctuation(":")
            value = parser.resolve_operand(written, parser.parse_type())
        assert value is not None
        return cls.create(operands=[value], properties={"buffer": buffer, "index": index}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        printer.print_attribute(self.buffer)
        printer.print_string(f", {self.index.value.data}, ")
        printer.print_ssa_value(self.value)
        printer.print_string(")")
        print_attributes(printer, self, ("buffer", "index"))
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)


@op_definition
class NpuAssertBdFieldOp(IRDLOperation):
    """Stop the generation of the stream unless a runtime value fits its field of a descriptor."""

    name = "aiex.npu.assert_bd_field"

    value = operand_def(i32)
    max = prop_def(i32_attr())

    irdl_options = ATTR_DICT
    assembly_format = "`(` $value `)` attr-dict `:` type($value)"

    def __init__(self, value: SSAValue, max: int):
        super().__init__(operands=[value], properties={"max": IntegerAttr(max, i32)})

    def verify_(self) -> None:
        value, limit = constant_value(self.value), self.max.value.data
        if value is not None and not 0 <= value <= limit:
            raise VerifyException(f"constant value {value} exceeds the guarded field range [0:{limit}].")


@op_definition
class NpuAssertBdDivisibleOp(IRDLOperation):
    """Stop the generation of the stream unless a runtime size or stride is a whole number of granules.

    With `allow_unit` 1 is fine as well: neighbouring elements share granules.
    """

    name = "aiex.npu.assert_bd_divisible"

    value = operand_def(i32)
    divisor = prop_def(i32_attr())
    allow_unit = opt_prop_def(UnitAttr)

    irdl_options = ATTR_DICT
    assembly_format = "`(` $value `)` attr-dict `:` type($value)"

    def __init__(self, value: SSAValue, divisor: int, *, allow_unit: bool = False):
        super().__init__(
            operands=[value],
            properties={"divisor": IntegerAttr(divisor, i32), "allow_unit": UnitAttr() if allow_unit else None},
        )

    def verify_(self) -> None:
        value, divisor = constant_value(self.value), self.divisor.value.data
        if divisor == 0:
            raise VerifyException("divisor must be non-zero.")
        if value is None or (self.allow_unit is not None and value == 1):
            return
        if value % divisor != 0:
            raise VerifyException(
                f"constant value {value} is not divisible by {divisor} "
                "(transfer is not a whole number of address-gen granules)."
            )


OPS = [
    NpuWrite32Op,
    NpuMaskWrite32Op,
    NpuBlockWriteOp,
    NpuSyncOp,
    NpuAddressPatchOp,
    NpuPushQueueOp,
    NpuWriteRTPOp,
    NpuAssertBdFieldOp,
    NpuAssertBdDivisibleOp,
]
