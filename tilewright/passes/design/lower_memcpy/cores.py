"""Tokens in cores: waiting for one is waiting for its lock, and a core that has done its part starts over.

So every run of a sequence finds the cores as the first one did. A core that waits for a token somewhere goes on until
it waits there again. One that only gives tokens would not stop; the sequence tells it when to start.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Block, Operation, Region
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import LockAction
from tilewright.dialects import scf
from tilewright.dialects._syntax import INDEX
from tilewright.dialects.aie.core import CoreOp, EndOp
from tilewright.dialects.aie.locks import LockOp, UseLockOp
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aiex.control import SetLockOp
from tilewright.dialects.aiex.tokens import UseTokenOp
from tilewright.passes.design.lower_memcpy.copies import LockName
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.pass_bases import located, ops_of
from tilewright.rewrite.unrolling import iterations

FOREVER = (1 << 63) - 1
"""Iterations of a loop that is never left."""
ENDLESS = 1 << 31
"""Loops with more iterations are never left in practice, either."""
COUNTING = {
    LockAction.Acquire: LockAction.AcquireGreaterEqual,
    LockAction.AcquireGreaterEqual: LockAction.AcquireGreaterEqual,
    LockAction.Release: LockAction.Release,
}
"""A wait for a token is a wait for at least as much."""


def use_locks(uses: Mapping[UseTokenOp, LockName], locks: Mapping[LockName, LockOp]) -> None:
    """Have cores wait for locks and change them, instead of tokens."""
    for use, name in uses.items():
        use_lock(use, locks[name])


def use_lock(use: UseTokenOp, lock: LockOp) -> None:
    build = Emitter.before(use)
    build.insert(UseLockOp(lock.result, COUNTING[use.lock_action], build.constant(use.value.value.data)))
    Rewriter.erase_op(use)


def ends(core: CoreOp) -> bool:
    """Whether a core that uses tokens is done at some time; unless it has several blocks, which are not looked into."""
    if len(core.body.blocks) != 1 or not ops_of(core.walk(), UseTokenOp):
        return False
    return all((iterations(loop) or 0) < ENDLESS for loop in ops_of(core.body.walk(), scf.ForOp))


def always_waits(block: Block) -> bool:
    """Whether no way leads through a block without waiting for a token."""
    return any(_waits(op) for op in block.ops)


def _waits(op: Operation) -> bool:
    match op:
        case UseTokenOp():
            return op.lock_action is not LockAction.Release and op.value.value.data > 0
        case scf.ForOp():
            return (iterations(op) or 0) > 0 and always_waits(op.body.block)
        case scf.IfOp():
            # without an else there is a way around
            return len(op.regions) == 2 and all(r.blocks and always_waits(r.block) for r in op.regions)
        case _:
            return False


def repeat_forever(core: CoreOp) -> Block:
    """Have a core do all of it again and again. Returns what it repeats."""
    *ops, end = core.body.block.ops
    assert isinstance(end, EndOp), "a core ends with a terminator"
    for op in ops:
        op.detach()
    repeated = Block([*ops, located(scf.YieldOp(), core.location)], arg_types=[INDEX])
    build = Emitter(InsertPoint.before(end), core.location)
    lower, upper, step = (build.index(number) for number in (0, FOREVER, 1))
    build.insert(scf.ForOp(lower, upper, step, [], Region(repeated)))
    return repeated


def start_with(sequence: RuntimeSequenceOp, repeated: Block, lock: LockOp) -> None:
    """Have a core wait for a lock before it repeats what it does, and each run of a sequence set it."""
    build = Emitter.at_start(repeated, lock.location)
    build.insert(UseLockOp(lock.result, LockAction.AcquireGreaterEqual, build.constant(1)))
    Emitter.at_start(sequence.body.block, lock.location).insert(SetLockOp(lock.result, 1))
