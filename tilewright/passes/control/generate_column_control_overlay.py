"""Lays packet flows for control over a design: completion tokens to the shim, control packets from it.

The flows have the same shape whatever the design does, so a new configuration can be sent through them.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise

from xdsl.dialects.builtin import BoolAttr, ModuleOp
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import Arch, DeviceModel, DmaDirection, TileId, TileType, WireBundle
from tilewright.dialects.aie.attributes import packet_violation
from tilewright.dialects.aie.flows import (
    FlowOp,
    PacketDestOp,
    PacketFlowOp,
    PacketSourceOp,
    Port,
    ShimDmaAllocationOp,
)
from tilewright.dialects.aie.lookup import lookup_symbol, tile_of
from tilewright.dialects.aie.tiles import DeviceOp, TileOp
from tilewright.dialects.aiex.queue import NpuPushQueueOp
from tilewright.dialects.aiex.tasks import DmaConfigureTaskOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.traversal import all_operations
from tilewright.rewrite.device_tiles import tile_at, tiles_by_place
from tilewright.rewrite.pass_bases import ModulePass, append_to, located, ops_of

OVERLAY = "ctrl_pkt_overlay"
CONTROL = Port(WireBundle.TileControl, 0)


class TokenRoutes(StrEnum):
    SHIM_ONLY = "shim-only"
    ALL_TILES = "all-tiles"
    ISSUING_TILES = "issuing-tiles"
    """Shim tiles, and those whose tokens a runtime sequence asks for, unless the design has a route for them."""
    DISABLE = "disable"


@dataclass(frozen=True)
class GenerateColumnControlOverlayPass(ModulePass):
    name = "aie-generate-column-control-overlay"

    route_shim_to_tct: TokenRoutes = field(
        default=TokenRoutes.SHIM_ONLY, metadata={"help": "whose completion tokens reach the shim"}
    )
    route_shim_to_tile_ctrl: bool = field(
        default=False, metadata={"help": "let shim DMAs send control packets to the tiles of their columns"}
    )
    emit_standalone_overlay: bool = field(
        default=False, metadata={"help": f"add a device @{OVERLAY} that holds the overlay alone"}
    )

    def apply_to(self, module: ModuleOp) -> None:
        designs = [device for device in ops_of(module.ops, DeviceOp) if device.sym_name.data != OVERLAY]
        # A device that says nothing takes part.
        no = BoolAttr.from_bool(False)
        wanting = [device for device in designs if device.attributes.get("needs_ctrl_pkt_overlay") != no]
        # Before flows are laid, which follow from the tiles that a device has.
        if self.emit_standalone_overlay:
            for device in designs:
                device.attributes["has_ctrl_pkt_overlay"] = BoolAttr.from_bool(device in wanting)
            _share_tiles(wanting, wanting)
        for device in wanting:
            self.lay_over(device)
        if self.emit_standalone_overlay and wanting:
            self.lay_over(_standalone(module, wanting))

    def lay_over(self, device: DeviceOp) -> None:
        tiles = tiles_by_place(device)
        if device.model.arch is Arch.AIE1 or not tiles:
            return
        declared = list(dict.fromkeys(place.column for place in tiles))
        top_row = max(place.row for place in tiles)
        # A flow between two columns also crosses those in between, and is configured there.
        columns = range(min(declared), max(declared) + 1) if self.route_shim_to_tile_ctrl else declared
        issuing = _issuing_tiles(device) if self.route_shim_to_tct is TokenRoutes.ISSUING_TILES else set[TileId]()
        for column in columns:
            shim = tile_at(device, column, 0)
            if self.route_shim_to_tile_ctrl:
                # A shim that was not declared gets control flows as well, and so counts among the tiles of its column.
                tiles[shim.place] = shim
            self.route_tokens(device, shim, [tile for tile in tiles.values() if tile.place.column == column], issuing)
            if self.route_shim_to_tile_ctrl:
                used = top_row
                if column in declared:
                    used = max(place.row for place in tiles if place.column == column)
                _route_control(device, shim, [tile_at(device, column, row) for row in range(used + 1)])

    def route_tokens(self, device: DeviceOp, shim: TileOp, tiles: Sequence[TileOp], issuing: Container[TileId]) -> None:
        if self.route_shim_to_tct is TokenRoutes.DISABLE:
            return
        if self.route_shim_to_tct is not TokenRoutes.ALL_TILES:
            tiles = [tile for tile in tiles if tile.is_shim or tile.place in issuing]
        exit_port = Port(WireBundle.South, 0)
        for tile in tiles:
            _check_unused(device, shim, exit_port, is_source=False)
            _add_flow(device, tile, PacketSourceOp(tile.result, CONTROL), PacketDestOp(shim.result, exit_port))


def _issuing_tiles(device: DeviceOp) -> set[TileId]:
    """Where tasks end with a token that has no way to the shim yet."""
    issuing, routed = set[TileId](), set[TileId]()
    for op in ops_of(all_operations(device), DmaConfigureTaskOp, NpuPushQueueOp, PacketSourceOp):
        match op:
            case DmaConfigureTaskOp() if op.issues_token and op.place is not None:
                issuing.add(op.place)
            case NpuPushQueueOp() if op.known_number("issue_token") != 0:
                issuing |= {place for place, _, _ in op.channels(device.model)}
            case PacketSourceOp() if op.port == CONTROL and (tile := tile_of(op.tile)) is not None and tile.place:
                routed.add(tile.place)
            case _:
                pass
    return issuing - routed


def _route_control(device: DeviceOp, shim: TileOp, tiles: Sequence[TileOp]) -> None:
    channels = row_channels(device.model)
    for tile in tiles:
        channel = channels[tile.place.row]
        entry = Port(WireBundle.DMA, channel)
        _check_unused(device, shim, entry, is_source=True)
        _add_flow(device, tile, PacketSourceOp(shim.result, entry), PacketDestOp(tile.result, CONTROL))
        name = f"ctrlpkt_col{shim.place.column}_mm2s_chan{channel}"
        if device.lookup(name) is None:
            allocation = ShimDmaAllocationOp(name, shim.result, DmaDirection.MM2S, channel)
            append_to(device.body, allocation, tile.location)


def _add_flow(device: DeviceOp, tile: TileOp, source: PacketSourceOp, dest: PacketDestOp) -> None:
    # Completion tokens are nothing but a header, so it must arrive.
    flow = PacketFlowOp(_packet_id(device, tile), [source, dest], keep_header=True, priority=True)
    append_to(device.body, flow, tile.location)


def row_channels(model: DeviceModel) -> list[int]:
    """The shim DMA channel that sends control packets to each row: the rows shared out evenly, bottom up."""
    shim = model.representative_tile(TileType.ShimNOCTile)
    count = model.num_shim_mux_sources(*shim, WireBundle.DMA)
    return [row // (model.rows // count) for row in range(model.rows)]


def _packet_id(device: DeviceOp, tile: TileOp) -> int:
    if tile.controller_id is not None:
        if (violation := packet_violation(tile.controller_id)) is not None:
            fail_op(tile, f"has a controller id that no packet can have: {violation}")
        return tile.controller_id.pkt_id.data
    return device.model.controller_ids()[tile.place]


def _check_unused(device: DeviceOp, shim: TileOp, port: Port, *, is_source: bool) -> None:
    """A shim port that the design has a circuit on cannot carry packets as well."""
    count = device.model.num_shim_mux_sources if is_source else device.model.num_shim_mux_dests
    flows = ops_of((use.operation for use in shim.result.uses), FlowOp)
    ends = [(flow.source, flow.source_port) if is_source else (flow.dest, flow.dest_port) for flow in flows]
    if port.channel >= count(*shim.place, port.bundle) or (shim.result, port) in ends:
        fail_op(
            device,
            "failed to generate column control overlay from shim dma to tile ctrl ports, because some shim mm2s dma "
            "channels were reserved from routing control packets.",
            (shim, f"control packets need {port} of this tile: let data use another channel, as in `prod(channel=1)`"),
        )


def _share_tiles(sources: Sequence[DeviceOp], targets: Sequence[DeviceOp]) -> None:
    """Give each target the tiles of all sources: an overlay has one shape only where the tiles are the same."""
    tiles = dict[TileId, TileOp]()
    for device in sources:
        for place, tile in tiles_by_place(device).items():
            tiles.setdefault(place, tile)
    for device in targets:
        present = tiles_by_place(device)
        missing = [tile.clone() for place, tile in tiles.items() if place not in present]
        Rewriter.insert_op(missing, InsertPoint.at_start(device.body))


def _standalone(module: ModuleOp, designs: Sequence[DeviceOp]) -> DeviceOp:
    for first, other in pairwise(designs):
        if first.model is not other.model:
            fail_op(
                other,
                "cannot generate a single standalone ctrl_pkt_overlay device: participating devices have mismatched "
                "target architectures.",
            )
    if lookup_symbol(module, OVERLAY) is not None:
        fail_op(
            module,
            "a symbol named `ctrl_pkt_overlay` already exists in the module; cannot create a standalone "
            "ctrl_pkt_overlay device.",
        )
    # New operations have no location of their own: messages point to the first design.
    overlay = located(DeviceOp(designs[0].model.name, sym_name=OVERLAY), designs[0].location)
    module.body.block.add_op(overlay)
    _share_tiles(designs, [overlay])
    overlay.attributes["has_ctrl_pkt_overlay"] = BoolAttr.from_bool(True)
    return overlay
