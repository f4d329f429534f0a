"""Unrolls the loops of runtime sequences whose number of iterations is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.ir.pass_manager import Pass
from tilewright.passes.folding.building import integer_op
from tilewright.passes.folding.constants import make_constant, number_attr, scalar_int
from tilewright.passes.folding.regions import only_block, terminator
from tilewright.passes.folding.trip_counts import trip_count
from tilewright.passes.insertion import building_before


class UnrollRuntimeSequenceLoopsPass(Pass):
    name = "aie-unroll-runtime-sequence-loops"
    anchor = "aie.device"

    def apply(self, ctx: Context, op: Operation) -> None:
        sequences = [child for child in op.walk() if isinstance(child, RuntimeSequenceOp)]
        for loop in [loop for sequence in sequences for loop in _loops_innermost_first(sequence)]:
            count = iterations(loop)
            if count:  # a loop that never runs is left to the canonicalizer
                unroll(loop, count)


def _loops_innermost_first(op: Operation) -> Iterator[scf.ForOp]:
    for region in op.regions:
        for block in region.blocks:
            for child in block.ops:
                yield from _loops_innermost_first(child)
                if isinstance(child, scf.ForOp):
                    yield child


def iterations(loop: scf.ForOp) -> int | None:
    """How often a loop runs, where that is known."""
    return trip_count(loop.lb, loop.ub, loop.step, is_unsigned="unsignedCmp" in loop.properties)


def unroll(loop: scf.ForOp, count: int) -> None:
    """Put the body in place of the loop, `count` times; what one iteration yields, the next one gets."""
    block, end = only_block(loop.body), terminator(loop.body)
    counter, *arguments = block.args
    build, step = building_before(loop), scalar_int(loop.step)
    if count > 1 and step is not None:  # upstream leaves behind the step of the loop that then runs once
        build.insert(make_constant(number_attr(step * count, loop.step.type)))
    values: Sequence[SSAValue] = loop.iter_args
    for iteration in range(count):
        copies: dict[SSAValue, SSAValue] = dict(zip(arguments, values, strict=True))
        copies[counter] = _count_to(loop, iteration, build) if counter.first_use else loop.lb
        for op in block.ops:
            if op is not end:
                build.insert(op.clone(copies))
        values = [copies.get(value, value) for value in end.operands]
    for result, value in zip(loop.results, values, strict=True):
        result.replace_all_uses_with(value)
    Rewriter.erase_op(loop)


def _count_to(loop: scf.ForOp, iteration: int, build: Builder) -> SSAValue:
    """The counter in an iteration: where the loop begins, and as many steps."""
    if iteration == 0:
        return loop.lb
    number = build.insert(make_constant(number_attr(iteration, loop.step.type))).results[0]
    distance = build.insert(integer_op("arith.muli", loop.step, number)).results[0]
    return build.insert(integer_op("arith.addi", loop.lb, distance)).results[0]
