"""Attributes of the `aie` dialect that tiles and DMAs use, and how its enums are read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Generic, TypeVar, cast

from xdsl.dialects.builtin import ArrayAttr, IntAttr
from xdsl.ir import Attribute, OpaqueSyntaxAttribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.device import (
    MAX_PACKET_ID,
    MAX_PACKET_TYPE,
    CascadeDirection,
    DeviceName,
    DmaDirection,
    LockAction,
    LockBlocking,
    ObjectFifoPort,
    TileType,
    WireBundle,
)
from tilewright.dialects._ods import enum_attr

# The wording is upstream's: verification errors quote it.
DEVICE = enum_attr(DeviceName, "AIE Device")
TILE_TYPE = enum_attr(TileType, "Type of AIE Tile")
DIRECTION = enum_attr(DmaDirection, "DMA Channel direction")
LOCK_ACTION = enum_attr(LockAction, "lock acquire/release")
LOCK_BLOCKING = enum_attr(LockBlocking, "lock operation is blocking")
WIRE_BUNDLE = enum_attr(WireBundle, "Bundle of wires")
CASCADE_DIRECTION = enum_attr(CascadeDirection, "Directions for cascade")
OBJECT_FIFO_PORT = enum_attr(ObjectFifoPort, "Ports of an object FIFO")


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
        # the reader refuses such numbers itself; these come from Python
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
        # in this order, whatever order the text has
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
    BITS: ClassVar[int] = 16  # of upstream's attribute; the hardware's fields have 3 and 5
    pkt_type: IntAttr
    pkt_id: IntAttr


def packet_violation(packet: PacketInfoAttr) -> str | None:
    """Why a packet header cannot hold these numbers."""
    if packet.pkt_type.data > MAX_PACKET_TYPE:
        return "Packet type field can only hold 3 bits."
    if packet.pkt_id.data > MAX_PACKET_ID:
        return "Packet ID field can only hold 5 bits."
    return None


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
    const_pad_before: IntAttr  # the channel says what value is padded with
    const_pad_after: IntAttr


ElementT = TypeVar("ElementT", bound=ParametrizedAttribute, covariant=True)


class ArrayOfAttr(OpaqueSyntaxAttribute, ParametrizedAttribute, Generic[ElementT]):
    """A list of one kind of attribute, each written without its name: `[<..>, <..>]`."""

    ELEMENT: ClassVar[type[ParametrizedAttribute]]
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
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        def parse_element() -> Attribute:
            return cls.ELEMENT.new(cls.ELEMENT.parse_parameters(parser))

        return [ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_element))]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string("[")
        printer.print_list(self.elements, lambda element: element.print_parameters(printer))
        printer.print_string("]")


@irdl_attr_definition
class BDDimLayoutArrayAttr(ArrayOfAttr[BDDimLayoutAttr]):
    """An access pattern, outermost dimension first."""

    name = "aie.bd_dim_layout_array"
    ELEMENT: ClassVar[type[ParametrizedAttribute]] = BDDimLayoutAttr
    elements: ArrayAttr[BDDimLayoutAttr]


@irdl_attr_definition
class BDDimLayoutArrayArrayAttr(ArrayOfAttr[BDDimLayoutArrayAttr]):
    name = "aie.bd_dim_layout_array_array"
    ELEMENT: ClassVar[type[ParametrizedAttribute]] = BDDimLayoutArrayAttr
    elements: ArrayAttr[BDDimLayoutArrayAttr]


@irdl_attr_definition
class BDPadLayoutArrayAttr(ArrayOfAttr[BDPadLayoutAttr]):
    """Padding of an access pattern, outermost dimension first."""

    name = "aie.bd_pad_layout_array"
    ELEMENT: ClassVar[type[ParametrizedAttribute]] = BDPadLayoutAttr
    elements: ArrayAttr[BDPadLayoutAttr]


ATTRS = [
    PacketInfoAttr,
    BDIterationAttr,
    BDDimLayoutAttr,
    BDDimLayoutArrayAttr,
    BDDimLayoutArrayArrayAttr,
    BDPadLayoutAttr,
    BDPadLayoutArrayAttr,
]
