"""Numbers and arrays of numbers as they are written: integer, float, dense and array attributes."""

from __future__ import annotations

from math import copysign, inf, prod
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

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
    i1,
)
from xdsl.ir import Attribute

from tilewright.ir.lexer import DIGITS, integer_value
from tilewright.ir.limits import MOST_ELEMENT_BYTES

if TYPE_CHECKING:
    from tilewright.ir.attribute_parser import AttributeParser

_AttributeT = TypeVar("_AttributeT", bound=Attribute)
_MAX_F16 = 65504.0
_Literal: TypeAlias = "tuple[int, str | tuple[_Literal, _Literal]]"
"""A number in an array: its token, and its spelling with sign, or real and imaginary part."""


def unchecked(attribute_class: type[_AttributeT], **fields: Any) -> _AttributeT:
    """An attribute whose parameters are known to be right: none of its verifiers run."""
    attribute = object.__new__(attribute_class)
    vars(attribute).update(fields)
    return attribute


def number_attr(parser: AttributeParser, literal: int, negative: bool, type: Attribute) -> Attribute:
    """What a literal, given by its token, stands for in a type."""
    spelling, offset = parser.tokens.texts[literal], parser.tokens.starts[literal]
    if isinstance(type, AnyFloat):
        return FloatAttr(_float_value(parser, offset, negative, spelling, type), type)
    if not isinstance(type, IntegerType | IndexType):
        kind = "floating point value" if "." in spelling else "integer literal"
        parser._fail(offset, f"{kind} not valid for specified type")
    if "." in spelling:
        # MLIR finds this when it has read the type, so the error is behind that.
        parser._fail(parser.pos, "floating point value not valid for specified type")
    type = cast("IntegerType | IndexType", type)
    if negative and _is_unsigned(type):
        parser._fail(offset, "negative integer literal not valid for unsigned integer type")
    value = integer_in_type(integer_value(spelling), negative, type)
    if value is None:
        parser._fail(offset, "integer constant out of range for attribute")
    return unchecked(IntegerAttr, value=unchecked(IntAttr, data=value), type=type)


def _is_unsigned(type: Attribute) -> bool:
    return isinstance(type, IntegerType) and cast(IntegerType, type).signedness.data is Signedness.UNSIGNED


def _float_value(parser: AttributeParser, offset: int, negative: bool, spelling: str, type: AnyFloat) -> float:
    """The value of a literal in a float type: a decimal with a dot, or the bits in hexadecimal."""
    if "." in spelling:
        value = -float(spelling) if negative else float(spelling)
        # Every type of 16 bits and more holds these: most values need no closer look.
        return value if abs(value) <= _MAX_F16 else _rounded(value, type)
    if spelling[1:2] != "x":
        note = (offset, "add a trailing dot to make the literal a float")
        parser._fail(offset, "unexpected decimal integer literal for a floating point value", note)
    if negative:
        parser._fail(offset, "hexadecimal float literal should not have a leading minus")
    # Hexadecimal digits are the bits of the number, which is how infinities and NaNs are written.
    bits = int(spelling, 16)
    if bits.bit_length() > type.bitwidth:
        parser._fail(offset, "hexadecimal float constant out of range for type")
    return next(iter(type.iter_unpack(bits.to_bytes(type.compile_time_size, "little"))))


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
        # As in MLIR, which asks whether the negated bits have their sign bit set, `-0` is out of range.
        return -magnitude if 0 < magnitude <= half else None
    if magnitude < half or not width:
        return magnitude
    if isinstance(type, IndexType) or type.signedness.data is Signedness.SIGNED:
        return None
    return magnitude if type.signedness.data is Signedness.UNSIGNED else magnitude - (1 << width)


