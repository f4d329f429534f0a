"""Attributes of the `aie` dialect that tiles and DMAs use, and how its enums are read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Generic, TypeVar, cast

from xdsl.dialects.builtin import ArrayAttr, IntAttr
from xdsl.ir import Attribute, OpaqueSyntaxAttribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.device import (
    CascadeDirection,
    DeviceName,
    DmaDirection,
    Keyword,
    LockAction,
    LockBlocking,
    ObjectFifoPort,
    TileType,
    WireBundle,
)
from tilewright.dialects._ods import enum_attr

EnumT = TypeVar("EnumT", bound=Keyword)

# The wording is upstream's: verification errors quote it.
DEVICE = enum_attr(DeviceName, "AIE Device")
TILE_TYPE = enum_attr(TileType, "Type of AIE Tile")
DIRECTION = enum_attr(DmaDirection, "DMA Channel direction")
LOCK_ACTION = enum_attr(LockAction, "lock acquire/release")
LOCK_BLOCKING = enum_attr(LockBlocking, "lock operation is blocking")
WIRE_BUNDLE = enum_attr(WireBundle, "Bundle of wires")
CASCADE_DIRECTION = enum_attr(CascadeDirection, "Directions for cascade")
OBJECT_FIFO_PORT = enum_attr(ObjectFifoPort, "Ports of an object FIFO")


def parse_enum(parser: Parser, cases: type[EnumT], attribute: str) -> EnumT:
    """A case of an enum, as a keyword or in quotes."""
    position = parser.pos
    text = parser.parse_optional_keyword_in(cases.__members__) or parser.parse_optional_str_literal()
    if text is None:
        parser.raise_error(
            "expected string or keyword containing one of the following enum values for attribute "
            f"'{attribute}' [{', '.join(cases.__members__)}]"
        )
    if text not in cases.__members__:
        parser.raise_error(f'invalid {attribute} attribute specification: "{text}"', position)
    return cases[text]


class StructAttr(ParametrizedAttribute):
    """Unsigned numbers with names, written `<name = number, ...>` in any order and printed in this one."""

    BITS: ClassVar[int] = 32

    def __init__(self, *numbers: int):
        super().__init__(*map(IntAttr, numbers))

    @classmethod
    def names(cls) -> list[str]:
        return [name for name, _ in cls.get_irdl_definition().parameters]

    def numbers(self) -> list[int]:
        return [cast(IntAttr, number).data for number in self.parameters]

    def verify(self) -> None:
        for name, number in zip(self.names(), self.numbers(), strict=True):
            if not 0 <= number < 1 << self.BITS:
                raise VerifyException(f"{name} must be an unsigned integer of {self.BITS} bits, got {number}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        names = cls.names()
        found: dict[str, IntAttr] = {}

        def parse_entry() -> None:
            position = parser.pos
            name = parser.parse_optional_identifier()
            if name is None:
                parser.raise_error("expected a parameter name in struct")
            if name not in names or name in found:
                parser.raise_error(f"duplicate or unknown struct parameter name: {name}", position)
            parser.parse_punctuation("=")
            position = parser.pos
            number = parser.parse_integer(allow_boolean=False, allow_negative=False)
            if number >= 1 << cls.BITS:
                parser.raise_error("integer value too large", position)
            found[name] = IntAttr(number)

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parse_entry)
        for name in names:
            if name not in found:
                parser.raise_error(f"struct is missing required parameter: {name}")
        return [found[name] for name in names]

    def print_parameters(self, printer: Printer) -> None:
        entries = zip(self.names(), self.numbers(), strict=True)
        printer.print_string(f"<{', '.join(f'{name} = {number}' for name, number in entries)}>")


@irdl_attr_definition
class PacketInfoAttr(StructAttr):
    """The header of a packet."""

    name = "aie.packet_info"
    BITS: ClassVar[int] = 16
    pkt_type: IntAttr
    pkt_id: IntAttr


@irdl_attr_definition
class BDIterationAttr(StructAttr):
    """How a descriptor's address advances each time it is used: sizes and strides in elements, nothing biased."""

    name = "aie.bd_iteration"
    size: IntAttr
    stride: IntAttr
    current: IntAttr


@irdl_attr_definition
class BDDimLayoutAttr(StructAttr):
    """One dimension of an access pattern."""

    name = "aie.bd_dim_layout"
    size: IntAttr
    stride: IntAttr


@irdl_attr_definition
class BDPadLayoutAttr(StructAttr):
    """Elements of padding before and after one dimension."""

    name = "aie.bd_pad_layout"
    BITS: ClassVar[int] = 16
    const_pad_before: IntAttr
    const_pad_after: IntAttr


ElementT = TypeVar("ElementT", bound=Attribute, covariant=True)


class ArrayOfAttr(OpaqueSyntaxAttribute, ParametrizedAttribute, Generic[ElementT]):
    """A list of one kind of attribute, each written without its name: `[<..>, <..>]`."""

    elements: ArrayAttr[ElementT]

    def __init__(self, elements: Iterable[ElementT] = ()):
        super().__init__(ArrayAttr(elements))

    def __iter__(self):
        return iter(self.elements.data)

    def __len__(self) -> int:
        return len(self.elements.data)

    def __getitem__(self, index: int) -> ElementT:
        return self.elements.data[index]

    @classmethod
    def element(cls) -> type[ParametrizedAttribute]:
        raise NotImplementedError

    @classmethod
    def parse_list(cls, parser: AttrParser) -> ArrayAttr[Attribute]:
        element = cls.element()
        return ArrayAttr(
            parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, lambda: element.new(element.parse_parameters(parser))
            )
        )

    def print_list(self, printer: Printer) -> None:
        printer.print_string("[")
        printer.print_list(self.elements, lambda element: _print_stripped(printer, element))
        printer.print_string("]")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return [cls.parse_list(parser)]

    def print_parameters(self, printer: Printer) -> None:
        self.print_list(printer)


def _print_stripped(printer: Printer, attr: Attribute) -> None:
    if isinstance(attr, ParametrizedAttribute):
        attr.print_parameters(printer)


@irdl_attr_definition
class BDDimLayoutArrayAttr(ArrayOfAttr[BDDimLayoutAttr]):
    """An access pattern, outermost dimension first."""

    name = "aie.bd_dim_layout_array"
    elements: ArrayAttr[BDDimLayoutAttr]

    @classmethod
    def element(cls) -> type[ParametrizedAttribute]:
        return BDDimLayoutAttr


@irdl_attr_definition
class BDDimLayoutArrayArrayAttr(ArrayOfAttr[BDDimLayoutArrayAttr]):
    name = "aie.bd_dim_layout_array_array"
    elements: ArrayAttr[BDDimLayoutArrayAttr]

    @classmethod
    def element(cls) -> type[ParametrizedAttribute]:
        return BDDimLayoutArrayAttr


@irdl_attr_definition
class BDPadLayoutArrayAttr(ArrayOfAttr[BDPadLayoutAttr]):
    """Padding of an access pattern, outermost dimension first."""

    name = "aie.bd_pad_layout_array"
    elements: ArrayAttr[BDPadLayoutAttr]

    @classmethod
    def element(cls) -> type[ParametrizedAttribute]:
        return BDPadLayoutAttr


ATTRS = [
    PacketInfoAttr,
    BDIterationAttr,
    BDDimLayoutAttr,
    BDDimLayoutArrayAttr,
    BDDimLayoutArrayArrayAttr,
    BDPadLayoutAttr,
    BDPadLayoutArrayAttr,
]
