"""The way of traces to the host: which shim tile receives them, on which channels of its DMA."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tilewright.device import DmaDirection, WireBundle
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.flows import FlowOp, PacketDestOp, PacketFlowOp, Port, ShimDmaAllocationOp
from tilewright.dialects.aie.lookup import tile_of
from tilewright.dialects.aie.tiles import DeviceOp, TileOp
from tilewright.ir.diagnostics import fail
from tilewright.rewrite.device_tiles import tile_at


@dataclass(frozen=True)
class Channel:
    """One S2MM channel of the shim tile, with its descriptor; channels write one behind the other."""

    number: int
    bd_id: int

    @property
    def port(self) -> Port:
        return Port(WireBundle.DMA, self.number)


@dataclass(frozen=True)
class Egress:
    shim: TileOp
    channels: Sequence[Channel]

    def channel_of(self, index: int) -> Channel:
        """The channel of a trace: they take turns."""
        return self.channels[index % len(self.channels)]


@dataclass(frozen=True)
class EgressOptions:
    """What is asked of the way out."""

    column: int
    channel: int
    bd_id: int
    distribute: bool  # over both channels
    lateral: bool  # by a column without cores, if there is one
    lateral_column: int | None  # by this one


def choose_egress(device: DeviceOp, options: EgressOptions, traces: int) -> Egress:
    model = device.model
    _require_shim(device, "egress_shim_col", options.column)
    used = _used_channels(device)
    column = _choose_column(device, options, used)
    numbers = range(model.num_dma_channels(column, 0, DmaDirection.S2MM))
    if options.channel not in numbers:
        fail(device, f"shim-channel {options.channel} is not one of the {len(numbers)} S2MM channels of a shim tile")
    free = sorted(set(numbers) - used[column], key=lambda number: (number != options.channel, number))
    count = 2 if options.distribute and traces > 1 and options.bd_id > 0 else 1
    channels = [Channel(number, options.bd_id - position) for position, number in enumerate(free[:count])]
    return Egress(tile_at(device, column, 0), channels)


def _require_shim(device: DeviceOp, option: str, column: int) -> None:
    columns = device.model.columns
    if not 0 <= column < columns or not device.model.is_shim_noc(column, 0):
        fail(device, f"{option} {column} is not a valid shim NOC tile (device has {columns} columns)")


def _choose_column(device: DeviceOp, options: EgressOptions, used: Mapping[int, set[int]]) -> int:
    """The column asked for, or the spare one that traces are to take or have to take."""
    column = options.column
    busy = {place.column for op in device.walk() if isinstance(op, CoreOp) and (place := op.place) is not None}
    if options.lateral and options.lateral_column is not None:
        column = options.lateral_column
        _require_shim(device, "lateral-target-col", column)
    elif options.lateral and column in busy:
        spare = _nearest_spare(device, column, busy)
        column = column if spare is None else spare
    full = {place for place, channels in used.items() if len(channels) >= _channel_count(device, place)}
    if column not in full:
        return column
    spare = _nearest_spare(device, column, busy | full) if options.lateral else None
    if spare is None:
        fail(
            device,
            f"no S2MM channels available on shim tile at column {column} (both channels in use by existing flows); "
            "enable lateral-routing to redirect to a spare column",
        )
    return spare


def _channel_count(device: DeviceOp, column: int) -> int:
    return device.model.num_dma_channels(column, 0, DmaDirection.S2MM)


def _nearest_spare(device: DeviceOp, column: int, busy: Collection[int]) -> int | None:
    """The closest other column that is not busy and reaches the host, the left one of two."""
    columns = range(device.model.columns)
    spare = [other for other in columns if other not in {column, *busy} and device.model.is_shim_noc(other, 0)]
    return min(spare, key=lambda other: abs(other - column), default=None)


def _used_channels(device: DeviceOp) -> defaultdict[int, set[int]]:
    """The S2MM channels of shim tiles that the design has a use for already, by column."""
    used: defaultdict[int, set[int]] = defaultdict(set)
    for op in device.body.ops:
        match op:
            case FlowOp():
                ends = [(op.dest, op.dest_port)]
            case PacketFlowOp():
                ends = [(dest.tile, dest.port) for dest in op.ports_of(PacketDestOp)]
            case ShimDmaAllocationOp() if op.direction is DmaDirection.S2MM:
                ends = [(op.tile, Port(WireBundle.DMA, op.channel))]
            case _:
                continue
        for value, port in ends:
            tile = tile_of(value)
            if tile is not None and tile.is_shim and tile.place is not None and port.bundle is WireBundle.DMA:
                used[tile.place.column].add(port.channel)
    return used
