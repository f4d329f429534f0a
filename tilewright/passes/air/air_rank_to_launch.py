"""Runs ranks one after the other in one process; only for ranks that do not wait for each other."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects import scf
from tilewright.dialects._syntax import INDEX
from tilewright.dialects.air.levels import RankOp
from tilewright.ir.pass_manager import Pass
from tilewright.passes.air.hierarchies import check_messages_are_lowered, inline_body, replace_token, wait_before
from tilewright.rewrite.emitter import Emitter


class AirRankToLaunchPass(Pass):
    name = "air-rank-to-launch"

    def apply(self, ctx: Context, op: Operation) -> None:
        for rank in [found for found in op.walk() if isinstance(found, RankOp)]:
            _serialize(rank)


def _serialize(rank: RankOp) -> None:
    # ranks that wait for each other would wait for ever: the first one runs to its end
    check_messages_are_lowered(rank)
    emitter = Emitter.before(rank)
    wait_before(rank, emitter)
    ids, innermost = _loop_nest(emitter, rank.extents)
    if innermost is not None:
        replace_token(rank)
        # its token has to be replaced where it stood, outside of the loops
        rank.detach()
        assert innermost.last_op is not None
        Rewriter.insert_op(rank, InsertPoint.before(innermost.last_op))
    inline_body(rank, ids)


def _loop_nest(emitter: Emitter, sizes: Sequence[SSAValue]) -> tuple[list[SSAValue], Block | None]:
    """Loops over a space, the first dimension outermost: their variables, and the innermost body."""
    ids: list[SSAValue] = []
    inner: Block | None = None
    for size in sizes:
        zero, one = emitter.index(0), emitter.index(1)
        inner = Block([scf.YieldOp()], arg_types=[INDEX])
        emitter.insert(scf.ForOp(zero, size, one, [], Region(inner)))
        ids.append(inner.args[0])
        assert inner.last_op is not None
        emitter = Emitter(InsertPoint.before(inner.last_op), emitter.location)
    return ids, inner
