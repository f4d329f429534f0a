"""Tasks that take their descriptors from a pool at run time, and what they must look like to be handed on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aiex.tasks import DmaConfigureTaskOp, DmaStartTaskOp
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.sequence.assign_runtime_sequence_bd_ids import channel_of


@dataclass(eq=False)
class PooledTask:
    """A task that takes its descriptors from the pool, or one of several such tasks that are handed on as one value."""

    ids: Sequence[SSAValue]
    """The numbers of its descriptors, at hand wherever the task is."""
    example: DmaConfigureTaskOp
    """The task, or one that it may be; the others are for the same channel and have as many descriptors."""
    unlike: DmaConfigureTaskOp | None = None
    """Another that it may be, if there is one which is not started as `example` is."""
    users: list[PooledTask] = field(default_factory=list["PooledTask"])

    def may_be(self, other: PooledTask) -> None:
        """Whatever the other task may be, this one may be, too."""
        other.users.append(self)
        pending: list[tuple[PooledTask, PooledTask]] = [(other, self)]
        while pending:
            source, task = pending.pop()
            if task.unlike is None:
                origins = (origin for origin in (source.example, source.unlike) if origin is not None)
                task.unlike = next((o for o in origins if _start_of(o) != _start_of(task.example)), None)
                if task.unlike is not None:
                    pending += ((task, user) for user in task.users)


def handed_on(task: PooledTask, ids: Sequence[SSAValue]) -> PooledTask:
    """The same task as another value, whose numbers are other values as well."""
    result = PooledTask(ids, task.example)
    result.may_be(task)
    return result


def check_alike(op: Operation, verb: str, where: str, first: PooledTask, second: PooledTask) -> None:
    """Tasks that are handed on as one value must need descriptors of the same pool, and the same number of them."""
    notes = (first.example, "one of them is configured here"), (second.example, "another is configured here")
    if channel_of(first.example) != channel_of(second.example):
        fail_op(
            op,
            f"{verb} on different physical channels (tile/direction/channel) {where}; a pooled buffer descriptor id "
            "and its completion sync belong to one channel",
            *notes,
        )
    if len(first.ids) != len(second.ids):
        fail_op(
            op,
            f"{verb} of {len(first.ids)} and of {len(second.ids)} buffer descriptors {where}; give them equally many, "
            "or free each before the next is configured",
            *notes,
        )


def check_descriptors(task: DmaConfigureTaskOp) -> None:
    blocks = [[op for op in block.ops if isinstance(op, DmaBdOp)] for block in task.body.blocks]
    extra = next((bds[1] for bds in blocks if len(bds) > 1), None)
    if extra is not None or not any(blocks):
        note = (extra, "give this one a block of its own, and link it with aie.next_bd")
        fail_op(
            task,
            "dynamic BD pool lowering supports single-BD tasks only; a multi-BD chain under a runtime-bound loop needs "
            "runtime next_bd chaining (not yet implemented)",
            *([note] if extra is not None else ()),
        )
    for bd in (bd for bds in blocks for bd in bds):
        if bd.bd_id is not None:
            fail_op(
                bd,
                "pins a buffer descriptor ID inside a runtime-bound sequence that draws IDs from the dynamic pool; a "
                "pinned ID would collide with a runtime-allocated one. Allocate every BD in this sequence from the "
                "pool (drop the bd_id), or make the sequence straight-line so the static allocator assigns all IDs.",
            )


def first_index(task: DmaConfigureTaskOp) -> int:
    """Which of the descriptors the chain starts with."""
    first = task.first_descriptor
    return next((index for index, bd in enumerate(task.descriptors) if bd is first), 0)


def check_start(start: DmaStartTaskOp, task: PooledTask) -> None:
    """One instruction starts whichever of several tasks it is, so they must be started alike."""
    if task.unlike is not None:
        fail_op(
            start,
            "starts a task that may be one of several, which differ in their repeat count, in whether they issue a "
            "token, or in where their chain begins",
            (task.example, "it may be this one"),
            (task.unlike, "or this one"),
        )


def _start_of(task: DmaConfigureTaskOp) -> tuple[bool, int, SSAValue | None, int]:
    return task.issues_token, task.repeat_count.value.data, task.repeat_count_val, first_index(task)
