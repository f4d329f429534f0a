"""No more tasks under way than a channel can take: waits between tasks that would come too fast."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest

from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import Block, Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import TASK_QUEUE_DEPTH
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.tasks import DmaAwaitTaskOp, DmaConfigureTaskForOp, DmaFreeTaskOp, DmaStartTaskOp
from tilewright.ir.diagnostics import emit_warning
from tilewright.passes.air.airrt_to_npu.launches import wave_of
from tilewright.passes.air.airrt_to_npu.waits import is_output
from tilewright.passes.air.shim.host_transfers import COALESCED, FIXED, PRESERVE_ORDER
from tilewright.rewrite.effects import is_pure
from tilewright.rewrite.insertion import building, building_before

IN_STEP = 2
"""How many tasks of a channel that moves in step with others are under way."""


def channel_of(task: DmaConfigureTaskForOp) -> str:
    return task.alloc.root_reference.data


def start_of(task: DmaConfigureTaskForOp) -> DmaStartTaskOp | None:
    return next((use.operation for use in task.result.uses if isinstance(use.operation, DmaStartTaskOp)), None)


def pace_in_step(sequence: Operation, device: DeviceOp) -> None:
    """Feeds that keep their order wait for the one before the last, in each launch by itself."""
    found = (op for op in sequence.walk() if isinstance(op, DmaConfigureTaskForOp))
    tasks = [op for op in found if PRESERVE_ORDER in op.attributes and not is_output(channel_of(op), device)]
    _end_phases([task for task in tasks if COALESCED in task.attributes])
    channels: dict[str, list[DmaConfigureTaskForOp]] = defaultdict(list)
    for task in tasks:
        if COALESCED not in task.attributes:
            channels[channel_of(task)].append(task)
    for feeds in channels.values():
        for _, group in groupby(feeds, lambda task: (task.parent, wave_of(task))):
            _pace(list(group))


def _pace(tasks: Sequence[DmaConfigureTaskForOp]) -> None:
    for older, task in zip(tasks, tasks[IN_STEP:], strict=False):
        start = start_of(task)
        if start is None:
            emit_warning(task, f"{PRESERVE_ORDER}: paced task has no dma_start_task; nothing waits before it")
        else:
            building_before(start).insert(DmaAwaitTaskOp(older.result))
    _await_after(start_of(tasks[-1]), tasks[-IN_STEP:])


def _await_after(start: DmaStartTaskOp | None, tasks: Sequence[DmaConfigureTaskForOp]) -> None:
    if start is not None:
        build = building(InsertPoint.after(start), start.location)
        for task in tasks:
            build.insert(DmaAwaitTaskOp(task.result))


def _end_phases(tasks: Sequence[DmaConfigureTaskForOp]) -> None:
    """Feeds made of several: all channels end a phase before any begins the next."""
    phase: list[DmaConfigureTaskForOp] = []
    for task in tasks:
        is_next = any(channel_of(task) == channel_of(other) or task.parent is not other.parent for other in phase)
        if is_next:
            _await_after(start_of(phase[-1]), phase)
            phase = []
        phase.append(task)
    if phase:
        _await_after(start_of(phase[-1]), phase)


@dataclass(frozen=True)
class _Feed:
    task: DmaConfigureTaskForOp
    start: DmaStartTaskOp

    @property
    def ops(self) -> tuple[Operation, Operation]:
        return self.task, self.start


def bound_bursts(sequence: Operation, device: DeviceOp) -> None:
    """Where a channel is given more feeds in a row than its queue holds, take turns with others and wait."""
    stale: list[Operation] = []
    for block in [block for op in sequence.walk() for region in op.regions for block in region.blocks]:
        for burst, after in list(_bursts(block, device)):
            stale += _bound(burst, after)
    for op in dict.fromkeys(stale):
        Rewriter.erase_op(op)


def _bursts(block: Block, device: DeviceOp) -> Iterator[tuple[list[_Feed], Operation | None]]:
    """Feeds with nothing between them that is an order, and what comes after them."""
    burst: list[_Feed] = []
    starts = set[Operation]()
    for op in block.ops:
        if isinstance(op, DmaConfigureTaskForOp):
            start = start_of(op)
            if start is not None and start.parent is block and _may_move(op, device):
                burst.append(_Feed(op, start))
                starts.add(start)
                continue
        elif op in starts or is_pure(op):
            continue
        if burst:
            yield burst, op
        burst = []
    if burst:
        yield burst, None


def _may_move(task: DmaConfigureTaskForOp, device: DeviceOp) -> bool:
    is_fixed = any(marker in task.attributes for marker in FIXED)
    return not is_fixed and not is_output(channel_of(task), device)


def _bound(burst: Sequence[_Feed], after: Operation | None) -> Iterator[Operation]:
    """Take turns and wait; gives the releases of descriptors that the waits now do."""
    channels: dict[str, list[_Feed]] = defaultdict(list)
    for feed in burst:
        channels[channel_of(feed.task)].append(feed)
    if all(len(feeds) <= TASK_QUEUE_DEPTH for feeds in channels.values()):
        return
    _take_turns(channels, burst[0].task.parent, after)
    for feeds in channels.values():
        for older, feed in zip(feeds, feeds[TASK_QUEUE_DEPTH:], strict=False):
            older.task.properties["issue_token"] = BoolAttr.from_bool(True)
            building_before(feed.start).insert(DmaAwaitTaskOp(older.task.result))
            yield from (use.operation for use in older.task.result.uses if isinstance(use.operation, DmaFreeTaskOp))


def _take_turns(channels: dict[str, list[_Feed]], block: Block | None, after: Operation | None) -> None:
    assert block is not None
    point = InsertPoint.at_end(block) if after is None else InsertPoint.before(after)
    for turn in zip_longest(*channels.values()):
        for feed in turn:
            for op in feed.ops if feed is not None else ():
                op.detach()
                Rewriter.insert_op(op, point)
