"""Builtin attributes of MLIR, locations among them, and the way to those of dialects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn, TypeVar, cast

from immutabledict import immutabledict
from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    CallSiteLoc,
    DictionaryAttr,
    FileLineColLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StridedLayoutAttr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    UnknownLoc,
    UnregisteredAttr,
)
from xdsl.ir import Attribute, Data, ParametrizedAttribute

from tilewright.ir.affine_parser import AffineParser
from tilewright.ir.locations import file_range, fuse
from tilewright.ir.token_parser import DIGITS, IDENTIFIER_STARTS
from tilewright.ir.type_parser import FALSE, TRUE

UNIT = UnitAttr()

_AttributeT = TypeVar("_AttributeT", bound=Attribute)


class PendingLocation(NamedTuple):
    """A location given by an alias that was not defined yet, and what stands in for it."""

    stand_in: LocationAttr
    alias: str
    offset: int


class AttributeParser(AffineParser):
    """The part of the reader that knows attributes."""

    pending_locations: dict[int, PendingLocation]
    """By the id of what stands in for them."""

    def __init__(self, ctx: Context, input: str | bytes, name: str = "<unknown>"):
        super().__init__(ctx, input, name)
        self.pending_locations = {}
        self._attributes: dict[str, Attribute] = {"true": TRUE, "false": FALSE, "unit": UNIT}
        self._spelled_attributes: dict[str, Attribute] = {}
        self._keyword_attributes: dict[str, Callable[[], Attribute]] = {
            "dense": self._parse_builtin_dense_attr,
            "array": self._parse_builtin_densearray_attr,
            "affine_map": self._parse_builtin_affine_map,
            "affine_set": self._parse_builtin_affine_set,
            "strided": self._parse_strided_layout_attr,
            "dense_resource": self._parse_builtin_dense_resource_attr,
            "opaque": self._parse_builtin_opaque_attr,
            "loc": self._parse_location_attr,
        }

    def parse_optional_attribute(self) -> Attribute | None:
        tokens = self.tokens
        text = tokens.texts[tokens.index]
        found = self._attributes.get(text)
        if found is not None:
            tokens.index += 1
            return found
        first = text[0]
        if first in DIGITS or first == "-":
            return self._parse_number_attr()
        if first in IDENTIFIER_STARTS:
            keyword = self._keyword_attributes.get(text)
            return self.parse_optional_type() if keyword is None else self._parse_keyword_attr(text, keyword)
        if first == "#":
            return self._read_symbol(text, self._spelled_attributes, is_type=False)
        if first == '"':
            return self._parse_string_attr(text)
        if first == "@":
            return self._parse_optional_symref_attr()
        if first == "[":
            return self._nested(self._parse_array_attr)
        if first == "{":
            return self._nested(self._parse_builtin_dict_attr)
        return self.parse_optional_type()

    def parse_attribute(self) -> Attribute:
        found = self.parse_optional_attribute()
        if found is None:
            self._fail_expecting("expected attribute value")
        return found

    def _parse_optional_builtin_attr(self) -> Attribute | None:
        return self.parse_optional_attribute()

    def _parse_keyword_attr(self, text: str, parse: Callable[[], Attribute]) -> Attribute:
        def skip_keyword() -> Attribute:
            self.tokens.index += 1
            return parse()

        if text == "affine_map":
            return self._read_once(self._spelled_attributes, skip_keyword)
        return self._nested(skip_keyword)

    def _parse_string_attr(self, text: str) -> Attribute:
        value = self.parse_optional_str_literal()
        if value is None:
            raw = self.parse_optional_bytes_literal()
            assert raw is not None
            return BytesAttr(raw)
        found = self._attributes[text] = StringAttr(value)
        return found

    def _parse_optional_string_attr(self) -> StringAttr | None:
        value = self.parse_optional_str_literal()
        return None if value is None else StringAttr(value)

    def _parse_array_attr(self) -> ArrayAttr:
        tokens = self.tokens
        tokens.index += 1
        if tokens.texts[tokens.index] == "]":
            tokens.index += 1
            return ArrayAttr(())
        elements = [self.parse_attribute()]
        while tokens.texts[tokens.index] == ",":
            tokens.index += 1
            elements.append(self.parse_attribute())
        if tokens.texts[tokens.index] != "]":
            self._fail_expecting("expected ',' or ']'")
        tokens.index += 1
        return ArrayAttr(elements)

    def _parse_optional_array_attr(self) -> ArrayAttr | None:
        return self._nested(self._parse_array_attr) if self.tokens.texts[self.tokens.index] == "[" else None

    def _parse_optional_symref_attr(self) -> SymbolRefAttr | None:
        root = self.parse_optional_symbol_name()
        if root is None:
            return None
        tokens = self.tokens
        nested: list[StringAttr] = []
        while tokens.texts[tokens.index] == ":" and tokens.texts[tokens.index + 1] == ":":
            tokens.index += 2
            nested.append(self.parse_symbol_name())
        return SymbolRefAttr(root, ArrayAttr(nested))

    def _parse_attribute_entry(self) -> tuple[str, Attribute]:
        tokens = self.tokens
        name = tokens.texts[tokens.index]
        if name[0] in IDENTIFIER_STARTS:
            tokens.index += 1
        else:
            literal = self.parse_optional_str_literal()
            if literal is None:
                self._fail_expecting("expected attribute name")
            if not literal:
                tokens.index -= 1
                self._fail_expecting("expected valid attribute name")
            name = literal
        if tokens.texts[tokens.index] != "=":
            return name, UNIT
        tokens.index += 1
        return name, self.parse_attribute()

    def parse_optional_dictionary_attr_dict(self) -> dict[str, Attribute]:
        return self._parse_entries() if self.tokens.texts[self.tokens.index] == "{" else {}

    def _parse_entries(self) -> dict[str, Attribute]:
        """`{name = value, name, ...}`, whose names differ."""
        tokens = self.tokens
        texts = tokens.texts
        tokens.index += 1
        entries: dict[str, Attribute] = {}
        if texts[tokens.index] == "}":
            tokens.index += 1
            return entries
        while True:
            start = tokens.index
            name, value = self._parse_attribute_entry()
            if name in entries:
                self._fail(tokens.starts[start], f"duplicate key '{name}' in dictionary attribute")
            entries[name] = value
            if texts[tokens.index] != ",":
                break
            tokens.index += 1
        if texts[tokens.index] != "}":
            self._fail_expecting("expected '}' in attribute dictionary")
        tokens.index += 1
        return entries

    def _parse_builtin_dict_attr(self) -> DictionaryAttr:
        return DictionaryAttr(immutabledict(self.parse_optional_dictionary_attr_dict()))

    def _parse_strided_layout_attr(self) -> StridedLayoutAttr:
        self.parse_characters("<", " after 'strided'")
        strides = self.parse_list(self.Delimiter.SQUARE, self._parse_stride)
        offset: int | None = 0
        if self.parse_optional_characters(",") is not None:
            self.parse_keyword("offset", " after comma")
            self.parse_characters(":", " after 'offset'")
            offset = self._parse_stride()
        self.parse_characters(">")
        return StridedLayoutAttr(strides, offset)

    def _parse_stride(self) -> int | None:
        """A number, or None for `?`."""
        if self.parse_optional_characters("?") is not None:
            return None
        value = self.parse_optional_integer(allow_boolean=False)
        if value is None:
            self._fail(self.pos, "expected a 64-bit signed integer or '?'")
        return value

    # Dialect attributes, dialect types and aliases

    def _read_symbol(self, text: str, known: dict[str, _AttributeT], *, is_type: bool) -> _AttributeT:
        """`#alias`, `#dialect.name<...>` or `#dialect<name ...>`; the same with `!` for types."""
        tokens = self.tokens
        if "." not in text and tokens.texts[tokens.index + 1] != "<":
            tokens.index += 1
            found = self.attribute_aliases.get(text)
            if found is None:
                self._fail(self.pos, f"undefined symbol alias id '{text[1:]}'")
            return cast(_AttributeT, found)

        def parse() -> _AttributeT:
            tokens.index += 1
            outer, self.custom_op = self.custom_op, None
            found = self._parse_extended_type_or_attribute(text[1:], is_type)
            self.custom_op = outer
            return cast(_AttributeT, found)

        return self._read_once(known, parse)

    def _parse_dialect_type_or_attribute_body(
        self, attr_name: str, is_type: bool, is_opaque: bool, starting_opaque_pos: int | None
    ) -> ParametrizedAttribute | Data[Any]:
        dialect, _, mnemonic = attr_name.partition(".")
        definition = self.ctx.get_optional_type(attr_name) if is_type else self.ctx.get_optional_attr(attr_name)
        if definition is not None and issubclass(definition, ParametrizedAttribute):
            if not issubclass(definition, UnregisteredAttr):
                return definition.new(definition.parse_parameters(self))
            if self.ctx.get_optional_dialect(dialect) is None:
                return super()._parse_dialect_type_or_attribute_body(attr_name, is_type, is_opaque, starting_opaque_pos)
        elif definition is not None:
            data_class = cast(type[Data[Any]], definition)
            return data_class(data_class.parse_parameter(self))
        return self._fail_unknown_symbol(dialect, mnemonic, "type" if is_type else "attribute")

    def _fail_unknown_symbol(self, dialect: str, mnemonic: str, kind: str) -> NoReturn:
        """The mnemonic of a dialect's attribute or type was read, and is not known."""
        self.tokens.index -= 1
        offset = self.tokens.end(self.tokens.index) - len(mnemonic)
        if self.ctx.get_optional_dialect(dialect) is not None:
            self._fail(offset, f"unknown {kind} `{mnemonic}` in dialect `{dialect}`")
        body = self.tokens.input.content[offset : self.tokens.end(self._end_of_spelling() - 1)]
        shown = f'`!"{dialect}"<"{body}">` type' if kind == "type" else f'#"{dialect}"<"{body}"> : \'none\' attribute'
        self._fail(
            offset,
            f"{shown} created with unregistered dialect. If this is intended, please call allowUnregisteredDialects() "
            "on the MLIRContext, or use -allow-unregistered-dialect with the MLIR opt tool used",
            self._known_dialects(),
        )

    def _known_dialects(self) -> tuple[int, str]:
        """A note for whoever misspelt a dialect."""
        return self.pos, f"Available dialects: {', '.join(sorted(self.ctx.registered_dialect_names))}"

    # Locations

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
        value = self.parse_optional_integer(allow_boolean=False, allow_negative=False)
        if value is None:
            self._fail_expecting(f"expected integer {what} number in FileLineColRange")
        return value

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
