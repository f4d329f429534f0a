"""Waiting for events becomes waiting for channels, and then for tasks, or the release of their descriptors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from xdsl.dialects.builtin import IntegerAttr, SymbolRefAttr
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from tilewright.device import DmaDirection
from tilewright.dialects.aie.flows import ShimDmaAllocationOp
from tilewright.dialects.aie.lookup import parent_of_type, tile_of
from tilewright.dialects.aie.objectfifo import ObjectFifoOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.firmware import NpuLoadPdiOp
from tilewright.dialects.aiex.memcpy import NpuDmaWaitOp
from tilewright.dialects.aiex.tasks import DmaAwaitTaskOp, DmaConfigureTaskForOp, DmaFreeTaskOp
from tilewright.dialects.airrt.events import EVENT, WaitAllOp
from tilewright.dialects.airrt.transfers import DmaMemcpyNdOp
from tilewright.passes.air.airrt_to_npu.launches import Launches
from tilewright.passes.air.shim.host_transfers import AWAITED, LAUNCH_END, PRESERVE_ORDER
from tilewright.rewrite.folding.regions import is_inside
from tilewright.rewrite.insertion import building_before


def wait_for_channels(function: Operation, launches: Launches, *, output_elf: bool) -> None:
    """Name the channel of each transfer that is waited for; transfers give no events from here on."""
    for wait in [op for op in function.walk() if isinstance(op, WaitAllOp)]:
        _wait_for_channels(wait, launches, output_elf)
    for op in [op for op in function.walk() if isinstance(op, DmaMemcpyNdOp) and op.results]:
        new = DmaMemcpyNdOp.create(operands=op.operands, properties=dict(op.properties), attributes=dict(op.attributes))
        building_before(op).insert(new)
        Rewriter.erase_op(op)


def _wait_for_channels(wait: WaitAllOp, launches: Launches, output_elf: bool) -> None:
    build = building_before(wait)
    names = [op.metadata.root_reference.data for op in _transfers(wait) if op.metadata is not None]
    for name in names:
        build.insert(channel_wait(name))
    if LAUNCH_END in wait.attributes:
        for op in end_of_launch(wait, launches, output_elf, frozenset(names)):
            build.insert(op)
    if wait.event is not None and wait.event.first_use is not None:
        rest = [event for event in wait.operands if not isinstance(event.owner, DmaMemcpyNdOp)]
        join = build.insert(WaitAllOp.create(operands=rest, result_types=[EVENT]))
        wait.event.replace_all_uses_with(join.results[0])
    Rewriter.erase_op(wait)


def _transfers(wait: WaitAllOp) -> Iterator[DmaMemcpyNdOp]:
    return (event.owner for event in wait.operands if isinstance(event.owner, DmaMemcpyNdOp))


def channel_wait(name: str) -> NpuDmaWaitOp:
    return NpuDmaWaitOp.create(properties={"symbol": SymbolRefAttr(name)})


def end_of_launch(wait: Operation, launches: Launches, output_elf: bool, waited: frozenset[str]) -> Iterator[Operation]:
    """What is needed between two launches: a reset by reloading the device, or a wait for all its channels."""
    device = parent_of_type(wait, DeviceOp)
    if device is None or not launches.is_second_generation:
        return
    if output_elf and launches.needs_reset:
        yield NpuLoadPdiOp(device.sym_name.data)
    elif output_elf or launches.are_several:
        for op in device.body.ops:
            if isinstance(op, ShimDmaAllocationOp) and op.sym_name.data not in waited:
                yield channel_wait(op.sym_name.data)


def wait_for_tasks(sequence: Operation, device: DeviceOp) -> None:
    """The n-th wait for a channel is for its n-th task: for its end if it gives a token, else for its descriptor."""
    tasks: dict[str, list[DmaConfigureTaskForOp]] = defaultdict(list)
    waits: list[NpuDmaWaitOp] = []
    place: dict[Operation, int] = {}
    for number, op in enumerate(sequence.walk()):
        place[op] = number
        if isinstance(op, DmaConfigureTaskForOp):
            tasks[op.alloc.root_reference.data].append(op)
        elif isinstance(op, NpuDmaWaitOp):
            waits.append(op)
    for wait in waits:
        waiting = tasks[wait.symbol.root_reference.data]
        if waiting and place[waiting[0]] < place[wait] and _is_visible(waiting[0], wait):
            _end_task(waiting.pop(0), wait, device)
        Rewriter.erase_op(wait)


def _is_visible(task: DmaConfigureTaskForOp, wait: Operation) -> bool:
    region = task.parent_region()
    return region is not None and is_inside(wait, region)


def _end_task(task: DmaConfigureTaskForOp, wait: Operation, device: DeviceOp) -> None:
    build = building_before(wait)
    if is_awaited(task, is_output(task.alloc.root_reference.data, device)):
        build.insert(DmaAwaitTaskOp(task.result))
    elif PRESERVE_ORDER not in task.attributes:
        build.insert(DmaFreeTaskOp(task.result))


def is_awaited(op: Operation, default: bool) -> bool:
    """Whether somebody waits for the end of a transfer: as its marker says, where it has one."""
    marker = op.attributes.get(AWAITED)
    return bool(marker.value.data) if isinstance(marker, IntegerAttr) else default


def is_output(name: str, device: DeviceOp) -> bool:
    """Whether a shim channel, or the fifo of that name, brings data to the host."""
    found = device.lookup(name)
    if isinstance(found, ShimDmaAllocationOp):
        return found.direction is DmaDirection.S2MM
    if isinstance(found, ObjectFifoOp):
        tiles = [tile_of(value) for value in found.consumers]
        return any(tile is not None and tile.is_shim for tile in tiles)
    return False
