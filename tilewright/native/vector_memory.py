"""Vectors to and from buffers.

Rows that lie one after the other and are known to be wanted whole are loaded and stored as such. Everything else
(masks, transposed and padded transfers, lists of indices) goes element by element: which bytes, and whether at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from llvmlite import ir
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, BoolAttr, VectorType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap

from tilewright.dialects import vector
from tilewright.dialects.memref.types import memref_type
from tilewright.dialects.vector.orders import mask_order, walked_dimensions
from tilewright.dialects.vector.types import shape_of, vector_type
from tilewright.native.access import element_pointer, load, store
from tilewright.native.gathers import (
    Lanes,
    all_set,
    box_lanes,
    gather,
    lane_numbers,
    scatter,
    want_buffer,
)
from tilewright.native.lanes import shuffled, splat
from tilewright.native.lowering import Handler, Lowering
from tilewright.native.values import (
    number_of,
)
from tilewright.native.vectors import broadcast, count_of


def _load(lowering: Lowering, op: vector.LoadOp) -> None:
    lowering[op.result] = load_rows(lowering, op, op.base, op.indices, op.result.type)


def _store(lowering: Lowering, op: vector.StoreOp) -> None:
    store_rows(lowering, op, op.vector, op.base, op.indices)


def _whole(
    lowering: Lowering, op: Operation, base: SSAValue, indices: Sequence[SSAValue], type: VectorType
) -> ir.Value | None:
    """The address of all elements if they lie one after the other: a single row, or rows as long as the buffer's."""
    # Of a buffer of vectors it is one element.
    if memref_type(base).element_type == type:
        return element_pointer(lowering, op, base, indices)
    step = 1
    for size, stride in zip(reversed(type.get_shape()), reversed(lowering.memref(base).strides), strict=False):
        # Where there is one element the stride is not taken.
        if size != 1 and number_of(stride) != step:
            return None
        step *= size
    return element_pointer(lowering, op, base, indices, count_of(type))


def load_rows(
    lowering: Lowering, op: Operation, base: SSAValue, indices: Sequence[SSAValue], type: VectorType
) -> ir.Value:
    """Neighbouring elements along the last dimensions."""
    pointer = _whole(lowering, op, base, indices, type)
    if pointer is None:
        return gather(lowering, op, box_lanes(lowering, op, base, indices, type), None)
    return load(lowering.builder, pointer, type)


def store_rows(lowering: Lowering, op: Operation, value: SSAValue, base: SSAValue, indices: Sequence[SSAValue]) -> None:
    native, type = lowering[value], vector_type(value)
    pointer = _whole(lowering, op, base, indices, type)
    if pointer is None:
        scatter(lowering, op, box_lanes(lowering, op, base, indices, type), native)
    else:
        store(lowering.builder, native, pointer)


@dataclass(frozen=True)
class VectorTransfer:
    """What `vector.transfer_read` and `vector.transfer_write` have in common."""

    op: Operation
    base: SSAValue
    indices: Sequence[SSAValue]
    type: VectorType
    mask: SSAValue | None

    @property
    def map(self) -> AffineMap:
        return cast(AffineMapAttr, self.op.properties["permutation_map"]).data

    @property
    def in_bounds(self) -> list[bool]:
        bounds = cast("ArrayAttr[BoolAttr]", self.op.properties["in_bounds"])
        return [bool(bound.value.data) for bound in bounds]

    def unsure(self, lowering: Lowering) -> list[int]:
        """The dimensions of the vector along which the buffer may end."""
        return [
            number
            for number, (inside, dim) in enumerate(zip(self.in_bounds, walked_dimensions(self.map), strict=True))
            if not inside and dim is not None and not self._fits(lowering, number, dim)
        ]

    def _fits(self, lowering: Lowering, number: int, dim: int) -> bool:
        """Whether the buffer is known to be large enough."""
        known, size = lowering.unit.ranges.of(self.indices[dim]), number_of(lowering.memref(self.base).sizes[dim])
        if known is None or size is None:
            return False
        return known.low >= 0 and known.high + self.type.get_shape()[number] <= size

    def is_plain(self, lowering: Lowering) -> bool:
        """Whether it is nothing but rows of the buffer, all of them there."""
        return self.mask is None and self.map.is_minor_identity() and not self.unsure(lowering)

    def lanes(self, lowering: Lowering) -> Lanes:
        """Element by element: a mask may say that it is not meant, or the buffer may have ended before."""
        builder, shape = lowering.builder, self.type.get_shape()
        mask = all_set(self.type) if self.mask is None else self._spread_mask(lowering, self.mask)
        memref, dims = lowering.memref(self.base), walked_dimensions(self.map)
        for number in self.unsure(lowering):
            dim = cast(int, dims[number])
            start = splat(builder, lowering[self.indices[dim]], count_of(self.type))
            place = builder.add(start, lane_numbers(shape, number))
            end = splat(builder, memref.sizes[dim], count_of(self.type))
            mask = builder.and_(mask, builder.icmp_unsigned("<", place, end))
        # There the mask has left out what is beyond the end, so that these indices need no check.
        masked = [cast(int, dims[number]) for number in self.unsure(lowering)]
        return box_lanes(lowering, self.op, self.base, self.indices, self.type, mask, self.map, masked)

    def _spread_mask(self, lowering: Lowering, mask: SSAValue) -> ir.Value:
        order = mask_order(self.map, shape_of(mask.type), self.type.get_shape())
        return shuffled(lowering.builder, lowering[mask], order)


def _transfer_read(lowering: Lowering, op: vector.TransferReadOp) -> None:
    want_buffer(op, op.source)
    transfer = VectorTransfer(op, op.source, op.indices, op.result.type, op.mask)
    if transfer.is_plain(lowering):
        lowering[op.result] = load_rows(lowering, op, op.source, op.indices, transfer.type)
        return
    # What is beyond the end of the buffer, or masked out, reads as this.
    padding = broadcast(lowering.builder, lowering[op.padding], (), transfer.type.get_shape())
    lowering[op.result] = gather(lowering, op, transfer.lanes(lowering), padding)


def _transfer_write(lowering: Lowering, op: vector.TransferWriteOp) -> None:
    want_buffer(op, op.source)
    transfer = VectorTransfer(op, op.source, op.indices, vector_type(op.vector), op.mask)
    if transfer.is_plain(lowering):
        store_rows(lowering, op, op.vector, op.source, op.indices)
    else:
        scatter(lowering, op, transfer.lanes(lowering), lowering[op.vector])


HANDLERS: dict[str, Handler] = {
    "vector.load": _load,
    "vector.store": _store,
    "vector.transfer_read": _transfer_read,
    "vector.transfer_write": _transfer_write,
}
