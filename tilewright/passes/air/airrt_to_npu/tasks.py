"""A transfer becomes a task with one descriptor."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects.builtin import BoolAttr, IntegerAttr, SymbolRefAttr, i32, i64
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.aie.attributes import PacketInfoAttr
from tilewright.dialects.aie.core import EndOp
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.flows import ShimDmaAllocationOp
from tilewright.dialects.aie.objectfifo import ObjectFifoOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.tasks import DmaConfigureTaskForOp, DmaStartTaskOp
from tilewright.dialects.airrt.transfers import DmaMemcpyNdOp
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.air.airrt_to_npu.waits import is_awaited, is_output
from tilewright.passes.air.shim.host_transfers import CARRIED, PRESERVE_ORDER
from tilewright.rewrite.folding.building import NO_OVERFLOW_FLAGS, create
from tilewright.rewrite.folding.constants import INDEX, make_constant, number_attr
from tilewright.rewrite.folding.strided_views import known_int
from tilewright.rewrite.insertion import building, building_before


@dataclass
class Task:
    """What a transfer asks of a channel: offset and length in elements, dimensions outermost first, runs - 1."""

    offset: SSAValue | int
    length: SSAValue | int
    dimensions: list[tuple[int, int]]
    repeat: SSAValue | int


def transfer_to_task(op: DmaMemcpyNdOp, device: DeviceOp) -> None:
    """Configure and start a task in place of a transfer."""
    name = _channel(op, device)
    task = _task(op)
    build = building_before(op)
    packet = op.attributes.get("packet")
    bd = DmaBdOp(
        op.memref,
        _as_i32(task.offset),
        _as_i32(task.length),
        task.dimensions,
        packet=packet if isinstance(packet, PacketInfoAttr) else None,
    )
    repeat = _runs_less_one(task.repeat, build) if isinstance(task.repeat, SSAValue) else None
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


def _task(op: DmaMemcpyNdOp) -> Task:
    """The descriptor of a transfer; what is known only at run time goes into the operands that it has for that."""
    strides = _strides(op)
    sizes = [known_int(entry) for entry in op.entries("lengths")]
    offset = _offset(op, strides)
    if None in sizes:
        return _dynamic(op, sizes, strides, offset)
    known = [size or 0 for size in sizes]
    return _static(known, strides, offset)


def _static(sizes: list[int], strides: list[int], offset: SSAValue | int) -> Task:
    """The outermost dimension repeats the task, and a descriptor has it too where it moves on."""
    sizes = [*sizes[:3], max(1, sizes[3])]
    repeats, length = max(1, sizes[0]), sizes[1] * sizes[2] * sizes[3]
    dimensions: list[tuple[int, int]] = []
    for index in range(0 if strides[0] else 1, 4):
        size, stride = sizes[index], strides[index]
        if 0 < index < 3 and stride == 0 and size > 1:
            repeats, length = repeats * size, length // size
        elif size > 1 or index == 3 or (strides[0] and index > 0):
            dimensions.append((size, stride))
    return Task(offset, length, dimensions, repeats - 1)


def _dynamic(op: DmaMemcpyNdOp, sizes: list[int | None], strides: list[int], offset: SSAValue | int) -> Task:
    """One run whose length is known at run time, or a task that is repeated so often."""
    unknown = [index for index, size in enumerate(sizes) if size is None]
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
        return Task(offset, _times(value, below, op), [], 0)
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
    return _plus(moved, total, op) if total else moved


def _times(value: SSAValue, factor: int, op: Operation) -> SSAValue:
    return value if factor == 1 else _arith("muli", value, factor, op)


def _plus(value: SSAValue, number: int, op: Operation) -> SSAValue:
    return _arith("addi", value, number, op)


def _arith(name: str, value: SSAValue, number: int, op: Operation) -> SSAValue:
    build = building_before(op)
    constant = build.insert(make_constant(number_attr(number, i64))).results[0]
    flags = {"overflowFlags": NO_OVERFLOW_FLAGS}
    return build.insert(create(f"arith.{name}", (value, constant), (i64,), flags)).results[0]


def _as_i32(value: SSAValue | int) -> SSAValue | int:
    """A number of elements as descriptors take it; narrowed where it is made, so that tasks may move."""
    if isinstance(value, int):
        return value
    if isinstance(value, OpResult):
        build = building(InsertPoint.after(value.op), value.op.location)
    else:
        block = value.owner
        assert isinstance(block, Block) and block.first_op is not None
        build = building(InsertPoint.at_start(block), block.first_op.location)
    return build.insert(create("arith.trunci", (value,), (i32,), {"overflowFlags": NO_OVERFLOW_FLAGS})).results[0]


def _runs_less_one(value: SSAValue, build: Builder) -> SSAValue:
    runs = build.insert(create("arith.trunci", (value,), (i32,), {"overflowFlags": NO_OVERFLOW_FLAGS})).results[0]
    one = build.insert(make_constant(number_attr(1, i32))).results[0]
    return build.insert(create("arith.subi", (runs, one), (i32,), {"overflowFlags": NO_OVERFLOW_FLAGS})).results[0]
