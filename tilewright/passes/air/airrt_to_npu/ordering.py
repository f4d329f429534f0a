"""Order and pace of tasks: no core waits for ever, and no queue overflows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, zip_longest

from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import TASK_QUEUE_DEPTH
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.control import SetLockOp
from tilewright.dialects.aiex.firmware import NpuLoadPdiOp
from tilewright.dialects.aiex.instructions import NpuWriteRTPOp
from tilewright.dialects.aiex.tasks import DmaAwaitTaskOp, DmaConfigureTaskForOp, DmaFreeTaskOp, DmaStartTaskOp
from tilewright.ir.diagnostics import emit_warning
from tilewright.passes.air.airrt_to_npu.tasks import is_output, wave_of
from tilewright.passes.air.shim.host_transfers import (
    APPEND_BARRIER,
    AWAIT_APPENDS,
    COALESCED,
    FIXED,
    PRESERVE_ORDER,
    RUNTIME_HOIST,
)
from tilewright.rewrite.effects import is_pure
from tilewright.rewrite.emitter import Emitter

ARMS = NpuWriteRTPOp | SetLockOp
IN_STEP = 2
"""How many tasks of a channel that moves in step with others are under way."""


def blocks_of(sequence: Operation) -> list[Block]:
    """The blocks of a sequence, but not those of its tasks."""
    holders = [op for op in sequence.walk() if not isinstance(op, DmaConfigureTaskForOp)]
    return list(dict.fromkeys(block for op in holders for region in op.regions for block in region.blocks))


def _move_before(anchor: Operation, *ops: Operation | None) -> None:
    for op in ops:
        if op is not None and op is not anchor:
            op.detach()
            Rewriter.insert_op(op, InsertPoint.before(anchor))


@dataclass
class _Group:
    """What one launch arms, and the first thing that it does besides."""

    anchor: Operation | None = None
    parameters: list[Operation] = field(default_factory=list[Operation])
    locks: list[Operation] = field(default_factory=list[Operation])


def arm_first(sequence: Operation) -> None:
    """Write parameters and release cores before the data of their launch moves."""
    for block in blocks_of(sequence):
        for group in _groups(block):
            if group.anchor is not None:
                # parameters first: the lock lets the core read them
                _move_before(group.anchor, *group.parameters, *group.locks)


def _groups(block: Block) -> list[_Group]:
    groups, wave = [_Group()], None
    for op in block.ops:
        # loading a device starts its cores anew: nothing is armed across it
        if isinstance(op, NpuLoadPdiOp):
            groups.append(_Group())
            wave = None
            continue
        own = wave_of(op)
        if own is not None:
            if wave is not None and own != wave:
                groups.append(_Group())
            wave = own
        group = groups[-1]
        if isinstance(op, NpuWriteRTPOp):
            group.parameters.append(op)
        elif isinstance(op, SetLockOp):
            group.locks.append(op)
        elif RUNTIME_HOIST not in op.attributes and group.anchor is None:
            group.anchor = op
    return groups


def outputs_first(sequence: Operation, device: DeviceOp) -> None:
    """Start what receives the results of a launch before its feeds, or its cores could not hand them on."""
    for block in blocks_of(sequence):
        tasks = [op for op in block.ops if isinstance(op, DmaConfigureTaskForOp)]
        by_wave = len({wave_of(task) for task in tasks} - {None}) > 1
        first: dict[int | None, Operation] = {}
        place = {op: number for number, op in enumerate(block.ops)}
        for task in tasks:
            wave = wave_of(task) if by_wave else 0
            if not is_output(channel_of(task), device):
                first.setdefault(wave, task)
        for task in tasks:
            anchor = first.get(wave_of(task) if by_wave else 0)
            # those before the first feed are early enough
            if anchor is not None and is_output(channel_of(task), device) and place[task] > place[anchor]:
                _move_before(anchor, task, start_of(task))


def hoist_feeds(sequence: Operation) -> None:
    """Feeds that are marked go before all others, right after cores are armed."""
    for block in blocks_of(sequence):
        others = (op for op in block.ops if not isinstance(op, NpuLoadPdiOp | ARMS))
        anchor = next((op for op in others if RUNTIME_HOIST not in op.attributes), None)
        for task in [op for op in block.ops if isinstance(op, DmaConfigureTaskForOp)]:
            if anchor is None or RUNTIME_HOIST not in task.attributes:
                continue
            start = start_of(task)
            if start is None:
                emit_warning(task, f"{RUNTIME_HOIST}: no matching dma_start_task; the feed was hoisted alone")
            _move_before(anchor, task, start)


def await_appends(sequence: Operation) -> None:
    """What is read back is read after the appends before it have ended."""
    for block in blocks_of(sequence):
        place = {op: number for number, op in enumerate(block.ops)}
        tasks = [op for op in block.ops if isinstance(op, DmaConfigureTaskForOp)]
        readers = [start for task in tasks if AWAIT_APPENDS in task.attributes and (start := start_of(task))]
        moved = False
        for task in tasks:
            waits = (use.operation for use in task.result.uses if isinstance(use.operation, DmaAwaitTaskOp))
            wait = next(waits, None) if APPEND_BARRIER in task.attributes else None
            if wait is None:
                continue
            moved = True
            begun = place[start_of(task) or task]
            reader = next((reader for reader in readers if place[reader] > begun), None)
            if reader is not None:
                _move_before(reader, wait)
        if readers and not moved:
            emit_warning(
                readers[0],
                f"{AWAIT_APPENDS}: readback tagged but no {APPEND_BARRIER} appends found to await; "
                "no ordering was enforced",
            )


def repair_dominance(sequence: Operation) -> None:
    """Compute again, where an operation has moved to, what is computed after it now."""
    for block in blocks_of(sequence):
        seen = set[Operation]()
        for op in list(block.ops):
            for user in op.walk():
                for number, value in enumerate(user.operands):
                    if _is_late(value, block, seen):
                        user.operands[number] = _again(value, block, op, seen)
            seen.add(op)


def _is_late(value: SSAValue, block: Block, seen: set[Operation]) -> bool:
    maker = value.owner
    return isinstance(maker, Operation) and maker.parent is block and maker not in seen and is_pure(maker)


def _again(value: SSAValue, block: Block, before: Operation, seen: set[Operation]) -> SSAValue:
    maker = value.owner
    if not isinstance(maker, Operation) or not _is_late(value, block, seen):
        return value
    copy = maker.clone({operand: _again(operand, block, before, seen) for operand in maker.operands})
    Emitter.before(before).insert(copy)
    seen.add(copy)
    return copy.results[maker.results.index(value)]


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
            Emitter.before(start).insert(DmaAwaitTaskOp(older.result))
    _await_after(start_of(tasks[-1]), tasks[-IN_STEP:])


def _await_after(start: DmaStartTaskOp | None, tasks: Sequence[DmaConfigureTaskForOp]) -> None:
    if start is not None:
        build = Emitter(InsertPoint.after(start), start.location)
        for task in tasks:
            build.insert(DmaAwaitTaskOp(task.result))


def _end_phases(tasks: Sequence[DmaConfigureTaskForOp]) -> None:
    """Feeds made of several: all channels end a phase before any begins the next."""
    phase: list[DmaConfigureTaskForOp] = []
    for task in tasks:
        if any(channel_of(task) == channel_of(other) or task.parent is not other.parent for other in phase):
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
    # the waits release these descriptors now
    for op in dict.fromkeys(stale):
        Rewriter.erase_op(op)


def _bursts(block: Block, device: DeviceOp) -> Iterator[tuple[list[_Feed], Operation | None]]:
    """Feeds with nothing between them that is an order, and what comes after them."""
    burst: list[_Feed] = []
    starts = set[Operation]()
    for op in block.ops:
        if isinstance(op, DmaConfigureTaskForOp):
            start = start_of(op)
            is_free = not any(marker in op.attributes for marker in FIXED) and not is_output(channel_of(op), device)
            if start is not None and start.parent is block and is_free:
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
            # a wait needs a token to wait for
            older.task.properties["issue_token"] = BoolAttr.from_bool(True)
            Emitter.before(feed.start).insert(DmaAwaitTaskOp(older.task.result))
            yield from (use.operation for use in older.task.result.uses if isinstance(use.operation, DmaFreeTaskOp))


def _take_turns(channels: dict[str, list[_Feed]], block: Block | None, after: Operation | None) -> None:
    assert block is not None
    point = InsertPoint.at_end(block) if after is None else InsertPoint.before(after)
    # one of each channel at a time, so that none is starved while another waits for room
    for turn in zip_longest(*channels.values()):
        for feed in turn:
            for op in feed.ops if feed is not None else ():
                op.detach()
                Rewriter.insert_op(op, point)
