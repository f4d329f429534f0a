"""Folding of one region of host code: loops around one transfer become dimensions of what it moves."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import RewritePattern
from xdsl.rewriter import Rewriter

from tilewright.dialects import affine, scf
from tilewright.dialects.air.asynchronous import AsyncOp
from tilewright.dialects.air.channels import ChannelEnd
from tilewright.dialects.air.execution import ExecuteOp, WaitAllOp
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.types import AsyncTokenType
from tilewright.passes.air.shim.linear import ZERO, Linear
from tilewright.passes.air.shim.loops import counted_loop, unroll_chain, unroll_parallels
from tilewright.passes.air.shim.patterns import (
    MAX_STRIDE,
    WORD_BITS,
    Limits,
    Pattern,
    PatternBuffer,
    PatternDimension,
    buffer_of,
    canonical,
    canonicalize,
    pad,
    pattern_of,
    set_pattern,
    with_repeat_outermost,
)
from tilewright.rewrite.canonicalization import FunctionPattern
from tilewright.rewrite.driver import Config, rewrite_with
from tilewright.rewrite.effects import is_pure
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.air import fold_execute
from tilewright.rewrite.folding.air_tokens import fold_wait_all
from tilewright.rewrite.folding.constants import scalar_int
from tilewright.rewrite.folding.regions import is_defined_in, only_block
from tilewright.rewrite.unrolling import iterations, loops_innermost_first

ENDLESS_REPEAT = 16
"""From this many repetitions of one transfer on, upstream keeps the loop: the copies would outnumber its locks."""

TOKEN_PATTERNS: dict[str, tuple[RewritePattern, ...]] = {
    "air.wait_all": (FunctionPattern(fold_wait_all),),
    "air.execute": (FunctionPattern(fold_execute),),
}
FOLD = Config(fold=True, remove_dead=True)


class Rest(Enum):
    """What becomes of loops that no descriptor can count."""

    KEEP = auto()
    COPY = auto()
    """Copied out, unless they only repeat a transfer very often."""
    COPY_ALL = auto()


def fold_region(op: Operation, limits: Limits, rest: Rest) -> None:
    """Say what the transfers in an operation move with wraps and strides instead of loops."""
    unroll_parallels(op)
    # what folds below counts `scf.for` only
    for loop in [found for found in op.walk() if isinstance(found, affine.ForOp)]:
        if any(isinstance(inner, ChannelEnd) for inner in loop.walk()):
            counted_loop(loop)
    rewrite_with(op, lambda inner: TOKEN_PATTERNS.get(inner.name, ()), FOLD)
    _canonicalize_transfers(op, limits)
    for loop in loops_innermost_first(op):
        if loop.parent is not None:
            wrap_loop(loop, limits)
    if rest is not Rest.KEEP:
        for loop in loops_innermost_first(op):
            _copy_out(loop, rest)
    # counters are constants now: fold offsets, say patterns anew, and drop what they no longer use
    rewrite_with(op, lambda _: (), FOLD)
    _canonicalize_transfers(op, limits)
    rewrite_with(op, lambda _: (), FOLD)
    _drop_repeated_dependencies(op)


def _canonicalize_transfers(op: Operation, limits: Limits) -> None:
    for transfer in [found for found in op.walk() if isinstance(found, ChannelEnd)]:
        canonicalize(transfer, limits)


def _copy_out(loop: scf.ForOp, rest: Rest) -> None:
    """Copy out a loop that holds nothing but transfers, unless it only repeats them very often."""
    counting, acting = counting_of(loop), list(acting_ops(only_block(loop.body)))
    if counting is None or len(loop.results) > 1 or not acting or not all(isinstance(op, ChannelEnd) for op in acting):
        return
    trips, counters = _nest(loop)
    # upstream's rule, by which its tests go
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


class Counting(NamedTuple):
    """A loop with known bounds."""

    lower: int
    step: int
    trips: int


def counting_of(loop: scf.ForOp) -> Counting | None:
    lower, step, trips = scalar_int(loop.lb), scalar_int(loop.step), iterations(loop)
    return None if lower is None or step is None or trips is None else Counting(lower, step, trips)


def computes_only(op: Operation) -> bool:
    """Whether an operation does nothing but compute values."""
    return all(map(is_pure, only_block(op.body).ops)) if isinstance(op, ExecuteOp) else is_pure(op)


def acting_ops(block: Block) -> Iterator[Operation]:
    """What a block does besides computing and waiting."""
    end = block.last_op
    return (op for op in block.ops if op is not end and not isinstance(op, WaitAllOp) and not computes_only(op))


def wrap_loop(loop: scf.ForOp, limits: Limits) -> bool:
    """Put a loop around one transfer into it, or copy the body if a repetition cannot be said; False if neither."""
    acting = list(acting_ops(only_block(loop.body)))
    transfer = acting[0] if len(acting) == 1 else None
    counting = counting_of(loop)
    carries_tokens_only = all(isinstance(value.type, AsyncTokenType) for value in loop.iter_args)
    if not isinstance(transfer, ChannelEnd) or counting is None or not carries_tokens_only:
        return False
    dims = _extended(transfer, loop, counting, limits)
    if dims is None:
        return False
    if limits.repeats_outermost and dims and limits.dims is not None:
        padded = with_repeat_outermost(pad(dims, limits.dims))
        # a repetition inside of other steps: no descriptor says that
        if padded is None:
            unroll_chain(loop, counting.trips)
            return True
        dims = padded
    _replace(loop, transfer, dims)
    return True


def _extended(transfer: ChannelEnd, loop: scf.ForOp, counting: Counting, limits: Limits) -> Pattern | None:
    """What a transfer moves in all iterations of a loop; None if that cannot be said in one transfer."""
    dims, buffer = pattern_of(transfer), buffer_of(transfer.buffer(transfer.SIDE).type)
    if dims is None or "pad_before" in transfer.properties:
        return None
    dims = canonical(dims, buffer, limits) or buffer.all
    if not dims or not _has_room(dims, limits, 1) or not _is_known(transfer, dims, loop):
        return None
    outer = _outer_dimension(dims, loop, counting)
    # descriptors count upwards
    if outer.stride < 0 or not _can_step(outer, dims, buffer):
        return None
    inner = [_at_start(dim, loop, counting) for dim in dims]
    found = canonical([outer, *inner], buffer, limits)
    return found if _has_room(found, limits, 0) else None


def _has_room(dims: Pattern, limits: Limits, wanted: int) -> bool:
    return limits.dims is None or sum(dim.size > 1 for dim in dims) <= limits.dims - wanted


def _is_known(transfer: ChannelEnd, dims: Pattern, loop: scf.ForOp) -> bool:
    """Whether offsets depend on the loop only by its counter, and the channel does not depend on it."""
    counter = only_block(loop.body).args[0]
    used = {value for dim in dims for value in dim.offset.factors} - {counter}
    used |= {*transfer.indices_in_bundle, transfer.buffer(transfer.SIDE)}
    return not any(_depends_on_loop(value, loop) for value in used)


def _depends_on_loop(value: SSAValue, loop: scf.ForOp) -> bool:
    """Whether a value is not the same in all iterations of a loop."""
    if not is_defined_in(value, loop.body):
        return False
    owner = value.owner
    if not isinstance(owner, Operation) or not computes_only(owner) or owner.regions:
        return True
    return any(_depends_on_loop(operand, loop) for operand in owner.operands)


def _outer_dimension(dims: Pattern, loop: scf.ForOp, counting: Counting) -> PatternDimension:
    counter = only_block(loop.body).args[0]
    stride = sum(dim.offset.factors.get(counter, 0) * dim.stride for dim in dims) * counting.step
    return PatternDimension(ZERO, counting.trips, stride)


def _can_step(outer: PatternDimension, dims: Pattern, buffer: PatternBuffer) -> bool:
    """Whether a descriptor can count such steps, or the dimension joins the next one."""
    if -(-outer.stride * buffer.element_bits // WORD_BITS) <= MAX_STRIDE:
        return True
    return outer.stride == dims[0].size * dims[0].stride


def _at_start(dim: PatternDimension, loop: scf.ForOp, counting: Counting) -> PatternDimension:
    """A dimension as it is in the first iteration, said outside of the loop."""
    counter = only_block(loop.body).args[0]
    offset = dim.offset.without(counter, counting.lower)
    if offset.value is not None and is_defined_in(offset.value, loop.body):
        offset = Linear(offset.constant, offset.factors)
    return PatternDimension(offset, dim.size, dim.stride)


def _replace(loop: scf.ForOp, transfer: ChannelEnd, dims: Pattern) -> None:
    """Put the transfer in place of the loop; it waits for what the loop and everything in it waited for."""
    build = Emitter.before(loop)
    _hoist(transfer, dims, loop, build)
    waited = [value for value in loop.iter_args if isinstance(value.type, AsyncTokenType)]
    for op in only_block(loop.body).ops:
        if isinstance(op, AsyncOp):
            waited += [token for token in op.dependencies if not is_defined_in(token, loop.body)]
    transfer.detach()
    build.insert(transfer)
    # iterations waited for each other; one transfer keeps their order by itself
    transfer.set_dependencies(list(dict.fromkeys(waited)))
    set_pattern(transfer, dims, Emitter.before(transfer))
    # what waited for the loop waits for the transfer; one that blocks leaves nothing to wait for
    for result, initial in zip(loop.results, loop.iter_args, strict=True):
        result.replace_all_uses_with(initial if transfer.token is None else transfer.token)
    Rewriter.erase_op(loop, safe_erase=False)


def _hoist(transfer: ChannelEnd, dims: Pattern, loop: scf.ForOp, build: Emitter) -> None:
    """Take what the transfer needs out of the loop."""
    needed: list[SSAValue] = [*transfer.indices_in_bundle, transfer.buffer(transfer.SIDE)]
    needed += [value for dim in dims for value in dim.offset.factors]
    for value in needed:
        _hoist_value(value, loop, build)


def _hoist_value(value: SSAValue, loop: scf.ForOp, build: Emitter) -> None:
    owner = value.owner
    if not isinstance(owner, Operation) or not is_defined_in(value, loop.body):
        return
    for operand in owner.operands:
        _hoist_value(operand, loop, build)
    owner.detach()
    build.insert(owner)
