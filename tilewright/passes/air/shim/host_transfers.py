"""Transfers between host memory and the array, seen from the host: their shim channels, and marks on them."""

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
from tilewright.dialects.air.accesses import Access, Transfer
from tilewright.dialects.air.channels import ChannelEnd
from tilewright.dialects.air.levels import HerdOp, SegmentOp
from tilewright.dialects.air.memcpy import DmaMemcpyNdOp
from tilewright.dialects.air.types import MemorySpace, memory_space
from tilewright.ir.diagnostics import fail_op
from tilewright.rewrite.effects import children
from tilewright.rewrite.folding.constants import scalar_int

ShimKey: TypeAlias = "tuple[DmaDirection, str]"
"""A direction, and what an AIR program calls the channel."""
PRESERVE_ORDER = "air.preserve_shim_dma_order"
"""Feeds that move in step: at most two tasks of a channel are under way."""
RUNTIME_HOIST = "air.runtime_hoist"
"""Feeds that go first."""
AWAIT_APPENDS = "air.await_appends"
"""Reads back what appends have written."""
APPEND_BARRIER = "air.append_barrier"
"""Writes what is read back later."""
COALESCED = "air.coalesced_shim_feed"
"""One feed made of several."""
AWAITED = "air.await_completion"
"""Ours: whether a wait for the transfer waits for its end, told by a token, or only frees its descriptor."""
LAUNCH_WAVE = "air.launch_wave"
"""Which of several launches an operation belongs to, while the pass runs."""
LAUNCH_END = "air.launch_end"

CARRIED = PRESERVE_ORDER, RUNTIME_HOIST, AWAIT_APPENDS, APPEND_BARRIER, COALESCED, AWAITED, LAUNCH_WAVE
"""What a task keeps of the transfer that it was made of."""
FIXED = PRESERVE_ORDER, RUNTIME_HOIST, COALESCED, APPEND_BARRIER, AWAIT_APPENDS, AWAITED
"""Whose place among other feeds must not change."""


def host_transfers(op: Operation) -> Iterator[Transfer]:
    """The transfers of host memory in an operation, in program order; what segments and herds do is not the host's."""
    for inner in children(op):
        # their transfers are done by the array
        if isinstance(inner, SegmentOp | HerdOp):
            continue
        if isinstance(inner, ChannelEnd | DmaMemcpyNdOp) and host_side(inner) is not None:
            yield inner
        yield from host_transfers(inner)


def host_side(op: Transfer) -> str | None:
    """Which side of a transfer is in host memory: `src` sends, `dst` receives."""
    return next((side for side in op.SIDES if memory_space(op.buffer(side).type) == MemorySpace.L3), None)


def host_access(op: Transfer) -> Access:
    """What a transfer moves in host memory."""
    side = host_side(op)
    assert side is not None
    return op.access(side)


class ShimChannel(NamedTuple):
    """A channel of a shim tile's DMA."""

    tile: TileId
    direction: DmaDirection
    number: int

    def __str__(self) -> str:
        return f"{self.direction.name} {self.number} of shim tile ({self.tile.column}, {self.tile.row})"


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
        # designs name the shim channel; before there is a design, transfers get channels in program order
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
        # channels that a design has allocated are its own, even if this program does not use them
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
