"""The shim channels that transfers of the host go through: those they name, or the first that are free."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Operation

from tilewright.device import DeviceModel, DmaDirection, TileId, TileType
from tilewright.dialects.aie.flows import ShimDmaAllocationOp
from tilewright.dialects.aie.lookup import tile_of
from tilewright.dialects.air.accesses import Transfer
from tilewright.dialects.air.channels import ChannelEnd
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.air.shim.host_transfers import host_side
from tilewright.rewrite.folding.constants import scalar_int

ShimKey: TypeAlias = "tuple[DmaDirection, str]"
"""A direction, and what an AIR program calls the channel."""


class ShimChannel(NamedTuple):
    """A channel of a shim tile's DMA."""

    tile: TileId
    direction: DmaDirection
    number: int


def direction_of(op: Transfer) -> DmaDirection:
    return DmaDirection.MM2S if host_side(op) == "src" else DmaDirection.S2MM


def key_of(op: Transfer) -> ShimKey:
    """What tells the channels of a program apart: the channel and the indices in it, or the transfer itself."""
    if not isinstance(op, ChannelEnd):
        return direction_of(op), f"dma_{op.attributes.get('id')}"
    indices = [scalar_int(index) for index in op.indices_in_bundle]
    if None in indices:
        fail_op(
            op,
            "goes through a channel that is not known: an index into the bundle is not a constant",
            (op, "unroll the loop over the bundle, or make it an scf.parallel with constant bounds"),
        )
    return direction_of(op), "_".join([op.channel_name.root_reference.data, *map(str, indices)])


@dataclass
class ShimChannels:
    """Finds the channel of each transfer of a module for one device."""

    model: DeviceModel
    named: dict[str, ShimChannel] = field(default_factory=dict[str, ShimChannel])
    given: dict[ShimKey, ShimChannel] = field(default_factory=dict["ShimKey", ShimChannel])

    @classmethod
    def of(cls, module: Operation, model: DeviceModel) -> ShimChannels:
        """With the channels that the devices of a module have allocated."""
        named: dict[str, ShimChannel] = {}
        for op in module.walk():
            tile = tile_of(op.tile) if isinstance(op, ShimDmaAllocationOp) else None
            place = None if tile is None else tile.place
            if isinstance(op, ShimDmaAllocationOp) and place is not None:
                named[op.sym_name.data] = ShimChannel(place, op.direction, op.channel)
        return cls(model, named)

    def channel_of(self, op: Transfer) -> ShimChannel:
        """The channel that a transfer names, or else one of its own."""
        name = op.attributes.get("metadata")
        found = self.named.get(name.root_reference.data) if isinstance(name, SymbolRefAttr) else None
        if found is not None:
            return found
        key = key_of(op) if not isinstance(name, SymbolRefAttr) else (direction_of(op), name.root_reference.data)
        if key not in self.given:
            self.given[key] = self._take(op)
        return self.given[key]

    def _take(self, op: Transfer) -> ShimChannel:
        direction = direction_of(op)
        taken = {*self.named.values(), *self.given.values()}
        free = next((channel for channel in self._all(direction) if channel not in taken), None)
        if free is None:
            counts = Counter(channel.direction for channel in taken)
            fail_op(
                op,
                f"needs a shim channel, but the {counts[direction]} of {self.model} for {direction.name} are all taken",
                (op, "let transfers share channels, or use a device with more columns"),
            )
        return free

    def _all(self, direction: DmaDirection) -> Iterator[ShimChannel]:
        for tile in shim_tiles(self.model):
            resources = self.model.resources(TileType.ShimNOCTile)
            count = resources.mm2s_channels if direction is DmaDirection.MM2S else resources.s2mm_channels
            yield from (ShimChannel(tile, direction, number) for number in range(count))


def shim_tiles(model: DeviceModel) -> Iterable[TileId]:
    """The tiles that reach host memory, from the left."""
    return [tile for tile in model.tiles if model.tile_type(*tile) is TileType.ShimNOCTile]
