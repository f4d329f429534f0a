"""Origins of text: offsets in a source file as MLIR locations, and locations as they are written, `loc(...)`.

An operation's location is made for every operation read and looked at for very few, so it holds an offset and finds
line and column when asked.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute
from xdsl.printer import Printer

from tilewright.ir.lexer import DIGITS, IDENTIFIER_STARTS, integer_value

if TYPE_CHECKING:
    from tilewright.ir.attribute_parser import AttributeParser

_NO_METADATA = NoneAttr()
_POSITION_BITS = 32  # of line and column numbers in MLIR


class SourceFile:
    """A named text in which an offset is a line and a column, both counted from one, columns in bytes as MLIR does."""

    def __init__(self, text: str, name: str):
        self.text = text
        self.name = StringAttr(name)
        self._one_byte_per_character = text.isascii()

    @cached_property
    def _line_starts(self) -> list[int]:
        return list(accumulate((len(line) + 1 for line in self.text.split("\n")), initial=0))

    def line_and_column(self, offset: int) -> tuple[int, int]:
        # `hi` leaves out the entry behind the last line, at which no line starts.
        line = bisect_right(self._line_starts, offset, hi=len(self._line_starts) - 1)
        start = self._line_starts[line - 1]
        # Programs are ASCII but for strings and comments: no need to encode the line.
        if self._one_byte_per_character:
            return line, offset - start + 1
        return line, len(self.text[start:offset].encode(errors="surrogateescape")) + 1

    def location(self, offset: int) -> SourceLocation:
        """The place of a character, to be read as a `FileLineColLoc`."""
        # One for every operation: the constructors of attributes would take longer than reading it.
        location = _new_location(SourceLocation)
        _set_source(location, self)
        _set_offset(location, offset)
        return location


class _Extensible:
    """Lets a class have a base that xDSL declares final: it only guards against other definitions of the attribute."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        pass


class SourceLocation(_Extensible, FileLineColLoc):
    """A `FileLineColLoc`, equal to any other of the same place, whose line and column are found on demand."""

    __slots__ = ("offset", "source")
    source: SourceFile
    offset: int

    @property
    def filename(self) -> StringAttr:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.source.name

    @property
    def line(self) -> IntAttr:  # pyright: ignore[reportIncompatibleVariableOverride]
        return IntAttr(self.source.line_and_column(self.offset)[0])

    @property
    def column(self) -> IntAttr:  # pyright: ignore[reportIncompatibleVariableOverride]
        return IntAttr(self.source.line_and_column(self.offset)[1])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SourceLocation) and other.source is self.source:
            return other.offset == self.offset
        # A range is no place, though its class derives from that of places.
        if not isinstance(other, FileLineColLoc) or isinstance(other, FileLineColRange):
            return NotImplemented
        return self.parameters == other.parameters

    def __hash__(self) -> int:
        return hash(self.parameters)

    def __repr__(self) -> str:
        line, column = self.source.line_and_column(self.offset)
        return f"SourceLocation({self.source.name.data}:{line}:{column})"


class FileLineColRange(_Extensible, FileLineColLoc):
    """A stretch of a file: a `FileLineColLoc` of its start that also knows its end."""

    end_line: IntAttr
    end_column: IntAttr

    def print_builtin(self, printer: Printer) -> None:
        with printer.in_location():
            printer.print_string_literal(self.filename.data)
            printer.print_string(f":{self.line.data}:{self.column.data} to ")
            printer.print_string("" if self.end_line == self.line else str(self.end_line.data))
            printer.print_string(f":{self.end_column.data}")

    def _ends(self) -> tuple[Attribute, ...]:
        return (*self.parameters, self.end_line, self.end_column)

    def __eq__(self, other: object) -> bool:
        return self._ends() == other._ends() if isinstance(other, FileLineColRange) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._ends())


def file_range(filename: StringAttr, line: int, column: int, end_line: int, end_column: int) -> FileLineColRange:
    found = object.__new__(FileLineColRange)
    ends = zip(("line", "column", "end_line", "end_column"), (line, column, end_line, end_column), strict=True)
    vars(found).update(filename=filename, **{name: IntAttr(value) for name, value in ends})
    return found


