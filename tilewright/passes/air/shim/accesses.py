"""Between the lists of a channel operation and access patterns."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, UnrankedMemRefType
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects.air.accesses import Access, Entries
from tilewright.dialects.air.channels import ChannelEnd
from tilewright.passes.air.shim.linear import ZERO, Linear, linear_of, value_of
from tilewright.passes.air.shim.patterns import Buffer, Dimension, Limits, Pattern, canonical, pad
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.constants import width_of
from tilewright.rewrite.folding.strided_views import known_int

WORD_BITS = 32


def buffer_of(type: Attribute) -> Buffer:
    """What a memref type says of its memory."""
    memref = cast("MemRefType | UnrankedMemRefType", type)
    bits = width_of(memref.element_type) or WORD_BITS
    shape = tuple(memref.get_shape()) if isinstance(memref, MemRefType) else None
    return Buffer(None if shape is None or DYNAMIC_INDEX in shape else shape, bits)


def pattern_of(op: ChannelEnd) -> Pattern | None:
    """What a channel operation moves; None if sizes or strides are not known."""
    return _pattern(op.access(op.SIDE))


def _pattern(access: Access) -> Pattern | None:
    sizes, strides = ([known_int(entry) for entry in entries] for entries in (access.sizes, access.strides))
    if len(strides) != len(sizes) or len(access.offsets) > len(sizes):
        return None
    offsets = [linear_of(entry) for entry in access.offsets]
    offsets = [ZERO] * (len(sizes) - len(offsets)) + offsets
    dims = [
        Dimension(offset, size, stride)
        for offset, size, stride in zip(offsets, sizes, strides, strict=True)
        if size is not None and stride is not None
    ]
    return dims if len(dims) == len(sizes) else None


def set_pattern(op: ChannelEnd, dims: Pattern, build: Emitter | None = None) -> None:
    """Move this instead; every entry becomes a value, as upstream spells it."""
    at = build or Emitter.before(op)
    lists: tuple[Entries, Entries, Entries] = ([], [], [])
    for dim in dims:
        for entries, number in zip(lists, (dim.offset, Linear(dim.size), Linear(dim.stride)), strict=True):
            entries.append(value_of(number, at))
    op.set_access(op.SIDE, Access(op.buffer(op.SIDE), *lists))


def canonicalize(op: ChannelEnd, limits: Limits) -> None:
    """Say what a channel operation moves in as few dimensions as can be."""
    access = op.access(op.SIDE)
    dims = _pattern(access)
    if dims is None or "pad_before" in op.properties:
        return
    repeats = limits.repeats_outermost and bool(dims) and dims[0].stride == 0 and dims[0].size != 1
    if repeats and len(dims) == limits.dims:
        return
    found = canonical(dims, buffer_of(access.memref.type), limits)
    if repeats and limits.dims is not None:
        found = pad(found, limits.dims, at=1)
    if found != dims or not all(isinstance(entry, SSAValue) for entries in access.lists for entry in entries):
        set_pattern(op, found)
