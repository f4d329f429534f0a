"""Lowers object FIFOs to buffers, locks, DMA programs and routes, and what cores do with them to uses of locks.

The steps follow each other: the device is read (`device_fifos`), FIFOs that need a DMA are cut in two, each end gets a
depth, and ends that meet in a tile share storage (`ends`); storage becomes buffers and locks (`storage`); ends with a
DMA get channels and flows (`connections`) and descriptors (`dma_programs`); and what cores do with FIFOs becomes
uses of locks and choices between buffers (`core_accesses`, `carried_counters`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import DenseArrayBase, StringAttr, SymbolRefAttr, i32
from xdsl.rewriter import Rewriter

from tilewright.dialects.aie.dma import Channel
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.objectfifo import ObjectFifoOp
from tilewright.dialects.aie.objectfifo_storage import (
    ObjectFifoAllocateOp,
    ObjectFifoRearmBindingOp,
    ObjectFifoRegisterExternalBuffersOp,
)
from tilewright.dialects.aie.objectfifo_uses import ObjectFifoLinkOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.control import DmaChannelResetForOp
from tilewright.ir.diagnostics import emit_op_error
from tilewright.ir.symbols import FreeNames
from tilewright.passes.design.objectfifo_stateful_transform.connections import (
    ChannelAllocator,
    PacketIds,
    add_circuits,
    add_packet_flow,
    name_shim_channel,
    rename_to_allocations,
)
from tilewright.passes.design.objectfifo_stateful_transform.core_accesses import (
    CoreAccesses,
    CoreLowering,
    add_unroll_hints,
)
from tilewright.passes.design.objectfifo_stateful_transform.device_fifos import DeviceFifos
from tilewright.passes.design.objectfifo_stateful_transform.dma_programs import ChainPlanner, DmaPrograms
from tilewright.passes.design.objectfifo_stateful_transform.ends import FifoEnd, FifoEnds, resolve_links
from tilewright.passes.design.objectfifo_stateful_transform.storage import StorageBuilder
from tilewright.rewrite.pass_bases import DevicePass, append_to

DECLARATIONS = ObjectFifoOp, ObjectFifoLinkOp, ObjectFifoAllocateOp, ObjectFifoRegisterExternalBuffersOp


@dataclass(frozen=True)
class ObjectFifoStatefulTransformPass(DevicePass):
    name = "aie-objectFifo-stateful-transform"

    packet_switched: bool = field(
        default=False,
        metadata={"option": "packet-sw-objFifos", "help": "move the data of FIFOs in packets instead of circuits"},
    )

    def apply_to(self, device: DeviceOp) -> None:
        design = DeviceFifos(device)
        if not design.is_sound():
            return
        rename_to_allocations(device, design.fifos)
        ends = FifoEnds(design)
        resolve_links(ends)
        StorageBuilder(ends).build()
        channels = ChannelAllocator(device).assign(ends.connections)
        self._connect(ends, channels)
        self._lower_accesses(ends)
        add_rearm_bindings(ends, channels)
        # Last, as everything before finds FIFOs by their declarations.
        for declaration in [child for child in device.body.ops if isinstance(child, DECLARATIONS)]:
            Rewriter.erase_op(declaration)

    def _connect(self, ends: FifoEnds, channels: dict[FifoEnd, Channel]) -> None:
        device = ends.design.device
        planner, programs, packets = ChainPlanner(device.model), DmaPrograms(device), PacketIds(device)
        for connection in ends.connections:
            packet = packets.take(connection) if self.packet_switched else None
            for end in connection.ends:
                if end.stream_port is not None:  # a port of the core takes the place of the DMA
                    continue
                sent = packet if end.is_producer else None  # the header is written by the DMA that sends
                chain = planner.plan(end)
                if chain is not None:
                    programs.add(end, channels[end], chain, sent)
                if end.tile.is_shim:
                    name_shim_channel(ends.design, end, channels[end], sent)
            if packet is not None:
                add_packet_flow(connection, channels, packet)
            else:
                add_circuits(connection, channels)

    def _lower_accesses(self, ends: FifoEnds) -> None:
        accesses = CoreAccesses(ends)
        accesses.check()
        # While the accesses still say which loops use which FIFOs.
        add_unroll_hints(accesses)
        uses_semaphores = ends.design.model.architecture.semaphore_locks
        for core, operations in accesses.by_core.items():
            CoreLowering(core, operations, accesses, uses_semaphores).run()


def add_rearm_bindings(ends: FifoEnds, channels: dict[FifoEnd, Channel]) -> None:
    """Give each FIFO that is started again a binding, and let what starts it refer to that.

    The shim ends of a FIFO belong to the host, which pushes their descriptors itself.
    """
    users = _users_by_name(ends.design.device)
    if not users:
        return
    split = [connection.producer.fifo for connection in ends.connections]
    for fifo in dict.fromkeys((*split, *ends.by_fifo)):
        wanting = users.get(fifo.sym_name.data)
        if wanting:
            _bind_rearm(ends, fifo, [end for end in ends.by_fifo[fifo] if not end.is_shim], channels, wanting)


def _users_by_name(device: DeviceOp) -> dict[str, list[DmaChannelResetForOp]]:
    users: dict[str, list[DmaChannelResetForOp]] = defaultdict(list)
    for op in device.body.walk():
        if isinstance(op, DmaChannelResetForOp):
            users[op.objfifo.root_reference.data].append(op)
    return users


def _bind_rearm(
    ends: FifoEnds,
    fifo: ObjectFifoOp,
    resident: Sequence[FifoEnd],
    channels: dict[FifoEnd, Channel],
    users: Sequence[DmaChannelResetForOp],
) -> None:
    moving = [end for end in resident if end in channels and end.stream_port is None]
    locks = list(_resident_locks(resident))
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


def _resident_locks(resident: Sequence[FifoEnd]) -> Iterator[LockOp]:
    for end in resident:
        if end.own_storage is not None and not end.own_storage.tile.is_shim:
            yield from end.own_storage.locks
