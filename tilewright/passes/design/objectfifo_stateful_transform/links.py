"""Links: ends of FIFOs that meet in a tile and use the same buffers, so that data passes through without a copy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from xdsl.ir import SSAValue

from tilewright.device import ObjectFifoPort
from tilewright.dialects.aie.objectfifo_uses import ObjectFifoLinkOp
from tilewright.ir.diagnostics import emit_warning
from tilewright.passes.design.objectfifo_stateful_transform.ends import End, Ends


class Slice(NamedTuple):
    """The part of each shared buffer that one branch of a join or distribute fills or empties, in elements."""

    offset: int
    length: int
    branch: int


@dataclass(eq=False)
class Link:
    """A link with the ends that meet in it."""

    op: ObjectFifoLinkOp
    inputs: list[End]
    outputs: list[End]
    tile: SSAValue
    repeat_count: int | None
    """How often the outputs send each element."""

    @cached_property
    def owner(self) -> End:
        """The end whose buffers all others use: the one with the biggest elements, or with contents from the start."""
        if self.op.is_join:
            return self.outputs[0]
        first, last = self.inputs[0], self.outputs[0]
        if self.op.is_distribute:
            return first
        if last.init_values is not None:
            return last
        # Padding is added on the way out, so that the buffers hold what came in.
        is_enough = first.element_count >= last.element_count or last.padding is not None
        return first if is_enough else last

    @property
    def branches(self) -> list[End]:
        """The ends that each move a part of the owner's buffers; none in a plain link."""
        if self.op.is_join:
            return self.inputs
        return self.outputs if self.op.is_distribute else []

    @cached_property
    def slices(self) -> list[Slice]:
        """What each branch moves: from its offset to the next one."""
        offsets = self.op.src_offsets if self.op.is_join else self.op.dst_offsets
        starts = [offset.value.data for offset in offsets] if self.branches else []
        pairs = pairwise([*starts, self.owner.element_count])
        return [Slice(start, end - start, branch) for branch, (start, end) in enumerate(pairs)]

    def slice_of(self, end: End) -> Slice | None:
        """What one branch moves; none for an end that moves whole buffers."""
        return self.slices[self.branches.index(end)] if end in self.branches else None


def resolve_links(ends: Ends) -> None:
    """Tell the ends of linked FIFOs which link they are part of."""
    for op in ends.design.links:
        link = _resolve(op, ends)
        for end in (*link.inputs, *link.outputs):
            end.link = link
        _check_offsets(link)


def _check_offsets(link: Link) -> None:
    """Upstream goes on with branches that move nothing, or less; what comes of it is of no use."""
    for slice, end in zip(link.slices, link.branches, strict=True):
        if slice.length <= 0:
            whole = f"the buffers of @{link.owner.name} have {link.owner.element_count} elements"
            warning = emit_warning(
                link.op, f"@{end.name} would move {slice.length} elements from offset {slice.offset}"
            )
            warning.note(link.owner.fifo, f"{whole}; offsets must increase and stay below that")


def _resolve(op: ObjectFifoLinkOp, ends: Ends) -> Link:
    fifos = ends.design.fifos
    inputs = [fifos[name.root_reference.data] for name in op.input_names]
    outputs = [fifos[name.root_reference.data] for name in op.output_names]
    tile = outputs[0].producer
    counts = (fifo.repeat_count for fifo in outputs)
    return Link(
        op=op,
        inputs=[ends.used_by(fifo, ObjectFifoPort.Consume, tile) for fifo in inputs],
        outputs=[ends.used_by(fifo, ObjectFifoPort.Produce, tile) for fifo in outputs],
        tile=tile,
        repeat_count=next((count.value.data for count in counts if count is not None), None),
    )
