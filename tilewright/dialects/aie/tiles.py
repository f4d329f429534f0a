"""The device and its tiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Self

from xdsl.dialects.builtin import IntegerAttr, StringAttr, SymbolNameConstraint, i32
from xdsl.ir import Block, Operation, Region
from xdsl.irdl import (
    IRDLOperation,
    lazy_traits_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, Pure, SymbolOpInterface, SymbolTable
from xdsl.utils.exceptions import VerifyException

from tilewright.device import DeviceModel, DeviceName, TileId, TileResources, TileType, model
from tilewright.dialects._ods import (
    BlockOp,
    ImplicitTerminator,
    ParentOp,
    enum_to_attr,
    enum_value,
    i32_attr,
    op_definition,
)
from tilewright.dialects._syntax import parse_i32, print_attributes, split_attributes
from tilewright.dialects.aie.attributes import DEVICE, TILE_TYPE, PacketInfoAttr
from tilewright.dialects.aie.core import INDEX, CoreOp, EndOp
from tilewright.dialects.aie.interfaces import SkipAccessibilityCheck, Target, TileLike
from tilewright.dialects.aie.lookup import device_model, lookup_symbol
from tilewright.ir.diagnostics import VerifyError
from tilewright.ir.traversal import all_operations, ops_of

COORDINATE = i32_attr(minimum=0)
DEFAULT_DEVICE_NAME = "main"


@op_definition
class DeviceOp(Target, BlockOp):
    """A design for one device."""

    name = "aie.device"

    device = prop_def(DEVICE)
    sym_name = prop_def(SymbolNameConstraint(), default_value=StringAttr(DEFAULT_DEVICE_NAME))
    body_region = region_def()

    traits = lazy_traits_def(
        lambda: (
            ParentOp("builtin.module"),
            SymbolOpInterface(),
            SymbolTable(),
            IsolatedFromAbove(),
            ImplicitTerminator(EndOp),
        )
    )
    assembly_format = "`(` $device `)` ($sym_name^)? $body_region attr-dict"

    def __init__(self, device: DeviceName | str, ops: Sequence[Operation] = (), sym_name: str = DEFAULT_DEVICE_NAME):
        super().__init__(
            properties={
                "device": enum_to_attr(DeviceName[device] if isinstance(device, str) else device),
                "sym_name": StringAttr(sym_name),
            },
            regions=[Region(Block(ops))],
        )

    @property
    def model(self) -> DeviceModel:
        return _model(self.device.value.data)

    @property
    def body(self) -> Block:
        return self.body_region.block

    @property
    def tiles(self) -> Iterator[TileOp]:
        return (op for op in self.body.ops if isinstance(op, TileOp))

    def lookup(self, symbol: str) -> Operation | None:
        """The operation in this device that a symbol names."""
        return lookup_symbol(self, symbol)

    def verify_(self) -> None:
        # one walk for all of them; a core that looked for others would walk the whole device each time
        cores: dict[TileId, CoreOp] = {}
        for op in ops_of(all_operations(self), CoreOp):
            if (place := op.place) is not None:
                other = cores.setdefault(place, op)
                if other is not op:
                    raise VerifyError(
                        f"tile ({place.column}, {place.row}) already has a core; each compute tile can host only "
                        "one core",
                        (other, "the other core is here"),
                        at=op,
                    )


@cache  # asked for each descriptor, many times
def _model(number: int) -> DeviceModel:
    return model(DeviceName(number))


class _TileOp(TileLike):
    """What placed and logical tiles share."""

    @property
    def resources(self) -> TileResources:
        return device_model(self).resources(self.tile_type)

    @property
    def controller_id(self) -> PacketInfoAttr | None:
        """The packet under which the tile answers; a pass assigns it."""
        packet = self.attributes.get("controller_id")  # discardable, so it may be anything
        return packet if isinstance(packet, PacketInfoAttr) else None

    def verify_coordinates(self, column: int | None, row: int | None) -> None:
        device = device_model(self)
        for axis, index, count in (("column", column, device.columns), ("row", row, device.rows)):
            if index is not None and index >= count:
                raise VerifyException(
                    f"{axis} index ({index}) must be less than the number of {axis}s in the device ({count})"
                )

    def verify_allocation_scheme(self, scheme: StringAttr | None) -> None:
        if scheme is not None and self.is_shim:
            raise VerifyException("Shim tiles cannot have an allocation scheme")


_TILE_NAMES = {
    TileType.CoreTile: "tile",
    TileType.MemTile: "mem_tile",
    TileType.ShimNOCTile: "shim_noc_tile",
    TileType.ShimPLTile: "shim_pl_tile",
}


@op_definition
class TileOp(_TileOp):
    """A tile at a place on the array."""

    name = "aie.tile"

    col = prop_def(COORDINATE)
    row = prop_def(COORDINATE)
    allocation_scheme = opt_prop_def(StringAttr)  # of the tile's buffers: basic-sequential or bank-aware
    result = result_def(INDEX)

    traits = traits_def(Pure())
    assembly_format = "`(` $col `,` $row `)` attr-dict"

    def __init__(self, column: int, row: int):
        super().__init__(
            properties={"col": IntegerAttr(column, i32), "row": IntegerAttr(row, i32)}, result_types=[INDEX]
        )

    @property
    def place(self) -> TileId:
        return TileId(self.col.value.data, self.row.value.data)

    @property
    def is_placed(self) -> bool:
        return True

    @property
    def tile_type(self) -> TileType:
        return device_model(self).tile_type(*self.place)

    @property
    def resources(self) -> TileResources:
        return device_model(self).tile_resources(*self.place)

    def result_names(self) -> Sequence[str | None]:
        column, row = self.place
        return [f"{_TILE_NAMES[self.tile_type]}_{column}_{row}"]

    def verify_(self) -> None:
        self.verify_coordinates(*self.place)
        if sum(use.operation.name == "aie.switchbox" for use in self.result.uses) > 1:
            raise VerifyException("can only have one switchbox")
        self.verify_allocation_scheme(self.allocation_scheme)


_LOGICAL_NAMES = {
    TileType.CoreTile: "logical_core",
    TileType.MemTile: "logical_mem",
    TileType.ShimNOCTile: "logical_shim_noc",
    TileType.ShimPLTile: "logical_shim_pl",
}


@op_definition
class LogicalTileOp(_TileOp):
    """A tile of some kind that placement finds a place for; a column or a row may be asked for."""

    name = "aie.logical_tile"

    tile_type_attr = prop_def(TILE_TYPE, prop_name="tile_type")
    col = opt_prop_def(COORDINATE)
    row = opt_prop_def(COORDINATE)
    allocation_scheme = opt_prop_def(StringAttr)
    result = result_def(INDEX)

    traits = traits_def(SkipAccessibilityCheck())

    def __init__(self, tile_type: TileType, column: int | None = None, row: int | None = None):
        super().__init__(
            properties={
                "tile_type": enum_to_attr(tile_type),
                "col": None if column is None else IntegerAttr(column, i32),
                "row": None if row is None else IntegerAttr(row, i32),
            },
            result_types=[INDEX],
        )

    @property
    def tile_type(self) -> TileType:
        return enum_value(TileType, self.tile_type_attr)

    @property
    def place(self) -> TileId | None:
        if self.col is None or self.row is None:
            return None
        return TileId(self.col.value.data, self.row.value.data)

    @property
    def is_placed(self) -> bool:
        return False

    def result_names(self) -> Sequence[str | None]:
        return [_LOGICAL_NAMES[self.tile_type]]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        with parser.in_angle_brackets():
            kind = parser.parse_identifier()
            if kind not in TileType.__members__:
                parser.raise_error(f"unknown logical tile type: {kind}")
        with parser.in_parens():
            column = _parse_coordinate(parser)
            parser.parse_punctuation(",")
            row = _parse_coordinate(parser)
        op = cls(TileType[kind], column, row)
        properties, op.attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        op.properties.update(properties)
        return op

    def print(self, printer: Printer) -> None:
        column, row = ("?" if number is None else number.value.data for number in (self.col, self.row))
        printer.print_string(f"<{self.tile_type}>({column}, {row})")
        print_attributes(printer, self, elided=("tile_type", "col", "row"))

    def verify_(self) -> None:
        column, row = (None if number is None else number.value.data for number in (self.col, self.row))
        self.verify_coordinates(column, row)
        device = device_model(self)
        if self.tile_type not in device.tile_types:
            raise VerifyException(f"tile type '{self.tile_type}' does not exist on the target device")
        # one coordinate alone may still lead to a tile of the right type
        if (place := self.place) is not None and device.tile_type(*place) is not self.tile_type:
            raise VerifyException(
                f"declared logical tile type does not match the tile type at coordinates ({place.column}, {place.row})"
            )
        self.verify_allocation_scheme(self.allocation_scheme)


def _parse_coordinate(parser: Parser) -> int | None:
    if parser.parse_optional_punctuation("?") is not None:
        return None
    return parse_i32(parser).value.data


OPS: Sequence[type[IRDLOperation]] = [DeviceOp, TileOp, LogicalTileOp]
