"""Reading and printing `aiex.memcpy`: tokens, then a source and destinations, then the types of buffers and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from tilewright.dialects._syntax import parse_i32, print_attributes, split_attributes

from .token_memcpy import CopyEnd, MemcpyOp, TokenUse, make_end

INDEX = IndexType()
SPELT_OUT = (
    *("tokenName", "acqValue", "relValue", "srcOffset", "srcLen", "dstOffset", "dstLen"),
    *("otherTokens", "otherOffsets", "otherLens", "sizes", "strides"),
)
MemcpyT = TypeVar("MemcpyT", bound=MemcpyOp)


def parse_memcpy(parser: Parser, op_type: type[MemcpyT]) -> MemcpyT:
    tokens = parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: _parse_token(parser))
    written = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_end(parser))
    if len(written) < 2:
        parser.raise_error("expected a source and a destination")
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    position = parser.pos
    types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    op = op_type(tokens, _resolve(parser, written, types, position))
    properties, op.attributes = split_attributes(op_type, attributes)
    op.properties.update(properties)
    return op


def print_memcpy(printer: Printer, op: MemcpyOp) -> None:
    printer.print_string(" ")
    printer.print_list(op.token_uses, lambda use: printer.print_string(_token_text(use)))
    printer.print_string(" (")
    printer.print_list(op.ends, lambda end: _print_end(printer, end))
    printer.print_string(")")
    print_attributes(printer, op, elided=SPELT_OUT)
    printer.print_string(" : (")
    values = (op.source, *op.destinations, *op.numbers)
    printer.print_list([value.type for value in values], printer.print_attribute)
    printer.print_string(")")


@dataclass(frozen=True)
class _WrittenEnd:
    """An end as the text has it: values have no types yet."""

    tile: UnresolvedOperand
    buffer: UnresolvedOperand
    scalars: Sequence[UnresolvedOperand | int]
    sizes: Sequence[UnresolvedOperand | int]
    strides: Sequence[UnresolvedOperand | int]


def _parse_token(parser: Parser) -> TokenUse:
    name = parser.parse_symbol_name().data
    parser.parse_punctuation("(")
    acquired = parse_i32(parser).value.data
    parser.parse_punctuation(",")
    released = parse_i32(parser).value.data
    parser.parse_punctuation(")")
    return TokenUse(name, acquired, released)


def _parse_end(parser: Parser) -> _WrittenEnd:
    tile = parser.parse_unresolved_operand()
    parser.parse_punctuation(":")
    parser.parse_punctuation("<")
    buffer = parser.parse_unresolved_operand()
    parser.parse_punctuation(",")
    offset = _parse_number(parser)
    parser.parse_punctuation(",")
    length = _parse_number(parser)
    sizes, strides = (_parse_list(parser, name) for name in ("sizes", "strides"))
    parser.parse_punctuation(">")
    return _WrittenEnd(tile, buffer, (offset, length), sizes, strides)


def _parse_list(parser: Parser, name: str) -> Sequence[UnresolvedOperand | int]:
    if parser.parse_optional_keyword(name) is None:
        return ()
    parser.parse_punctuation("=")
    return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_number(parser))


def _parse_number(parser: Parser) -> UnresolvedOperand | int:
    operand = parser.parse_optional_unresolved_operand()
    return parser.parse_integer(allow_boolean=False) if operand is None else operand


def _resolve(
    parser: Parser, written: Sequence[_WrittenEnd], types: Sequence[Attribute], position: int
) -> list[CopyEnd]:
    """Ends with their values; the types are those of the buffers, then those of the numbers."""
    numbers = [n for end in written for n in (*end.scalars, *end.sizes, *end.strides)]
    values = [number for number in numbers if not isinstance(number, int)]
    if len(types) != len(written) + len(values):
        parser.raise_error(
            f"expected {len(written)} types of buffers and {len(values)} of numbers, got {len(types)}", position
        )
    number_types = iter(types[len(written) :])

    def resolve(numbers: Sequence[UnresolvedOperand | int]) -> list[SSAValue | int]:
        return [n if isinstance(n, int) else parser.resolve_operand(n, next(number_types)) for n in numbers]

    return [
        make_end(
            parser.resolve_operand(end.tile, INDEX),
            parser.resolve_operand(end.buffer, type),
            resolve(end.scalars),
            resolve(end.sizes),
            resolve(end.strides),
        )
        for end, type in zip(written, types, strict=False)
    ]


def _token_text(use: TokenUse) -> str:
    return f"@{use.name}({use.acquired}, {use.released})"


def _print_end(printer: Printer, end: CopyEnd) -> None:
    printer.print_ssa_value(end.tile)
    printer.print_string(" : <")
    printer.print_ssa_value(end.buffer)
    for number in (end.offset, end.length):
        printer.print_string(", ")
        _print_number(printer, number)
    for name, numbers in (("sizes", end.sizes), ("strides", end.strides)):
        if numbers:
            printer.print_string(f" {name} = [")
            printer.print_list(numbers, lambda number: _print_number(printer, number))
            printer.print_string("]")
    printer.print_string(">")


def _print_number(printer: Printer, number: SSAValue | int) -> None:
    if isinstance(number, int):
        printer.print_string(str(number))
    else:
        printer.print_ssa_value(number)
