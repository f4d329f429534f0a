"""What tasks, and the pools that they take descriptors from, do to DMA queues and descriptors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from xdsl.ir import Operation

from tilewright.device.hazards import BdName
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aiex import bd_chains, tasks
from tilewright.passes.sequence.lint_queue_depth.events import Act, Events, Hazards
from tilewright.passes.sequence.lint_queue_depth.state import PoolKey

Configured: TypeAlias = "tasks.DmaConfigureTaskOp | tasks.DmaConfigureTaskForOp"


def _configure(on: Events, op: Configured) -> Hazards:
    on.state.things[op.result] = frozenset({op})
    if (channel := on.task_channel(op)) is None:
        return
    names = _descriptor_names(on, op)
    for bd in op.descriptors:
        yield from on.reader.state.write(channel.tile, names[bd], op)
        for name in names[bd]:
            on.reader.state.link(channel.tile, name, bd.next_bd_id.value.data if bd.next_bd_id is not None else None)


def _descriptor_names(on: Events, op: Configured) -> dict[DmaBdOp | None, frozenset[BdName]]:
    """What the descriptors of a task are called; nothing as long as they have no numbers."""
    values = op.runtime_ids if isinstance(op, tasks.DmaConfigureTaskOp) else {}
    numbers = {bd: bd.bd_id.value.data for bd in op.descriptors if bd.bd_id is not None}
    return {
        bd: on.bds(values[bd]) if bd in values else frozenset({numbers[bd]}) if bd in numbers else frozenset()
        for bd in op.descriptors
    }


def _start(on: Events, op: tasks.DmaStartTaskOp) -> Hazards:
    task = on.task(op.task)
    channel = on.task_channel(task)
    if channel is None or not isinstance(task, tasks.DmaConfigureTaskOp | tasks.DmaConfigureTaskForOp):
        return
    names = _descriptor_names(on, task)
    first = on.bds(op.bd_id) if op.bd_id is not None else names.get(task.first_descriptor, frozenset())
    others = frozenset[BdName]() if op.bd_id is not None else first.union(*names.values())
    yield from on.reader.push(op, channel, first, task.issues_token, others)


def _await(on: Events, op: tasks.DmaAwaitTaskOp) -> Hazards:
    if (channel := on.task_channel(on.task(op.task))) is not None:
        on.reader.state.wait(channel, op)
    yield from ()


def _start_chain(on: Events, op: bd_chains.DmaStartBdChainOp | bd_chains.DmaStartBdChainForOp) -> Hazards:
    on.state.things[op.result] = frozenset({op})
    if (channel := on.task_channel(op)) is not None:
        yield from on.reader.push(op, channel, frozenset(), op.issues_token)


def _take(on: Events, op: tasks.DmaBdPoolPopOp) -> Hazards:
    on.state.take(op, _pool(on, op))
    on.reader.state = on.state.in_flight
    yield from ()


def _give_back(on: Events, op: tasks.DmaBdPoolPushOp) -> Hazards:
    on.state.give_back(_pool(on, op), on.things(op.bd_id))
    yield from ()


def _pool(on: Events, op: tasks.PoolUser) -> PoolKey:
    return op.place, op.numbers(on.model)


TASKS: Mapping[type[Operation], Act] = {
    bd_chains.DmaStartBdChainForOp: _start_chain,
    bd_chains.DmaStartBdChainOp: _start_chain,
    tasks.DmaAwaitTaskOp: _await,
    tasks.DmaBdPoolPopOp: _take,
    tasks.DmaBdPoolPushOp: _give_back,
    tasks.DmaConfigureTaskForOp: _configure,
    tasks.DmaConfigureTaskOp: _configure,
    tasks.DmaStartTaskOp: _start,
}
