"""Builtin types of MLIR, each spelling read once.

Types repeat far more often than they differ. What a spelling was found to mean is kept for the length of the file, so
that most types cost one dictionary lookup.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    AnyFloat,
    ArrayAttr,
    BoolAttr,
    ComplexType,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefLayoutAttr,
    MemRefType,
    NoneAttr,
    NoneType,
    Signedness,
    TensorType,
    TupleType,
    UnrankedMemRefType,
    UnrankedTensorType,
    VectorType,
)
from xdsl.ir import Attribute, TypeAttribute
from xdsl.parser import AttrParser
from xdsl.utils.exceptions import VerifyException

from tilewright.ir.affine_text import is_identity
from tilewright.ir.lexer import DIGITS, END, IDENTIFIER_STARTS, integer_value
from tilewright.ir.limits import LONG_ALIAS_TOKENS, MAX_NESTING, MOST_EXPANDED_TOKENS
from tilewright.ir.token_parser import TokenParser

TRUE, FALSE = BoolAttr.from_bool(True), BoolAttr.from_bool(False)

_MAX_SPELLING = 200
"""Tokens of a type or attribute beyond which it is read again each time: so long, it is hardly there twice."""

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


class TypeParser(TokenParser):
    """The part of the reader that knows types."""

    depth: int
    """How many regions, attributes and types are open."""

    expanded_tokens: int
    """What the aliases used so far stand for; short ones only count where others are made of them."""

    def __init__(self, ctx: Context, input: str | bytes, name: str = "<unknown>"):
        super().__init__(ctx, input, name)
        self.depth = 0
        self.alias_tokens: dict[str, int] = {}
        self.expanded_tokens, self.counts_all_aliases = 0, False
        self._types = dict(_KEYWORD_TYPES)
        self._spelled_types: dict[str, TypeAttribute] = {}
        self._compound_types: dict[str, Callable[[], TypeAttribute]] = {
            "memref": self._parse_memref_attrs,
            "tensor": self._parse_tensor_attrs,
            "vector": self._parse_vector_attrs,
            "complex": self._parse_complex_attrs,
            "tuple": self._parse_tuple_attrs,
        }

    # Reading once

    def _end_of_spelling(self) -> int:
        """The index behind the current token and the angle brackets that may follow it, unless they are very long."""
        texts = self.tokens.texts
        end = self.tokens.index + 1
        if texts[end] != "<":
            return end
        depth = 0
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
        spelling = tokens.input.content[tokens.starts[tokens.index] : end_offset]
        found = known.get(spelling)
        if found is not None:
            tokens.index = end
            return found
        expanded = self.expanded_tokens
        found = self._nested(parse)
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
        if found is None:
            self._fail_expecting("expected non-function type")
        return found

    def _parse_optional_integer_type(self, text: str) -> TypeAttribute | None:
        match = _INTEGER_TYPE.fullmatch(text)
        if match is None:
            return None
        width = integer_value(match[2])
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
        self.parse_characters("<", f" in {name} type")
        found = self._compound_types[name]()
        self.parse_characters(">", f" in {name} type")
        return found

    def _parse_optional_builtin_type(self) -> TypeAttribute | None:
        return self.parse_optional_type()

    def parse_optional_function_type(self) -> FunctionType | None:
        if self.tokens.texts[self.tokens.index] != "(":
            return None
        return self._nested(self._parse_function_type)

    def _parse_function_type(self) -> FunctionType:
        inputs, outputs = self._parse_signature()
        return FunctionType.from_lists(inputs, outputs)

    def _parse_signature(self) -> tuple[list[TypeAttribute], list[TypeAttribute]]:
        """`(inputs) -> outputs`, or `-> (outputs)`."""
        inputs = self._parse_parenthesized_types()
        self.parse_characters("->", " in function type")
        if self.tokens.texts[self.tokens.index] == "(":
            return inputs, self._parse_parenthesized_types()
        return inputs, [self.parse_type()]

    def _parse_parenthesized_types(self) -> list[TypeAttribute]:
        return self.parse_list(self.Delimiter.PAREN, self.parse_type)

    def parse_function_type(self) -> FunctionType:
        found = self.parse_optional_function_type()
        if found is None:
            self._fail_expecting("expected function type")
        return found

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
            tokens.index = tokens.index_at(tokens.starts[tokens.index] + 1)
            return 0
        size = integer_value(text)
        if size.bit_length() > _DIMENSION_BITS:
            self._fail(self.pos, "invalid dimension")
        tokens.index += 1
        return size

    def _parse_dimension_cross(self) -> None:
        if self._parse_optional_shape_delimiter() is None:
            self._fail_expecting("expected 'x' in dimension list")

    def _parse_optional_shape_delimiter(self) -> str | None:
        tokens = self.tokens
        text = tokens.texts[tokens.index]
        if text == "x":
            tokens.index += 1
        elif text[0] == "x":
            tokens.index = tokens.index_at(tokens.starts[tokens.index] + 1)
        else:
            return None
        return "x"

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
        if isinstance(layout, AffineMapAttr) and is_identity(layout.data):
            layout = NoneAttr()
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
            if self.tokens.texts[self.tokens.index] == "?":
                self._fail_expecting("expected non-function type")
            dimension = self._parse_optional_dimension()
            if dimension is None:
                break
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
