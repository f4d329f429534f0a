"""What a task must look like to be lowered: blocks of one descriptor each, with its locks."""

from __future__ import annotations

from collections.abc import Container, Iterable

from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from tilewright.dialects.aie.core import EndOp
from tilewright.dialects.aie.dma import NextBdOp
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.locks import UseLockOp
from tilewright.dialects.aiex.tasks import DmaConfigureTaskOp
from tilewright.dialects.arith import ConstantOp
from tilewright.ir.diagnostics import fail, fail_op
from tilewright.rewrite.emitter import Number

ALLOWED = (DmaBdOp, UseLockOp, ConstantOp, NextBdOp, EndOp)
IN_THIS_TASK = "Error encountered while lowering this BD configuration."
ASSIGN_FIRST = (
    "Run the `--aie-assign-runtime-sequence-bd-ids` pass first or manually assign an ID to this buffer descriptor."
)


def hoist_computations(task: DmaConfigureTaskOp, rewriter: PatternRewriter) -> None:
    """Compute what descriptors depend on before the task, whose body goes away."""

    def hoist(value: SSAValue) -> None:
        op = value.owner
        if not isinstance(op, Operation) or op.parent_op() is not task or not op.name.startswith("arith."):
            return
        for operand in op.operands:
            hoist(operand)
        op.detach()
        rewriter.insert(op, InsertPoint.before(task))

    for descriptor in task.descriptors:
        for operand in descriptor.operands:
            if not isinstance(operand.owner, ConstantOp):
                hoist(operand)


def checked_descriptors(task: DmaConfigureTaskOp, lock_counts: Container[int] = (0, 2)) -> list[DmaBdOp]:
    """The descriptors of a task, one for each block. An entry block that only jumps has none."""
    entry = task.body.first_block
    blocks = [b for b in task.body.blocks if not (b is entry and b.first_op is b.last_op) and b.last_op is not None]
    return [_checked_descriptor(task, block, lock_counts) for block in blocks]


def _checked_descriptor(task: DmaConfigureTaskOp, block: Block, lock_counts: Container[int]) -> DmaBdOp:
    end = block.last_op
    assert end is not None
    for op in block.walk():
        if not isinstance(op, ALLOWED):
            note = "No lowering to NPU instructions available for this operation."
            fail_op(task, "Unsupported operation within BD block.", (op, note))
    descriptors = [op for op in block.ops if isinstance(op, DmaBdOp)]
    if not descriptors:
        text = "Block ending in this terminator does not contain a required aie.dma_bd operation."
        fail(end, text, (task, IN_THIS_TASK))
    if len(descriptors) > 1:
        text = "This block contains multiple aie.dma_bd operations. Exactly one         is required."
        fail_op(end, text, *((extra, "Extra aie.dma_bd operation here.") for extra in descriptors[1:]))
    (bd,) = descriptors
    if not task.bd_ids and bd.bd_id is None:
        fail_op(bd, "Cannot lower buffer descriptor without assigned ID.", (bd, ASSIGN_FIRST), (task, IN_THIS_TASK))
    locks = [op for op in block.ops if isinstance(op, UseLockOp)]
    if len(locks) not in lock_counts:
        fail_op(
            locks[0],
            f"BD blocks must have either 0 or 2 lock operations (acquire and release). Found {len(locks)} "
            "lock operations.",
        )
    return bd


def link_descriptors(task: DmaConfigureTaskOp, descriptors: Iterable[DmaBdOp]) -> dict[DmaBdOp, Number]:
    """The number of the descriptor that follows each, for those that one follows."""
    following: dict[DmaBdOp, Number] = {}
    runtime_ids = task.runtime_ids
    for bd in descriptors:
        end = bd.parent.last_op if bd.parent is not None else None
        if isinstance(end, NextBdOp):
            if bd.next_bd_id is not None:
                note = "Potentially conflicting next buffer descriptor ID specified here."
                fail_op(bd, "Cannot specify both next_bd_id attribute and aie.next_bd operation.", (end, note))
            successor = next((op for op in end.dest.ops if isinstance(op, DmaBdOp)), None)
            if successor is not None and successor in runtime_ids:
                following[bd] = runtime_ids[successor]
            elif successor is not None and successor.bd_id is not None:
                following[bd] = successor.bd_id.value.data
        elif bd.next_bd_id is not None:
            following[bd] = bd.next_bd_id.value.data
    return following
