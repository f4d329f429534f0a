"""Python values as the attributes that an operation's definition asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from functools import partial
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, TypeAttribute
from xdsl.irdl import AttrConstraint, IRDLOperation
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import EnumConstraint, IntConstraint, enum_to_attr
from tilewright.dialects.aie.attributes import (
    BDDimLayoutArrayArrayAttr,
    BDDimLayoutArrayAttr,
    BDDimLayoutAttr,
    BDIterationAttr,
    BDPadLayoutArrayAttr,
    BDPadLayoutAttr,
    PacketInfoAttr,
)
from tilewright.dialects.aie.objectfifo_types import ObjectFifoType
from tilewright.dialects.aie.trace_event import TraceEventAttr
from tilewright.iron.builders.handles import AttributeView, OpView
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.types import convert_type, integer_attr, is_boolean, is_buffer_type, is_integer, is_list


def property_attribute(op: Operation | type[Operation], name: str, value: Any) -> Attribute:
    """`value` as the attribute `name` of an operation: what its definition says, else what the value looks like."""
    if isinstance(value, AttributeView):
        value = value.attribute
    # whether it is one that the operation takes is checked when that is built
    if isinstance(value, Attribute):
        return value
    constraint = _constraint(op, name)
    attribute = _guess(value) if constraint is None else _convert(constraint, value)
    if attribute is None:
        refuse(f"'{op.name}' cannot take {value!r} as '{name}'")
    return attribute


def _constraint(op: Operation | type[Operation], name: str) -> AttrConstraint | None:
    kind = op if isinstance(op, type) else type(op)
    found = kind.get_irdl_definition().properties.get(name) if issubclass(kind, IRDLOperation) else None
    return None if found is None else found.constr


def _convert(constraint: AttrConstraint, value: Any) -> Attribute | None:
    if isinstance(constraint, EnumConstraint):
        return _enum(constraint, value)
    if isinstance(constraint, IntConstraint):
        return integer_attr(int(value), constraint.type) if is_integer(value) else None
    bases = constraint.get_bases() or set[type[Attribute]]()
    # a definition may allow several kinds of attributes: the first one that the value can be
    for base, make in _CONVERTERS.items():
        if base in bases and (made := make(value)) is not None:
            return made
    return _guess(value)


def _enum(constraint: EnumConstraint, value: Any) -> Attribute | None:
    cases = constraint.cases
    if isinstance(value, str) and value in cases.__members__:
        return enum_to_attr(cases[value])
    if is_integer(value) and any(int(value) == case for case in cases):
        return enum_to_attr(cases(int(value)))
    names = ", ".join(cases.__members__)
    refuse(f"{value!r} is not a {constraint.description}", (None, f"there are {names}"))


def symbol_name(given: Any) -> str | None:
    """The name of what a user refers to: a text, or an operation with a symbol."""
    if isinstance(given, str):
        return given
    op = given.op if isinstance(given, OpView) else given
    if isinstance(op, Operation):
        name = op.properties.get("sym_name")
        return name.data if isinstance(name, StringAttr) else None
    inner = getattr(given, "op", None)
    return None if inner is None or inner is given else symbol_name(inner)


def _symbol(value: Any) -> Attribute | None:
    name = symbol_name(value)
    return None if name is None else SymbolRefAttr(name)


def packet(value: Any) -> Attribute | None:
    """`(type, id)`."""
    return _struct(PacketInfoAttr, value)


def _struct(kind: Any, value: Any) -> Attribute | None:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return value if isinstance(value, Attribute) else None
    numbers = cast("Sequence[Any]", value)
    names = kind.names()
    if len(numbers) != len(names):
        refuse(f"expected ({', '.join(names)}), got {tuple(numbers)}")
    try:
        return kind(*map(int, numbers))
    except (VerifyException, TypeError, ValueError) as error:
        refuse(f"expected ({', '.join(names)}), got {tuple(numbers)}: {error}")


def _array_of(array: Any, element: Callable[[Any], Attribute | None]) -> Callable[[Any], Attribute | None]:
    def convert(value: Any) -> Attribute | None:
        if isinstance(value, Attribute):
            return value
        if not isinstance(value, Iterable) or isinstance(value, str):
            return None
        return array([element(part) for part in cast("Iterable[Any]", value)])

    return convert


dimensions = _array_of(BDDimLayoutArrayAttr, partial(_struct, BDDimLayoutAttr))


def _event(value: Any) -> Attribute | None:
    value = getattr(value, "code", value)  # of a `GenericEvent`, or of a port's
    name = value.name if isinstance(value, Enum) else value
    return TraceEventAttr(StringAttr(name)) if isinstance(name, str) else None


def _fifo_type(value: Any) -> Attribute | None:
    type = convert_type(value)
    return ObjectFifoType(type) if is_buffer_type(type) else None


_CONVERTERS: dict[type[Attribute], Callable[[Any], Attribute | None]] = {
    StringAttr: lambda value: StringAttr(value) if isinstance(value, str) else None,
    SymbolRefAttr: _symbol,
    # other integers have an `IntConstraint` that says how wide they are
    IntegerAttr: lambda value: BoolAttr.from_bool(bool(value)) if is_boolean(value) or is_integer(value) else None,
    UnitAttr: lambda value: UnitAttr() if value else None,
    PacketInfoAttr: packet,
    BDIterationAttr: partial(_struct, BDIterationAttr),
    BDDimLayoutArrayAttr: dimensions,
    BDDimLayoutArrayArrayAttr: _array_of(BDDimLayoutArrayArrayAttr, dimensions),
    BDPadLayoutArrayAttr: _array_of(BDPadLayoutArrayAttr, partial(_struct, BDPadLayoutAttr)),
    ObjectFifoType: _fifo_type,
    TraceEventAttr: _event,
    DenseArrayBase: lambda value: DenseArrayBase.from_list(i32, [int(part) for part in value]),
    TypeAttribute: convert_type,
}


def _integer(width: int) -> Callable[[Any], Attribute]:
    return lambda value: integer_attr(int(value), IntegerType(width))


class AttrBuilder:
    """Attributes of Python values, by the names that MLIR's definitions have for them."""

    _NAMED: ClassVar[dict[str, Callable[[Any], Attribute | None]]] = {
        **{kind.__name__: make for kind, make in _CONVERTERS.items()},
        **{f"I{width}Attr": _integer(width) for width in (8, 16, 32, 64)},
        "BoolAttr": lambda value: BoolAttr.from_bool(bool(value)),
        "StrAttr": _CONVERTERS[StringAttr],
        "SymbolNameAttr": _CONVERTERS[StringAttr],
        "FlatSymbolRefAttr": _symbol,
        "TypeAttr": convert_type,
    }

    @classmethod
    def contains(cls, attribute_kind: str) -> bool:
        return attribute_kind in cls._NAMED

    @classmethod
    def get(cls, attribute_kind: str) -> Callable[..., Attribute]:
        """A function that makes attributes of a kind, such as `PacketInfoAttr`."""
        make = cls._NAMED.get(attribute_kind)
        if make is None:
            refuse(f"there is no builder for '{attribute_kind}'", (None, f"there are {', '.join(cls._NAMED)}"))

        def build(value: Any, context: Any = None) -> Attribute:
            return make(value) or refuse(f"{value!r} cannot be a {attribute_kind}")

        return build


def _guess(value: Any) -> Attribute | None:
    """What a value is where no definition says: booleans, i32 or i64 numbers, texts, lists of those."""
    if is_boolean(value):
        return BoolAttr.from_bool(bool(value))
    if is_integer(value):
        return IntegerAttr(int(value), i32 if -(1 << 31) <= value < 1 << 32 else i64)  # a 32-bit word, signed or not
    if is_list(value):
        parts = [_guess(part) for part in value]
        return None if None in parts else ArrayAttr(cast("list[Attribute]", parts))
    return StringAttr(value) if isinstance(value, str) else None


def bd_dim_layout(size: int, stride: int) -> Attribute:
    """One dimension of an access pattern."""
    return _struct(BDDimLayoutAttr, (size, stride)) or refuse("a dimension has a size and a stride")


def bd_pad_layout(const_pad_before: int, const_pad_after: int) -> Attribute:
    """Padding of one dimension of an access pattern."""
    return _struct(BDPadLayoutAttr, (const_pad_before, const_pad_after)) or refuse("padding comes before and after")
