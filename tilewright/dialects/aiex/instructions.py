"""Instructions of the NPU's command processor: register writes and waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import FlatSymbolRefAttrConstr, IntegerAttr, MemRefType, SymbolRefAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, operand_def, opt_prop_def, prop_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from tilewright.dialects._ods import i32_attr, op_definition, unsigned_attr
from tilewright.dialects._older import OlderAttributes, constant_before
from tilewright.dialects._syntax import PAREN, parse_types, print_attributes, print_operands, print_types
from tilewright.ir.create import initialize
from tilewright.ir.interned import i32_number

from .attributes import UI32, register_number
from .runtime_fields import WORD_VALUE


class ValueInstruction(IRDLOperation):
    """An instruction written `(operands) {attributes} : types`."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        # an older program has none in parentheses, but numbers of these names in the dictionary
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

    buffer = opt_prop_def(FlatSymbolRefAttrConstr)  # the address then counts words, not bytes
    column = opt_prop_def(i32_attr())
    row = opt_prop_def(i32_attr())


@op_definition
class NpuWrite32Op(ValueInstruction, Placed):
    """Write one register or memory word."""

    name = "aiex.npu.write32"

    address = operand_def(WORD_VALUE)
    value = operand_def(WORD_VALUE)

    def __init__(self, address: SSAValue, value: SSAValue, column: int | None = None, row: int | None = None):
        initialize(self, (address, value), _place(column, row))  # lowered programs are full of these


class MaskedInstruction(ValueInstruction, Placed):
    """An instruction on the bits of one word that a mask names."""

    address = operand_def(WORD_VALUE)
    value = operand_def(WORD_VALUE)
    mask = operand_def(WORD_VALUE)

    def __init__(
        self, address: SSAValue, value: SSAValue, mask: SSAValue, column: int | None = None, row: int | None = None
    ):
        initialize(self, (address, value, mask), _place(column, row))


@op_definition
class NpuMaskWrite32Op(MaskedInstruction):
    """Write the bits of one word that the mask names."""

    name = "aiex.npu.maskwrite32"


@op_definition
class NpuMaskPollOp(MaskedInstruction):
    """Wait until the bits of one word that the mask names have a value."""

    name = "aiex.npu.maskpoll"


def _place(column: int | None, row: int | None) -> dict[str, Attribute]:
    numbers = {"column": column, "row": row}
    return {name: i32_number(number) for name, number in numbers.items() if number is not None}


@op_definition
class NpuBlockWriteOp(Placed):
    """Write consecutive words, given as a constant global; with values for words it is read as `write_words`."""

    name = "aiex.npu.blockwrite"

    address = prop_def(unsigned_attr(32))
    data = operand_def(MemRefType)

    def __init__(self, data: SSAValue, address: int):
        initialize(self, (data,), {"address": register_number(address)})

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        written = parser.parse_comma_separated_list(PAREN, parser.parse_unresolved_operand)
        attributes, position = OlderAttributes.parse(parser), parser.pos
        parser.parse_punctuation(":")
        types = parse_types(parser)
        operands = parser.resolve_operands(written, types, position)
        if types and not any(isinstance(type, MemRefType) for type in types):
            operands = [attributes.take_operand("address"), *operands]
            cls = NpuWriteWordsOp
        properties, others = attributes.split(cls)
        return cls.create(operands=operands, properties=properties, attributes=others)

    def print(self, printer: Printer) -> None:
        print_operands(printer, self.operands, "()")
        print_attributes(printer, self)
        printer.print_string(" : ")
        print_types(printer, self.operand_types)


@op_definition
class NpuWriteWordsOp(ValueInstruction, Placed):
    """Write consecutive words, some of which may be known only at run time. Not in mlir-aie.

    A block write that is given its words as values is read as this.
    """

    name = "aiex.npu.write_words"

    address = operand_def(WORD_VALUE)  # of the first word
    values = var_operand_def(WORD_VALUE)

    def __init__(self, address: SSAValue, values: Sequence[SSAValue]):
        initialize(self, (address, *values))


@op_definition
class NpuSyncOp(ValueInstruction):
    """Wait for the completion token of a DMA channel; direction 0 is S2MM."""

    name = "aiex.npu.sync"

    column = operand_def(WORD_VALUE)
    row = operand_def(WORD_VALUE)
    direction = operand_def(WORD_VALUE)
    channel = operand_def(WORD_VALUE)
    column_num = operand_def(WORD_VALUE)
    row_num = operand_def(WORD_VALUE)

    def __init__(self, operands: Sequence[SSAValue]):
        initialize(self, operands)


@op_definition
class NpuWriteRTPOp(IRDLOperation):
    """Set one 32-bit runtime parameter in a core's buffer."""

    name = "aiex.npu.rtp_write"

    buffer = prop_def(FlatSymbolRefAttrConstr)
    index = prop_def(unsigned_attr(32))  # counts 4-byte words
    value = operand_def(WORD_VALUE)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser.parse_punctuation("(")
        buffer = SymbolRefAttr(parser.parse_symbol_name())
        parser.parse_punctuation(",")
        start = parser.pos
        index = parser.parse_integer(allow_boolean=False, allow_negative=False)
        if index >= 1 << 32:
            parser.raise_error("integer constant out of range for attribute", start)
        parser.parse_punctuation(",")
        written = parser.parse_optional_unresolved_operand()  # older programs write a number
        value = constant_before(parser, parser.parse_integer()) if written is None else None
        parser.parse_punctuation(")")
        attributes = dict(parser.parse_optional_attr_dict())
        if written is not None:
            parser.parse_punctuation(":")
            value = parser.resolve_operand(written, parser.parse_type())
        assert value is not None
        return cls.create(
            operands=[value], properties={"buffer": buffer, "index": IntegerAttr(index, UI32)}, attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        printer.print_attribute(self.buffer)
        printer.print_string(f", {self.index.value.data}, ")
        printer.print_ssa_value(self.value)
        printer.print_string(")")
        print_attributes(printer, self, ("buffer", "index"))
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)


OPS = [NpuWrite32Op, NpuMaskWrite32Op, NpuMaskPollOp, NpuBlockWriteOp, NpuWriteWordsOp, NpuSyncOp, NpuWriteRTPOp]
