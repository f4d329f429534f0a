"""Transfers that descriptors can say: joined where they follow each other, cut where they are too long."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.dialects.aiex.memcpy import NpuDmaWaitOp
from tilewright.dialects.airrt.transfers import DIMS, DmaMemcpyNdOp, Entries
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.air.airrt_to_npu.tasks import channel_wait, wave_of
from tilewright.passes.air.shim.cutting import AccessSpan, Uncuttable, cut_steps, cut_wraps
from tilewright.passes.air.shim.host_transfers import COALESCED, PRESERVE_ORDER
from tilewright.passes.air.shim.linear import Linear, linear_of
from tilewright.passes.air.shim.patterns import buffer_of
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.strided_views import known_int


def enforce_limits(function: Operation) -> None:
    """Cut what has too many elements in one dimension, then what makes too long steps."""
    for op in _transfers(function):
        _cut_wraps(op)
    # a cut may leave another dimension with too long steps
    for _ in range(DIMS):
        cut = [_cut_steps(op) for op in _transfers(function)]
        if not any(cut):
            return


def _transfers(function: Operation) -> list[DmaMemcpyNdOp]:
    return [op for op in function.walk() if isinstance(op, DmaMemcpyNdOp)]


def _spans(op: DmaMemcpyNdOp) -> list[AccessSpan] | None:
    """The dimensions of a transfer; None if it has a size or stride that is not known."""
    sizes, strides = ([known_int(entry) for entry in op.entries(name)] for name in ("lengths", "strides"))
    offsets = [entry if (number := known_int(entry)) is None else number for entry in op.entries("offsets")]
    spans = [
        AccessSpan(offset, size, stride)
        for offset, size, stride in zip(offsets, sizes, strides, strict=True)
        if size is not None and stride is not None
    ]
    return spans if len(spans) == DIMS else None


def _cut_wraps(op: DmaMemcpyNdOp) -> None:
    spans = _spans(op)
    if spans is None:
        return
    try:
        pieces = cut_wraps(spans, buffer_of(op.memref.type).alignment)
    except Uncuttable as error:
        fail_op(op, str(error))
    if pieces != [spans]:
        _replace(op, pieces)


def _cut_steps(op: DmaMemcpyNdOp) -> bool:
    """One transfer for each step that is too long; whether there were any."""
    spans = _spans(op)
    pieces = None if spans is None else cut_steps(spans)
    if pieces is None:
        return False
    _wait_as_often(op, len(pieces))
    _replace(op, pieces)
    return True


def _replace(op: DmaMemcpyNdOp, pieces: Sequence[Sequence[AccessSpan]]) -> None:
    for spans in pieces:
        new = DmaMemcpyNdOp.create(operands=op.operands, properties=dict(op.properties), attributes=dict(op.attributes))
        offsets: Entries = [span.offset for span in spans]
        new.set_entries(offsets, [span.size for span in spans], [span.stride for span in spans])
        Emitter.before(op).insert(new)
    Rewriter.erase_op(op)


def _wait_as_often(op: DmaMemcpyNdOp, count: int) -> None:
    """Wait for each of the copies where the one transfer was waited for."""
    name = None if op.metadata is None else op.metadata.root_reference.data
    after = op.next_op
    while after is not None and name is not None:
        if isinstance(after, NpuDmaWaitOp) and after.symbol.root_reference.data == name:
            for _ in range(count - 1):
                Emitter.before(after).insert(channel_wait(name))
            return
        after = after.next_op


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
    # a packet has its header before each transfer: two of them are not one
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
        # events of the others move to the first, which has to have one
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
