"""What the linter knows while it follows a runtime sequence, and what it can ask about values and names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Operation, SSAValue

from tilewright.device import DmaDirection
from tilewright.device.dma_registers import ChannelId
from tilewright.device.hazards import BdName, Hazard, HazardReader
from tilewright.dialects.aie.flows import ShimDmaAllocationOp
from tilewright.dialects.aie.interfaces import TileElement
from tilewright.dialects.aie.lookup import constant_value, lookup_symbol, tile_of
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex import bd_chains, tasks
from tilewright.passes.sequence.lint_queue_depth.state import Drawn, LintState, Thing
from tilewright.passes.sequence.lint_queue_depth.values import Values

Hazards: TypeAlias = Iterator[Hazard[Operation]]
Act: TypeAlias = "Callable[[Events, Any], Hazards]"


class Events:
    """One sequence that is being followed: how far things have got, and what names and values mean."""

    def __init__(self, device: DeviceOp):
        self.device, self.model = device, device.model
        self.reader = HazardReader[Operation](device.model)
        self.values, self.state = Values(), LintState()
        self.contents: dict[SymbolRefAttr, list[int]] = {}
        """Of globals that block writes copy, as far as they have been read."""
        self._channels: dict[SymbolRefAttr, ChannelId | None] = {}

    def carry_out(self, op: Operation, act: Act) -> Hazards:
        """Do what an operation does. Gives the hazards that this brings about."""
        self.reader.state = self.state.in_flight
        yield from act(self, op)
        self.state.in_flight = self.reader.state

    def things(self, value: SSAValue) -> frozenset[Thing]:
        """What a value stands for, or is computed from."""
        known = self.state.things
        return frozenset[Thing]().union(*(known.get(source, ()) for source in self.values.sources(value)))

    def bds(self, value: SSAValue) -> frozenset[BdName]:
        """The descriptors whose number a value may be; none if that is not known."""
        number = constant_value(value)
        return frozenset(self.drawn(value)) if number is None else frozenset({number})

    def drawn(self, value: SSAValue) -> frozenset[Drawn]:
        return frozenset(thing for thing in self.things(value) if isinstance(thing, Drawn))

    def write_drawn(self, op: Operation, value: SSAValue) -> Hazards:
        """Write to a descriptor at an address that is computed from its number."""
        for drawn in self.drawn(value):
            yield from self.reader.state.write(drawn.op.place, frozenset({drawn}), op)

    def channel(self, name: SymbolRefAttr) -> ChannelId | None:
        """The shim channel of a name."""
        if name not in self._channels:
            found = lookup_symbol(self.device, name)
            self._channels[name] = _channel_of(found) if isinstance(found, ShimDmaAllocationOp) else None
        return self._channels[name]

    def task(self, value: SSAValue) -> Operation | None:
        """An operation that configures the task that a value may be: all of them are for the same channel."""
        configured = (thing for thing in self.things(value) if not isinstance(thing, Drawn))
        return next(configured, None)

    def task_channel(self, op: Operation | None) -> ChannelId | None:
        match op:
            case tasks.DmaConfigureTaskOp() | bd_chains.DmaStartBdChainOp():
                return _placed_channel(op, op.dma_direction, op.channel.value.data)
            case tasks.DmaConfigureTaskForOp() | bd_chains.DmaStartBdChainForOp():
                return self.channel(op.alloc)
            case _:
                return None


def _channel_of(allocation: ShimDmaAllocationOp) -> ChannelId | None:
    tile = tile_of(allocation.tile)
    if tile is None or tile.place is None or not tile.is_placed:
        return None
    return ChannelId(tile.place, allocation.direction, allocation.channel)


def _placed_channel(op: TileElement, direction: DmaDirection, channel: int) -> ChannelId | None:
    tile = op.tile_like
    if tile is None or tile.place is None or not tile.is_placed:
        return None
    return ChannelId(tile.place, direction, channel)
