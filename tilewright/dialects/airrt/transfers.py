"""Transfers between host memory and the array: one side of them, in up to four dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

from xdsl.dialects.builtin import DenseArrayBase, SymbolRefAttr, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    operand_def,
    opt_result_def,
    prop_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._mixed_indices import join_mixed, parse_mixed_entries, print_mixed_indices, split_mixed
from tilewright.dialects._ods import op_definition
from tilewright.dialects._syntax import Integers, print_attributes, segments
from tilewright.dialects.airrt.events import ANY_EVENT
from tilewright.dialects.memref.types import ANY_MEMREF

DIMS = 4
LISTS = "offsets", "lengths", "strides"
Entries: TypeAlias = "list[SSAValue | int]"
_INTEGERS = DenseArrayBase.constr(i64)


@op_definition
class DmaMemcpyNdOp(IRDLOperation):
    """Send a part of a buffer to the array or fill it from there; `metadata` names the shim's channel."""

    name = "airrt.dma_memcpy_nd"

    id = operand_def(i32)
    x = operand_def(i64)
    y = operand_def(i64)
    memref = operand_def(ANY_MEMREF)
    offsets = var_operand_def(i64)
    lengths = var_operand_def(i64)
    strides = var_operand_def(i64)
    static_offsets = prop_def(_INTEGERS)
    static_lengths = prop_def(_INTEGERS)
    static_strides = prop_def(_INTEGERS)
    event = opt_result_def(ANY_EVENT)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @property
    def metadata(self) -> SymbolRefAttr | None:
        """The allocation of the channel that the data goes through."""
        name = self.attributes.get("metadata")  # discardable: it is added when the channel is chosen
        return name if isinstance(name, SymbolRefAttr) else None

    def entries(self, name: str) -> Entries:
        """A list, `offsets`, `lengths` or `strides`, outermost first, each a number or a value."""
        values = cast("Sequence[SSAValue]", getattr(self, name))
        return join_mixed(values, cast(Integers, self.properties[f"static_{name}"]), name[:-1])

    def set_entries(self, offsets: Entries, lengths: Entries, strides: Entries) -> None:
        """Move this part of the buffer instead."""
        lists = (offsets, lengths, strides)
        dynamic = [split_mixed(entries)[0] for entries in lists]
        # id, x, y and the buffer stay
        self.operands = [*self.operands[:DIMS], *(value for values in dynamic for value in values)]
        self.properties |= _static(lists)
        self.properties[AttrSizedOperandSegments.attribute_name] = segments(1, 1, 1, 1, *map(len, dynamic))

    @classmethod
    def parse(cls, parser: Parser) -> DmaMemcpyNdOp:
        parser.parse_punctuation("(")
        plain = [parser.parse_unresolved_operand()]
        for _ in range(3):
            parser.parse_punctuation(",")
            plain.append(parser.parse_unresolved_operand())
        lists: list[Entries] = []
        # the first list follows the buffer without a comma
        for number in range(len(LISTS)):
            if number:
                parser.parse_punctuation(",")
            lists.append(parse_mixed_entries(parser, i64))
        parser.parse_punctuation(")")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        with parser.in_parens():
            types = parser.parse_comma_separated_list(Parser.Delimiter.NONE, parser.parse_type)
        results: list[Attribute] = []
        if parser.parse_optional_punctuation(":") is not None:
            results = [parser.parse_type()]
        operands = parser.resolve_operands(plain, types, parser.pos)
        dynamic = [split_mixed(entries)[0] for entries in lists]
        sizes = segments(1, 1, 1, 1, *map(len, dynamic))
        return cls.create(
            operands=[*operands, *(value for values in dynamic for value in values)],
            result_types=results,
            properties=_static(lists) | {AttrSizedOperandSegments.attribute_name: sizes},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        printer.print_list(self.operands[:DIMS], printer.print_ssa_value)
        for number, name in enumerate(LISTS):
            printer.print_string(", " if number else "")
            static = cast(Integers, self.properties[f"static_{name}"])
            print_mixed_indices(printer, cast("Sequence[SSAValue]", getattr(self, name)), static)
        printer.print_string(")")
        print_attributes(printer, self, tuple(f"static_{name}" for name in LISTS))
        printer.print_string(" : (")
        printer.print_list([value.type for value in self.operands[:DIMS]], printer.print_attribute)
        printer.print_string(")")
        if self.event is not None:
            printer.print_string(" : ")
            printer.print_attribute(self.event.type)

    def verify_(self) -> None:
        for name in LISTS:
            entries = self.entries(name)
            if len(entries) != DIMS:
                raise VerifyException(f"expected {DIMS} {name}, got {len(entries)}")


def _static(lists: Sequence[Entries]) -> dict[str, Attribute]:
    """The numbers of the lists, with a marker where a value stands."""
    return {f"static_{name}": split_mixed(entries)[1] for name, entries in zip(LISTS, lists, strict=True)}


OPS: Sequence[type[IRDLOperation]] = [DmaMemcpyNdOp]
