"""Streams that enter or leave the array at a shim: routed by the name of their end, they run through a South port."""

from __future__ import annotations

from tilewright.device import DeviceModel, TileId, WireBundle
from tilewright.device.stream_switch import SHIM_MUX_ENTRIES, SHIM_MUX_EXITS
from tilewright.dialects.aie.flows import Port


def input_port(model: DeviceModel, tile: TileId, port: Port) -> Port:
    """The port of the switch through which data from some port of a tile comes in."""
    channel = SHIM_MUX_ENTRIES.get(port) if model.is_shim_tile(*tile) else None
    return port if channel is None else Port(WireBundle.South, channel)


def output_port(model: DeviceModel, tile: TileId, port: Port) -> Port:
    """The port of the switch through which data for some port of a tile goes out."""
    channel = SHIM_MUX_EXITS.get(port) if model.is_shim_tile(*tile) else None
    return port if channel is None else Port(WireBundle.South, channel)


def multiplexer_side(port: Port) -> Port:
    """A South port of the switch as its multiplexer sees it."""
    return Port(WireBundle.North, port.channel)
