"""Loops that no descriptor can count, copied out iteration by iteration, with those that wait for them in line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.dialects import affine, scf
from tilewright.dialects.air.asynchronous import AsyncOp
from tilewright.dialects.air.channels import ChannelEnd
from tilewright.dialects.air.execution import WaitAllOp
from tilewright.dialects.air.levels import HerdOp
from tilewright.dialects.air.types import TOKEN, AsyncTokenType
from tilewright.ir.diagnostics import fail_op
from tilewright.rewrite.effects import is_unused
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.affine_maps import constant_bound
from tilewright.rewrite.folding.constants import scalar_int
from tilewright.rewrite.folding.regions import only_block, take_contents, terminator

MOST_COPIES = 100_000
Copy: TypeAlias = "Callable[[Operation, dict[SSAValue, SSAValue]], Operation]"


def unroll_chain(loop: scf.ForOp, trips: int) -> None:
    """Put the body in place of the loop, `trips` times; what waited for the loop waits for all that is left open."""
    lower, step = scalar_int(loop.lb), scalar_int(loop.step)
    assert lower is not None and step is not None
    # before the first copy: too many would fill the memory
    check_copies(loop, trips)
    build = Emitter.before(loop)
    values: Sequence[SSAValue] = loop.iter_args
    yielded: list[Sequence[SSAValue]] = []
    for trip in range(trips):
        counter = build.constant(lower + trip * step, loop.lb.type)
        values = copy_body(only_block(loop.body), [counter, *values], build)
        yielded.append(values)
    for number, result in enumerate(loop.results):
        _forward(result, [iteration[number] for iteration in yielded] or [loop.iter_args[number]])
    Rewriter.erase_op(loop)


def copy_body(
    block: Block,
    arguments: Sequence[SSAValue],
    build: Emitter,
    known: Mapping[SSAValue, SSAValue] | None = None,
    copy: Copy = Operation.clone,
) -> list[SSAValue]:
    """Insert the operations of a body with these arguments, and give what it yields."""
    end = block.last_op
    assert end is not None
    copies = {**(known or {}), **dict(zip(block.args, arguments, strict=True))}
    for op in block.ops:
        if op is not end:
            build.insert(copy(op, copies))
    return [copies.get(value, value) for value in end.operands]


def light_copy(op: Operation, copies: dict[SSAValue, SSAValue]) -> Operation:
    """A copy in which herds hold what moves data and what that needs: programs are compiled from the original."""
    copy = op.clone(copies)
    if copy.regions:
        for herd in [found for found in copy.walk() if isinstance(found, HerdOp)]:
            _lighten(herd)
    return copy


MOVES_DATA = frozenset({"memref.alloc", "memref.dealloc", "air.dma_memcpy_nd"})


def _lighten(herd: HerdOp) -> None:
    """Drop what neither moves data nor is needed for that."""
    # users before what they use
    for op in reversed(list(herd.block.ops)):
        inside = op.walk()
        moving = (one for one in inside if isinstance(one, ChannelEnd | WaitAllOp) or one.name in MOVES_DATA)
        if is_unused(op) and op is not herd.block.last_op and next(moving, None) is None:
            Rewriter.erase_op(op)


def _forward(result: SSAValue, iterations: Sequence[SSAValue]) -> None:
    """Wait for the last iteration, and for those that no other iteration waits for."""
    *earlier, last = iterations
    # iterations that the next one does not wait for would be lost with the loop
    open_ends = [token for token in earlier if isinstance(token.type, AsyncTokenType) and token.first_use is None]
    if not open_ends:
        result.replace_all_uses_with(last)
        return
    tokens = list(dict.fromkeys([*open_ends, last]))
    for user in dict.fromkeys(use.operation for use in result.uses):
        _wait_for(user, result, tokens)


def _wait_for(user: Operation, token: SSAValue, tokens: Sequence[SSAValue]) -> None:
    """Let an operation wait for several tokens instead of one."""
    if isinstance(user, AsyncOp) and token in user.dependencies:
        kept = [other for other in user.dependencies if other is not token]
        user.set_dependencies([*kept, *tokens])
    join: SSAValue | None = None
    for number, operand in enumerate(user.operands):
        if operand is token:
            join = join or Emitter.before(user).value(WaitAllOp.create(operands=tokens, result_types=[TOKEN]))
            user.operands[number] = join


def unroll_parallels(op: Operation) -> None:
    """Copy the bodies of parallel loops in an operation, inner ones first, where their bounds are known."""
    for loop in reversed([found for found in op.walk() if isinstance(found, scf.ParallelOp)]):
        _unroll_parallel(loop)


def _unroll_parallel(loop: scf.ParallelOp) -> None:
    """Copy the body of a parallel loop for each point of its space, if its bounds are known."""
    ranges = list[range]()
    for bounds in zip(loop.lowerBound, loop.upperBound, loop.step, strict=True):
        lower, upper, step = (scalar_int(value) for value in bounds)
        if lower is None or upper is None or step is None or step <= 0:
            return
        ranges.append(range(lower, upper, step))
    check_copies(loop, prod(max(0, -(-(turns.stop - turns.start) // turns.step)) for turns in ranges))
    build = Emitter.before(loop)
    tokens: list[SSAValue] = []
    for point in product(*ranges):
        counters = [build.constant(n, loop.lowerBound[0].type) for n in point]
        tokens += [
            token
            for token in copy_body(only_block(loop.body), counters, build)
            if isinstance(token.type, AsyncTokenType)
        ]
    for result in loop.results:
        joined = WaitAllOp.create(operands=list(dict.fromkeys(tokens)), result_types=[TOKEN])
        result.replace_all_uses_with(build.value(joined))
    Rewriter.erase_op(loop)


def check_copies(loop: Operation, count: int) -> None:
    """Refuse to copy a body more often than any sequence is long."""
    if count > MOST_COPIES:
        fail_op(loop, f"runs its body {count} times, which would be copied; at most {MOST_COPIES} copies are made")


def constant_bounds(loop: affine.ForOp) -> range | None:
    """What a loop counts through, where that is known."""
    lower, upper = (constant_bound(map.data) for map in (loop.lowerBoundMap, loop.upperBoundMap))
    return None if lower is None or upper is None else range(lower, upper, loop.step.value.data)


def unroll_affine_loops(op: Operation) -> None:
    """Copy out every affine loop in an operation, inner ones first."""
    # bodies are copied whole: inner loops first, or their copies would have to be unrolled each
    for loop in [found for found in innermost_first(op) if isinstance(found, affine.ForOp)]:
        bounds = constant_bounds(loop)
        if bounds is None:
            fail_op(loop, "failed to fully unroll", (loop, "its bounds have to be constants"))
        _unroll(loop, bounds)


def _unroll(loop: affine.ForOp, bounds: range) -> None:
    build = Emitter.before(loop)
    values: list[SSAValue] = list(loop.inits)
    for number in bounds:
        values = copy_body(only_block(loop.body), [build.index(number), *values], build)
    Rewriter.replace_op(loop, (), values)


def counted_loop(loop: affine.ForOp) -> None:
    """Count with `scf.for` instead, where the bounds are constants."""
    bounds = constant_bounds(loop)
    if bounds is None:
        return
    build = Emitter.before(loop)
    lower, upper, step = (build.index(number) for number in (bounds.start, bounds.stop, bounds.step))
    body = take_contents(loop.body)
    end = terminator(body)
    Rewriter.replace_op(end, scf.YieldOp(*end.operands))
    new = build.insert(scf.ForOp(lower, upper, step, list(loop.inits), body))
    Rewriter.replace_op(loop, (), new.results)


def innermost_first(op: Operation) -> Iterator[Operation]:
    """What is nested in an operation, each after what is nested in it, the last of a block first."""
    for region in op.regions:
        for block in reversed(region.blocks):
            for child in reversed(list(block.ops)):
                yield from innermost_first(child)
                yield child
