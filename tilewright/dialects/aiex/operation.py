"""An operation of a TXN stream, field by field: for what no instruction of its own stands for.

Streams that other tools have made hold operations that mlir-aie never writes, such as timers, and bits that nothing
reads. Whatever a layout of the format has a field for can be written here, so that any stream can be a sequence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DenseArrayBase, IntegerType, StringAttr, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, base, prop_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._mixed_indices import (
    Entries,
    join_mixed,
    parse_i64,
    parse_mixed_entries,
    print_mixed_indices,
    split_mixed,
)
from tilewright.dialects._ods import op_definition
from tilewright.dialects._syntax import PAREN, print_attributes, split_attributes
from tilewright.ir.create import initialize
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.interned import array_numbers

TXN_HEADER = "tilewright.txn_header"
"""Attribute of a device: the bytes of the header of its streams, where they are not those that the device has.

They are the version (two), the generation of the device, its rows, columns and rows of mem tiles; then 16 spare bits.
An eighth number, 1, is for version 1.0 with the address patches of version 0.1.
"""
HEADER_NUMBERS = 7, 8

Numbers = DenseArrayBase[IntegerType]


@op_definition
class NpuOperationOp(IRDLOperation):
    """Put one operation of the format into the stream. Not in mlir-aie.

    Fields that are left out are 0; its size follows from the payload. Values are for whole words.
    """

    name = "aiex.npu.operation"

    opcode = prop_def(base(StringAttr))
    names = prop_def(base(ArrayAttr[StringAttr]))
    numbers = prop_def(base(cast(type[Any], DenseArrayBase)))  # with a marker where a field is a value
    payload = prop_def(base(cast(type[Any], DenseArrayBase)))
    values = var_operand_def(i32)  # those of the fields, then those of the payload

    def __init__(self, opcode: str, fields: Mapping[str, SSAValue | int], payload: Sequence[SSAValue | int] = ()):
        of_fields, numbers = split_mixed(fields.values())
        of_payload, words = split_mixed(payload)
        properties: dict[str, Attribute] = {
            "opcode": StringAttr(opcode),
            "names": ArrayAttr([StringAttr(name) for name in fields]),
            "numbers": numbers,
            "payload": words,
        }
        initialize(self, (*of_fields, *of_payload), properties)

    @property
    def fields(self) -> dict[str, SSAValue | int]:
        """Numbers or values by the names of fields."""
        entries = join_mixed(self._split()[0], self._numbers, "field")
        return {name.data: entry for name, entry in zip(self.names, entries, strict=True)}

    @property
    def payload_words(self) -> Entries:
        """The words behind the fields."""
        return join_mixed(self._split()[1], cast(Numbers, self.payload), "payload")

    @property
    def _numbers(self) -> Numbers:
        return cast(Numbers, self.numbers)

    def _split(self) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
        count = array_numbers(self._numbers).count(DYNAMIC_INDEX)
        return self.operands[:count], self.operands[count:]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        opcode = parser.parse_identifier()
        fields = dict[str, SSAValue | int]()

        def parse_field() -> None:
            position = parser.pos
            name = parser.parse_identifier()
            if name in fields:
                parser.raise_error(f"'{name}' is given twice", position)
            parser.parse_punctuation("=")
            operand = parser.parse_optional_unresolved_operand()
            fields[name] = parse_i64(parser) if operand is None else parser.resolve_operand(operand, i32)

        parser.parse_optional_comma_separated_list(PAREN, parse_field)
        payload = parse_mixed_entries(parser, i32) if parser.parse_optional_keyword("payload") else []
        _, others = split_attributes(cls, dict(parser.parse_optional_attr_dict()))
        op = cls(opcode, fields, payload)
        op.attributes.update(others)
        return op

    def print(self, printer: Printer) -> None:
        of_fields, of_payload = self._split()
        remaining = iter(of_fields)
        printer.print_string(f" {self.opcode.data}")
        if self.names.data:
            with printer.in_parens():
                for position, (name, number) in enumerate(zip(self.names, array_numbers(self._numbers), strict=False)):
                    printer.print_string(f"{', ' if position else ''}{name.data} = ")
                    value = next(remaining, None) if number == DYNAMIC_INDEX else None
                    if value is None:
                        printer.print_string(str(number))
                    else:
                        printer.print_ssa_value(value)
        if array_numbers(cast(Numbers, self.payload)):
            printer.print_string(" payload ")
            print_mixed_indices(printer, of_payload, cast(Numbers, self.payload))
        print_attributes(printer, self, ("opcode", "names", "numbers", "payload"))

    def verify_(self) -> None:
        lists = self._numbers, cast(Numbers, self.payload)
        if any(numbers.elt_type != i64 for numbers in lists):
            raise VerifyException("expected arrays of i64 as numbers and payload")
        if len(self.names) != len(array_numbers(self._numbers)):
            raise VerifyException("expected as many names of fields as numbers")
        entries = [*self.fields.values(), *self.payload_words]  # each value has its marker, or this complains
        wrong = [entry for entry in entries if isinstance(entry, int) and not -(1 << 31) <= entry < 1 << 32]
        if wrong:
            raise VerifyException(f"{wrong[0]} is no 32-bit word")


def header_numbers(device: Operation) -> tuple[int, ...] | None:
    """What a device says about the header of its streams, if it does."""
    match device.attributes.get(TXN_HEADER):
        case DenseArrayBase() as kept if len(numbers := array_numbers(cast(Numbers, kept))) in HEADER_NUMBERS:
            return numbers
        case None:
            return None
        case _:
            fail_op(device, f"{TXN_HEADER} is an array of {HEADER_NUMBERS[0]} numbers")


OPS = [NpuOperationOp]
