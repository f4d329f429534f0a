"""The switches and multiplexers of a device, made as they are needed, and the wires between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import TileId, TileType, WireBundle
from tilewright.device.stream_switch import SHIM_MUX_ENTRIES, SHIM_MUX_EXITS
from tilewright.dialects.aie.flows import Port, WireEnds, WireOp
from tilewright.dialects.aie.switchbox import ConnectOp, MasterSetOp, PacketRulesOp, ShimMuxOp, SwitchboxOp
from tilewright.dialects.aie.tiles import DeviceOp, TileOp
from tilewright.passes.design.create_pathfinder_flows.grid import Taken
from tilewright.rewrite.device_tiles import tiles_by_place

South, West, North, East = WireBundle.South, WireBundle.West, WireBundle.North, WireBundle.East


class Interconnect:
    def __init__(self, device: DeviceOp):
        self.device = device
        self.tiles = tiles_by_place(device)
        ops = list(device.body.ops)
        self.switches = {op.place: op for op in ops if isinstance(op, SwitchboxOp) and op.place is not None}
        self.multiplexers = {op.place: op for op in ops if isinstance(op, ShimMuxOp) and op.place is not None}

    def tile(self, place: TileId, location: LocationAttr) -> TileOp:
        """The tile at a place; one that is new goes to the end of the device."""
        if place not in self.tiles:
            self.tiles[place] = TileOp(*place)
            self.add(self.tiles[place], location)
        return self.tiles[place]

    def switch(self, place: TileId, location: LocationAttr, *, at_tile: bool = False) -> SwitchboxOp:
        """The switch of a tile; one that is new goes to the end of the device, or right after the tile."""
        if place not in self.switches:
            tile = self.tile(place, location)
            self.switches[place] = SwitchboxOp(tile.result)
            self.add(self.switches[place], location, after=tile if at_tile else None)
        return self.switches[place]

    def multiplexer(self, place: TileId, location: LocationAttr, *, at_tile: bool = False) -> ShimMuxOp:
        if place not in self.multiplexers:
            tile = self.tile(place, location)
            self.multiplexers[place] = ShimMuxOp(tile.result)
            self.add(self.multiplexers[place], location, after=tile if at_tile else None)
        return self.multiplexers[place]

    def add(self, op: Operation, location: LocationAttr, *, after: Operation | None = None) -> None:
        for new in op.walk():
            new.location = location
        end = self.device.body.last_op
        assert end is not None
        Rewriter.insert_op(op, InsertPoint.before(end) if after is None else InsertPoint.after(after))

    def has_multiplexer(self, place: TileId) -> bool:
        return self.device.model.tile_type(*place) is TileType.ShimNOCTile

    def taken(self) -> dict[TileId, Taken]:
        """The ports that switches already use, by all the names they go by."""
        return {place: _taken(op, self.device.model.is_shim_tile(*place)) for place, op in self.switches.items()}


def _taken(switch: SwitchboxOp, is_shim: bool) -> Taken:
    inputs: set[Port] = set()
    outputs: set[Port] = set()
    for op in switch.connections.ops:
        if isinstance(op, ConnectOp | PacketRulesOp):
            inputs.add(op.source)
        if isinstance(op, ConnectOp | MasterSetOp):
            outputs.add(op.dest)
    if is_shim:
        inputs |= {Port(*port) for port, channel in SHIM_MUX_ENTRIES.items() if Port(South, channel) in inputs}
        outputs |= {Port(*port) for port, channel in SHIM_MUX_EXITS.items() if Port(South, channel) in outputs}
    return Taken(inputs, outputs)


def append(block: Block, ops: Iterable[Operation], location: LocationAttr) -> None:
    """Put operations before the one that ends a block."""
    end = block.last_op
    assert end is not None
    for op in ops:
        for new in op.walk():
            new.location = location
        Rewriter.insert_op(op, InsertPoint.before(end))


def connections_in(op: SwitchboxOp | ShimMuxOp) -> set[tuple[Port, Port]]:
    return {(connect.source, connect.dest) for connect in op.connections.ops if isinstance(connect, ConnectOp)}


def add_wires(interconnect: Interconnect) -> None:
    """Say which components face each other, for whoever follows streams later, unless the design says so already."""
    present = {wire.ends for wire in interconnect.device.body.ops if isinstance(wire, WireOp)}
    for place in sorted(interconnect.switches.keys() & interconnect.tiles.keys()):
        for ends in _wires_at(interconnect, place):
            if ends not in present:
                interconnect.add(WireOp(*ends), interconnect.tiles[place].location)


def _wires_at(interconnect: Interconnect, place: TileId) -> Iterator[WireEnds]:
    """The wires of a tile to its switch and of that to those in the west and south."""
    tile, switch = interconnect.tiles[place].result, interconnect.switches[place].result
    west = _result_at(interconnect.switches, TileId(place.column - 1, place.row))
    south = _result_at(interconnect.switches, TileId(place.column, place.row - 1))
    below = _result_at(interconnect.multiplexers, place)
    if west is not None:
        yield west, East, switch, West
    if place.row > 0:
        yield tile, WireBundle.Core, switch, WireBundle.Core
        yield tile, WireBundle.DMA, switch, WireBundle.DMA
        if south is not None:
            yield south, North, switch, South
    elif below is not None and interconnect.has_multiplexer(place):
        yield below, North, switch, South
        yield tile, WireBundle.DMA, below, WireBundle.DMA


def _result_at(ops: Mapping[TileId, SwitchboxOp | ShimMuxOp], place: TileId) -> SSAValue | None:
    op = ops.get(place)
    return None if op is None else op.result
