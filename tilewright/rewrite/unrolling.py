"""Copies the bodies of counted loops: all iterations, several in a row, or the first one alone.

The operations come out in the order in which MLIR's own unrolling leaves them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects import arith, scf
from tilewright.ir.traversal import all_operations
from tilewright.rewrite.effects import children
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.constants import constant_bits, defining, scalar_int
from tilewright.rewrite.folding.regions import has_one_op, only_block, terminator
from tilewright.rewrite.pass_bases import ops_of

Bound: TypeAlias = "int | SSAValue"


def trip_count(lower: Bound, upper: Bound, step: Bound, *, is_unsigned: bool = False) -> int | None:
    """How often a loop over these bounds runs, where that is known."""
    if lower is upper:
        return 0
    stride = _number(step, is_unsigned)
    distance = _distance(lower, upper, is_unsigned)
    if (stride is not None and stride <= 0) or (distance is not None and distance <= 0):
        return 0
    return -(-distance // stride) if distance is not None and stride is not None else None


def _number(value: Bound, is_unsigned: bool) -> int | None:
    if isinstance(value, int):
        return value
    return constant_bits(value) if is_unsigned else scalar_int(value)


def _distance(lower: Bound, upper: Bound, is_unsigned: bool) -> int | None:
    low, high = _number(lower, is_unsigned), _number(upper, is_unsigned)
    if low is not None and high is not None:
        return high - low
    add = defining(upper, arith.AddiOp) if isinstance(upper, SSAValue) else None
    # without that flag the sum may wrap around and the loop not run at all
    promise = arith.IntegerOverflowFlag.NUW if is_unsigned else arith.IntegerOverflowFlag.NSW
    if add is None or promise not in add.overflow_flags.data:
        return None
    for this, other in ((add.lhs, add.rhs), (add.rhs, add.lhs)):
        distance = _number(other, is_unsigned)
        if this is lower and distance is not None:
            return distance
    return None


def loops_innermost_first(op: Operation) -> list[scf.ForOp]:
    found: list[scf.ForOp] = []
    if not ops_of(all_operations(op), scf.ForOp):  # long sequences have none
        return found
    for child in children(op):
        if child.regions:
            found += loops_innermost_first(child)
            if isinstance(child, scf.ForOp):
                found.append(child)
    return found


def unrolled_size(op: Operation) -> int:
    """How many operations an operation becomes, itself among them, when all loops that can be are unrolled."""
    inside = sum(map(unrolled_size, children(op)))
    count = iterations(op) if isinstance(op, scf.ForOp) else None
    return inside * count if count else inside + 1


def iterations(loop: scf.ForOp) -> int | None:
    """How often a loop runs, where that is known."""
    return trip_count(loop.lb, loop.ub, loop.step, is_unsigned="unsignedCmp" in loop.properties)


def unroll(loop: scf.ForOp, count: int) -> None:
    """Put the body in place of the loop, `count` times; what one iteration yields, the next one gets."""
    build, step = Emitter.before(loop), scalar_int(loop.step)
    if count > 1 and step is not None:  # upstream leaves behind the step of the loop that then runs once
        build.constant(step * count, loop.step.type)
    values: Sequence[SSAValue] = loop.iter_args
    for iteration in range(count):
        values = _copy_body(loop, iteration, values, build)
    Rewriter.replace_op(loop, (), values)


def unroll_by(loop: scf.ForOp, factor: int) -> scf.ForOp | None:
    """Let each iteration do what `factor` did; gives the loop over what then remains, if there may be any."""
    if has_one_op(only_block(loop.body)):
        return None
    build, step = Emitter.before(loop), loop.step
    split, wide_step = _split_bounds(loop, factor, build)
    # a copy of the loop as it is, so before its bounds change
    rest = _continue_from(loop, split) if split is not loop.ub else None
    loop.operands[1], loop.operands[2] = split, wide_step
    _repeat_body(loop, step, factor)
    for part in (loop, rest):
        if part is not None and iterations(part) == 1:
            unroll(part, 1)
    return rest if rest is not None and rest.parent is not None else None


def peel_first_iteration(loop: scf.ForOp) -> None:
    """Put a loop over the first iteration before `loop`, which has one and begins with the second then."""
    build, lower, step = Emitter.before(loop), scalar_int(loop.lb), scalar_int(loop.step)
    if lower is not None and step is not None:
        second = build.constant(lower + step, loop.lb.type)
    else:
        second = build.add(loop.lb, loop.step)
    first = build.insert(loop.clone())
    first.operands[1] = second
    loop.operands = (second, loop.ub, loop.step, *first.results)


def _split_bounds(loop: scf.ForOp, factor: int, build: Emitter) -> tuple[SSAValue, SSAValue]:
    """Where the last whole group of `factor` iterations ends, and the step from group to group."""
    lower, upper, step = map(scalar_int, (loop.lb, loop.ub, loop.step))
    count = iterations(loop)
    if lower is None or upper is None or step is None or count is None:
        return _computed_bounds(loop, factor, build)
    split = lower + count // factor * factor * step
    bound = loop.ub if split >= upper else build.constant(split, loop.ub.type)
    return bound, build.constant(step * factor, loop.step.type)


def _computed_bounds(loop: scf.ForOp, factor: int, build: Emitter) -> tuple[SSAValue, SSAValue]:
    """The same at run time; bounds the wrong way round, for which MLIR computes nonsense, give no group."""
    # MLIR leaves out this maximum, and counts wrongly where the loop does not run
    greater = arith.MaxUIOp if "unsignedCmp" in loop.properties else arith.MaxSIOp
    upper = build.value(greater(loop.ub, loop.lb))
    distance = build.value(arith.SubiOp(upper, loop.lb))
    one = build.constant(1, loop.step.type)
    rounded = build.add(distance, build.value(arith.SubiOp(loop.step, one)))
    count = build.value(arith.DivUIOp(rounded, loop.step))
    size = build.constant(factor, loop.step.type)
    grouped = build.value(arith.SubiOp(count, build.value(arith.RemSIOp(count, size))))
    return build.add(loop.lb, build.product(grouped, loop.step)), build.product(loop.step, size)


def _continue_from(loop: scf.ForOp, start: SSAValue) -> scf.ForOp:
    """A copy of `loop`, after it, that goes on at `start` with its results."""
    rest = loop.clone()
    Rewriter.insert_op(rest, InsertPoint.after(loop))
    for result, final in zip(loop.results, rest.results, strict=True):
        result.replace_all_uses_with(final)
    rest.operands = (start, loop.ub, loop.step, *loop.results)
    return rest


def _repeat_body(loop: scf.ForOp, step: SSAValue, factor: int) -> None:
    """Append to the body what the following `factor` - 1 iterations did."""
    block, end = only_block(loop.body), terminator(loop.body)
    body = [op for op in block.ops if op is not end]
    build, yielded = Emitter.before(end), tuple(end.operands)
    counter, *arguments = block.args
    values: Sequence[SSAValue] = yielded
    for iteration in range(1, factor):
        copies: dict[SSAValue, SSAValue] = dict(zip(arguments, values, strict=True))
        if counter.first_use is not None:
            copies[counter] = _count_on(counter, step, iteration, build)
        for op in body:
            build.insert(op.clone(copies))
        values = [copies.get(value, value) for value in yielded]
    end.operands = values


def _copy_body(loop: scf.ForOp, iteration: int, values: Sequence[SSAValue], build: Emitter) -> Sequence[SSAValue]:
    """Insert the body as one iteration runs it, and give what it yields."""
    block, end = only_block(loop.body), terminator(loop.body)
    counter, *arguments = block.args
    copies: dict[SSAValue, SSAValue] = dict(zip(arguments, values, strict=True))
    copies[counter] = _count_on(loop.lb, loop.step, iteration, build) if counter.first_use else loop.lb
    for op in block.ops:
        if op is not end:
            build.insert(op.clone(copies))
    return [copies.get(value, value) for value in end.operands]


def _count_on(start: SSAValue, step: SSAValue, iteration: int, build: Emitter) -> SSAValue:
    """The counter some iterations after it was `start`."""
    if iteration == 0:
        return start
    return build.add(start, build.product(step, build.constant(iteration, step.type)))
