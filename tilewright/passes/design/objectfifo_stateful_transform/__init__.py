"""Lowers object FIFOs to buffers, locks, DMA programs and routes, and what cores do with them to uses of locks."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from tilewright.dialects.aie.dma import Channel
from tilewright.dialects.aie.objectfifo import ObjectFifoOp
from tilewright.dialects.aie.objectfifo_storage import ObjectFifoAllocateOp, ObjectFifoRegisterExternalBuffersOp
from tilewright.dialects.aie.objectfifo_uses import ObjectFifoLinkOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.pass_manager import Pass
from tilewright.passes.design.objectfifo_stateful_transform.access_checks import CoreAccesses
from tilewright.passes.design.objectfifo_stateful_transform.chains import ChainPlanner
from tilewright.passes.design.objectfifo_stateful_transform.channels import Channels
from tilewright.passes.design.objectfifo_stateful_transform.core_accesses import CoreLowering
from tilewright.passes.design.objectfifo_stateful_transform.device_fifos import Design
from tilewright.passes.design.objectfifo_stateful_transform.dma_programs import DmaPrograms
from tilewright.passes.design.objectfifo_stateful_transform.ends import End, Ends
from tilewright.passes.design.objectfifo_stateful_transform.links import resolve_links
from tilewright.passes.design.objectfifo_stateful_transform.names import rename_to_allocations
from tilewright.passes.design.objectfifo_stateful_transform.rearm import add_rearm_bindings
from tilewright.passes.design.objectfifo_stateful_transform.routes import (
    PacketIds,
    add_circuits,
    add_packet_flow,
    name_shim_channel,
)
from tilewright.passes.design.objectfifo_stateful_transform.storage import StorageBuilder
from tilewright.passes.design.objectfifo_stateful_transform.unroll_hints import add_unroll_hints

DECLARATIONS = ObjectFifoOp, ObjectFifoLinkOp, ObjectFifoAllocateOp, ObjectFifoRegisterExternalBuffersOp


@dataclass(frozen=True)
class ObjectFifoStatefulTransformPass(Pass):
    name = "aie-objectFifo-stateful-transform"
    anchor = "aie.device"

    packet_switched: bool = field(
        default=False,
        metadata={"option": "packet-sw-objFifos", "help": "move the data of FIFOs in packets instead of circuits"},
    )

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, DeviceOp)
        design = Design(op)
        if not design.is_sound():
            return
        rename_to_allocations(op, design.fifos)
        ends = Ends(design)
        resolve_links(ends)
        StorageBuilder(ends).build()
        channels = Channels(op).assign(ends.connections)
        self._connect(ends, channels)
        self._lower_accesses(ends)
        add_rearm_bindings(ends, channels)
        for declaration in [child for child in op.body.ops if isinstance(child, DECLARATIONS)]:
            Rewriter.erase_op(declaration)

    def _connect(self, ends: Ends, channels: dict[End, Channel]) -> None:
        device = ends.design.device
        planner, programs, packets = ChainPlanner(device.model), DmaPrograms(device), PacketIds(device)
        for connection in ends.connections:
            packet = packets.take(connection) if self.packet_switched else None
            for end in connection.ends:
                if end.stream_port is not None:
                    continue
                sent = packet if end.is_producer else None
                chain = planner.plan(end)
                if chain is not None:
                    programs.add(end, channels[end], chain, sent)
                if end.tile.is_shim:
                    name_shim_channel(ends.design, end, channels[end], sent)
            if packet is not None:
                add_packet_flow(connection, channels, packet)
            else:
                add_circuits(connection, channels)

    def _lower_accesses(self, ends: Ends) -> None:
        accesses = CoreAccesses(ends)
        accesses.check()
        add_unroll_hints(accesses)
        uses_semaphores = ends.design.model.architecture.semaphore_locks
        for core, operations in accesses.by_core.items():
            CoreLowering(core, operations, accesses, uses_semaphores).run()
