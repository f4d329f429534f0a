"""Canonical forms of the `airrt` dialect: joins of joins, loads of what is loaded, unused memory."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter

from tilewright.dialects.airrt.events import AllocOp, DeallocOp, WaitAllOp
from tilewright.dialects.airrt.loading import HerdLoadOp, SegmentLoadOp
from tilewright.rewrite.canonicalization import PatternFunction


def fold_wait_all(op: WaitAllOp, rewriter: PatternRewriter) -> None:
    """Drop a wait for nothing and a join that nothing waits for; wait for what a join stands for."""
    # without an event it blocks the host, with one it only joins
    if not op.operands if op.event is None else op.event.first_use is None:
        rewriter.erase(op)
        return
    events = dict.fromkeys(op.operands)
    join = next((event.owner for event in events if isinstance(event.owner, WaitAllOp)), None)
    if join is not None:
        del events[join.results[0]]
        op.operands = [*dict.fromkeys([*events, *join.operands])]
        rewriter.notify_op_modified(op)


def drop_unused_alloc(op: AllocOp, rewriter: PatternRewriter) -> None:
    if op.result.first_use is None:
        rewriter.erase(op)


def drop_lonely_dealloc(op: DeallocOp, rewriter: PatternRewriter) -> None:
    """What is freed and not used otherwise need not be there."""
    if op.memref.has_one_use():
        rewriter.erase(op)


def load_segment_once(op: SegmentLoadOp, rewriter: PatternRewriter) -> None:
    _load_once(op, rewriter, lambda other: other.properties == op.properties)


def load_herd_once(op: HerdLoadOp, rewriter: PatternRewriter) -> None:
    def contents(load: Operation) -> tuple[object, ...]:
        return load.properties, load.attributes.get("segment_name"), tuple(load.operands)

    # herds of one name may be in several segments, and their cores are released with values
    _load_once(op, rewriter, lambda other: contents(other) == contents(op))


def _load_once(op: Operation, rewriter: PatternRewriter, is_same: Callable[[Operation], bool]) -> None:
    """Take the results of the same load earlier in the block."""
    before = op.prev_op
    while before is not None:
        if type(before) is type(op) and is_same(before) and len(before.results) == len(op.results):
            rewriter.replace(op, (), before.results)
            return
        before = before.prev_op


PATTERNS: dict[str, tuple[PatternFunction, ...]] = {
    "airrt.alloc": (drop_unused_alloc,),
    "airrt.dealloc": (drop_lonely_dealloc,),
    "airrt.herd_load": (load_herd_once,),
    "airrt.segment_load": (load_segment_once,),
    "airrt.wait_all": (fold_wait_all,),
}
