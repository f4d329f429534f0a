"""Feeds of one channel that follow each other in memory become one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.dialects.airrt.transfers import DmaMemcpyNdOp
from tilewright.passes.air.airrt_to_npu.launches import wave_of
from tilewright.passes.air.shim.host_transfers import COALESCED, PRESERVE_ORDER
from tilewright.passes.air.shim.linear import Linear, linear_of
from tilewright.rewrite.folding.strided_views import known_int


@dataclass(frozen=True)
class _Run:
    """A transfer of elements that follow each other."""

    op: DmaMemcpyNdOp
    start: int
    length: int
    base: frozenset[tuple[SSAValue, int]]

    @property
    def end(self) -> int:
        return self.start + self.length


def coalesce_feeds(function: Operation) -> None:
    """Make longer transfers of those that keep their order, in each launch by itself."""
    groups: dict[object, list[_Run]] = defaultdict(list)
    for op in function.walk():
        run = _run_of(op) if isinstance(op, DmaMemcpyNdOp) and PRESERVE_ORDER in op.attributes else None
        if run is not None:
            groups[wave_of(run.op), run.op.metadata, run.op.memref, run.base].append(run)
    for runs in groups.values():
        _join(runs)


def _run_of(op: DmaMemcpyNdOp) -> _Run | None:
    sizes, strides = ([known_int(entry) for entry in op.entries(name)] for name in ("lengths", "strides"))
    if "packet" in op.attributes or sizes[:3] != [1, 1, 1] or sizes[3] is None or None in strides or strides[3] != 1:
        return None
    start = Linear(0)
    for entry, stride in zip(op.entries("offsets"), strides, strict=True):
        start = start + linear_of(entry) * (stride or 0)
    return _Run(op, start.constant, sizes[3], frozenset(start.factors.items()))


def _join(runs: Sequence[_Run]) -> None:
    index = 0
    while index < len(runs):
        last = index
        while last + 1 < len(runs) and runs[last + 1].start == runs[last].end:
            last += 1
        group = runs[index : last + 1]
        first = group[0].op
        if len(group) > 1 and (first.event is not None or all(run.op.event is None for run in group)):
            _lengthen(group)
        index = last + 1


def _lengthen(group: Sequence[_Run]) -> None:
    first = group[0].op
    lengths = first.entries("lengths")
    first.set_entries(
        first.entries("offsets"), [*lengths[:3], group[-1].end - group[0].start], first.entries("strides")
    )
    first.attributes[COALESCED] = UnitAttr()
    for run in group[1:]:
        if run.op.event is not None and first.event is not None:
            run.op.event.replace_all_uses_with(first.event)
        Rewriter.erase_op(run.op)
