"""Unrolls the loops of runtime sequences whose number of iterations is known.

With `keep-over` a loop that would become more operations than that stays one, where all that is in it can be numbered
at run time: words are made from it as from a loop whose bounds are arguments.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.ir import Block, Operation
from xdsl.rewriter import InsertPoint

from tilewright.dialects import scf
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aiex.tasks import DmaAwaitTaskOp, DmaConfigureTaskOp, DmaFreeTaskOp, DmaStartTaskOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.limits import MOST_TURNS, MOST_UNROLLED_OPERATIONS
from tilewright.ir.pass_manager import Pass
from tilewright.ir.traversal import all_operations
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.pass_bases import ops_of
from tilewright.rewrite.unrolling import iterations, loops_innermost_first, unroll, unrolled_size


@dataclass(frozen=True)
class UnrollRuntimeSequenceLoopsPass(Pass):
    name = "aie-unroll-runtime-sequence-loops"
    anchor = "aie.device"

    keep_over: int = field(default=0, metadata={"help": "keep loops of more operations than this, unrolled (0: none)"})

    def apply(self, ctx: Context, op: Operation) -> None:
        for sequence in ops_of(all_operations(op), RuntimeSequenceOp):
            kept = self._kept(sequence)
            for loop in [loop for loop in loops_innermost_first(sequence) if loop not in kept]:
                count = iterations(loop)
                if count:  # a loop that never runs is left to the canonicalizer
                    _check_size(loop)
                    unroll(loop, count)
            _check_turns(sequence, kept)

    def _kept(self, sequence: RuntimeSequenceOp) -> set[scf.ForOp]:
        """The loops that stay; the tasks of their sequence are freed then where they are awaited."""
        sizes = {loop: unrolled_size(loop) for loop in loops_innermost_first(sequence) if iterations(loop)}
        kept = {loop for loop, size in sizes.items() if 0 < self.keep_over < size}
        tasks = ops_of(all_operations(sequence), DmaConfigureTaskOp)
        if not kept or not all(map(_can_be_pooled, tasks)):
            return set()
        # Numbering at run time frees only what says so; numbering without control flow frees at the wait.
        for task in tasks:
            _free_awaited(task)
        return kept


def _check_size(loop: scf.ForOp) -> None:
    if (size := unrolled_size(loop)) > MOST_UNROLLED_OPERATIONS:
        remedy = (loop, "let it run less often, or make its bound an argument of the sequence: then it stays a loop")
        fail_op(loop, f"unrolls to {size} operations, and may to {MOST_UNROLLED_OPERATIONS}", remedy)


def _check_turns(sequence: RuntimeSequenceOp, kept: set[scf.ForOp]) -> None:
    for loop in loops_innermost_first(sequence):
        turns, parent = iterations(loop) or 1, loop.parent_op()
        while parent is not None and parent is not sequence:
            turns *= (iterations(parent) or 1) if isinstance(parent, scf.ForOp) else 1
            parent = parent.parent_op()
        if loop in kept and turns > MOST_TURNS:
            remedy = (loop, "let the sequence do less at a time, and run it more often")
            fail_op(loop, f"has {turns} turns, and those of a sequence can have {MOST_TURNS} at most", remedy)


def _can_be_pooled(task: DmaConfigureTaskOp) -> bool:
    """Whether descriptors can be numbered at run time: none is by now, and all are free again at the end of a turn."""
    # the pool numbers one descriptor for each block of a chain
    blocks = [sum(bd.parent is block for bd in task.descriptors) for block in task.body.blocks]
    if any(bd.bd_id is not None for bd in task.descriptors) or max(blocks, default=0) > 1:
        return False
    users = [use.operation for use in task.result.uses]
    if not all(isinstance(user, DmaStartTaskOp | DmaAwaitTaskOp | DmaFreeTaskOp) for user in users):
        return False
    given_back = [user for user in users if not isinstance(user, DmaStartTaskOp)]
    is_inside = isinstance(task.parent_op(), RuntimeSequenceOp)
    return all(user.parent is task.parent for user in given_back) and (bool(given_back) or is_inside)


def _free_awaited(task: DmaConfigureTaskOp) -> None:
    """Free a task behind the last wait for it, as numbering without control flow does."""
    users = [use.operation for use in task.result.uses]
    awaits = ops_of(users, DmaAwaitTaskOp)
    if awaits and not any(isinstance(user, DmaFreeTaskOp) for user in users):
        # all of them are in the block of the task
        last = max(awaits, key=lambda user: cast(Block, user.parent).get_operation_index(user))
        Emitter(InsertPoint.after(last), last.location).insert(DmaFreeTaskOp(task.result))
