"""In a kernel everything happens in order, so there is nothing to wait for."""

from __future__ import annotations

from xdsl.ir import Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects import scf
from tilewright.dialects.air.asynchronous import AsyncOp
from tilewright.dialects.air.execution import ExecuteOp, WaitAllOp
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.types import AsyncTokenType
from tilewright.ir.diagnostics import fail_op
from tilewright.rewrite.folding.regions import recreate


def drop_tokens(body: Region) -> None:
    """Make what is in a kernel block instead of giving tokens."""
    _check_control_flow(body)
    ops = [op for op in body.walk() if isinstance(op, AsyncOp)]
    for op in ops:
        op.set_dependencies([])
    _drop_carried(body)
    for op in ops:
        if isinstance(op, ExecuteOp):
            _inline(op)
        elif isinstance(op, WaitAllOp):
            Rewriter.erase_op(op)
        elif op.token is not None:
            _make_blocking(op)


def _is_token(value: SSAValue) -> bool:
    return isinstance(value.type, AsyncTokenType)


def _check_control_flow(body: Region) -> None:
    for op in body.walk():
        known = isinstance(op, Hierarchy | ExecuteOp | scf.ForOp | scf.IfOp)
        if op.regions and not known and any(map(_is_token, op.results)):
            fail_op(
                op,
                "carries a token, which kernels cannot do",
                (op, "write the kernel without async: its operations run in order anyway"),
            )


def _drop_carried(body: Region) -> None:
    """Take tokens out of loops and branches: what they yield, then what loops begin with, then what nobody uses."""
    branches = [op for op in body.walk() if isinstance(op, scf.ForOp | scf.IfOp) and any(map(_is_token, op.results))]
    for op in branches:
        for region in op.regions:
            end = region.block.last_op if region.blocks else None
            if end is not None:
                end.operands = [value for value in end.operands if not _is_token(value)]
    for op in branches:
        op.operands = [value for value in op.operands if not _is_token(value)]
    for op in branches:
        _without_tokens(op)


def _without_tokens(op: scf.ForOp | scf.IfOp) -> None:
    for region in op.regions:
        for block in region.blocks:
            for argument in [argument for argument in block.args if _is_token(argument)]:
                block.erase_arg(argument)
    kept = [result for result in op.results if not _is_token(result)]
    new = _inserted(recreate(op, result_types=[result.type for result in kept]), op)
    for old, value in zip(kept, new.results, strict=True):
        old.replace_all_uses_with(value)
    Rewriter.erase_op(op)


def _inserted(new: Operation, op: Operation) -> Operation:
    new.location = op.location
    Rewriter.insert_op(new, InsertPoint.before(op))
    return new


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
    _inserted(recreate(op, result_types=[]), op)
    Rewriter.erase_op(op)
