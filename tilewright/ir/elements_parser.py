"""Numbers and arrays of numbers: integer, float, dense and array attributes."""

from __future__ import annotations

from math import copysign, inf, prod
from typing import Any, TypeAlias, TypeVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyDenseElement,
    AnyFloat,
    BytesAttr,
    ComplexType,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    RankedStructure,
    Signedness,
    TensorType,
    VectorType,
    f64,
    i64,
)
from xdsl.ir import Attribute

from tilewright.ir.lexer import DIGITS, integer_value
from tilewright.ir.limits import MOST_ELEMENT_BYTES
from tilewright.ir.type_parser import FALSE, TRUE, TypeParser

_AttributeT = TypeVar("_AttributeT", bound=Attribute)
_MAX_F16 = 65504.0
_Literal: TypeAlias = "tuple[int, str | tuple[_Literal, _Literal]]"
"""A number in an array: its token, and its spelling with sign, or real and imaginary part."""


def unchecked(attribute_class: type[_AttributeT], **fields: Any) -> _AttributeT:
    """An attribute whose parameters are known to be right: none of its verifiers run."""
    attribute = object.__new__(attribute_class)
    vars(attribute).update(fields)
    return attribute


class ElementsParser(TypeParser):
    """The part of the reader that knows numbers."""

    def __init__(self, ctx: Context, input: str | bytes, name: str = "<unknown>"):
        super().__init__(ctx, input, name)
        self._numbers: dict[tuple[str, str], Attribute] = {}

    def _parse_number_attr(self) -> Attribute:
        tokens = self.tokens
        texts, start = tokens.texts, tokens.index
        negative = texts[start] == "-"
        literal = start + negative
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
        found = self._number_attr(literal, negative, spelling, type)
        if not type_spelling or type_spelling in self._types:
            self._numbers[key] = found
        return found

    def _number_attr(self, literal: int, negative: bool, spelling: str, type: Attribute) -> Attribute:
        offset = self.tokens.starts[literal]
        if isinstance(type, IntegerType | IndexType):
            if "." in spelling:
                self._fail(self.pos, "floating point value not valid for specified type")
            return self._integer_attr(offset, negative, spelling, cast("IntegerType | IndexType", type))
        if isinstance(type, AnyFloat):
            return FloatAttr(self._float_value(offset, negative, spelling, type), type)
        kind = "floating point value" if "." in spelling else "integer literal"
        return self._fail(offset, f"{kind} not valid for specified type")

    def _integer_attr(
        self, offset: int, negative: bool, spelling: str, type: IntegerType | IndexType
    ) -> IntegerAttr[IntegerType | IndexType]:
        if negative and isinstance(type, IntegerType) and type.signedness.data is Signedness.UNSIGNED:
            self._fail(offset, "negative integer literal not valid for unsigned integer type")
        value = integer_in_type(integer_value(spelling), negative, type)
        if value is None:
            self._fail(offset, "integer constant out of range for attribute")
        return unchecked(IntegerAttr, value=unchecked(IntAttr, data=value), type=type)

    def _float_value(self, offset: int, negative: bool, spelling: str, type: AnyFloat) -> float:
        """The value of a literal in a float type: a decimal with a dot, or the bits in hexadecimal."""
        if "." in spelling:
            value = -float(spelling) if negative else float(spelling)
            return value if abs(value) <= _MAX_F16 else _rounded(value, type)
        if spelling[1:2] != "x":
            note = (offset, "add a trailing dot to make the literal a float")
            self._fail(offset, "unexpected decimal integer literal for a floating point value", note)
        if negative:
            self._fail(offset, "hexadecimal float literal should not have a leading minus")
        bits = int(spelling, 16)
        if bits.bit_length() > type.bitwidth:
            self._fail(offset, "hexadecimal float constant out of range for type")
        return next(iter(type.iter_unpack(bits.to_bytes(type.compile_time_size, "little"))))

    def parse_optional_builtin_int_or_float_attr(self) -> IntegerAttr | FloatAttr | None:
        tokens = self.tokens
        text = tokens.texts[tokens.index]
        if text[0] in DIGITS or text[0] == "-":
            return cast(IntegerAttr | FloatAttr, self._parse_number_attr())
        return self.try_parse_builtin_boolean_attr()

    def try_parse_builtin_boolean_attr(self) -> IntegerAttr[IntegerType | IndexType] | None:
        value = self.parse_optional_boolean()
        return None if value is None else cast(IntegerAttr[IntegerType | IndexType], TRUE if value else FALSE)

    # Arrays

    def _parse_builtin_densearray_attr(self) -> DenseArrayBase:
        self.parse_characters("<", " after 'array'")
        start = self.pos
        element = self.parse_type()
        if not isinstance(element, IntegerType | AnyFloat):
            self._fail(start, "'array' element type must be an integer or floating point type")
        literals: list[_Literal] = []
        if self.parse_optional_characters(":") is not None:
            literals = self.parse_list(self.Delimiter.NONE, self._parse_literal)
        self.parse_characters(">", " to close an array attribute")
        element = cast("IntegerType | AnyFloat", element)
        return DenseArrayBase(element, BytesAttr(self._pack(literals, element)))

    def _parse_builtin_dense_attr(self) -> DenseIntOrFPElementsAttr:
        return self.parse_dense_int_or_fp_elements_attr(None)

    def parse_dense_int_or_fp_elements_attr(
        self, type: RankedStructure[AnyDenseElement] | None
    ) -> DenseIntOrFPElementsAttr:
        start = self.tokens.starts[self.tokens.index - 1]
        self.parse_characters("<", " after 'dense'")
        literals: list[_Literal] = []
        shape: list[int] | None = None
        hexadecimal = None
        if self.tokens.texts[self.tokens.index][0] == '"':
            hexadecimal = self._parse_hexadecimal_bytes()
        elif self.tokens.texts[self.tokens.index] != ">":
            shape = self._parse_nested_literals(literals)
        self.parse_characters(">")
        if type is None:
            self.parse_characters(":")
            type = self._check_elements_type(start, self.parse_type())
        if hexadecimal is not None:
            return DenseIntOrFPElementsAttr(type, BytesAttr(self._elements_of_bytes(start, hexadecimal, type)))
        expected = list(type.get_shape())
        if shape != expected and (shape or not literals) and (literals or prod(expected)):
            self._fail(start, f"inferred shape of elements literal ({shape or []}) does not match type ({expected})")
        packed = self._pack(literals, type.element_type)
        if not shape:
            packed *= self._splat_count(start, len(packed), type)
        return DenseIntOrFPElementsAttr(type, BytesAttr(packed))

    def _check_elements_type(self, start: int, type: Attribute) -> RankedStructure[AnyDenseElement]:
        if not isinstance(type, VectorType | TensorType | MemRefType):
            self._fail(start, "elements literal must be a shaped type")
        shaped = cast(RankedStructure[AnyDenseElement], type)
        if DYNAMIC_INDEX in shaped.get_shape():
            self._fail(start, "elements literal type must have static shape")
        if not isinstance(shaped.element_type, IntegerType | IndexType | AnyFloat | ComplexType):
            self._fail(start, f"element type of elements literal cannot be '{shaped.element_type}'")
        return shaped

    def _splat_count(self, start: int, size: int, type: RankedStructure[AnyDenseElement]) -> int:
        count = prod(type.get_shape())
        if count * size > MOST_ELEMENT_BYTES:
            limit = f"it has {count * size} bytes, and may have {MOST_ELEMENT_BYTES}"
            self._fail(start, f"elements literal of {count} elements is too large: {limit}")
        return count

    def _parse_nested_literals(self, literals: list[_Literal]) -> list[int]:
        """Add the literals of a list of lists to `literals`, and give the shape of that list."""
        if self.parse_optional_characters("[") is None:
            literals.append(self._parse_literal())
            return []
        if self.parse_optional_characters("]") is not None:
            return [0]
        self._descend()
        inner = self._parse_nested_literals(literals)
        count = 1
        while self.parse_optional_characters(",") is not None:
            if self._parse_nested_literals(literals) != inner:
                self._fail(self.pos, "tensor literal is invalid; ranks are not consistent between elements")
            count += 1
        self.depth -= 1
        self.parse_characters("]")
        return [count, *inner]

    def _parse_literal(self) -> _Literal:
        tokens = self.tokens
        index = tokens.index
        text = tokens.texts[index]
        if text == "(":
            tokens.index += 1
            real = self._parse_literal()
            self.parse_characters(",", " between real and imaginary part")
            imaginary = self._parse_literal()
            self.parse_characters(")", " to close a complex literal")
            return index, (real, imaginary)
        if text == "-":
            index += 1
            text = f"-{tokens.texts[index]}"
        if tokens.texts[index][0] not in DIGITS and text not in ("true", "false"):
            self._fail_expecting("expected element literal of primitive type")
        tokens.index = index + 1
        return index, text

    def _pack(self, literals: list[_Literal], element: AnyDenseElement) -> bytes:
        """The bytes of literals as elements of a type."""
        if isinstance(element, ComplexType):
            parts = [part for literal in literals for part in self._complex_parts(literal)]
            return self._pack(parts, element.element_type)
        if isinstance(element, AnyFloat):
            return element.pack([self._float_element(literal, element) for literal in literals])
        return element.pack([self._integer_element(literal, element) for literal in literals])

    def _complex_parts(self, literal: _Literal) -> tuple[_Literal, _Literal]:
        index, parts = literal
        if isinstance(parts, str):
            self._fail(self.tokens.starts[index], "expected complex elements, but parsed a scalar")
        return parts

    def _float_element(self, literal: _Literal, element: AnyFloat) -> float:
        index, text = literal
        if not isinstance(text, str) or text in ("true", "false"):
            self._fail(self.tokens.starts[index], "expected floating-point elements")
        return self._float_value(self.tokens.starts[index], text[0] == "-", text.removeprefix("-"), element)

    def _integer_element(self, literal: _Literal, element: IntegerType | IndexType) -> int:
        index, text = literal
        offset = self.tokens.starts[index]
        if text in ("true", "false"):
            if element != TRUE.type:
                self._fail(offset, "expected i1 type for 'true' or 'false' values")
            return -1 if text == "true" else 0
        if not isinstance(text, str) or "." in text:
            self._fail(offset, "expected integer elements, but parsed floating-point")
        negative = text[0] == "-"
        if negative and isinstance(element, IntegerType) and element.signedness.data is Signedness.UNSIGNED:
            self._fail(offset, "expected unsigned integer elements, but parsed negative value")
        magnitude = integer_value(text[1:] if negative else text)
        value = 0 if magnitude == 0 else integer_in_type(magnitude, negative, element)
        if value is None:
            self._fail(offset, "integer constant out of range for type")
        return value

    def _parse_hexadecimal_bytes(self) -> bytes:
        start = self.pos
        digits = self.parse_str_literal()
        try:
            if digits.startswith("0x"):
                return bytes.fromhex(digits[2:])
        except ValueError:
            pass
        return self._fail(start, "expected string containing hex digits starting with `0x`")

    def _elements_of_bytes(self, start: int, data: bytes, type: RankedStructure[AnyDenseElement]) -> bytes:
        """MLIR's raw data as xDSL keeps it: one element per slot, a splat repeated, one byte and not one bit per i1."""
        count = prod(type.get_shape())
        if type.element_type == TRUE.type:
            if len(data) == 1 and data in (b"\x00", b"\xff"):
                return self._pack([], type.element_type) + data * count
            if len(data) == (count + 7) // 8:
                return bytes(0xFF if data[i >> 3] >> (i & 7) & 1 else 0 for i in range(count))
        size = type.element_type.compile_time_size
        if len(data) == size * count:
            return data
        if len(data) != size:
            self._fail(start, f"elements hex data size is invalid for provided type: '{type}'")
        return data * self._splat_count(start, size, type)


def _rounded(value: float, type: AnyFloat) -> float:
    """A value, infinite if it is too large for its type."""
    if type.bitwidth >= f64.bitwidth:
        return value
    try:
        type.pack((value,))
    except OverflowError:
        return copysign(inf, value)
    return value


def integer_in_type(magnitude: int, negative: bool, type: IntegerType | IndexType) -> int | None:
    """The value that a literal has in a type, None if it does not fit.

    A signless integer takes any bit pattern of its width: the upper half of the unsigned range is negative.
    """
    width = 64 if isinstance(type, IndexType) else type.width.data
    if magnitude.bit_length() > width:
        return None
    half = 1 << width >> 1
    if negative:
        return -magnitude if 0 < magnitude <= half else None
    if magnitude < half or not width:
        return magnitude
    if isinstance(type, IndexType) or type.signedness.data is Signedness.SIGNED:
        return None
    return magnitude if type.signedness.data is Signedness.UNSIGNED else magnitude - (1 << width)
