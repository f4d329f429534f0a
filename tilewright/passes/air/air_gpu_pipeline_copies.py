"""Lets loops of kernels fetch the next tiles while they compute with the present ones.

A loop that copies from memory of the device to memory of the block, meets at a barrier, computes, and meets again,
becomes:

    copy the first tiles
    for each: barrier; load the next tiles into registers; compute; barrier; store them in memory of the block
    barrier

so that loads are on their way while lanes compute. The last round loads its own tiles once more, which nothing reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects import arith, memref, scf, vector
from tilewright.dialects.gpu.lanes import BarrierOp
from tilewright.dialects.gpu.launches import LaunchOp
from tilewright.ir.pass_manager import Pass
from tilewright.ir.traversal import all_operations, ops_of
from tilewright.passes.air.buffer_homes import Home, home_of
from tilewright.rewrite.effects import is_memory_effect_free
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.constants import scalar_int

LOADS = memref.LoadOp, vector.LoadOp
STORES = memref.StoreOp, vector.StoreOp
MOST_FETCHED = 16
"""Loads of a round that a thread has registers for."""


class AirGpuPipelineCopiesPass(Pass):
    name = "air-gpu-pipeline-copies"

    def apply(self, ctx: Context, op: Operation) -> None:
        for launch in ops_of(all_operations(op), LaunchOp):
            for loop in ops_of(all_operations(launch), scf.ForOp):
                copies = _copies_of(loop)
                if copies is not None:
                    _pipeline(loop, copies)


def _buffer(op: Operation) -> SSAValue:
    """What a load or a store is of."""
    return op.operands[isinstance(op, STORES)]


def _home(op: Operation) -> Home:
    return home_of(_buffer(op))


@dataclass
class LoopCopies:
    """The part of a loop that copies tiles, in its order, and the round that is the last."""

    fetched: list[Operation]
    """Loads from memory of the device, and what computes their places."""
    stored: list[Operation]
    """What puts them in memory of the block, with what computes their places."""
    first: Operation
    """The barrier behind."""
    last_round: int


def _copies_of(loop: scf.ForOp) -> LoopCopies | None:
    bounds = [scalar_int(value) for value in (loop.lb, loop.ub, loop.step)]
    if loop.iter_args or None in bounds:
        return None
    start, end, step = (bound for bound in bounds if bound is not None)
    # the first tiles are copied whether or not there is a round, and rounds are compared without their sign
    if step <= 0 or start < 0 or start + step >= end or not _keeps_device_memory(loop):
        return None
    fetched, stored = list[Operation](), list[Operation]()
    loads = 0
    for op in loop.body.block.ops:
        if isinstance(op, BarrierOp):
            is_copy = loads and any(isinstance(inner, STORES) for inner in stored)
            if not is_copy or not _ends_in_barrier(op) or not _keeps_tiles(loop, stored):
                return None
            return LoopCopies(fetched, stored, op, start + (end - 1 - start) // step * step)
        if isinstance(op, STORES):
            if _home(op) is not Home.BLOCK:
                return None
            stored.append(op)
        elif isinstance(op, LOADS):
            loads += 1
            if _home(op) is not Home.DEVICE or loads > MOST_FETCHED:
                return None
            fetched.append(op)
        elif op.regions or not is_memory_effect_free(op):
            return None
        else:
            fetched.append(op)
    return None


def _keeps_device_memory(loop: scf.ForOp) -> bool:
    """Whether nothing in a loop writes what it loads, or orders accesses of others, so that loads may be earlier."""
    for op in loop.body.block.walk():
        if isinstance(op, STORES):
            if _home(op) not in (Home.BLOCK, Home.THREAD):
                return False
        elif not isinstance(op, (*LOADS, BarrierOp)) and not op.regions and not is_memory_effect_free(op):
            return False
    return True


def _keeps_tiles(loop: scf.ForOp, stored: Sequence[Operation]) -> bool:
    """Whether only copies write the tiles: the last are stored again, over what a round has made of them."""
    tiles = {_buffer(op) for op in stored}
    others = {_buffer(op) for op in loop.body.block.walk() if isinstance(op, STORES) and op not in stored}
    near = {buffer for buffer in tiles | others if home_of(buffer) is Home.BLOCK}
    # of views it is not known what else they are of
    return tiles.isdisjoint(others) and all(isinstance(buffer, BlockArgument) for buffer in near)


def _ends_in_barrier(first: BarrierOp) -> bool:
    """Whether the last thing that a round does is to meet, after all have read their tiles."""
    block = first.parent
    assert block is not None and block.last_op is not None
    op = block.last_op.prev_op
    while op is not None and is_memory_effect_free(op):
        op = op.prev_op
    return isinstance(op, BarrierOp) and op is not first


def _pipeline(loop: scf.ForOp, copies: LoopCopies) -> None:
    body = loop.body.block
    counter, end = body.args[0], body.last_op
    assert end is not None
    before = _cloned(copies.fetched, {counter: loop.lb}, InsertPoint.before(loop))
    _cloned(copies.stored, before, InsertPoint.before(loop))
    emitter = Emitter(InsertPoint.after(copies.first), copies.first.location)
    following = emitter.folded_sum(counter, loop.step)
    last = emitter.index(copies.last_round)
    following = emitter.value(arith.MinUIOp(following, last))
    anchor = following.owner
    assert isinstance(anchor, Operation)
    fetched = _cloned(copies.fetched, {counter: following}, InsertPoint.after(anchor))
    _cloned(copies.stored, fetched, InsertPoint.before(end))
    for op in reversed(copies.stored):
        Rewriter.erase_op(op)
    # what computes places may be of use to what follows
    for op in reversed(copies.fetched):
        if not any(result.uses for result in op.results):
            Rewriter.erase_op(op)
    # the tiles of the last round are stored once more: what comes next may not meet that
    Emitter(InsertPoint.after(loop), loop.location).insert(BarrierOp.create())


def _cloned(ops: Iterable[Operation], values: dict[SSAValue, SSAValue], place: InsertPoint) -> dict[SSAValue, SSAValue]:
    """Copies of operations at a place, with other values; gives those and the ones that they make."""
    known = dict(values)
    made = list[Operation]()
    for op in ops:
        copy = op.clone(known)
        copy.location = op.location
        made.append(copy)
    Rewriter.insert_op(made, place)
    return known


__all__ = ["AirGpuPipelineCopiesPass"]
