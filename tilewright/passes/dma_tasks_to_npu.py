"""Lowers DMA tasks: configuring one writes its descriptors, starting one pushes the first, awaiting one waits."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from tilewright.device import TileId
from tilewright.dialects.aiex.queue import NpuPushQueueOp
from tilewright.dialects.aiex.tasks import DmaAwaitTaskOp, DmaConfigureTaskOp, DmaStartTaskOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.passes.descriptor_lowering import wait_for_token
from tilewright.passes.emission import Emitter
from tilewright.passes.folding import patterns_of
from tilewright.passes.legalization import convert
from tilewright.passes.rewriting import Config, Simplify, rewrite, rewrite_with
from tilewright.passes.task_checks import checked_descriptors, hoist_computations, link_descriptors
from tilewright.passes.task_descriptors import write_descriptor


def place_of(task: DmaConfigureTaskOp, user: Operation) -> TileId:
    """Where a task runs."""
    tile = task.tile_like
    if tile is None or not tile.is_placed or tile.place is None:
        notes = ((task, "Task configured here."),) if user is not task else ()
        fail_op(user, "Cannot lower a DMA task whose tile is not placed; run placement first.", *notes)
    return tile.place


class StartTaskToPushQueue(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DmaStartTaskOp, rewriter: PatternRewriter) -> None:
        task = op.configuration
        if task is None:
            fail_op(op, "does not reference a valid configure_task operation.")
        place, emit = place_of(task, op), Emitter(rewriter)
        bd_id = task.bd_id_val
        if bd_id is None:
            first = task.first_descriptor
            if first is None or first.bd_id is None:
                remedy = "Run the `aie-assign-runtime-buffer-descriptor-ids` pass first or manually assign an ID."
                fail_op(op, "First buffer descriptor in chain has not been assigned an ID", (op, remedy))
            bd_id = emit.constant(first.bd_id.value.data)
        repeat = task.repeat_count.value.data if task.repeat_count_val is None else task.repeat_count_val
        rewriter.replace(
            op,
            NpuPushQueueOp(
                *place,
                task.dma_direction,
                task.channel.value.data,
                bd_id=bd_id,
                repeat_count=emit.number(repeat),
                issue_token=task.issues_token,
            ),
        )


class AwaitTaskToSync(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DmaAwaitTaskOp, rewriter: PatternRewriter) -> None:
        task = find_configuration(op.task)
        if task is None:
            fail_op(op, "does not reference a valid configure_task operation.")
        if not task.issues_token:
            remedy = "Consider adding attribute `issue_token=true` here."
            fail_op(op, "Cannot wait on a BD that is not configured to issue a token.", (task, remedy))
        place = place_of(task, op)
        rewriter.replace(op, wait_for_token(Emitter(rewriter), place, task.dma_direction, task.channel.value.data))


def find_configuration(task: SSAValue) -> DmaConfigureTaskOp | None:
    """Some task that a value may be. All that come together in a branch or loop are for the same channel."""
    pending, seen = [task], set[SSAValue]()
    while pending:
        value = pending.pop()
        if value in seen or not isinstance(value, OpResult):
            continue
        seen.add(value)
        if isinstance(value.op, DmaConfigureTaskOp):
            return value.op
        pending += _carried_values(value)
    return None


def _carried_values(result: OpResult) -> Sequence[SSAValue]:
    """The values that a result of a branch or loop may take."""
    match result.op:
        case scf.IfOp() as op:
            ends = [region.block.last_op for region in (op.true_region, op.false_region)]
            return [end.operands[result.index] for end in ends if end is not None]
        case scf.ForOp() as op:
            end = op.body.block.last_op
            return [op.iter_args[result.index], *(() if end is None else (end.operands[result.index],))]
        case _:
            return ()


class ConfigureTaskToWriteBd(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DmaConfigureTaskOp, rewriter: PatternRewriter) -> None:
        place = place_of(op, op)
        users = [use.operation for use in op.result.uses]
        if users:
            fail_op(op, "Cannot lower while op still has uses.", *((user, "Used here.") for user in users))
        hoist_computations(op, rewriter)
        descriptors = checked_descriptors(op)
        following = link_descriptors(descriptors)
        for descriptor in descriptors:
            write_descriptor(op, descriptor, following.get(descriptor), place, Emitter(rewriter))
        rewriter.erase(op)


CARRIES_TASKS = (scf.ForOp, scf.IfOp)


class DmaTasksToNpuPass(Pass):
    name = "aie-dma-tasks-to-npu"
    anchor = "aie.device"

    def apply(self, ctx: Context, op: Operation) -> None:
        convert(op, {DmaStartTaskOp: StartTaskToPushQueue(), DmaAwaitTaskOp: AwaitTaskToSync()})
        # Branches and loops may still hand on tasks that nobody awaits any more.
        rewrite_with(
            op,
            lambda nested: patterns_of(nested) if isinstance(nested, CARRIES_TASKS) else (),
            Config(remove_dead=True, simplify=Simplify.AGGRESSIVE),
        )
        rewrite(op, ConfigureTaskToWriteBd())