def parse_dense_array(parser: AttributeParser) -> DenseArrayBase:
    """`<i32: 1, 2>` behind `array`."""
    parser.parse_characters("<", " after 'array'")
    start = parser.pos
    element = parser.parse_type()
    if not isinstance(element, IntegerType | AnyFloat):
        parser._fail(start, "'array' element type must be an integer or floating point type")
    literals: list[_Literal] = []
    if parser.parse_optional_characters(":") is not None:
        literals = parser.parse_list(parser.Delimiter.NONE, lambda: _parse_literal(parser))
    parser.parse_characters(">", " to close an array attribute")
    element = cast("IntegerType | AnyFloat", element)
    return DenseArrayBase(element, BytesAttr(_pack(parser, literals, element)))


def parse_dense(parser: AttributeParser, type: RankedStructure[AnyDenseElement] | None) -> DenseIntOrFPElementsAttr:
    """`<[[1, 2], [3, 4]]> : type` behind `dense`; without the type where it is known."""
    start = parser.tokens.starts[parser.tokens.index - 1]
    parser.parse_characters("<", " after 'dense'")
    literals: list[_Literal] = []
    shape: list[int] | None = None
    # The string of digits that MLIR prints for large data.
    hexadecimal = None
    if parser.tokens.texts[parser.tokens.index][0] == '"':
        hexadecimal = _parse_hexadecimal_bytes(parser)
    elif parser.tokens.texts[parser.tokens.index] != ">":
        shape = _parse_nested_literals(parser, literals)
    parser.parse_characters(">")
    if type is None:
        parser.parse_characters(":")
        type = _check_elements_type(parser, start, parser.parse_type())
    if hexadecimal is not None:
        return DenseIntOrFPElementsAttr(type, BytesAttr(_elements_of_bytes(parser, start, hexadecimal, type)))
    expected = list(type.get_shape())
    # One literal without brackets is repeated for all elements; none at all is right where there are no elements.
    if shape != expected and (shape or not literals) and (literals or prod(expected)):
        parser._fail(start, f"inferred shape of elements literal ({shape or []}) does not match type ({expected})")
    packed = _pack(parser, literals, type.element_type)
    if not shape:
        packed *= _splat_count(parser, start, len(packed), type)
    return DenseIntOrFPElementsAttr(type, BytesAttr(packed))


def _check_elements_type(parser: AttributeParser, start: int, type: Attribute) -> RankedStructure[AnyDenseElement]:
    if not isinstance(type, VectorType | TensorType | MemRefType):
        parser._fail(start, "elements literal must be a shaped type")
    shaped = cast(RankedStructure[AnyDenseElement], type)
    if DYNAMIC_INDEX in shaped.get_shape():
        parser._fail(start, "elements literal type must have static shape")
    if not isinstance(shaped.element_type, IntegerType | IndexType | AnyFloat | ComplexType):
        parser._fail(start, f"element type of elements literal cannot be '{shaped.element_type}'")
    return shaped


def _splat_count(parser: AttributeParser, start: int, size: int, type: RankedStructure[AnyDenseElement]) -> int:
    count = prod(type.get_shape())
    # xDSL keeps a splat element by element: a short text must not fill the memory.
    if count * size > MOST_ELEMENT_BYTES:
        limit = f"it has {count * size} bytes, and may have {MOST_ELEMENT_BYTES}"
        parser._fail(start, f"elements literal of {count} elements is too large: {limit}")
    return count


def _parse_nested_literals(parser: AttributeParser, literals: list[_Literal]) -> list[int]:
    """Add the literals of a list of lists to `literals`, and give the shape of that list."""
    if parser.parse_optional_characters("[") is None:
        literals.append(_parse_literal(parser))
        return []
    if parser.parse_optional_characters("]") is not None:
        return [0]
    parser._descend()
    inner = _parse_nested_literals(parser, literals)
    count = 1
    while parser.parse_optional_characters(",") is not None:
        if _parse_nested_literals(parser, literals) != inner:
            parser._fail(parser.pos, "tensor literal is invalid; ranks are not consistent between elements")
        count += 1
    parser.depth -= 1
    parser.parse_characters("]")
    return [count, *inner]


