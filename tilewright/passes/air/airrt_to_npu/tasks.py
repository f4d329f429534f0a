"""Transfers become tasks with one descriptor; waits for events become waits for channels, and then for tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, SymbolRefAttr, i32, i64
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import Arch, DmaDirection
from tilewright.dialects import affine, arith, scf
from tilewright.dialects.aie.attributes import PacketInfoAttr
from tilewright.dialects.aie.core import EndOp
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.flows import ShimDmaAllocationOp
from tilewright.dialects.aie.lookup import ancestors, parent_of_type, tile_of
from tilewright.dialects.aie.objectfifo import ObjectFifoOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.firmware import NpuLoadPdiOp
from tilewright.dialects.aiex.memcpy import NpuDmaWaitOp
from tilewright.dialects.aiex.tasks import DmaAwaitTaskOp, DmaConfigureTaskForOp, DmaFreeTaskOp, DmaStartTaskOp
from tilewright.dialects.airrt.events import EVENT, WaitAllOp
from tilewright.dialects.airrt.loading import HerdLoadOp
from tilewright.dialects.airrt.transfers import DmaMemcpyNdOp
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.air.shim.host_transfers import AWAITED, CARRIED, LAUNCH_END, LAUNCH_WAVE, PRESERVE_ORDER
from tilewright.passes.air.shim.loops import constant_bounds
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.constants import INDEX
from tilewright.rewrite.folding.regions import is_inside, recreate
from tilewright.rewrite.folding.strided_views import known_int

CASCADES = frozenset({"aie.cascade_flow", "aie.get_cascade", "aie.put_cascade"})


@dataclass
class ShimTask:
    """What a transfer asks of a channel: offset and length in elements, dimensions outermost first, runs - 1."""

    offset: SSAValue | int
    length: SSAValue | int
    dimensions: list[tuple[int, int]]
    repeat: SSAValue | int


def transfer_to_task(op: DmaMemcpyNdOp, device: DeviceOp) -> None:
    """Configure and start a task in place of a transfer."""
    name = _channel(op, device)
    task = _task(op)
    build = Emitter.before(op)
    packet = op.attributes.get("packet")
    bd = DmaBdOp(
        op.memref,
        _as_i32(task.offset),
        _as_i32(task.length),
        task.dimensions,
        packet=packet if isinstance(packet, PacketInfoAttr) else None,
    )
    repeat = None
    if isinstance(task.repeat, SSAValue):
        # the queue counts repetitions, which are one less than runs
        repeat = build.subtract(build.value(arith.TruncIOp(task.repeat, i32)), 1)
    issues = is_awaited(op, is_output(name, device) or PRESERVE_ORDER in op.attributes)
    configure = DmaConfigureTaskForOp.create(
        operands=[] if repeat is None else [repeat],
        result_types=[INDEX],
        properties={
            "alloc": SymbolRefAttr(name),
            "issue_token": BoolAttr.from_bool(issues),
            "repeat_count": IntegerAttr(task.repeat if isinstance(task.repeat, int) else 0, i32),
        },
        attributes={marker: op.attributes[marker] for marker in CARRIED if marker in op.attributes},
        regions=[Region(Block([bd, EndOp()]))],
    )
    build.insert(configure)
    build.insert(DmaStartTaskOp(configure.result))
    Rewriter.erase_op(op)


def _channel(op: DmaMemcpyNdOp, device: DeviceOp) -> str:
    name = op.metadata
    found = None if name is None else device.lookup(name.root_reference.data)
    if name is None or not isinstance(found, ShimDmaAllocationOp | ObjectFifoOp):
        fail_op(
            op,
            "has no shim channel to go through",
            (device, "give it the name of an aie.shim_dma_allocation of this device as metadata"),
        )
    return name.root_reference.data


def _task(op: DmaMemcpyNdOp) -> ShimTask:
    """The descriptor of a transfer; what is known only at run time goes into the operands that it has for that."""
    strides = _strides(op)
    sizes = [known_int(entry) for entry in op.entries("lengths")]
    offset = _offset(op, strides)
    if None in sizes:
        return _dynamic(op, sizes, strides, offset)
    return _static([size or 0 for size in sizes], strides, offset)


def _static(sizes: list[int], strides: list[int], offset: SSAValue | int) -> ShimTask:
    """The outermost dimension repeats the task, and a descriptor has it too where it moves on."""
    sizes = [*sizes[:3], max(1, sizes[3])]
    repeats, length = max(1, sizes[0]), sizes[1] * sizes[2] * sizes[3]
    dimensions: list[tuple[int, int]] = []
    for index in range(0 if strides[0] else 1, 4):
        size, stride = sizes[index], strides[index]
        # wraps cannot repeat without a step: the task is run more often instead
        if 0 < index < 3 and stride == 0 and size > 1:
            repeats, length = repeats * size, length // size
        # the innermost dimension stays, however short
        elif size > 1 or index == 3 or (strides[0] and index > 0):
            dimensions.append((size, stride))
    return ShimTask(offset, length, dimensions, repeats - 1)


def _dynamic(op: DmaMemcpyNdOp, sizes: list[int | None], strides: list[int], offset: SSAValue | int) -> ShimTask:
    """One run whose length is known at run time, or a task that is repeated so often."""
    unknown = [index for index, size in enumerate(sizes) if size is None]
    # a descriptor takes one runtime value: its length, or how often it runs
    if len(unknown) > 1:
        fail_op(op, "more than one runtime-valued DMA size is not supported")
    index = unknown[0]
    value = op.entries("lengths")[index]
    assert isinstance(value, SSAValue)
    below, is_run = 1, all(size == 1 for size in sizes[:index])
    for size, stride in list(zip(sizes, strides, strict=True))[:index:-1]:
        is_run &= stride == below or size == 1
        below *= size or 1
    if is_run and strides[index] == below:
        return ShimTask(offset, _times(value, below, op), [], 0)
    if index == 0 and strides[0] == 0:
        task = _static([1, *(size or 1 for size in sizes[1:])], strides, offset)
        task.repeat = value
        return task
    fail_op(
        op, f"runtime-valued DMA size in dimension {3 - index} requires a contiguous transfer or a zero outer stride"
    )


def _strides(op: DmaMemcpyNdOp) -> list[int]:
    strides = [known_int(entry) for entry in op.entries("strides")]
    if None in strides:
        fail_op(op, "runtime-valued DMA stride is not supported")
    return [stride or 0 for stride in strides]


def _offset(op: DmaMemcpyNdOp, strides: list[int]) -> SSAValue | int:
    """How many elements into the buffer a transfer starts."""
    total, dynamic = 0, list[tuple[SSAValue, int]]()
    for entry, stride in zip(op.entries("offsets"), strides, strict=True):
        number = known_int(entry)
        if number is not None:
            total += number * stride
        elif isinstance(entry, SSAValue):
            dynamic.append((entry, stride))
    if not dynamic:
        return total
    if len(dynamic) > 1:
        fail_op(op, "more than one runtime-valued DMA offset is not supported")
    moved = _times(dynamic[0][0], dynamic[0][1], op)
    return _arith(arith.AddiOp, moved, total, op) if total else moved


def _times(value: SSAValue, factor: int, op: Operation) -> SSAValue:
    return value if factor == 1 else _arith(arith.MuliOp, value, factor, op)


def _arith(kind: type[arith.AddiOp | arith.MuliOp], value: SSAValue, number: int, op: Operation) -> SSAValue:
    build = Emitter.before(op)
    return build.value(kind(value, build.i64(number)))


def _as_i32(value: SSAValue | int) -> SSAValue | int:
    """A number of elements as descriptors take it; narrowed where it is made, so that tasks may move."""
    if isinstance(value, int):
        return value
    if isinstance(value, OpResult):
        build = Emitter(InsertPoint.after(value.op), value.op.location)
    else:
        block = value.owner
        assert isinstance(block, Block) and block.first_op is not None
        build = Emitter.at_start(block, block.first_op.location)
    return build.value(arith.TruncIOp(value, i32))


def wait_for_channels(function: Operation, launches: Launches, *, output_elf: bool) -> None:
    """Name the channel of each transfer that is waited for; transfers give no events from here on."""
    skipped = _never_waited_for(function)
    for wait in [op for op in function.walk() if isinstance(op, WaitAllOp)]:
        _wait_for_channels(wait, launches, output_elf, skipped)
    for op in [op for op in function.walk() if isinstance(op, DmaMemcpyNdOp) and op.results]:
        Emitter.before(op).insert(recreate(op, result_types=[]))
        Rewriter.erase_op(op)


def _never_waited_for(function: Operation) -> dict[Operation, list[str]]:
    """The channel of an output that is waited for, once for each one before it in its block that nothing waits for.

    A wait for a channel is for the oldest task of it that was not waited for.
    """
    device = parent_of_type(function, DeviceOp)
    skipped: dict[tuple[Block | None, str], list[str]] = defaultdict(list)
    found: dict[Operation, list[str]] = {}
    for op in function.walk():
        name = _name(op) if isinstance(op, DmaMemcpyNdOp) else None
        if device is None or name is None or not is_output(name, device):
            continue
        before = skipped[op.parent, name]
        if any(isinstance(use.operation, WaitAllOp) for result in op.results for use in result.uses):
            found[op] = list(before)
            before.clear()
        else:
            before.append(name)
    return found


def _name(op: DmaMemcpyNdOp) -> str | None:
    return None if op.metadata is None else op.metadata.root_reference.data


def _wait_for_channels(
    wait: WaitAllOp, launches: Launches, output_elf: bool, skipped: Mapping[Operation, Sequence[str]]
) -> None:
    build = Emitter.before(wait)
    transfers = [event.owner for event in wait.operands if isinstance(event.owner, DmaMemcpyNdOp)]
    names = [name for op in transfers for name in (*skipped.get(op, ()), _name(op)) if name is not None]
    for name in names:
        build.insert(channel_wait(name))
    if LAUNCH_END in wait.attributes:
        for op in end_of_launch(wait, launches, output_elf, frozenset(names)):
            build.insert(op)
    if wait.event is not None and wait.event.first_use is not None:
        rest = [event for event in wait.operands if not isinstance(event.owner, DmaMemcpyNdOp)]
        wait.event.replace_all_uses_with(build.value(WaitAllOp.create(operands=rest, result_types=[EVENT])))
    Rewriter.erase_op(wait)


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
    # places in program order, to tell a wait that stands before its task
    for number, op in enumerate(sequence.walk()):
        place[op] = number
        if isinstance(op, DmaConfigureTaskForOp):
            tasks[op.alloc.root_reference.data].append(op)
        elif isinstance(op, NpuDmaWaitOp):
            waits.append(op)
    for wait in waits:
        waiting = tasks[wait.symbol.root_reference.data]
        # a wait in another branch cannot name a task that may not have been configured
        if waiting and place[waiting[0]] < place[wait] and _is_visible(waiting[0], wait):
            _end_task(waiting.pop(0), wait, device)
        Rewriter.erase_op(wait)


def _is_visible(task: DmaConfigureTaskForOp, wait: Operation) -> bool:
    region = task.parent_region()
    return region is not None and is_inside(wait, region)


def _end_task(task: DmaConfigureTaskForOp, wait: Operation, device: DeviceOp) -> None:
    build = Emitter.before(wait)
    if is_awaited(task, is_output(task.alloc.root_reference.data, device)):
        build.insert(DmaAwaitTaskOp(task.result))
    # paced feeds are waited for by `ordering`, which frees them too
    elif PRESERVE_ORDER not in task.attributes:
        build.insert(DmaFreeTaskOp(task.result))


def is_awaited(op: Operation, default: bool) -> bool:
    """Whether a wait is for the end of a transfer: as its marker says, where it has one."""
    marker = op.attributes.get(AWAITED)
    return bool(marker.value.data) if isinstance(marker, IntegerAttr) else default


def is_output(name: str, device: DeviceOp) -> bool:
    """Whether a shim channel, or the fifo of that name, brings data to the host."""
    found = device.lookup(name)
    if isinstance(found, ShimDmaAllocationOp):
        return found.direction is DmaDirection.S2MM
    if isinstance(found, ObjectFifoOp):
        return any(tile is not None and tile.is_shim for tile in map(tile_of, found.consumers))
    return False


@dataclass(frozen=True)
class Launches:
    """What the ends of launches mean for one device."""

    needs_reset: bool
    """Whether DMAs that count repetitions, or a cascade, have to be set back before the next launch."""
    are_several: bool
    is_second_generation: bool


def launches_of(device: DeviceOp) -> Launches:
    """Look at a device while its launches can still be told apart."""
    ends = [op for op in device.walk() if isinstance(op, WaitAllOp) and LAUNCH_END in op.attributes]
    repeats = any(not _runs_once(end) for end in ends)
    has_cascade = any(op.name in CASCADES for op in device.walk())
    is_single = len(ends) == 1 and not repeats
    return Launches(
        needs_reset=_has_repeating_dmas(device) or (has_cascade and is_single),
        are_several=len(ends) > 1 or (bool(ends) and repeats),
        is_second_generation=device.model.arch is Arch.AIE2p,
    )


def _has_repeating_dmas(device: DeviceOp) -> bool:
    counts = (op.properties.get("repeat_count") for op in device.walk() if op.name == "aie.dma_start")
    return any(isinstance(count, IntegerAttr) and count.value.data > 0 for count in counts)


def _runs_once(op: Operation) -> bool:
    for parent in ancestors(op):
        bounds = constant_bounds(parent) if isinstance(parent, affine.ForOp) else range(1)
        if isinstance(parent, scf.ForOp | scf.WhileOp) or bounds is None or len(bounds) != 1:
            return False
    return True


def number_waves(function: Operation) -> None:
    """Give what a launch starts the number of the launch."""
    wave = 0
    for op in function.walk():
        if isinstance(op, DmaMemcpyNdOp | HerdLoadOp):
            op.attributes[LAUNCH_WAVE] = IntegerAttr(wave, i64)
        elif isinstance(op, WaitAllOp) and LAUNCH_END in op.attributes:
            wave += 1


def wave_of(op: Operation) -> int | None:
    wave = op.attributes.get(LAUNCH_WAVE)
    return wave.value.data if isinstance(wave, IntegerAttr) else None
