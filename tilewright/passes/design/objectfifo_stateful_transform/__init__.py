"""Lowers object FIFOs to buffers, locks, DMA programs and routes, and what cores do with them to uses of locks.

The steps follow each other: the device is read (`device_fifos`), FIFOs that need a DMA are cut in two, each end gets a
depth, and ends that meet in a tile share storage (`ends`); storage becomes buffers and locks (`storage`); ends with a
DMA get channels, flows and descriptors (`dma_programs`); and what cores do with FIFOs becomes uses of locks and choices
between buffers (`core_accesses`, `carried_counters`).

A flow is a circuit for each consumer, or packets with one id for all of them. Runtime sequences find the shim channels
of FIFOs by names that are given here, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NoReturn, TypeAlias

from xdsl.dialects.builtin import DenseArrayBase, IntAttr, StringAttr, SymbolRefAttr, i32
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import DmaDirection, WireBundle
from tilewright.dialects.aie.attributes import PacketInfoAttr
from tilewright.dialects.aie.core import EndOp
from tilewright.dialects.aie.dma import Channel, DmaBody, DmaOp, DmaStartOp
from tilewright.dialects.aie.flows import FlowOp, PacketDestOp, PacketFlowOp, PacketSourceOp, Port, ShimDmaAllocationOp
from tilewright.dialects.aie.objectfifo import ObjectFifoOp
from tilewright.dialects.aie.objectfifo_pools import ObjectFifoPoolOp
from tilewright.dialects.aie.objectfifo_storage import (
    ObjectFifoAllocateOp,
    ObjectFifoRearmBindingOp,
    ObjectFifoRegisterExternalBuffersOp,
)
from tilewright.dialects.aie.objectfifo_uses import ObjectFifoAcquireOp, ObjectFifoLinkOp, ObjectFifoReleaseOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.control import DmaChannelResetForOp
from tilewright.ir.diagnostics import Where, emit_op_error, fail, fail_op, op_text
from tilewright.ir.symbols import FreeNames
from tilewright.ir.traversal import all_operations
from tilewright.passes.design.objectfifo_stateful_transform.core_accesses import (
    CoreAccesses,
    CoreLowering,
    add_unroll_hints,
)
from tilewright.passes.design.objectfifo_stateful_transform.device_fifos import DeviceFifos
from tilewright.passes.design.objectfifo_stateful_transform.dma_programs import ChainPlanner, ChainUser, DmaPrograms
from tilewright.passes.design.objectfifo_stateful_transform.ends import FifoEnd, FifoEnds, SplitFifo, resolve_links
from tilewright.passes.design.objectfifo_stateful_transform.storage import StorageBuilder
from tilewright.rewrite.pass_bases import DevicePass, append_to, located, ops_of
from tilewright.rewrite.symbols import replace_references

DECLARATIONS = ObjectFifoOp, ObjectFifoLinkOp, ObjectFifoAllocateOp, ObjectFifoRegisterExternalBuffersOp
TileChannel: TypeAlias = tuple[SSAValue, Channel]
"""A channel of a tile."""
USES = {DmaDirection.MM2S: "output", DmaDirection.S2MM: "input"}
STREAM_AND_PIN = (
    "cannot pin a DMA channel on an objectfifo that also uses aie_stream (stream ports bypass DMA channels)"
)
KEPT = (*DECLARATIONS, ObjectFifoAcquireOp, ObjectFifoReleaseOp, DmaChannelResetForOp)


@dataclass(frozen=True)
class ObjectFifoStatefulTransformPass(DevicePass):
    name = "aie-objectFifo-stateful-transform"

    packet_switched: bool = field(
        default=False,
        metadata={"option": "packet-sw-objFifos", "help": "move the data of FIFOs in packets instead of circuits"},
    )
    skip_verify: bool = field(
        default=False,
        metadata={"help": "do not check that loops release no more than they acquire, nor that pools are whole"},
    )

    def apply_to(self, device: DeviceOp) -> None:
        design = DeviceFifos(device)
        if not design.is_sound():
            return
        self._lower_fifos(device, design)
        if any(isinstance(op, ObjectFifoPoolOp) for op in device.body.ops):
            self._lower_pools(device)

    def _lower_pools(self, device: DeviceOp) -> None:
        """Pools that a program spells out have passes of their own, which use parts of this one."""
        from tilewright.passes.design.objectfifo_allocate import ObjectFifoAllocatePass
        from tilewright.passes.design.objectfifo_erase_pools import ObjectFifoErasePoolsPass
        from tilewright.passes.design.objectfifo_lower_cores import ObjectFifoLowerCoresPass
        from tilewright.passes.design.objectfifo_lower_dmas import ObjectFifoLowerDmasPass
        from tilewright.passes.design.objectfifo_verify import ObjectFifoVerifyPass

        if not self.skip_verify:
            ObjectFifoVerifyPass().apply_to(device)
        ObjectFifoAllocatePass(self.packet_switched).apply_to(device)
        for step in (ObjectFifoLowerDmasPass(), ObjectFifoLowerCoresPass(), ObjectFifoErasePoolsPass()):
            step.apply_to(device)

    def _lower_fifos(self, device: DeviceOp, design: DeviceFifos) -> None:
        rename_to_allocations(device, design.fifos)
        ends = FifoEnds(design)
        resolve_links(ends)
        StorageBuilder(ends).build()
        channels = ChannelAllocator(device).assign(ends.connections)
        self._connect(ends, channels)
        self._lower_accesses(ends)
        add_rearm_bindings(ends, channels)
        # Last, as everything before finds FIFOs by their declarations.
        for declaration in ops_of(device.body.ops, *DECLARATIONS):
            Rewriter.erase_op(declaration)

    def _connect(self, ends: FifoEnds, channels: dict[FifoEnd, Channel]) -> None:
        device = ends.design.device
        planner, programs, packets = ChainPlanner(device.model), DmaPrograms(device), PacketIds(device)
        for connection in ends.connections:
            is_packet = self.packet_switched or connection.producer.fifo.packet is not None
            packet = packets.take(connection) if is_packet else None
            for end in connection.ends:
                if end.stream_port is not None:  # a port of the core takes the place of the DMA
                    continue
                sent = packet if end.is_producer else None  # the header is written by the DMA that sends
                chain = planner.plan(end)
                if chain is not None:
                    programs.add(ChainUser(end.fifo, end.name, end.tile), channels[end], chain, sent)
                if end.tile.is_shim:
                    name_shim_channel(ends.design, end, channels[end], sent)
            if packet is not None:
                add_packet_flow(connection, channels, packet)
            else:
                add_circuits(connection, channels)

    def _lower_accesses(self, ends: FifoEnds) -> None:
        accesses = CoreAccesses(ends)
        accesses.check(balance=not self.skip_verify)
        core_ends = accesses.core_ends
        # While the accesses still say which loops use which FIFOs.
        add_unroll_hints(core_ends)
        uses_semaphores = ends.design.model.architecture.semaphore_locks
        for core, operations in accesses.by_core.items():
            CoreLowering(core, operations, core_ends, uses_semaphores).run()


def add_rearm_bindings(ends: FifoEnds, channels: dict[FifoEnd, Channel]) -> None:
    """Give each FIFO that is started again a binding, and let what starts it refer to that.

    The shim ends of a FIFO belong to the host, which pushes their descriptors itself.
    """
    users: dict[str, list[DmaChannelResetForOp]] = {}
    for op in ops_of(all_operations(ends.design.device), DmaChannelResetForOp):
        users.setdefault(op.objfifo.root_reference.data, []).append(op)
    split = [connection.producer.fifo for connection in ends.connections]
    for fifo in dict.fromkeys((*split, *ends.by_fifo)):
        if wanting := users.get(fifo.sym_name.data):
            _bind_rearm(ends, fifo, [end for end in ends.by_fifo[fifo] if not end.is_shim], channels, wanting)


def _bind_rearm(
    ends: FifoEnds,
    fifo: ObjectFifoOp,
    resident: Sequence[FifoEnd],
    channels: dict[FifoEnd, Channel],
    users: Sequence[DmaChannelResetForOp],
) -> None:
    moving = [end for end in resident if end in channels and end.stream_port is None]
    storages = (end.own_storage for end in resident if end.own_storage is not None)
    locks = [lock for storage in storages if not storage.tile.is_shim for lock in storage.locks]
    if not moving and not locks:
        for user in users:
            text = f"objectFIFO '{fifo.sym_name.data}' has no resident core/mem DMA channels or locks to re-arm"
            emit_op_error(user, text).note(fifo, "what the shim tile runs is for the host to start again")
        return
    name = FreeNames(ends.design.symbols).like(f"{fifo.sym_name.data}_rearm")
    binding = ObjectFifoRearmBindingOp(
        operands=[[end.tile.result for end in moving], [lock.result for lock in locks]],
        properties={
            "sym_name": StringAttr(name),
            "channel_dirs": DenseArrayBase.from_list(i32, [int(channels[end].direction) for end in moving]),
            "channel_indices": DenseArrayBase.from_list(i32, [channels[end].number for end in moving]),
            "lock_inits": DenseArrayBase.from_list(
                i32, [lock.init.value.data for lock in locks if lock.init is not None]
            ),
        },
    )
    append_to(ends.design.device.body, binding, fifo.location)
    for user in users:
        user.objfifo = SymbolRefAttr(name)


class ChannelAllocator:
    """Gives out the channels of a device that are still free."""

    def __init__(self, device: DeviceOp):
        self.model = device.model
        self.taken: dict[TileChannel, Operation] = dict(used_channels(device))
        """The operation that uses each channel."""
        self.streams: dict[TileChannel, Operation] = dict(used_streams(device))
        """The operation that uses each stream port of a core."""

    def assign(self, connections: list[SplitFifo]) -> dict[FifoEnd, Channel]:
        """A channel for each end: first as the program wants, then where only some channels will do, then the rest."""
        ends = [end for connection in connections for end in connection.ends]
        channels = {end: self._pinned(end, end.pinned_channel) for end in ends if end.pinned_channel is not None}
        # Buffers in a neighbour are reached by some channels only, so those ends choose first.
        for spread in (True, False):
            for end in ends:
                is_spread = end.storage is not None and end.storage.is_spread
                if end not in channels and end.stream_port is None and is_spread == spread:
                    channels[end] = self._first_free(end, spread)
        return channels | {end: self._stream(end, end.stream_port) for end in ends if end.stream_port is not None}

    def _pinned(self, end: FifoEnd, number: int) -> Channel:
        if end.stream_port is not None:
            fail_op(end.fifo, STREAM_AND_PIN)
        channel = Channel(end.direction, number)
        user = self.taken.get((end.tile.result, channel))
        if number >= self._count(end) or user is not None:
            text = f"pinned {end.direction} DMA channel {number} is out of range or already in use on this tile"
            limit = f"tile {tuple(end.tile.place)} has {self._count(end)} {end.direction} channels"
            fail_op(end.fifo, text, (end.fifo, limit), *_named(channel, user))
        return self._take(end, channel)

    def _first_free(self, end: FifoEnd, spread: bool) -> Channel:
        limit = min(self._count(end), self.model.adjacent_mem_tile_channels) if spread else self._count(end)
        for number in range(limit):
            channel = Channel(end.direction, number)
            if (end.tile.result, channel) not in self.taken:
                return self._take(end, channel)
        self._report_none_free(end, limit, spread)

    def _take(self, end: FifoEnd, channel: Channel) -> Channel:
        self.taken[end.tile.result, channel] = end.fifo
        return channel

    def _count(self, end: FifoEnd) -> int:
        return self.model.num_dma_channels(*end.tile.place, end.direction)

    def _report_none_free(self, end: FifoEnd, limit: int, spread: bool) -> NoReturn:
        text = f"number of {USES[end.direction]} DMA channel exceeded!"
        reach = " that reach the neighbour with some of its buffers" if spread else ""
        place = tuple(end.tile.place)
        channels = [Channel(end.direction, number) for number in range(limit)]
        fail(
            end.fifo,
            op_text(end.tile, text),
            (end.fifo, f"@{end.name} needs one of the {limit} {end.direction} channels of tile {place}{reach}"),
            *(note for channel in channels for note in _named(channel, self.taken[end.tile.result, channel])),
            (end.fifo, "move this end to another tile, or let FIFOs share a channel by linking or broadcasting them"),
        )

    def _stream(self, end: FifoEnd, port: int) -> Channel:
        channel = Channel(end.direction, port)
        user = self.streams.setdefault((end.tile.result, channel), end.fifo)
        if user is not end.fifo:
            text = f"number of {USES[end.direction]} Core channels exceeded!"
            wanted = f"@{end.name} wants stream port {port} of tile {tuple(end.tile.place)}"
            fail(end.fifo, op_text(end.tile, text), (end.fifo, wanted), (user, "that port is used here"))
        return channel


def _named(channel: Channel, user: Operation | None) -> Iterator[tuple[Where, str]]:
    if user is not None:
        yield user, f"{channel.direction} {channel.number} is used here"


def used_channels(device: DeviceOp) -> Iterator[tuple[TileChannel, Operation]]:
    """Channels that the program already runs or has named."""
    for op in device.body.ops:
        match op:
            case DmaBody():
                yield from (((op.tile, start.channel), start) for start in ops_of(op.ops, DmaStartOp, DmaOp))
            # The runtime sequence drives these; the device has no program for them.
            case ShimDmaAllocationOp():
                yield (op.tile, Channel(op.direction, op.channel)), op
            case _:
                pass


def used_streams(device: DeviceOp) -> Iterator[tuple[TileChannel, Operation]]:
    """Stream ports of cores that flows begin or end at."""
    for op in ops_of(device.body.ops, FlowOp):
        if op.source_port.bundle is WireBundle.Core:
            yield (op.source, Channel(DmaDirection.MM2S, op.source_port.channel)), op
        if op.dest_port.bundle is WireBundle.Core:
            yield (op.dest, Channel(DmaDirection.S2MM, op.dest_port.channel)), op


class PacketIds:
    """Ids of packets that no flow of a device has yet."""

    def __init__(self, device: DeviceOp):
        self.device = device
        self.used = {flow.packet_id.value.data for flow in ops_of(device.body.ops, PacketFlowOp)}
        fifos = ops_of(device.body.ops, ObjectFifoOp)
        self.used |= {fifo.packet_id.value.data for fifo in fifos if fifo.packet_id is not None}
        # Behind the last one that is used, as mlir-aie, unless FIFOs say themselves that they want some.
        chosen = any(fifo.packet is not None for fifo in fifos)
        self.next_id = 0 if chosen else max(self.used, default=-1) + 1

    def take(self, connection: SplitFifo) -> PacketInfoAttr:
        fifo, limit = connection.producer.fifo, self.device.model.max_packet_id
        if fifo.packet_id is not None:
            number = fifo.packet_id.value.data
            if number > limit:
                fail_op(fifo, f"packet_id {number} is out of range (max {limit})")
            return _packet(number)
        while self.next_id in self.used:
            self.next_id += 1
        if self.next_id > limit:
            fail(
                self.device,
                op_text(self.device, "max number of packet IDs reached"),
                (fifo, f"@{connection.producer.name} has no packet id left, the last one is {limit}"),
                (fifo, "give some FIFOs circuits, in a design lowered without packet-sw-objFifos"),
            )
        self.next_id += 1
        return _packet(self.next_id - 1)


def _packet(number: int) -> PacketInfoAttr:
    return PacketInfoAttr.new([IntAttr(0), IntAttr(number)])


def add_circuits(connection: SplitFifo, channels: dict[FifoEnd, Channel]) -> None:
    """A flow to each consumer, behind the FIFO."""
    producer = connection.producer
    for consumer in connection.consumers:
        source, dest = (_stream_port(end, channels[end]) for end in (producer, consumer))
        _insert_behind(producer, FlowOp(producer.tile.result, source, consumer.tile.result, dest))


def add_packet_flow(connection: SplitFifo, channels: dict[FifoEnd, Channel], packet: PacketInfoAttr) -> None:
    """One flow of packets to all consumers, behind the FIFO."""
    producer = connection.producer
    for end in connection.ends:
        if end.stream_port is not None:  # no DMA, so nothing that could write headers or take them off
            fail(
                end.fifo,
                op_text(end.fifo, "cannot send packets through a stream port of a core"),
                (end.fifo, "drop aie_stream, or lower the design without packet-sw-objFifos"),
            )
    ports = {end: Port(WireBundle.DMA, channels[end].number) for end in connection.ends}
    dests = reversed(connection.consumers)  # upstream's order of destinations
    source = PacketSourceOp(producer.tile.result, ports[producer])
    ends = [source, *(PacketDestOp(end.tile.result, ports[end]) for end in dests), EndOp.create()]
    _insert_behind(producer, PacketFlowOp(packet.pkt_id.data, ends))


def name_shim_channel(design: DeviceFifos, end: FifoEnd, channel: Channel, packet: PacketInfoAttr | None) -> None:
    """Give the shim channel of a FIFO a name, under which the runtime sequence finds it."""
    name, fifo = shim_allocation_name(end.fifo.sym_name.data), end.fifo
    if name in design.symbols:
        why = "the runtime sequence finds the shim end of a FIFO by this name; a FIFO can end at one shim tile only"
        fail(fifo, f"redefinition of symbol named '{name}'", (fifo, why))
    design.symbols.add(name)
    allocation = ShimDmaAllocationOp(name, end.tile.result, channel.direction, channel.number)
    allocation.plio, allocation.packet = fifo.plio, packet
    append_to(design.device.body, allocation, fifo.location)


def _stream_port(end: FifoEnd, channel: Channel) -> Port:
    """Where an end meets the streams: at its DMA, at a port of its core, or at the edge of the programmable logic."""
    if end.fifo.plio.value.data:
        # programmable logic takes the place of the host
        return Port(WireBundle.PLIO if end.is_shim else WireBundle.DMA, channel.number)
    return Port(WireBundle.DMA if end.stream_port is None else WireBundle.Core, channel.number)


def _insert_behind(end: FifoEnd, op: Operation) -> None:
    Rewriter.insert_op(located(op, end.fifo.location), InsertPoint.after(end.fifo))


def shim_allocation_name(fifo: str) -> str:
    return f"{fifo}_shim_alloc"


def rename_to_allocations(device: DeviceOp, fifos: Collection[str]) -> None:
    """Runtime sequences refer to FIFOs; from now on they refer to the shim channels of those.

    What is about the FIFOs themselves keeps its references, to be lowered with them.
    """

    def rename(reference: SymbolRefAttr) -> SymbolRefAttr:
        name = reference.root_reference.data
        if name not in fifos:
            return reference
        return SymbolRefAttr(StringAttr(shim_allocation_name(name)), reference.nested_references)

    # Devices without FIFOs may still have long sequences.
    for op in all_operations(device.body) if fifos else ():
        if not isinstance(op, KEPT):
            replace_references(op, rename)
