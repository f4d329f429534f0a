"""Builtin attributes and types as MLIR writes them.

`ATTRIBUTE_TEXT` has one function for each class, from the attribute to its text; attributes inside are asked of the
printer, which knows their aliases. Attributes of dialects print themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    AffineSetAttr,
    ArrayAttr,
    BytesAttr,
    CallSiteLoc,
    ComplexType,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    DictionaryAttr,
    FileLineColLoc,
    FloatAttr,
    FunctionType,
    FusedLoc,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NameLoc,
    NoneAttr,
    NoneType,
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
    _FloatType,
)
from xdsl.ir import Attribute

from tilewright.ir.affine_text import is_identity, map_text, set_text
from tilewright.ir.print_floats import float_text

HEX_FROM_ELEMENTS = 101
"""Dense data with at least so many elements that are not all the same is written as one hexadecimal string."""

_BARE_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")
_PLAIN_STRING = re.compile(r"[ !#-\[\]-~]*")
_SIMPLE_SYMBOL = re.compile(r"[A-Za-z][A-Za-z0-9._]*(<.*>)?", re.DOTALL)


class AttributePrinter(Protocol):
    def attribute_text(self, attribute: Attribute) -> str: ...
    def use_resource(self, dialect: str, handle: str) -> None: ...


def string_text(text: str) -> str:
    """A string literal: what is not printable ASCII as two hexadecimal digits for each byte."""
    return f'"{text}"' if _PLAIN_STRING.fullmatch(text) else bytes_text(text.encode())


def bytes_text(data: bytes) -> str:
    escaped = (
        "\\\\" if byte == 0x5C else chr(byte) if 0x20 <= byte <= 0x7E and byte != 0x22 else f"\\{byte:02X}"
        for byte in data
    )
    return f'"{"".join(escaped)}"'


@lru_cache(maxsize=4096)
def keyword_text(name: str) -> str:
    """The name as it is where it can stand as an identifier, else as a string literal."""
    return name if _BARE_IDENTIFIER.fullmatch(name) else string_text(name)


def symbol_text(name: str) -> str:
    return f"@{keyword_text(name)}"


def integer_text(value: int, type: Attribute) -> str:
    return ("true" if value else "false") if is_bool(type) else str(value)


def is_bool(type: Attribute) -> bool:
    """Whether values of the type are written `true` and `false`."""
    if not isinstance(type, IntegerType):
        return False
    type = cast("IntegerType", type)
    return type.width.data == 1 and type.signedness.data is Signedness.SIGNLESS


def dimensions_text(shape: Sequence[int]) -> str:
    """`4x?x`, with the last `x` that comes before an element type."""
    return "".join("?x" if size == DYNAMIC_INDEX else f"{size}x" for size in shape)


def dictionary_text(p: AttributePrinter, entries: Mapping[str, Attribute]) -> str:
    """`{a = 1 : i32, b}`, sorted by name."""
    return f"{{{', '.join([entry_text(p, name, entries[name]) for name in sorted(entries)])}}}"


def entry_text(p: AttributePrinter, name: str, value: Attribute) -> str:
    return keyword_text(name) if isinstance(value, UnitAttr) else f"{keyword_text(name)} = {p.attribute_text(value)}"


def element_text(p: AttributePrinter, element: Attribute) -> str:
    """An attribute in a place where the types `i64` and `f64` go without saying."""
    text = p.attribute_text(element)
    if isinstance(element, IntegerAttr):
        return text.removesuffix(" : i64")
    # Bits alone would be read as an integer.
    if isinstance(element, FloatAttr) and not text.startswith("0x"):
        return text.removesuffix(" : f64")
    return text


def _integer_attribute(p: AttributePrinter, a: IntegerAttr) -> str:
    type = p.attribute_text(a.type)
    return ("true" if a.value.data else "false") if type == "i1" else f"{a.value.data} : {type}"


def _float_attribute(p: AttributePrinter, a: FloatAttr) -> str:
    return f"{float_text(a.value.data, a.type)} : {a.type.name}"


def _symbol_reference(p: AttributePrinter, a: SymbolRefAttr) -> str:
    return "::".join([symbol_text(name.data) for name in (a.root_reference, *a.nested_references.data)])


def _array(p: AttributePrinter, a: ArrayAttr) -> str:
    return f"[{', '.join([element_text(p, element) for element in a.data])}]"


def _dense_array(p: AttributePrinter, a: Any) -> str:
    values = ", ".join(_number_texts(a.elt_type, a.iter_values()))
    return f"array<{p.attribute_text(a.elt_type)}{': ' if values else ''}{values}>"


def _number_texts(type: Any, values: Any) -> list[str]:
    if isinstance(type, ComplexType):
        element_type = cast("ComplexType", type).element_type
        return [f"({','.join(_number_texts(element_type, pair))})" for pair in values]
    if is_bool(type):
        return ["true" if value else "false" for value in values]
    if isinstance(type, IntegerType | IndexType):
        return [str(value) for value in values]
    return [float_text(value, type) for value in values]


def _dense(p: AttributePrinter, a: DenseIntOrFPElementsAttr) -> str:
    return f"dense<{_dense_body(a)}> : {p.attribute_text(a.type)}"


def _dense_body(a: DenseIntOrFPElementsAttr) -> str:
    type: Any = a.type.element_type
    data, count = a.data.data, len(a)
    if not count:
        return ""
    first = data[: len(data) // count]
    # A splat, as MLIR stores it, however it was written.
    if data == first * count:
        return _number_texts(type, type.unpack(first, 1))[0]
    if count >= HEX_FROM_ELEMENTS:
        return f'"0x{_packed(a).hex().upper()}"'
    elements = _number_texts(type, a.get_values())
    # Brackets from the innermost dimension outwards.
    for size in reversed(a.get_shape()[1:]):
        elements = [f"[{', '.join(elements[i : i + size])}]" for i in range(0, len(elements), size)]
    return f"[{', '.join(elements)}]"


def _packed(a: DenseIntOrFPElementsAttr) -> bytes:
    """The elements as MLIR stores them: no more bytes than their width needs, single bits eight to a byte."""
    type = a.type.element_type
    if not isinstance(type, IntegerType):
        return a.data.data
    width = type.width.data
    values: Any = a.get_values()
    # MLIR packs bools, one bit each, the first in the lowest bit.
    if width == 1:
        bits = sum(1 << i for i, bit in enumerate(values) if bit)
        return bits.to_bytes((len(values) + 7) // 8, "little")
    mask = (1 << width) - 1
    return b"".join((value & mask).to_bytes((width + 7) // 8, "little") for value in values)


def _dense_resource(p: AttributePrinter, a: DenseResourceAttr) -> str:
    p.use_resource("builtin", a.resource_handle.data)
    return f"dense_resource<{keyword_text(a.resource_handle.data)}> : {p.attribute_text(a.get_type())}"


def _strided(p: AttributePrinter, a: StridedLayoutAttr) -> str:
    strides = ", ".join([_size_text(stride) for stride in a.strides.data])
    offset = _size_text(a.offset)
    return f"strided<[{strides}]>" if offset == "0" else f"strided<[{strides}], offset: {offset}>"


def _size_text(size: IntAttr | NoneAttr) -> str:
    return str(size.data) if isinstance(size, IntAttr) else "?"


def _unregistered(p: AttributePrinter, a: UnregisteredAttr) -> str:
    sigil, name, value = "!" if a.is_type.data else "#", a.attr_name.data, a.value.data
    # Written `#dialect<body>`, whose body begins with the name.
    if a.is_opaque.data:
        dialect, _, rest = name.partition(".")
        return dialect_symbol_text(sigil, dialect, rest + value)
    return f"{sigil}{name}<{value}>" if value else f"{sigil}{name}"


def dialect_symbol_text(sigil: str, dialect: str, body: str) -> str:
    """`#dialect.body` where the body looks like a name with parameters, else `#dialect<body>`."""
    return f"{sigil}{dialect}.{body}" if _SIMPLE_SYMBOL.fullmatch(body) else f"{sigil}{dialect}<{body}>"


_SIGN = {Signedness.SIGNLESS: "i", Signedness.SIGNED: "si", Signedness.UNSIGNED: "ui"}


def _integer_type(p: AttributePrinter, t: IntegerType) -> str:
    return f"{_SIGN[t.signedness.data]}{t.width.data}"


def _function_type(p: AttributePrinter, t: FunctionType) -> str:
    return function_type_text(p, t.inputs.data, t.outputs.data)


def function_type_text(p: AttributePrinter, inputs: Sequence[Attribute], outputs: Sequence[Attribute]) -> str:
    """`(i32) -> (i32, i32)`; one result stands without parentheses unless it is a function type."""
    text = p.attribute_text
    arguments = ", ".join([text(type) for type in inputs])
    # `() -> (() -> ())`: without parentheses it would read as a function of functions.
    if len(outputs) == 1 and not isinstance(outputs[0], FunctionType):
        return f"({arguments}) -> {text(outputs[0])}"
    return f"({arguments}) -> ({', '.join([text(type) for type in outputs])})"


def _tuple_type(p: AttributePrinter, t: TupleType) -> str:
    return f"tuple<{', '.join([p.attribute_text(type) for type in t.types.data])}>"


def _vector_type(p: AttributePrinter, t: VectorType) -> str:
    sizes = "".join(
        [
            f"[{size.data}]x" if scalable else f"{size.data}x"
            for size, scalable in zip(t.shape, t.scalable_dims, strict=True)
        ]
    )
    return f"vector<{sizes}{p.attribute_text(t.element_type)}>"


def _tensor_type(p: AttributePrinter, t: TensorType) -> str:
    encoding = "" if isinstance(t.encoding, NoneAttr) else f", {p.attribute_text(t.encoding)}"
    return f"tensor<{dimensions_text(t.get_shape())}{p.attribute_text(t.element_type)}{encoding}>"


def _memref_type(p: AttributePrinter, t: MemRefType) -> str:
    text = f"memref<{dimensions_text(t.get_shape())}{p.attribute_text(t.element_type)}"
    layout = t.layout
    # Passes may make an identity map; MLIR never holds one.
    if not isinstance(layout, NoneAttr) and not (isinstance(layout, AffineMapAttr) and is_identity(layout.data)):
        text += f", {p.attribute_text(layout)}"
    return f"{text}{_memory_space(p, t.memory_space)}>"


def _memory_space(p: AttributePrinter, space: Attribute) -> str:
    """Nothing for the default one, for which MLIR takes every zero."""
    if isinstance(space, NoneAttr) or (isinstance(space, IntegerAttr) and not space.value.data):
        return ""
    return f", {element_text(p, cast(Attribute, space))}"


def location_text(p: AttributePrinter, location: Attribute) -> str:
    """A location without the `loc(...)` around it; the locations inside may be aliases."""
    match location:
        case FileLineColLoc():
            return f"{string_text(location.filename.data)}:{location.line.data}:{location.column.data}"
        case NameLoc(location=inner):
            name = string_text(location.desc.data)
            return name if isinstance(inner, NoneAttr | UnknownLoc) else f"{name}({_inner_location(p, inner)})"
        case CallSiteLoc():
            return f"callsite({_inner_location(p, location.callee)} at {_inner_location(p, location.caller)})"
        case FusedLoc():
            metadata = "" if isinstance(location.metadata, NoneAttr) else f"<{p.attribute_text(location.metadata)}>"
            parts: Any = location.locations
            return f"fused{metadata}[{', '.join([_inner_location(p, part) for part in parts.data])}]"
        case _:
            return "unknown"


def _inner_location(p: AttributePrinter, location: Attribute) -> str:
    text = p.attribute_text(location)
    return text[len("loc(") : -1] if text.startswith("loc(") else text


def _location(p: AttributePrinter, a: Attribute) -> str:
    return f"loc({location_text(p, a)})"


AttributeText = Callable[[AttributePrinter, Any], str]

ATTRIBUTE_TEXT: dict[type[Attribute], AttributeText] = {
    AffineMapAttr: lambda p, a: f"affine_map<{map_text(a.data)}>",
    AffineSetAttr: lambda p, a: f"affine_set<{set_text(a.data)}>",
    ArrayAttr: _array,
    BytesAttr: lambda p, a: bytes_text(a.data),
    DenseArrayBase: _dense_array,
    DenseIntOrFPElementsAttr: _dense,
    DenseResourceAttr: _dense_resource,
    DictionaryAttr: lambda p, a: dictionary_text(p, a.data),
    FloatAttr: _float_attribute,
    IntegerAttr: _integer_attribute,
    StridedLayoutAttr: _strided,
    StringAttr: lambda p, a: string_text(a.data),
    SymbolRefAttr: _symbol_reference,
    UnitAttr: lambda p, a: "unit",
    UnregisteredAttr: _unregistered,
    CallSiteLoc: _location,
    FileLineColLoc: _location,
    FusedLoc: _location,
    NameLoc: _location,
    UnknownLoc: _location,
    ComplexType: lambda p, t: f"complex<{p.attribute_text(t.element_type)}>",
    FunctionType: _function_type,
    IndexType: lambda p, t: "index",
    IntegerType: _integer_type,
    MemRefType: _memref_type,
    NoneType: lambda p, t: "none",
    TensorType: _tensor_type,
    TupleType: _tuple_type,
    UnrankedMemRefType: lambda p, t: f"memref<*x{p.attribute_text(t.element_type)}{_memory_space(p, t.memory_space)}>",
    UnrankedTensorType: lambda p, t: f"tensor<*x{p.attribute_text(t.element_type)}>",
    VectorType: _vector_type,
    _FloatType: lambda p, t: t.name,
}


def text_function(cls: type[Attribute]) -> AttributeText | None:
    """How a class of attributes is written, unless it writes itself."""
    # Classes of ours that derive from a builtin one are written as that, unless they print themselves.
    for base in cls.__mro__:
        if base in ATTRIBUTE_TEXT:
            own = getattr(cls, "print_builtin", None)
            return ATTRIBUTE_TEXT[base] if own is getattr(base, "print_builtin", None) else None
    return None
