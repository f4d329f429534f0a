"""Putting the body of a hierarchy where the hierarchy was."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.air.execution import WaitAllOp
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.types import TOKEN
from tilewright.passes.air.emitter import Emitter


def wait_before(op: Hierarchy, emitter: Emitter) -> None:
    """Block until what a hierarchy waits for has ended."""
    if op.dependencies:
        emitter.insert(WaitAllOp.create(operands=op.dependencies))


def inline_body(op: Hierarchy, ids: Sequence[SSAValue], sizes: Sequence[SSAValue] | None = None) -> None:
    """Replace a hierarchy by its body at one point of its space; what waits for it need not wait any more."""
    block = op.block
    values = [*ids, *(op.extents if sizes is None else sizes), *op.kernel_values]
    for argument, value in zip(list(block.args), values, strict=True):
        argument.replace_all_uses_with(value)
    end = block.last_op
    assert end is not None
    Rewriter.erase_op(end)
    while block.first_op is not None:
        moved = block.first_op
        moved.detach()
        Rewriter.insert_op(moved, InsertPoint.before(op))
    replace_token(op)
    Rewriter.erase_op(op)


def replace_token(op: Hierarchy) -> None:
    """Give those that wait for an operation that blocks now something that has ended."""
    if op.token is not None and op.token.first_use is not None:
        ended = Emitter.before(op).insert(WaitAllOp.create(result_types=[TOKEN]))
        op.token.replace_all_uses_with(ended.results[0])
