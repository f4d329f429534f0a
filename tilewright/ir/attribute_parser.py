"""Types and attributes of MLIR, each spelling of a type read once, and the way to those of dialects.

Types repeat far more often than they differ. What a spelling was found to mean is kept for the length of the file, so
that most types cost one dictionary lookup. Numbers, locations and affine maps are read by functions of their own
(`elements_parser`, `locations`, `affine_text`) with the tokens of this parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar, cast

from immutabledict import immutabledict
from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    AffineSetAttr,
    AnyDenseElement,
    AnyFloat,
    ArrayAttr,
    BoolAttr,
    BytesAttr,
    ComplexType,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FunctionType,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    MemRefLayoutAttr,
    MemRefType,
    NoneAttr,
    NoneType,
    RankedStructure,
    Signedness,
    StridedLayoutAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    TupleType,
    UnitAttr,
    UnknownLoc,
    UnrankedMemRefType,
    UnrankedTensorType,
    UnregisteredAttr,
    VectorType,
    f64,
    i64,
)
from xdsl.ir import Attribute, BuiltinAttribute, Data, ParametrizedAttribute, TypeAttribute
from xdsl.ir.affine import AffineMap, AffineSet
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.ir.affine_text import is_identity, read_affine_map, read_affine_set
from tilewright.ir.elements_parser import number_attr, parse_dense, parse_dense_array
from tilewright.ir.interned import symbol_ref
from tilewright.ir.lexer import DIGITS, END, IDENTIFIER_STARTS, integer_value
from tilewright.ir.limits import LONG_ALIAS_TOKENS, MAX_NESTING, MOST_EXPANDED_TOKENS
from tilewright.ir.locations import PendingLocation, parse_location
from tilewright.ir.token_parser import TokenParser


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

TRUE, FALSE = BoolAttr.from_bool(True), BoolAttr.from_bool(False)

_MAX_SPELLING = 200
"""Tokens of a type or attribute beyond which it is read again each time: so long, it is hardly there twice."""

_T = TypeVar("_T")
_AttributeT = TypeVar("_AttributeT", bound=Attribute)
_INTEGER_TYPE = re.compile(r"([su]?)i([0-9]+)")
_SIGNEDNESS = {"": Signedness.SIGNLESS, "s": Signedness.SIGNED, "u": Signedness.UNSIGNED}
_MAX_INTEGER_WIDTH = (1 << 24) - 1
_WIDTH_BITS = 32
_DIMENSION_BITS = 63
_KEYWORD_TYPES: dict[str, TypeAttribute] = {
    "index": IndexType(),
    "none": NoneType(),
    **{f"i{width}": IntegerType(width) for width in (1, 8, 16, 32, 64)},
    **cast(dict[str, TypeAttribute], AttrParser._builtin_float_types),
}


class AttributeParser(TokenParser):
    """The layer of the reader that knows types and attributes."""

    depth: int
    """How many regions, attributes and types are open."""

    expanded_tokens: int
    """What the aliases used so far stand for; short ones only count where others are made of them."""

    pending_locations: dict[int, PendingLocation]
    """Locations by aliases that are defined further down, by the id of what stands in for them."""

    def __init__(self, ctx: Context, input: str | bytes, name: str = "<unknown>"):
        super().__init__(ctx, input, name)
        self.depth = 0
        self.alias_tokens: dict[str, int] = {}
        self.expanded_tokens, self.counts_all_aliases = 0, False
        # A copy: each integer type of another width that the file mentions joins it.
        self._types = dict(_KEYWORD_TYPES)
        self._spelled_types: dict[str, TypeAttribute] = {}
        self._compound_types: dict[str, Callable[[], TypeAttribute]] = {
            "memref": self._parse_memref_attrs,
            "tensor": self._parse_tensor_attrs,
            "vector": self._parse_vector_attrs,
            "complex": self._parse_complex_attrs,
            "tuple": self._parse_tuple_attrs,
        }
        self._attributes: dict[str, Attribute] = {"true": TRUE, "false": FALSE, "unit": UNIT}
        self._spelled_attributes: dict[str, Attribute] = {}
        self._numbers: dict[tuple[str, str], Attribute] = {}
        self._keyword_attributes: dict[str, Callable[[], Attribute]] = {
            "dense": lambda: parse_dense(self, None),
            "array": lambda: parse_dense_array(self),
            "affine_map": lambda: AffineMapAttr(self._enclosed("<>", self.parse_affine_map, " in affine map")),
            "affine_set": lambda: AffineSetAttr(self._enclosed("<>", self.parse_affine_set, " in integer set")),
            "strided": self._parse_strided_layout_attr,
            "dense_resource": self._parse_builtin_dense_resource_attr,
            "opaque": self._parse_builtin_opaque_attr,
            "distinct": self._parse_distinct_attr,
            "loc": lambda: self._enclosed("()", lambda: parse_location(self), " in inline location"),
        }
        self.pending_locations = {}

    # Reading once

    def _end_of_spelling(self) -> int:
        """The index behind the current token and the angle brackets that may follow it, unless they are very long."""
        texts = self.tokens.texts
        end = self.tokens.index + 1
        if texts[end] != "<":
            return end
        depth = 0
        # A literal of a million elements would else be scanned twice.
        limit = end + _MAX_SPELLING
        while True:
            text = texts[end]
            end += 1
            if text == "<":
                depth += 1
            elif text == ">":
                depth -= 1
                if depth == 0:
                    return end
            elif text is END or end > limit:
                return end

    def _read_once(self, known: dict[str, _AttributeT], parse: Callable[[], _AttributeT]) -> _AttributeT:
        """What `parse` makes of the spelling here, parsed only if the same characters were not parsed before."""
        tokens = self.tokens
        end = self._end_of_spelling()
        end_offset = tokens.end(end - 1)
        # The characters and not the tokens: slicing text is cheaper than joining tokens.
        spelling = tokens.input.content[tokens.starts[tokens.index] : end_offset]
        found = known.get(spelling)
        if found is not None:
            tokens.index = end
            return found
        expanded = self.expanded_tokens
        found = self._nested(parse)
        # What contains aliases is not kept: their use has to be counted each time.
        if tokens.end(tokens.index - 1) == end_offset and self.expanded_tokens == expanded:
            known[spelling] = found
        return found

    def _nested(self, parse: Callable[[], _AttributeT]) -> _AttributeT:
        """One level deeper; a verifier's complaint is about where this level starts."""
        start = self.pos
        self._descend()
        try:
            return parse()
        except VerifyException as error:
            self._fail(start, str(error))
        finally:
            self.depth -= 1

    def _descend(self) -> None:
        self.depth += 1
        if self.depth > MAX_NESTING:
            self._fail(self.pos, f"nesting too deep: more than {MAX_NESTING} levels of regions, attributes and types")

    def parse_optional_type(self) -> TypeAttribute | None:
        tokens = self.tokens
        text = tokens.texts[tokens.index]
        found = self._types.get(text)
        if found is not None:
            tokens.index += 1
            return found
        first = text[0]
        if first in IDENTIFIER_STARTS:
            if text in self._compound_types:
                return self._read_once(self._spelled_types, self._parse_compound_type)
            return self._parse_optional_integer_type(text)
        if first == "!":
            return self._read_symbol(text, self._spelled_types, is_type=True)
        return self.parse_optional_function_type() if first == "(" else None

    def parse_type(self) -> TypeAttribute:
        tokens = self.tokens
        found = self._types.get(tokens.texts[tokens.index])
        if found is not None:
            tokens.index += 1
            return found
        found = self.parse_optional_type()
        return self._fail_expecting("expected non-function type") if found is None else found

    def _parse_optional_integer_type(self, text: str) -> TypeAttribute | None:
        match = _INTEGER_TYPE.fullmatch(text)
        if match is None:
            return None
        width = integer_value(match[2])
        # MLIR tells a number that does not fit its parser from a width that no type has.
        if width.bit_length() > _WIDTH_BITS:
            self._fail(self.pos, "invalid integer width")
        if width > _MAX_INTEGER_WIDTH:
            self._fail(self.pos, f"integer bitwidth is limited to {_MAX_INTEGER_WIDTH} bits")
        self.tokens.index += 1
        found = self._types[text] = IntegerType(width, _SIGNEDNESS[match[1]])
        return found

    def _parse_compound_type(self) -> TypeAttribute:
        tokens = self.tokens
        name = tokens.texts[tokens.index]
        tokens.index += 1
        return self._enclosed("<>", self._compound_types[name], f" in {name} type")

    def _enclosed(self, brackets: str, parse: Callable[[], _T], context_msg: str) -> _T:
        self.parse_characters(brackets[0], context_msg)
        found = parse()
        self.parse_characters(brackets[1], context_msg)
        return found

    def parse_optional_function_type(self) -> FunctionType | None:
        if self.tokens.texts[self.tokens.index] != "(":
            return None
        return self._nested(lambda: FunctionType.from_lists(*self._parse_signature()))

    def _parse_signature(self) -> tuple[list[TypeAttribute], list[TypeAttribute]]:
        """`(inputs) -> outputs`, or `-> (outputs)`."""
        inputs = self.parse_list(self.Delimiter.PAREN, self.parse_type)
        self.parse_characters("->", " in function type")
        outputs = self.parse_optional_comma_separated_list(self.Delimiter.PAREN, self.parse_type)
        return inputs, [self.parse_type()] if outputs is None else outputs

    def parse_function_type(self) -> FunctionType:
        found = self.parse_optional_function_type()
        return self._fail_expecting("expected function type") if found is None else found

    def _read_symbol(self, text: str, known: dict[str, _AttributeT], *, is_type: bool) -> _AttributeT:
        """`#alias`, `#dialect.name<...>` or `#dialect<name ...>`; the same with `!` for types."""
        tokens = self.tokens
        if "." not in text and tokens.texts[tokens.index + 1] != "<":
            tokens.index += 1
            found = self.attribute_aliases.get(text)
            if found is None:
                self._fail(self.pos, f"undefined symbol alias id '{text[1:]}'")
            self._expand(text)
            return cast(_AttributeT, found)

        def parse() -> _AttributeT:
            tokens.index += 1
            # Errors inside do not name the operation around, as in MLIR.
            outer, self.custom_op = self.custom_op, None
            found = self._parse_extended_type_or_attribute(text[1:], is_type)
            self.custom_op = outer
            return cast(_AttributeT, found)

        return self._read_once(known, parse)

    def _expand(self, alias: str) -> None:
        """Count what a use of an alias stands for, since comparing it takes as long as if it were written out."""
        size = self.alias_tokens.get(alias, 0)
        if size > LONG_ALIAS_TOKENS or self.counts_all_aliases:
            self.expanded_tokens += size
        if self.expanded_tokens > MOST_EXPANDED_TOKENS:
            self._fail(self.pos, f"aliases stand for more than {MOST_EXPANDED_TOKENS} tokens when they are written out")

    # Shapes

    def _parse_optional_dimension(self) -> int | None:
        """A number or `?`. A zero before its `x` was lexed as the start of a hexadecimal number."""
        tokens = self.tokens
        text = tokens.texts[tokens.index]
        if text == "?":
            tokens.index += 1
            return DYNAMIC_INDEX
        if text[0] not in DIGITS or "." in text:
            return None
        if text[1:2] == "x":
            # The lexer took `0x8` of `0x8xi32` for a number: go on behind the zero.
            tokens.index = tokens.index_at(tokens.starts[tokens.index] + 1)
            return 0
        size = integer_value(text)
        if size.bit_length() > _DIMENSION_BITS:
            self._fail(self.pos, "invalid dimension")
        tokens.index += 1
        return size

    def _parse_dimension_cross(self) -> None:
        tokens = self.tokens
        text = tokens.texts[tokens.index]
        if text[0] != "x":
            self._fail_expecting("expected 'x' in dimension list")
        tokens.index = tokens.index + 1 if text == "x" else tokens.index_at(tokens.starts[tokens.index] + 1)

    def parse_ranked_shape(self) -> tuple[list[int], TypeAttribute]:
        dimensions: list[int] = []
        while (dimension := self._parse_optional_dimension()) is not None:
            dimensions.append(dimension)
            self._parse_dimension_cross()
        return dimensions, self.parse_type()

    def parse_shape(self) -> tuple[list[int] | None, TypeAttribute]:
        if self.parse_optional_characters("*") is None:
            return self.parse_ranked_shape()
        self._parse_dimension_cross()
        return None, self.parse_type()

    def _parse_memref_attrs(self) -> MemRefType | UnrankedMemRefType:
        shape, element = self.parse_shape()
        layout, space = self._parse_layout_and_space()
        if shape is None:
            return UnrankedMemRefType.from_type(element, space)
        return MemRefType(element, shape, layout, space)

    def _parse_layout_and_space(self) -> tuple[MemRefLayoutAttr | NoneAttr, Attribute]:
        """What follows a memref's shape, without the defaults: an identity layout, the memory space 0."""
        layout: MemRefLayoutAttr | NoneAttr = NoneAttr()
        space: Attribute | None = None
        while self.parse_optional_characters(",") is not None:
            attribute = self.parse_attribute()
            if isinstance(attribute, MemRefLayoutAttr):
                if space is not None:
                    self._fail(self.pos, "expected memory space to be last in memref type")
                layout = attribute
            elif space is not None:
                self._fail(self.pos, "multiple memory spaces specified in memref type")
            else:
                space = attribute
        if self.tokens.texts[self.tokens.index] != ">":
            self._fail_expecting("expected ',' or '>' in memref type")
        # MLIR drops an identity layout too: types written with it and without are equal.
        if isinstance(layout, AffineMapAttr) and is_identity(layout.data):
            layout = NoneAttr()
        # MLIR makes no difference between the memory space 0 and none.
        is_default = isinstance(space, IntegerAttr) and space.value.data == 0
        return layout, NoneAttr() if is_default or space is None else cast(Attribute, space)

    def _parse_tensor_attrs(self) -> TensorType | UnrankedTensorType:
        shape, element = self.parse_shape()
        if self.parse_optional_characters(",") is None:
            return UnrankedTensorType(element) if shape is None else TensorType(element, shape)
        encoding = self.parse_attribute()
        if shape is None:
            self._fail(self.pos, "cannot apply encoding to unranked tensor")
        return TensorType(element, shape, encoding)

    def _parse_vector_attrs(self) -> VectorType:
        dimensions: list[int] = []
        scalable: list[BoolAttr] = []
        while True:
            in_brackets = self.parse_optional_characters("[") is not None
            # In vectors MLIR expects the element type here, and says so.
            if self.tokens.texts[self.tokens.index] == "?":
                self._fail_expecting("expected non-function type")
            dimension = self._parse_optional_dimension()
            if dimension is None:
                break
            # Only vectors have no empty dimensions.
            if dimension == 0:
                raise VerifyException("vector types must have positive constant sizes but got 0")
            dimensions.append(dimension)
            scalable.append(TRUE if in_brackets else FALSE)
            if in_brackets:
                self.parse_characters("]")
            self._parse_dimension_cross()
        return VectorType(self.parse_type(), dimensions, ArrayAttr(scalable))

    def _parse_complex_attrs(self) -> ComplexType:
        start = self.pos
        element = self.parse_type()
        if not isinstance(element, IntegerType | AnyFloat):
            self._fail(start, "invalid element type for complex")
        return ComplexType(cast("IntegerType | AnyFloat", element))

    def _parse_tuple_attrs(self) -> TupleType:
        types = self.parse_optional_undelimited_comma_separated_list(self.parse_optional_type, self.parse_type)
        return TupleType(tuple(types or ()))

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
            # It is equal to every other unknown location, and told from them by its identity.
            found: LocationAttr = object.__new__(UnknownLoc)
            self.pending_locations[id(found)] = PendingLocation(found, text, self.pos)
            tokens.index += 1
        else:
            found = parse_location(self)
        self.parse_characters(")", " in location")
        return found

    # Numbers

    def _parse_number_attr(self) -> Attribute:
        tokens = self.tokens
        texts, literal = tokens.texts, tokens.index
        negative = texts[literal] == "-"
        literal += negative
        spelling = texts[literal]
        if spelling[0] not in DIGITS:
            tokens.index = literal
            self._fail_expecting("expected constant integer or floating point value")
        tokens.index = literal + 1
        type_spelling = texts[tokens.index + 1] if texts[tokens.index] == ":" else ""
        key = (f"-{spelling}" if negative else spelling, type_spelling)
        found = self._numbers.get(key)
        if found is not None:
            tokens.index += 2 if type_spelling else 0
            return found
        type: Attribute = f64 if "." in spelling else i64
        if type_spelling:
            tokens.index += 1
            type = self.parse_type()
        found = number_attr(self, literal, negative, type)
        # Only a type of one token, such as `i32`, is all of what the key says.
        if not type_spelling or type_spelling in self._types:
            self._numbers[key] = found
        return found

    def parse_dense_int_or_fp_elements_attr(
        self, type: RankedStructure[AnyDenseElement] | None
    ) -> DenseIntOrFPElementsAttr:
        return parse_dense(self, type)

    # Attributes

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
        return self._fail_expecting("expected attribute value") if found is None else found

    def _parse_keyword_attr(self, text: str, parse: Callable[[], Attribute]) -> Attribute:
        def skip_keyword() -> Attribute:
            self.tokens.index += 1
            return parse()

        # The one keyword attribute that programs repeat as often as types.
        if text == "affine_map":
            return self._read_once(self._spelled_attributes, skip_keyword)
        return self._nested(skip_keyword)

    def _parse_string_attr(self, text: str) -> Attribute:
        value = self.parse_optional_str_literal()
        if value is None:
            return BytesAttr(cast(bytes, self.parse_optional_bytes_literal()))
        # Symbols and names come again and again; other literals would only fill the table.
        found = self._attributes[text] = StringAttr(value)
        return found

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
                # MLIR points at the empty string itself.
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
        return self._fail(self.pos, "expected a 64-bit signed integer or '?'") if value is None else value

    # Dialect attributes, dialect types and aliases

    def _parse_dialect_type_or_attribute_body(
        self, attr_name: str, is_type: bool, is_opaque: bool, starting_opaque_pos: int | None
    ) -> ParametrizedAttribute | Data[Any]:
        dialect, _, mnemonic = attr_name.partition(".")
        definition = self.ctx.get_optional_type(attr_name) if is_type else self.ctx.get_optional_attr(attr_name)
        if definition is not None and issubclass(definition, ParametrizedAttribute):
            # With --allow-unregistered-dialect the context answers for every name.
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
        # xDSL reads a missing `<` as no parameters.
        if expected and not parameters:
            self._fail_expecting("expected '<'")
        if len(parameters) != expected:
            self._fail(start, f"expected {expected} parameters of '{definition.name}', but found {len(parameters)}")
        return parameters

    def _raw_scan_balanced(self, pos: int) -> int:
        """The offset of the `>` that closes the brackets open before `pos`, whatever stands in between."""
        open_brackets = ["<"]
        # Strings are skipped as a whole: brackets in them do not count. `->` is no closing bracket.
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
        # MLIR shows the attribute as it would have printed it.
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

    def parse_affine_map(self) -> AffineMap:
        return read_affine_map(self)

    def parse_affine_set(self) -> AffineSet:
        return read_affine_set(self)
