"""Locations as they are written: `loc(...)`."""

from __future__ import annotations

from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import (
    CallSiteLoc,
    FileLineColLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute

from tilewright.ir.elements_parser import ElementsParser
from tilewright.ir.lexer import DIGITS, IDENTIFIER_STARTS, integer_value
from tilewright.ir.locations import file_range, fuse

_POSITION_BITS = 32


class PendingLocation(NamedTuple):
    """A location given by an alias that was not defined yet, and what stands in for it."""

    stand_in: LocationAttr
    alias: str
    offset: int


class LocationParser(ElementsParser):
    """The part of the reader that knows locations."""

    pending_locations: dict[int, PendingLocation]
    """By the id of what stands in for them."""

    def __init__(self, ctx: Context, input: str | bytes, name: str = "<unknown>"):
        super().__init__(ctx, input, name)
        self.pending_locations = {}

    def parse_optional_location(self) -> LocationAttr | None:
        """`loc(...)`, if present. An alias may be defined further down: then a stand-in, until the file is read."""
        tokens = self.tokens
        if tokens.texts[tokens.index] != "loc":
            return None
        tokens.index += 1
        self.parse_characters("(", " in location")
        text = tokens.texts[tokens.index]
        if text[0] == "#" and "." not in text and text not in self.attribute_aliases:
            found: LocationAttr = object.__new__(UnknownLoc)
            self.pending_locations[id(found)] = PendingLocation(found, text, self.pos)
            tokens.index += 1
        else:
            found = self._parse_location()
        self.parse_characters(")", " in location")
        return found

    def _parse_location_attr(self) -> LocationAttr:
        self.parse_characters("(", " in inline location")
        found = self._parse_location()
        self.parse_characters(")", " in inline location")
        return found

    def _parse_location(self) -> LocationAttr:
        return self._nested(self._parse_location_instance)

    def _parse_location_instance(self) -> LocationAttr:
        start = self.pos
        text = self.tokens.texts[self.tokens.index]
        if text[0] == "#":
            return self.check_location(start, self.parse_attribute())
        if text[0] == '"':
            return self._parse_file_or_name_location()
        match self.parse_optional_identifier():
            case "unknown":
                return UnknownLoc()
            case "callsite":
                return self._parse_call_site()
            case "fused":
                return self._parse_fused()
            case _:
                self.tokens.index -= text[0] in IDENTIFIER_STARTS
                return self._fail_expecting("expected location instance")

    def check_location(self, offset: int, attribute: Attribute) -> LocationAttr:
        if not isinstance(attribute, LocationAttr):
            self._fail(offset, f"expected location, but found '{attribute}'")
        return attribute

    def _parse_file_or_name_location(self) -> LocationAttr:
        name = StringAttr(self.parse_str_literal())
        if self.parse_optional_characters(":") is None:
            if self.parse_optional_characters("(") is None:
                return NameLoc(name, NoneAttr())
            child = self._parse_location()
            self.parse_characters(")", " after child location of NameLoc")
            return NameLoc(name, NoneAttr() if isinstance(child, UnknownLoc) else child)
        line = self._parse_position("line")
        column = self._parse_position("column") if self.parse_optional_characters(":") is not None else 0
        if self.parse_optional_keyword("to") is None:
            return FileLineColLoc(name, IntAttr(line), IntAttr(column))
        end_line = line if self.tokens.texts[self.tokens.index] == ":" else self._parse_position("line")
        self.parse_characters(":", " in FileLineColRange")
        end_column = self._parse_position("column")
        if (end_line, end_column) == (line, column):
            return FileLineColLoc(name, IntAttr(line), IntAttr(column))
        return file_range(name, line, column, end_line, end_column)

    def _parse_position(self, what: str) -> int:
        text = self.tokens.texts[self.tokens.index]
        if text[0] not in DIGITS or "." in text or integer_value(text).bit_length() > _POSITION_BITS:
            self._fail_expecting(f"expected integer {what} number in FileLineColRange")
        self.tokens.index += 1
        return integer_value(text)

    def _parse_call_site(self) -> CallSiteLoc:
        self.parse_characters("(", " in callsite location")
        callee = self._parse_location()
        if self.parse_optional_keyword("at") is None:
            self._fail_expecting("expected 'at' in callsite location")
        caller = self._parse_location()
        self.parse_characters(")", " in callsite location")
        return CallSiteLoc(callee, caller)

    def _parse_fused(self) -> LocationAttr:
        metadata: Attribute = NoneAttr()
        if self.parse_optional_characters("<") is not None:
            metadata = self.parse_attribute()
            self.parse_characters(">", " after fused location metadata")
        parts = self.parse_list(self.Delimiter.SQUARE, self._parse_location, context_msg=" in fused location")
        return fuse(parts, metadata)
