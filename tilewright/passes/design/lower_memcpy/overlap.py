"""Loops whose iterations overlap: one starts its copies while those of the one before still run.

The first iteration is put before the loop, and what it started is handed on from iteration to iteration. So the loop
must do nothing but copies, few enough for two iterations to be under way at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import TASK_QUEUE_DEPTH, DmaDirection
from tilewright.dialects import arith, scf
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aiex.token_memcpy import MemcpyOp
from tilewright.rewrite.folding.regions import only_block, terminator
from tilewright.rewrite.insertion import building, building_before
from tilewright.rewrite.unrolling import loops_innermost_first

AT_ONCE = 2
"""Iterations that are under way at the same time."""


def overlap_loops(sequence: RuntimeSequenceOp) -> set[scf.ForOp]:
    """Put the first iteration before each loop for which that is possible. Returns these loops."""
    loops = [loop for loop in loops_innermost_first(sequence) if _can_overlap(loop)]
    for loop in loops:
        _peel(loop)
    return set(loops)


def _can_overlap(loop: scf.ForOp) -> bool:
    end = terminator(loop.body)
    ops = [op for op in only_block(loop.body).ops if op is not end]
    copies = [op for op in ops if isinstance(op, MemcpyOp)]
    if not copies or loop.results or not all(_is_harmless(op) for op in ops):
        return False
    return _fits_queues(copies) and _has_one_sender_each(copies)


def _is_harmless(op: Operation) -> bool:
    return isinstance(op, MemcpyOp) or (not op.regions and op.name.startswith("arith."))


def _fits_queues(copies: Sequence[MemcpyOp]) -> bool:
    """Whether the queues hold what two iterations start, even if all of a tile goes through one channel."""
    tasks = Counter[tuple[SSAValue, DmaDirection]]()
    for op in copies:
        source, *destinations = op.ends
        tasks[source.tile, DmaDirection.MM2S] += 1
        tasks.update((end.tile, DmaDirection.S2MM) for end in destinations)
    return max(tasks.values()) * AT_ONCE <= TASK_QUEUE_DEPTH


def _has_one_sender_each(copies: Sequence[MemcpyOp]) -> bool:
    """Whether each tile gets all its data along one route, so that they come in order whatever channels there are."""
    routes: dict[SSAValue, tuple[SSAValue, ...]] = {}
    for op in copies:
        route = tuple(end.tile for end in op.ends)
        if any(routes.setdefault(tile, route) != route for tile in route[1:]):
            return False
    return True


def _peel(loop: scf.ForOp) -> None:
    """`if any iteration { the first one; the loop over the others }`"""
    build = building_before(loop)
    order = "ult" if "unsignedCmp" in loop.properties else "slt"
    has_any = build.insert(arith.CmpiOp(loop.lb, loop.ub, order)).results[0]
    block, end = Block(), terminator(loop.body)
    branch = build.insert(scf.IfOp(has_any, [], Region(block)))
    inside = building(InsertPoint.at_end(block), loop.location)
    copies: dict[SSAValue, SSAValue] = {only_block(loop.body).args[0]: loop.lb}
    for op in only_block(loop.body).ops:
        if op is not end:
            inside.insert(op.clone(copies))
    second = inside.insert(arith.AddiOp(loop.lb, loop.step)).results[0]
    inside.insert(scf.YieldOp())
    loop.detach()
    Rewriter.insert_op(loop, InsertPoint.before(terminator(branch.true_region)))
    loop.operands = [second, loop.ub, loop.step]