def fuse(locations: Iterable[LocationAttr], metadata: Attribute = _NO_METADATA) -> LocationAttr:
    """One location for several: each once, none that is unknown, and those of a fused one taken out of it."""
    # A dictionary, as a set that keeps order.
    parts: dict[LocationAttr, None] = {}
    for location in locations:
        if isinstance(location, FusedLoc) and location.metadata == metadata:
            parts.update(dict.fromkeys(cast(Iterable[LocationAttr], location.locations)))
        elif not isinstance(location, UnknownLoc):
            parts[location] = None
    # MLIR makes no fused location of one, unless metadata are attached.
    if isinstance(metadata, NoneAttr) and len(parts) < 2:
        return next(iter(parts), UNKNOWN_LOC)
    return FusedLoc(tuple(parts) or (UNKNOWN_LOC,), metadata)


_new_location = object.__new__
# The slots' own setters: attributes are frozen dataclasses, which refuse assignment.
_set_source = vars(SourceLocation)["source"].__set__
_set_offset = vars(SourceLocation)["offset"].__set__


class PendingLocation(NamedTuple):
    """A location given by an alias that was not defined yet, and what stands in for it."""

    stand_in: LocationAttr
    alias: str
    offset: int


def parse_location(parser: AttributeParser) -> LocationAttr:
    """What stands inside `loc(...)`."""
    return parser._nested(lambda: _parse_instance(parser))


def _parse_instance(parser: AttributeParser) -> LocationAttr:
    text = parser.tokens.texts[parser.tokens.index]
    if text[0] == "#":
        return as_location(parser, parser.pos, parser.parse_attribute())
    if text[0] == '"':
        return _parse_file_or_name(parser)
    match parser.parse_optional_identifier():
        case "unknown":
            return UnknownLoc()
        case "callsite":
            return _parse_call_site(parser)
        case "fused":
            return _parse_fused(parser)
        case _:
            # The error is behind what comes before this word, if it is one.
            parser.tokens.index -= text[0] in IDENTIFIER_STARTS
            return parser._fail_expecting("expected location instance")


def as_location(parser: AttributeParser, offset: int, attribute: Attribute) -> LocationAttr:
    """The attribute that stands at an offset, which must be a location."""
    if not isinstance(attribute, LocationAttr):
        parser._fail(offset, f"expected location, but found '{attribute}'")
    return attribute


def _parse_file_or_name(parser: AttributeParser) -> LocationAttr:
    name = StringAttr(parser.parse_str_literal())
    if parser.parse_optional_characters(":") is None:
        if parser.parse_optional_characters("(") is None:
            return NameLoc(name, NoneAttr())
        child = parse_location(parser)
        parser.parse_characters(")", " after child location of NameLoc")
        return NameLoc(name, NoneAttr() if isinstance(child, UnknownLoc) else child)
    line = _parse_position(parser, "line")
    column = _parse_position(parser, "column") if parser.parse_optional_characters(":") is not None else 0
    end_line, end_column = line, column
    if parser.parse_optional_keyword("to") is not None:
        # A range within one line leaves out its number: `"f":1:2 to :5`.
        end_line = line if parser.tokens.texts[parser.tokens.index] == ":" else _parse_position(parser, "line")
        parser.parse_characters(":", " in FileLineColRange")
        end_column = _parse_position(parser, "column")
    if (end_line, end_column) == (line, column):
        return FileLineColLoc(name, IntAttr(line), IntAttr(column))
    return file_range(name, line, column, end_line, end_column)


def _parse_position(parser: AttributeParser, what: str) -> int:
    text = parser.tokens.texts[parser.tokens.index]
    if text[0] not in DIGITS or "." in text or integer_value(text).bit_length() > _POSITION_BITS:
        parser._fail_expecting(f"expected integer {what} number in FileLineColRange")
    parser.tokens.index += 1
    return integer_value(text)


def _parse_call_site(parser: AttributeParser) -> CallSiteLoc:
    parser.parse_characters("(", " in callsite location")
    callee = parse_location(parser)
    if parser.parse_optional_keyword("at") is None:
        parser._fail_expecting("expected 'at' in callsite location")
    caller = parse_location(parser)
    parser.parse_characters(")", " in callsite location")
    return CallSiteLoc(callee, caller)


def _parse_fused(parser: AttributeParser) -> LocationAttr:
    metadata: Attribute = _NO_METADATA
    if parser.parse_optional_characters("<") is not None:
        metadata = parser.parse_attribute()
        parser.parse_characters(">", " after fused location metadata")
    parts = parser.parse_list(parser.Delimiter.SQUARE, lambda: parse_location(parser), context_msg=" in fused location")
    return fuse(parts, metadata)
