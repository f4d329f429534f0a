"""Copies between buffers that tokens hold back: from the host, to it, and from tile to tile.

`aiex.memcpy @free(1, 0), @full(0, 1) (%shim : <%a, 0, 64>, %core : <%b, 0, 64>) : (memref<64xi32>, memref<64xi32>)`
takes 1 from @free, copies and gives 1 to @full. mlir-aie has one token, one destination and constants. Here there may
be more tokens and more destinations; offsets, lengths, sizes and strides may be values, whose types follow those of the
buffers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    FlatSymbolRefAttrConstr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    SymbolRefAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    base,
    eq,
    operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from tilewright.dialects._ods import i32_attr, op_definition
from tilewright.dialects._syntax import INDEX, parse_i32, print_attributes, split_attributes
from tilewright.dialects.aie.interfaces import SkipAccessibilityCheck
from tilewright.ir.diagnostics import VerifyError
from tilewright.ir.interned import integer_array

NUMBER = eq(i32) | eq(i64) | base(IndexType)
AT_RUN_TIME = -(1 << 31)
"""Stands in an i32 property for a number that an operand gives."""
I64_ARRAY = base(DenseArrayBase)


SPELT_OUT = (
    *("tokenName", "acqValue", "relValue", "srcOffset", "srcLen", "dstOffset", "dstLen"),
    *("otherTokens", "otherOffsets", "otherLens", "sizes", "strides"),
)


class TokenUse(NamedTuple):
    """How much a copy takes from a token before it starts, and gives to it when it is done."""

    name: str
    acquired: int
    released: int


@dataclass(frozen=True)
class CopyEnd:
    """Part of a buffer of a tile. Everything counts elements; sizes and strides list the outermost dimension first."""

    tile: SSAValue
    buffer: SSAValue
    offset: SSAValue | int
    length: SSAValue | int
    sizes: Sequence[SSAValue | int] = ()
    strides: Sequence[SSAValue | int] = ()

    @property
    def numbers(self) -> tuple[SSAValue | int, ...]:
        return (self.offset, self.length, *self.sizes, *self.strides)


@op_definition
class MemcpyOp(IRDLOperation):
    """Copy from a buffer of one tile to buffers of others, once tokens allow it, and tell so by tokens."""

    name = "aiex.memcpy"

    token_name = prop_def(FlatSymbolRefAttrConstr, prop_name="tokenName")
    acquire_value = prop_def(i32_attr(), prop_name="acqValue")
    release_value = prop_def(i32_attr(), prop_name="relValue")
    other_tokens = opt_prop_def(ArrayAttr, prop_name="otherTokens")  # [[@name, acquired, released], ..]
    source_tile = operand_def(INDEX)
    source = operand_def(MemRefType)
    destination_tiles = var_operand_def(INDEX)
    destinations = var_operand_def(MemRefType)
    numbers = var_operand_def(NUMBER)  # those known at run time only, in the order of `ends`
    source_offset = prop_def(i32_attr(), prop_name="srcOffset")
    source_length = prop_def(i32_attr(), prop_name="srcLen")
    destination_offset = prop_def(i32_attr(), prop_name="dstOffset")
    destination_length = prop_def(i32_attr(), prop_name="dstLen")
    other_offsets = opt_prop_def(I64_ARRAY, prop_name="otherOffsets")  # of the destinations after the first
    other_lengths = opt_prop_def(I64_ARRAY, prop_name="otherLens")
    sizes = opt_prop_def(ArrayAttr)  # a list for each end, where some end has one
    strides = opt_prop_def(ArrayAttr)

    traits = traits_def(SkipAccessibilityCheck())  # it names the tiles of its buffers itself
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(self, tokens: Sequence[TokenUse], ends: Sequence[CopyEnd]):
        source, *others = ends
        values = [number for end in ends for number in end.numbers if isinstance(number, SSAValue)]
        super().__init__(
            operands=[source.tile, source.buffer, [end.tile for end in others], [end.buffer for end in others], values],
            properties=_token_properties(tokens) | _end_properties(ends),
        )

    @property
    def token_uses(self) -> list[TokenUse]:
        first = TokenUse(
            self.token_name.root_reference.data, self.acquire_value.value.data, self.release_value.value.data
        )
        return [first, *(_read_token(entry) for entry in self.other_tokens or ())]

    @property
    def ends(self) -> list[CopyEnd]:
        """The source, then the destinations."""
        tiles, buffers = [self.source_tile, *self.destination_tiles], [self.source, *self.destinations]
        values = iter(self.numbers)  # each end takes its own, in the order in which they are written
        return [
            make_end(tile, buffer, _mixed(scalars, values), _mixed(sizes, values), _mixed(strides, values))
            for tile, buffer, scalars, sizes, strides in zip(
                tiles, buffers, self._scalars(), self._lists(self.sizes), self._lists(self.strides), strict=True
            )
        ]

    def _scalars(self) -> list[tuple[int, int]]:
        """Offset and length of each end."""
        source = self.source_offset.value.data, self.source_length.value.data
        first = self.destination_offset.value.data, self.destination_length.value.data
        others = zip(_integers(self.other_offsets), _integers(self.other_lengths), strict=True)
        return [source, first, *others]

    def _lists(self, lists: ArrayAttr | None) -> list[Sequence[int]]:
        if lists is None:
            return [()] * (1 + len(self.destinations))
        return [_integers(cast(DenseArrayBase, entry)) for entry in lists]

    def verify_(self) -> None:
        if not all(_is_token(entry) for entry in self.other_tokens or ()):
            raise VerifyError("needs a name and two numbers for each token")
        self._verify_ends()
        sizes, strides = self._lists(self.sizes), self._lists(self.strides)
        if any(len(size) != len(stride) for size, stride in zip(sizes, strides, strict=True)):
            raise VerifyError("needs as many strides as sizes")
        everything = [number for pair in self._scalars() for number in pair]
        everything += [number for entry in (*sizes, *strides) for number in entry]
        # before anything reads `ends`, which would run out of values
        if sum(_is_marker(number) for number in everything) != len(self.numbers):
            raise VerifyError("needs an operand for each number that is known at run time")

    def _verify_ends(self) -> None:
        ends, others = 1 + len(self.destinations), len(self.destinations) - 1
        if ends < 2 or len(self.destination_tiles) != len(self.destinations):
            raise VerifyError("needs a tile for each of its destinations, of which there must be one")
        arrays = self.other_offsets, self.other_lengths
        if any(len(_integers(array)) != others or not (array is None or _is_list(array)) for array in arrays):
            raise VerifyError("needs an offset and a length for each end")
        lists = [lists for lists in (self.sizes, self.strides) if lists is not None]
        if any(len(entries) != ends or not all(map(_is_list, entries)) for entries in lists):
            raise VerifyError("needs a list of sizes and one of strides for each end")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        tokens = parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: _parse_token(parser))
        written = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_end(parser))
        if len(written) < 2:
            parser.raise_error("expected a source and a destination")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        position = parser.pos
        types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        op = cls(tokens, _resolve(parser, written, types, position))
        properties, op.attributes = split_attributes(cls, attributes)
        op.properties.update(properties)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        uses = (f"@{use.name}({use.acquired}, {use.released})" for use in self.token_uses)
        printer.print_string(", ".join(uses))
        printer.print_string(" (")
        printer.print_list(self.ends, lambda end: _print_end(printer, end))
        printer.print_string(")")
        print_attributes(printer, self, elided=SPELT_OUT)
        printer.print_string(" : (")
        values = (self.source, *self.destinations, *self.numbers)
        printer.print_list([value.type for value in values], printer.print_attribute)
        printer.print_string(")")


def _token_properties(tokens: Sequence[TokenUse]) -> dict[str, Attribute | None]:
    first, *others = tokens
    written = [
        ArrayAttr([SymbolRefAttr(use.name), IntegerAttr(use.acquired, i32), IntegerAttr(use.released, i32)])
        for use in others
    ]
    # the first stands in properties of its own, the only ones that upstream has
    return {
        "tokenName": SymbolRefAttr(first.name),
        "acqValue": IntegerAttr(first.acquired, i32),
        "relValue": IntegerAttr(first.released, i32),
        "otherTokens": ArrayAttr(written) if others else None,
    }


def _read_token(entry: Attribute) -> TokenUse:
    name, acquired, released = cast(ArrayAttr[Attribute], entry)
    assert isinstance(name, SymbolRefAttr) and isinstance(acquired, IntegerAttr) and isinstance(released, IntegerAttr)
    return TokenUse(name.root_reference.data, acquired.value.data, released.value.data)


def _end_properties(ends: Sequence[CopyEnd]) -> dict[str, Attribute | None]:
    source, first, *others = ends
    has_lists = any(end.sizes or end.strides for end in ends)
    return {
        "srcOffset": _scalar(source.offset),
        "srcLen": _scalar(source.length),
        "dstOffset": _scalar(first.offset),
        "dstLen": _scalar(first.length),
        "otherOffsets": _array([end.offset for end in others]) if others else None,
        "otherLens": _array([end.length for end in others]) if others else None,
        "sizes": ArrayAttr([_array(end.sizes) for end in ends]) if has_lists else None,
        "strides": ArrayAttr([_array(end.strides) for end in ends]) if has_lists else None,
    }


def _scalar(number: SSAValue | int) -> Attribute:
    return IntegerAttr(number if isinstance(number, int) else AT_RUN_TIME, i32)


def _array(numbers: Sequence[SSAValue | int]) -> DenseArrayBase[IntegerType]:
    return integer_array(i64, tuple(n if isinstance(n, int) else DYNAMIC_INDEX for n in numbers))


def _integers(array: DenseArrayBase | None) -> Sequence[int]:
    return () if array is None else cast(DenseArrayBase[IntegerType], array).get_values()


def _is_token(entry: Attribute) -> bool:
    kinds = SymbolRefAttr, IntegerAttr, IntegerAttr
    parts = list(cast(ArrayAttr[Attribute], entry)) if isinstance(entry, ArrayAttr) else []
    return len(parts) == len(kinds) and all(map(isinstance, parts, kinds))


def _is_list(entry: Attribute) -> bool:
    return isinstance(entry, DenseArrayBase) and cast(DenseArrayBase[IntegerType], entry).elt_type == i64


def make_end(
    tile: SSAValue,
    buffer: SSAValue,
    scalars: Sequence[SSAValue | int],
    sizes: Sequence[SSAValue | int],
    strides: Sequence[SSAValue | int],
) -> CopyEnd:
    offset, length = scalars
    return CopyEnd(tile, buffer, offset, length, sizes, strides)


def _is_marker(number: int) -> bool:
    return number in (AT_RUN_TIME, DYNAMIC_INDEX)


def _mixed(numbers: Sequence[int], values: Iterator[SSAValue]) -> list[SSAValue | int]:
    return [next(values) if _is_marker(number) else number for number in numbers]


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
    with parser.in_parens():
        acquired = parse_i32(parser).value.data
        parser.parse_punctuation(",")
        return TokenUse(name, acquired, parse_i32(parser).value.data)


def _parse_end(parser: Parser) -> _WrittenEnd:
    tile = parser.parse_unresolved_operand()
    parser.parse_punctuation(":")
    with parser.in_angle_brackets():
        buffer = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        offset = _parse_number(parser)
        parser.parse_punctuation(",")
        length = _parse_number(parser)
        sizes, strides = (_parse_list(parser, name) for name in ("sizes", "strides"))
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
        for end, type in zip(written, types, strict=False)  # the types behind those of buffers are the numbers'
    ]


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


OPS: Sequence[type[IRDLOperation]] = [MemcpyOp]
