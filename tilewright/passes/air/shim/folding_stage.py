"""The folding of one region of host code: isolate, simplify, wrap loops into transfers, copy out what remains."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

from xdsl.dialects import affine, scf
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import RewritePattern

from tilewright.dialects.air.asynchronous import AsyncOp
from tilewright.dialects.air.channels import ChannelEnd
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.passes.air.shim.accesses import canonicalize
from tilewright.passes.air.shim.affine_loops import counted_loop
from tilewright.passes.air.shim.chains import unroll_chain, unroll_parallels
from tilewright.passes.air.shim.herds import hoist_herds
from tilewright.passes.air.shim.isolation import isolate_loops
from tilewright.passes.air.shim.patterns import Limits
from tilewright.passes.air.shim.wrapping import acting_ops, counting_of, wrap_loop
from tilewright.rewrite.canonicalization import FunctionPattern, patterns_of
from tilewright.rewrite.driver import Config, rewrite_with
from tilewright.rewrite.folding.air import fold_execute
from tilewright.rewrite.folding.air_tokens import fold_wait_all
from tilewright.rewrite.folding.regions import only_block
from tilewright.rewrite.unrolling import loops_innermost_first

ENDLESS_REPEAT = 16
"""From this many repetitions of one transfer on, upstream keeps the loop: the copies would outnumber its locks."""

_TOKENS: dict[str, tuple[RewritePattern, ...]] = {
    "air.wait_all": (FunctionPattern(fold_wait_all),),
    "air.execute": (FunctionPattern(fold_execute),),
}
_FOLD = Config(fold=True, remove_dead=True)


def isolate(op: Operation) -> None:
    """A loop for each chain of transfers; loops that run once are no loops."""
    isolate_loops(op)
    hoist_herds(op)
    rewrite_with(op, _structure_patterns, _FOLD)


def _structure_patterns(op: Operation) -> Sequence[RewritePattern]:
    if isinstance(op, scf.ForOp):
        return patterns_of(op)
    return _TOKENS.get(op.name, ())


class Rest(Enum):
    """What becomes of loops that no descriptor can count."""

    KEEP = auto()
    COPY = auto()
    """Copied out, unless they only repeat a transfer very often."""
    COPY_ALL = auto()


def fold_region(op: Operation, limits: Limits, rest: Rest) -> None:
    """Say what the transfers in an operation move with wraps and strides instead of loops."""
    unroll_parallels(op)
    for loop in [found for found in op.walk() if isinstance(found, affine.ForOp)]:
        if any(isinstance(inner, ChannelEnd) for inner in loop.walk()):
            counted_loop(loop)
    rewrite_with(op, lambda inner: _TOKENS.get(inner.name, ()), _FOLD)
    _canonicalize_transfers(op, limits)
    for loop in list(loops_innermost_first(op)):
        if loop.parent is not None:
            wrap_loop(loop, limits)
    if rest is not Rest.KEEP:
        for loop in list(loops_innermost_first(op)):
            _copy_out(loop, rest)
    rewrite_with(op, lambda _: (), _FOLD)
    _canonicalize_transfers(op, limits)
    rewrite_with(op, lambda _: (), _FOLD)
    _drop_repeated_dependencies(op)


def _canonicalize_transfers(op: Operation, limits: Limits) -> None:
    for transfer in [found for found in op.walk() if isinstance(found, ChannelEnd)]:
        canonicalize(transfer, limits)


def _copy_out(loop: scf.ForOp, rest: Rest) -> None:
    """Copy out a loop that holds nothing but transfers, unless it only repeats them very often."""
    counting = counting_of(loop)
    carried = len(loop.results)
    acting = list(acting_ops(only_block(loop.body)))
    if counting is None or carried > 1 or not acting or not all(isinstance(op, ChannelEnd) for op in acting):
        return
    trips, counters = _nest(loop)
    if rest is Rest.COPY and trips >= ENDLESS_REPEAT and not any(_depends_on(op, counters) for op in acting):
        return
    unroll_chain(loop, counting.trips)


def _nest(loop: scf.ForOp) -> tuple[int, set[SSAValue]]:
    """How often the body of a loop runs in all loops around it, and their counters; -1 if that is not known."""
    trips, counters = 1, set[SSAValue]()
    around: Operation | None = loop
    while around is not None and not isinstance(around, Hierarchy):
        if isinstance(around, scf.ForOp):
            counting = counting_of(around)
            counters.add(only_block(around.body).args[0])
            trips = -1 if counting is None or trips < 0 else trips * counting.trips
        around = around.parent_op()
    return trips, counters


def _depends_on(op: Operation, counters: set[SSAValue]) -> bool:
    """Whether an offset of a transfer is computed from one of these values."""
    assert isinstance(op, ChannelEnd)
    pending = [entry for entry in op.access(op.SIDE).offsets if isinstance(entry, SSAValue)]
    seen = set[SSAValue]()
    while pending:
        value = pending.pop()
        if value in counters:
            return True
        if value not in seen and isinstance(value.owner, Operation):
            seen.add(value)
            pending += value.owner.operands
            pending += [operand for inner in value.owner.walk() for operand in inner.operands]
    return False


def _drop_repeated_dependencies(op: Operation) -> None:
    for waiting in op.walk():
        if isinstance(waiting, AsyncOp):
            tokens = list(dict.fromkeys(waiting.dependencies))
            if len(tokens) < len(waiting.dependencies):
                waiting.set_dependencies(tokens)
