"""Flows of FIFOs from tile to tile, and the names under which runtime sequences find their shim channels.

A connection is a circuit for each consumer, or packets with one id for all of them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NoReturn

from xdsl.dialects.builtin import IntAttr, StringAttr, SymbolRefAttr
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import WireBundle
from tilewright.dialects.aie.attributes import PacketInfoAttr
from tilewright.dialects.aie.core import EndOp
from tilewright.dialects.aie.dma import Channel
from tilewright.dialects.aie.flows import (
    FlowOp,
    PacketDestOp,
    PacketFlowOp,
    PacketSourceOp,
    Port,
    ShimDmaAllocationOp,
)
from tilewright.dialects.aie.objectfifo import ObjectFifoOp
from tilewright.dialects.aie.objectfifo_storage import ObjectFifoAllocateOp, ObjectFifoRegisterExternalBuffersOp
from tilewright.dialects.aie.objectfifo_uses import ObjectFifoAcquireOp, ObjectFifoLinkOp, ObjectFifoReleaseOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.control import DmaChannelResetForOp
from tilewright.ir.diagnostics import fail, op_text
from tilewright.passes.design import append_to
from tilewright.passes.design.objectfifo_stateful_transform.device_fifos import DeviceFifos
from tilewright.passes.design.objectfifo_stateful_transform.ends import FifoEnd, SplitFifo
from tilewright.rewrite.symbols import replace_references

KEPT = (
    ObjectFifoOp,
    ObjectFifoLinkOp,
    ObjectFifoAllocateOp,
    ObjectFifoRegisterExternalBuffersOp,
    ObjectFifoAcquireOp,
    ObjectFifoReleaseOp,
    DmaChannelResetForOp,
)


class PacketIds:
    """Ids of packets that no flow of a device has yet."""

    def __init__(self, device: DeviceOp):
        self.device = device
        used = [op.packet_id.value.data for op in device.body.ops if isinstance(op, PacketFlowOp)]
        self.next_id = max(used, default=-1) + 1

    def take(self, connection: SplitFifo) -> PacketInfoAttr:
        limit = self.device.model.max_packet_id
        if self.next_id > limit:
            fail(
                self.device,
                op_text(self.device, "max number of packet IDs reached"),
                (
                    connection.producer.fifo,
                    f"@{connection.producer.name} has no packet id left, the last one is {limit}",
                ),
                (connection.producer.fifo, "give some FIFOs circuits, in a design lowered without packet-sw-objFifos"),
            )
        self.next_id += 1
        return PacketInfoAttr.new([IntAttr(0), IntAttr(self.next_id - 1)])


def add_circuits(connection: SplitFifo, channels: dict[FifoEnd, Channel]) -> None:
    """A flow to each consumer, behind the FIFO."""
    producer = connection.producer
    for consumer in connection.consumers:
        source, dest = (_port(end, channels[end]) for end in (producer, consumer))
        flow = FlowOp(producer.tile.result, source, consumer.tile.result, dest)
        _insert_behind(producer, flow)


def add_packet_flow(connection: SplitFifo, channels: dict[FifoEnd, Channel], packet: PacketInfoAttr) -> None:
    """One flow of packets to all consumers, behind the FIFO."""
    producer = connection.producer
    for end in connection.ends:
        if end.stream_port is not None:
            _refuse_stream(end)
    ports: list[Operation] = [PacketSourceOp(producer.tile.result, _dma_port(channels[producer]))]
    for consumer in reversed(connection.consumers):  # upstream's order of destinations
        ports.append(PacketDestOp(consumer.tile.result, _dma_port(channels[consumer])))
    ports.append(EndOp.create())
    for op in ports:
        op.location = producer.fifo.location
    _insert_behind(producer, PacketFlowOp(packet.pkt_id.data, ports))


def _refuse_stream(end: FifoEnd) -> NoReturn:
    fail(
        end.fifo,
        op_text(end.fifo, "cannot send packets through a stream port of a core"),
        (end.fifo, "drop aie_stream, or lower the design without packet-sw-objFifos"),
    )


def name_shim_channel(design: DeviceFifos, end: FifoEnd, channel: Channel, packet: PacketInfoAttr | None) -> None:
    """Give the shim channel of a FIFO a name, under which the runtime sequence finds it."""
    name, fifo = shim_allocation_name(end.fifo.sym_name.data), end.fifo
    if name in design.symbols:
        why = "the runtime sequence finds the shim end of a FIFO by this name; a FIFO can end at one shim tile only"
        fail(fifo, f"redefinition of symbol named '{name}'", (fifo, why))
    design.symbols.add(name)
    allocation = ShimDmaAllocationOp(name, end.tile.result, channel.direction, channel.number)
    allocation.plio = fifo.plio
    if packet is not None:
        allocation.packet = packet
    append_to(design.device.body, allocation, fifo.location)


def _port(end: FifoEnd, channel: Channel) -> Port:
    """Where an end meets the streams: at its DMA, at a port of its core, or at the edge of the programmable logic."""
    if end.fifo.plio.value.data:
        # programmable logic takes the place of the host
        return Port(WireBundle.PLIO if end.is_shim else WireBundle.DMA, channel.number)
    return Port(WireBundle.DMA if end.stream_port is None else WireBundle.Core, channel.number)


def _dma_port(channel: Channel) -> Port:
    return Port(WireBundle.DMA, channel.number)


def _insert_behind(end: FifoEnd, op: Operation) -> None:
    op.location = end.fifo.location
    Rewriter.insert_op(op, InsertPoint.after(end.fifo))


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

    for op in device.body.walk():
        if not isinstance(op, KEPT):
            replace_references(op, rename)
