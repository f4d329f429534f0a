"""In a kernel everything happens in order, so there is nothing to wait for."""

from __future__ import annotations

from xdsl.ir import Region
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.air.asynchronous import AsyncOp
from tilewright.dialects.air.execution import ExecuteOp, WaitAllOp
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.types import AsyncTokenType
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.folding.regions import recreate


def drop_tokens(body: Region) -> None:
    """Make what is in a kernel block instead of giving tokens."""
    _check_control_flow(body)
    ops = [op for op in body.walk() if isinstance(op, AsyncOp)]
    for op in ops:
        op.set_dependencies([])
    for op in ops:
        if isinstance(op, ExecuteOp):
            _inline(op)
        elif isinstance(op, WaitAllOp):
            Rewriter.erase_op(op)
        elif op.token is not None:
            _make_blocking(op)


def _check_control_flow(body: Region) -> None:
    for op in body.walk():
        carries = any(isinstance(result.type, AsyncTokenType) for result in op.results)
        if carries and op.regions and not isinstance(op, Hierarchy | ExecuteOp):
            fail_op(
                op,
                "carries a token through control flow, which kernels cannot do",
                (op, "write the kernel without async: its operations run in order anyway"),
            )


def _inline(op: ExecuteOp) -> None:
    block = op.body.block
    end = block.last_op
    assert end is not None
    for result, value in zip(op.values, list(end.operands), strict=True):
        result.replace_all_uses_with(value)
    Rewriter.erase_op(end)
    while block.first_op is not None:
        moved = block.first_op
        moved.detach()
        Rewriter.insert_op(moved, InsertPoint.before(op))
    Rewriter.erase_op(op)


def _make_blocking(op: AsyncOp) -> None:
    blocking = recreate(op, result_types=[])
    blocking.location = op.location
    Rewriter.insert_op(blocking, InsertPoint.before(op))
    Rewriter.erase_op(op)
