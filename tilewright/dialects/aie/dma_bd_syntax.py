"""Syntax of `aie.dma_bd`: read in today's form and in the two before it, printed in today's.

Today: `(%b : T offset = 0 len = %n sizes = [..] strides = [..] pad [..])`. Before, everything was positional and
constant: `(%b : T, 0, 32, [<size = 2, stride = 16>, ..], [<const_pad_before = 1, const_pad_after = 0>, ..])`. In
between, run-time values came after that: `dyn_offset(%o : i64) dyn_len(%n : i64) dyn_sizes(..) dyn_strides(..)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerAttr, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer

from tilewright.dialects._mixed_indices import (
    parse_mixed_entries,
    parse_optional_numbers,
    print_mixed_indices,
    split_mixed,
)
from tilewright.dialects._syntax import (
    parse_i32,
    parse_optional_i32,
    parse_types,
    print_attributes,
    print_values_and_types,
    segments,
    split_attributes,
)
from tilewright.dialects.aie.attributes import BDDimLayoutArrayAttr, BDPadLayoutArrayAttr
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.ir.interned import integer_array

BdT = TypeVar("BdT", bound=DmaBdOp)


@dataclass
class _Parts:
    """What the text says, on its way to operands and properties."""

    offset: SSAValue | None = None
    len: SSAValue | None = None
    sizes: list[SSAValue] = field(default_factory=list[SSAValue])
    strides: list[SSAValue] = field(default_factory=list[SSAValue])
    properties: dict[str, Attribute] = field(default_factory=dict[str, Attribute])

    def set_dimensions(self, dimensions: Attribute) -> None:
        assert isinstance(dimensions, BDDimLayoutArrayAttr)
        columns = zip(*(dimension.numbers() for dimension in dimensions), strict=True)
        # not strict: an empty pattern has no columns, and such a descriptor no lists
        for name, numbers in zip(("static_sizes", "static_strides"), columns, strict=False):
            self.properties[name] = integer_array(i64, numbers)


def parse_dma_bd(parser: Parser, op_type: type[BdT]) -> BdT:
    parts = _Parts()
    parser.parse_punctuation("(")
    operand = parser.parse_unresolved_operand()
    parser.parse_punctuation(":")
    buffer = parser.resolve_operand(operand, parser.parse_type())
    if parser.parse_optional_punctuation(",") is not None:  # today's form has no commas
        _parse_positional(parser, parts)
    else:
        _parse_keywords(parser, parts)
    parser.parse_punctuation(")")
    _parse_dynamic(parser, parts)
    attributes = parser.parse_optional_attr_dict()
    if attributes:
        properties, attributes = split_attributes(op_type, _rename(attributes, parts))
        parts.properties |= properties
    scalars = [value for value in (parts.offset, parts.len) if value is not None]
    sizes = segments(1, int(parts.offset is not None), int(parts.len is not None), len(parts.sizes), len(parts.strides))
    parts.properties["operandSegmentSizes"] = sizes
    operands = [buffer, *scalars, *parts.sizes, *parts.strides]
    return op_type.create(operands=operands, properties=parts.properties, attributes=attributes)


def _parse_keywords(parser: Parser, parts: _Parts) -> None:
    if _parse_name(parser, "offset"):
        parts.offset = _parse_scalar(parser, "static_offset", parts)
    if _parse_name(parser, "len"):
        parts.len = _parse_scalar(parser, "static_len", parts)
    if _parse_name(parser, "sizes"):
        parts.properties["static_sizes"] = _parse_list(parser, parts.sizes)
    if _parse_name(parser, "strides"):
        parts.properties["static_strides"] = _parse_list(parser, parts.strides)
    if parser.parse_optional_keyword("pad") is not None:
        parts.properties["pad_dimensions"] = _parse_padding(parser)


def _parse_name(parser: Parser, name: str) -> bool:
    if parser.parse_optional_keyword(name) is None:
        return False
    parser.parse_punctuation("=")
    return True


def _parse_scalar(parser: Parser, name: str, parts: _Parts) -> SSAValue | None:
    if (number := parse_optional_i32(parser)) is not None:
        parts.properties[name] = number
        return None
    return parser.resolve_operand(parser.parse_unresolved_operand(), i32)


def _parse_list(parser: Parser, values: list[SSAValue]) -> Attribute:
    if (numbers := parse_optional_numbers(parser)) is not None:
        return integer_array(i64, numbers)
    found, integers = split_mixed(parse_mixed_entries(parser, i64))
    values += found
    return integers


def _parse_padding(parser: Parser) -> BDPadLayoutArrayAttr:
    return BDPadLayoutArrayAttr.new(BDPadLayoutArrayAttr.parse_parameters(parser))


def _parse_positional(parser: Parser, parts: _Parts) -> None:
    """What follows the first comma of the older form."""
    parts.properties["static_offset"] = parse_i32(parser)
    if parser.parse_optional_punctuation(",") is None:
        return
    parts.properties["static_len"] = parse_i32(parser)
    if parser.parse_optional_punctuation(",") is None:
        return
    parts.set_dimensions(BDDimLayoutArrayAttr.new(BDDimLayoutArrayAttr.parse_parameters(parser)))
    if parser.parse_optional_punctuation(",") is None:
        return
    parts.properties["pad_dimensions"] = _parse_padding(parser)
    if parser.parse_optional_punctuation(",") is None:
        return
    # a generation in which each descriptor had one; 0 says what is so anyway
    parser.parse_keyword("pad_value")
    parser.parse_punctuation("=")
    start = parser.pos
    if parser.parse_integer(allow_boolean=False) != 0:
        parser.raise_error("a pad value belongs to the channel: write it on the descriptor's aie.dma_start", start)


def _parse_dynamic(parser: Parser, parts: _Parts) -> None:
    """The values of the form in between, which override the constants before them."""
    start = parser.pos
    offset, length = _parse_typed_operands(parser, "dyn_offset"), _parse_typed_operands(parser, "dyn_len")
    sizes, strides = _parse_typed_operands(parser, "dyn_sizes"), _parse_typed_operands(parser, "dyn_strides")
    if parser.pos == start:
        return  # nearly always
    if len(sizes) != len(strides):
        parser.raise_error("dyn_sizes and dyn_strides must have the same number of operands", start)
    if sizes and "static_sizes" in parts.properties:
        text = "dyn_sizes/dyn_strides and the static `dimensions` attribute are mutually exclusive"
        parser.raise_error(text, start)
    if (offset or length or sizes) and "pad_dimensions" in parts.properties:
        parser.raise_error("pad_dimensions is incompatible with dynamic dma_bd operands", start)
    if offset:
        parts.offset = offset[0]
        parts.properties.pop("static_offset", None)
    if length:
        parts.len = length[0]
        parts.properties.pop("static_len", None)
    if sizes:  # these lists had values only
        parts.sizes, parts.strides = sizes, strides
        for name in ("static_sizes", "static_strides"):
            parts.properties[name] = DenseArrayBase.from_list(i64, [DYNAMIC_INDEX] * len(sizes))


def _parse_typed_operands(parser: Parser, keyword: str) -> list[SSAValue]:
    """`keyword(%a, %b : i64, i64)`, or nothing."""
    if parser.parse_optional_keyword(keyword) is None:
        return []
    parser.parse_punctuation("(")
    operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
    parser.parse_punctuation(":")
    start = parser.pos
    types = parse_types(parser)
    parser.parse_punctuation(")")
    return list(parser.resolve_operands(operands, types, start))


def _rename(attributes: dict[str, Attribute], parts: _Parts) -> dict[str, Attribute]:
    """Attributes that had other names in the older forms."""
    if (dimensions := attributes.pop("dimensions", None)) is not None:
        parts.set_dimensions(dimensions)
    for old, new in (("offset", "static_offset"), ("len", "static_len")):
        if old in attributes:
            attributes[new] = attributes.pop(old)
    return attributes


SPELT_OUT = ("static_offset", "static_len", "static_sizes", "static_strides", "pad_dimensions")
NO_SIZES = DenseArrayBase.from_list(i64, [])


def print_dma_bd(printer: Printer, op: DmaBdOp) -> None:
    typed = _typed_values(op)
    printer.print_string("(")
    printer.print_ssa_value(op.buffer)
    printer.print_string(" : ")
    printer.print_attribute(op.buffer.type)
    for name, value, number in (("offset", op.offset, op.static_offset), ("len", op.len, op.static_len)):
        _print_scalar(printer, name, None if name in typed else value, number)
    for name, values, numbers in (
        ("sizes", op.sizes, op.static_sizes),
        ("strides", op.strides, op.static_strides),
    ):
        if name not in typed and (values or numbers is not None):
            printer.print_string(f" {name} = ")
            print_mixed_indices(printer, values, numbers or NO_SIZES)
    if op.pad_dimensions is not None:
        printer.print_string(" pad ")
        op.pad_dimensions.print_parameters(printer)
    printer.print_string(")")
    for name, values in typed.items():
        printer.print_string(f" dyn_{name}(")
        print_values_and_types(printer, values)
        printer.print_string(")")
    print_attributes(printer, op, elided=SPELT_OUT)


def _typed_values(op: DmaBdOp) -> dict[str, Sequence[SSAValue]]:
    """The values that have to be printed with their types, by what they are."""
    scalars = {name: [value] for name, value in (("offset", op.offset), ("len", op.len)) if value is not None}
    # today's form has no room for types: a value in it is an i32, which those of older programs need not be
    if all(value.type == i32 for values in scalars.values() for value in values):
        return {}
    lists = {"sizes": op.sizes, "strides": op.strides}
    only_values = all(isinstance(entry, SSAValue) for entry in (*op.mixed_sizes, *op.mixed_strides))
    return {**scalars, **(lists if op.sizes and only_values else {})}


def _print_scalar(printer: Printer, name: str, value: SSAValue | None, number: IntegerAttr | None) -> None:
    if value is not None:
        printer.print_string(f" {name} = ")
        printer.print_ssa_value(value)
    elif number is not None:
        printer.print_string(f" {name} = {number.value.data}")