def _parse_literal(parser: AttributeParser) -> _Literal:
    tokens = parser.tokens
    index = tokens.index
    text = tokens.texts[index]
    if text == "(":
        tokens.index += 1
        real = _parse_literal(parser)
        parser.parse_characters(",", " between real and imaginary part")
        imaginary = _parse_literal(parser)
        parser.parse_characters(")", " to close a complex literal")
        return index, (real, imaginary)
    if text == "-":
        index += 1
        text = f"-{tokens.texts[index]}"
    if tokens.texts[index][0] not in DIGITS and text not in ("true", "false"):
        parser._fail_expecting("expected element literal of primitive type")
    tokens.index = index + 1
    return index, text


def _pack(parser: AttributeParser, literals: list[_Literal], element: AnyDenseElement) -> bytes:
    """The bytes of literals as elements of a type."""
    if isinstance(element, ComplexType):
        parts: list[_Literal] = []
        for index, pair in literals:
            if isinstance(pair, str):
                parser._fail(parser.tokens.starts[index], "expected complex elements, but parsed a scalar")
            parts += pair
        return _pack(parser, parts, element.element_type)
    if isinstance(element, AnyFloat):
        return element.pack([_float_element(parser, literal, element) for literal in literals])
    return element.pack([_integer_element(parser, literal, element) for literal in literals])


def _float_element(parser: AttributeParser, literal: _Literal, element: AnyFloat) -> float:
    index, text = literal
    offset = parser.tokens.starts[index]
    if not isinstance(text, str) or text in ("true", "false"):
        parser._fail(offset, "expected floating-point elements")
    return _float_value(parser, offset, text[0] == "-", text.removeprefix("-"), element)


def _integer_element(parser: AttributeParser, literal: _Literal, element: IntegerType | IndexType) -> int:
    index, text = literal
    offset = parser.tokens.starts[index]
    if text in ("true", "false"):
        if element != i1:
            parser._fail(offset, "expected i1 type for 'true' or 'false' values")
        return -1 if text == "true" else 0
    if not isinstance(text, str) or "." in text:
        parser._fail(offset, "expected integer elements, but parsed floating-point")
    negative = text[0] == "-"
    if negative and _is_unsigned(element):
        parser._fail(offset, "expected unsigned integer elements, but parsed negative value")
    magnitude = integer_value(text.removeprefix("-"))
    # As an attribute `-0` is refused, as in MLIR; among elements it has always been let pass.
    value = 0 if magnitude == 0 else integer_in_type(magnitude, negative, element)
    return parser._fail(offset, "integer constant out of range for type") if value is None else value


def _parse_hexadecimal_bytes(parser: AttributeParser) -> bytes:
    start = parser.pos
    digits = parser.parse_str_literal()
    try:
        if digits.startswith("0x"):
            return bytes.fromhex(digits[2:])
    except ValueError:
        pass
    return parser._fail(start, "expected string containing hex digits starting with `0x`")


def _elements_of_bytes(
    parser: AttributeParser, start: int, data: bytes, type: RankedStructure[AnyDenseElement]
) -> bytes:
    """MLIR's raw data as xDSL keeps it: one element per slot, a splat repeated, one byte and not one bit per i1."""
    count = prod(type.get_shape())
    if type.element_type == i1:
        # A splat of bools is one byte of equal bits.
        if len(data) == 1 and data in (b"\x00", b"\xff"):
            return data * count
        if len(data) == (count + 7) // 8:
            return bytes(0xFF if data[i >> 3] >> (i & 7) & 1 else 0 for i in range(count))
    size = type.element_type.compile_time_size
    if len(data) == size * count:
        return data
    if len(data) != size:
        parser._fail(start, f"elements hex data size is invalid for provided type: '{type}'")
    return data * _splat_count(parser, start, size, type)
