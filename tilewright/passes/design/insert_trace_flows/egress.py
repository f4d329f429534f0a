"""Egress of traces: the shim tile that receives them, the channels of its DMA, and the host's memory behind it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import FixedBitwidthType, MemRefType, i8
from xdsl.ir import Attribute
from xdsl.rewriter import Rewriter

from tilewright.device import DmaDirection, WireBundle
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.flows import FlowOp, PacketDestOp, PacketFlowOp, Port, ShimDmaAllocationOp
from tilewright.dialects.aie.lookup import tile_of
from tilewright.dialects.aie.sequence import TRACE_ARGUMENT, RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp, TileOp
from tilewright.dialects.aie.trace_config import TraceHostConfigOp, TraceStartConfigOp
from tilewright.ir.diagnostics import fail
from tilewright.ir.traversal import all_operations
from tilewright.rewrite.device_tiles import tile_at
from tilewright.rewrite.pass_bases import ops_of


@dataclass(frozen=True)
class TraceChannel:
    """One S2MM channel of the shim tile, with its descriptor; channels write one behind the other."""

    number: int
    bd_id: int

    @property
    def port(self) -> Port:
        return Port(WireBundle.DMA, self.number)


@dataclass(frozen=True)
class Egress:
    shim: TileOp
    channels: Sequence[TraceChannel]

    def channel_of(self, index: int) -> TraceChannel:
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
    _require_shim(device, "egress_shim_col", options.column)
    used = _used_channels(device)
    column = _choose_column(device, options, used)
    numbers = range(device.model.num_dma_channels(column, 0, DmaDirection.S2MM))
    if options.channel not in numbers:
        fail(device, f"shim-channel {options.channel} is not one of the {len(numbers)} S2MM channels of a shim tile")
    # The channel that is asked for comes first, if it is free.
    free = sorted(set(numbers) - used[column], key=lambda number: (number != options.channel, number))
    # the second channel takes the descriptor before
    count = 2 if options.distribute and traces > 1 and options.bd_id > 0 else 1
    channels = [TraceChannel(number, options.bd_id - position) for position, number in enumerate(free[:count])]
    return Egress(tile_at(device, column, 0), channels)


def _require_shim(device: DeviceOp, option: str, column: int) -> None:
    columns = device.model.columns
    if not 0 <= column < columns or not device.model.is_shim_noc(column, 0):
        fail(device, f"{option} {column} is not a valid shim NOC tile (device has {columns} columns)")


def _choose_column(device: DeviceOp, options: EgressOptions, used: Mapping[int, set[int]]) -> int:
    """The column asked for, or the spare one that traces are to take or have to take."""
    column = options.column
    busy = {core.place.column for core in ops_of(all_operations(device), CoreOp) if core.place is not None}
    if options.lateral and options.lateral_column is not None:
        column = options.lateral_column
        _require_shim(device, "lateral-target-col", column)
    elif options.lateral and column in busy:
        spare = _nearest_spare(device, column, busy)
        column = column if spare is None else spare
    limits = {place: device.model.num_dma_channels(place, 0, DmaDirection.S2MM) for place in used}
    full = {place for place, channels in used.items() if len(channels) >= limits[place]}
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


def _nearest_spare(device: DeviceOp, column: int, busy: Collection[int]) -> int | None:
    """The closest other column that is not busy and reaches the host, the left one of two."""
    others = set(range(device.model.columns)) - {column, *busy}
    spare = sorted(other for other in others if device.model.is_shim_noc(other, 0))
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


@dataclass(frozen=True)
class TraceHostBuffer:
    """The part of a sequence's host buffers that its traces are written to, for each channel that writes them."""

    sequence: RuntimeSequenceOp
    config: TraceHostConfigOp
    argument: int  # counts buffers: numbers among the arguments are not handed over as such
    offset_bytes: int

    @property
    def channel_bytes(self) -> int:
        return self.config.buffer_size.value.data

    @property
    def egress_column(self) -> int:
        return self.config.egress_shim_col.value.data

    def claim(self, channels: int) -> None:
        """Make room for what so many channels write, and forget the request for it."""
        if not self.config.reuse_output_buffer.value.data:
            self.sequence.add_argument(MemRefType(i8, [channels * self.channel_bytes]), TRACE_ARGUMENT)
        Rewriter.erase_op(self.config)


def host_buffers(device: DeviceOp) -> list[TraceHostBuffer]:
    """One for every sequence that has traces."""
    sequences = ops_of(device.body.ops, RuntimeSequenceOp)
    if not sequences:
        fail(device, "aie.trace ops found but no runtime_sequence defined")
    tracing = [op for op in sequences if ops_of(op.body.block.ops, TraceHostConfigOp, TraceStartConfigOp)]
    # If none says anything about traces, the error about that is about the first.
    buffers = [_buffer_of(sequence) for sequence in tracing or sequences[:1]]
    for buffer in buffers[1:]:
        if buffer.egress_column != buffers[0].egress_column:
            fail(
                buffer.config,
                f"egress_shim_col {buffer.egress_column} differs from that of another runtime_sequence; the device has "
                "one route for its traces",
                (buffers[0].config, f"here it is {buffers[0].egress_column}"),
            )
    return buffers


def _buffer_of(sequence: RuntimeSequenceOp) -> TraceHostBuffer:
    configs = ops_of(sequence.body.block.ops, TraceHostConfigOp)
    if not configs:
        fail(
            sequence,
            "runtime_sequence with traces requires aie.trace.host_config",
            (
                sequence,
                "add `aie.trace.host_config {buffer_size = BYTES : i32}` before its first aie.trace.start_config",
            ),
        )
    config, types = configs[0], sequence.body.block.arg_types
    count = sum(isinstance(type, MemRefType) for type in types)
    if not config.reuse_output_buffer.value.data:
        return TraceHostBuffer(sequence, config, count, 0)
    if not types:
        fail(
            sequence,
            "trace.host_config reuse_output_buffer requires the runtime_sequence to have at least one argument to "
            "reuse",
        )
    if count < len(types):
        fail(
            sequence,
            "trace.host_config reuse_output_buffer=true cannot be used with a dynamic (runtime-sized) "
            "runtime_sequence: the trace offset would be computed from the last tensor's maximum static size, not its "
            "runtime transfer size, so trace data would be written past the output buffer. Use a separate trace buffer "
            "instead (reuse_output_buffer=false)",
        )
    return TraceHostBuffer(sequence, config, count - 1, _size_bytes(sequence, types[-1]))


def _size_bytes(sequence: RuntimeSequenceOp, buffer: Attribute) -> int:
    if isinstance(buffer, MemRefType) and buffer.has_static_shape():
        element = cast("MemRefType[Attribute]", buffer).element_type
        if isinstance(element, FixedBitwidthType):
            return buffer.element_count() * (element.bitwidth // 8)
    fail(sequence, "trace.host_config reuse_output_buffer needs a last argument whose size is known")
