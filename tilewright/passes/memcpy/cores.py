"""Tokens in cores: waiting for one is waiting for its lock, and a core that has done its part starts over."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, i32
from xdsl.ir import Block, Operation, Region
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import LockAction, TileId
from tilewright.dialects import arith
from tilewright.dialects.aie.core import CoreOp, EndOp
from tilewright.dialects.aie.locks import LockOp, UseLockOp
from tilewright.dialects.aiex.tokens import UseTokenOp
from tilewright.passes.emission import constant_of
from tilewright.passes.insertion import building, building_before
from tilewright.passes.loop_unrolling import iterations
from tilewright.passes.memcpy.sites import LockName

FOREVER = (1 << 63) - 1
"""Iterations of a loop that is never left."""
COUNTING = {
    LockAction.Acquire: LockAction.AcquireGreaterEqual,
    LockAction.AcquireGreaterEqual: LockAction.AcquireGreaterEqual,
    LockAction.Release: LockAction.Release,
}
"""Whoever waits for a token waits for at least as much."""
ENDLESS = 1 << 31
"""Loops with more iterations are never left in practice, either."""


def use_locks(uses: Mapping[UseTokenOp, TileId], locks: Mapping[LockName, LockOp]) -> None:
    """Have cores wait for locks and change them, instead of tokens."""
    for use, place in uses.items():
        lock = locks[LockName(use.token_name.root_reference.data, place)]
        build = building_before(use)
        value = build.insert(constant_of(use.value.value.data, i32)).results[0]
        build.insert(UseLockOp(lock.result, COUNTING[use.lock_action], value))
        Rewriter.erase_op(use)


def start_over(core: CoreOp) -> None:
    """Have a core that waits for a token first do all of it again, so that every run of a sequence finds it ready."""
    if len(core.body.blocks) != 1 or not begins_with_wait(core.body.block):
        return
    body = core.body.block
    end = body.last_op
    assert isinstance(end, EndOp), "a core ends with a terminator"
    repeated = Block(arg_types=[IndexType()])
    for op in list(body.ops):
        if op is not end:
            op.detach()
            repeated.add_op(op)
    repeated.add_op(_located(scf.YieldOp(), core))
    build = building(InsertPoint.before(end), core.location)
    lower, upper, step = (build.insert(_index(number)).results[0] for number in (0, FOREVER, 1))
    build.insert(_located(scf.ForOp(lower, upper, step, [], Region(repeated)), core))


def begins_with_wait(block: Block) -> bool:
    """Whether the first thing that a core does about tokens is to wait, and it does not do so forever already."""
    for op in block.ops:
        if isinstance(op, UseTokenOp):
            return op.lock_action is not LockAction.Release and op.value.value.data > 0
        if any(isinstance(nested, UseTokenOp) for nested in op.walk()):
            return isinstance(op, scf.ForOp) and 0 < (iterations(op) or 0) < ENDLESS and begins_with_wait(op.body.block)
    return False


def _index(number: int) -> arith.ConstantOp:
    index = IndexType()
    return arith.ConstantOp.create(properties={"value": IntegerAttr(number, index)}, result_types=[index])


def _located(op: Operation, core: CoreOp) -> Operation:
    op.location = core.location
    return op
