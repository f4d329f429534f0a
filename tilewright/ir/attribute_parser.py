"""Builtin attributes of MLIR, and the way to those of dialects."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar, cast

from immutabledict import immutabledict
from xdsl.context import Context
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    ArrayAttr,
    BytesAttr,
    DictionaryAttr,
    IndexType,
    IntAttr,
    StridedLayoutAttr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    UnregisteredAttr,
)
from xdsl.ir import Attribute, BuiltinAttribute, Data, ParametrizedAttribute, SSAValue
from xdsl.ir.affine import AffineMap, AffineSet
from xdsl.irdl import irdl_attr_definition
from xdsl.printer import Printer

from tilewright.ir.affine_text import read_affine_map, read_affine_map_of_values, read_affine_set
from tilewright.ir.interned import symbol_ref
from tilewright.ir.lexer import DIGITS, IDENTIFIER_STARTS
from tilewright.ir.location_parser import LocationParser
from tilewright.ir.type_parser import FALSE, TRUE


@irdl_attr_definition
class DistinctAttr(ParametrizedAttribute, BuiltinAttribute):
    name = "builtin.distinct"

    identifier: IntAttr
    referenced: Attribute

    def print_builtin(self, printer: Printer) -> None:
        printer.print_string(f"distinct[{self.identifier.data}]<")
        if not isinstance(self.referenced, UnitAttr):
            printer.print_attribute(self.referenced)
        printer.print_string(">")


UNIT = UnitAttr()

_IN_RAW_BODY = re.compile(r'->|"(?:[^"\\\n]++|\\.)*"|[<>()\[\]{}"]')
_CLOSING = {">": "<", ")": "(", "]": "[", "}": "{"}

_AttributeT = TypeVar("_AttributeT", bound=Attribute)


class AttributeParser(LocationParser):
    """The part of the reader that knows attributes."""

    def __init__(self, ctx: Context, input: str | bytes, name: str = "<unknown>"):
        super().__init__(ctx, input, name)
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
            "distinct": self._parse_distinct_attr,
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
        return symbol_ref(root, tuple(nested))

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

    def _parse_distinct_attr(self) -> DistinctAttr:
        self.parse_characters("[", " after 'distinct'")
        identifier = self.parse_optional_integer(allow_boolean=False, allow_negative=False)
        if identifier is None:
            self._fail_expecting("expected distinct ID")
        self.parse_characters("]", " to close distinct ID")
        self.parse_characters("<", " after distinct ID")
        referenced = UNIT if self.tokens.texts[self.tokens.index] == ">" else self.parse_attribute()
        self.parse_characters(">", " to close distinct attribute")
        return DistinctAttr(IntAttr(identifier), referenced)

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

    def _parse_dialect_type_or_attribute_body(
        self, attr_name: str, is_type: bool, is_opaque: bool, starting_opaque_pos: int | None
    ) -> ParametrizedAttribute | Data[Any]:
        dialect, _, mnemonic = attr_name.partition(".")
        definition = self.ctx.get_optional_type(attr_name) if is_type else self.ctx.get_optional_attr(attr_name)
        if definition is not None and issubclass(definition, ParametrizedAttribute):
            if not issubclass(definition, UnregisteredAttr):
                return definition.new(self._parse_parameters(definition))
            if self.ctx.get_optional_dialect(dialect) is None:
                return super()._parse_dialect_type_or_attribute_body(attr_name, is_type, is_opaque, starting_opaque_pos)
        elif definition is not None:
            data_class = cast(type[Data[Any]], definition)
            return data_class(data_class.parse_parameter(self))
        return self._fail_unknown_symbol(dialect, mnemonic, "type" if is_type else "attribute")

    def _parse_parameters(self, definition: type[ParametrizedAttribute]) -> Sequence[Attribute]:
        expected, start = len(definition.get_irdl_definition().parameters), self.pos
        parameters = definition.parse_parameters(self)
        if expected and not parameters:
            self._fail_expecting("expected '<'")
        if len(parameters) != expected:
            self._fail(start, f"expected {expected} parameters of '{definition.name}', but found {len(parameters)}")
        return parameters

    def _raw_scan_balanced(self, pos: int) -> int:
        """The offset of the `>` that closes the brackets open before `pos`, whatever stands in between."""
        open_brackets = ["<"]
        for match in _IN_RAW_BODY.finditer(self.tokens.input.content, pos):
            text = match[0]
            if text == '"':
                self._fail(match.start(), "expected '\"' in string literal")
            if text in "<([{":
                open_brackets.append(text)
            elif text in _CLOSING:
                if open_brackets[-1] != _CLOSING[text]:
                    break
                open_brackets.pop()
                if not open_brackets:
                    return match.start()
        return self._fail(pos - 1, f"unbalanced '{open_brackets[-1]}' character in pretty dialect name")

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

    # Affine maps and sets

    def _parse_builtin_affine_map(self) -> AffineMapAttr:
        self.parse_characters("<", " in affine map")
        found = read_affine_map(self)
        self.parse_characters(">", " in affine map")
        return AffineMapAttr(found)

    def _parse_builtin_affine_set(self) -> AffineSetAttr:
        self.parse_characters("<", " in integer set")
        found = read_affine_set(self)
        self.parse_characters(">", " in integer set")
        return AffineSetAttr(found)

    def parse_affine_map(self) -> AffineMap:
        return read_affine_map(self)

    def parse_affine_set(self) -> AffineSet:
        return read_affine_set(self)

    def parse_affine_map_of_ssa_ids(self) -> tuple[AffineMap, Sequence[SSAValue[IndexType]]]:
        return read_affine_map_of_values(self)
