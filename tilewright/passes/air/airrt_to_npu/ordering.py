"""The order in which a sequence does things, where dependencies do not say it: arm first, feed then."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.control import SetLockOp
from tilewright.dialects.aiex.firmware import NpuLoadPdiOp
from tilewright.dialects.aiex.instructions import NpuWriteRTPOp
from tilewright.dialects.aiex.tasks import DmaAwaitTaskOp, DmaConfigureTaskForOp
from tilewright.ir.diagnostics import emit_warning
from tilewright.passes.air.airrt_to_npu.launches import wave_of
from tilewright.passes.air.airrt_to_npu.pacing import channel_of, start_of
from tilewright.passes.air.airrt_to_npu.waits import is_output
from tilewright.passes.air.shim.host_transfers import APPEND_BARRIER, AWAIT_APPENDS, RUNTIME_HOIST
from tilewright.rewrite.effects import is_pure
from tilewright.rewrite.insertion import building_before

ARMS = NpuWriteRTPOp | SetLockOp


def blocks_of(sequence: Operation) -> list[Block]:
    """The blocks of a sequence, but not those of its tasks."""
    holders = [op for op in sequence.walk() if not isinstance(op, DmaConfigureTaskForOp)]
    return list(dict.fromkeys(block for op in holders for region in op.regions for block in region.blocks))


def _move(op: Operation, before: Operation) -> None:
    if op is not before:
        op.detach()
        Rewriter.insert_op(op, InsertPoint.before(before))


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
                for op in (*group.parameters, *group.locks):
                    _move(op, group.anchor)


def _groups(block: Block) -> list[_Group]:
    groups, wave = [_Group()], None
    for op in block.ops:
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
            start = start_of(task)
            if anchor is not None and is_output(channel_of(task), device) and place[task] > place[anchor]:
                for op in (task, start):
                    if op is not None:
                        _move(op, anchor)


def hoist_feeds(sequence: Operation) -> None:
    """Feeds that are marked go before all others, right after cores are armed."""
    for block in blocks_of(sequence):
        anchor = next((op for op in block.ops if _can_anchor(op)), None)
        for task in [op for op in block.ops if isinstance(op, DmaConfigureTaskForOp)]:
            if anchor is None or RUNTIME_HOIST not in task.attributes:
                continue
            start = start_of(task)
            if start is None:
                emit_warning(task, f"{RUNTIME_HOIST}: no matching dma_start_task; the feed was hoisted alone")
            for op in (task, start):
                if op is not None:
                    _move(op, anchor)


def _can_anchor(op: Operation) -> bool:
    return not isinstance(op, NpuLoadPdiOp | ARMS) and RUNTIME_HOIST not in op.attributes


def await_appends(sequence: Operation) -> None:
    """What is read back is read after the appends before it have ended."""
    for block in blocks_of(sequence):
        place = {op: number for number, op in enumerate(block.ops)}
        tasks = [op for op in block.ops if isinstance(op, DmaConfigureTaskForOp)]
        readers = [start for task in tasks if AWAIT_APPENDS in task.attributes and (start := start_of(task))]
        moved = False
        for task in tasks:
            wait = _await_of(task) if APPEND_BARRIER in task.attributes else None
            if wait is None:
                continue
            moved = True
            begun = place[start_of(task) or task]
            reader = next((reader for reader in readers if place[reader] > begun), None)
            if reader is not None:
                _move(wait, reader)
        if readers and not moved:
            emit_warning(
                readers[0],
                f"{AWAIT_APPENDS}: readback tagged but no {APPEND_BARRIER} appends found to await; "
                "no ordering was enforced",
            )


def _await_of(task: DmaConfigureTaskForOp) -> DmaAwaitTaskOp | None:
    return next((use.operation for use in task.result.uses if isinstance(use.operation, DmaAwaitTaskOp)), None)


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
    building_before(before).insert(copy)
    seen.add(copy)
    return copy.results[maker.results.index(value)]
