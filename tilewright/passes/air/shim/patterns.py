"""Access patterns of transfers: a list of dimensions, outermost first, and how to say the same with fewer of them.

Upstream's rules for which of several equal forms comes out are kept, as programs and tests rely on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, UnrankedMemRefType
from xdsl.ir import Attribute, SSAValue

from tilewright.device.layout import WORD_BITS
from tilewright.dialects.air.accesses import Access, Entries
from tilewright.dialects.air.channels import ChannelEnd
from tilewright.passes.air.shim.linear import ZERO, Linear, linear_of, value_of
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.constants import width_of
from tilewright.rewrite.folding.strided_views import known_int

MAX_STRIDE = 1 << 20
"""The largest step of a shim descriptor, in 32-bit words (device/bd.py: a 20-bit field that holds step - 1)."""


@dataclass(frozen=True)
class PatternDimension:
    """`size` elements, `stride` apart, the first of them `offset` strides in."""

    offset: Linear
    size: int
    stride: int


Pattern: TypeAlias = list[PatternDimension]
UNIT = PatternDimension(ZERO, 1, 0)


@dataclass(frozen=True)
class Limits:
    """What one descriptor can say."""

    dims: int | None = None
    size: int | None = None
    repeats_outermost: bool = False
    """Whether the outermost dimension, and only that one, can have stride 0."""


@dataclass(frozen=True)
class PatternBuffer:
    """The memory that a pattern is about; the shape is None where it is not known."""

    shape: tuple[int, ...] | None
    element_bits: int

    @property
    def volume(self) -> int | None:
        return None if self.shape is None else prod(self.shape)

    @property
    def alignment(self) -> int:
        """How many elements fill a 32-bit word, the unit of descriptors."""
        return max(1, WORD_BITS // self.element_bits)

    @property
    def all(self) -> Pattern:
        """Every element, one after the other."""
        shape = self.shape or ()
        return [PatternDimension(ZERO, size, prod(shape[number + 1 :])) for number, size in enumerate(shape)]


def is_row_major(dims: Sequence[PatternDimension]) -> bool:
    """Whether the elements follow each other in memory."""
    if len(dims) == 1 and dims[0].stride == 1:
        return True
    expected = 1
    for dim in reversed(dims):
        if dim.size == 1 and dim.stride == 0:
            continue
        if dim.stride != expected:
            return False
        expected *= dim.size
    return True


def canonical(dims: Sequence[PatternDimension], buffer: PatternBuffer, limits: Limits) -> Pattern:
    """The same elements in the same order, in as few dimensions as can be; empty for the whole buffer."""
    found = _without_units(_split(dims, buffer, limits), buffer)
    found = _merged(found, limits)
    if len(found) == 1 and found[0].offset.is_constant and (found[0].stride, found[0].size) == (1, buffer.volume):
        return []
    return found


def _split(dims: Sequence[PatternDimension], buffer: PatternBuffer, limits: Limits) -> Pattern:
    """No dimension larger than a descriptor can count, unless all is contiguous and needs no counting."""
    found = list(dims)
    index = len(found) - 1
    # a contiguous run is counted by the length of a transfer, however long it is
    while limits.size is not None and index >= 0 and not is_row_major(found):
        parts = _halves(found[index], buffer, limits.size)
        if parts is None:
            index -= 1
        else:
            found[index : index + 1] = parts
    return found


def _halves(
    dim: PatternDimension, buffer: PatternBuffer, limit: int
) -> tuple[PatternDimension, PatternDimension] | None:
    """A dimension as two; the inner one is the largest that fits, or else the smallest if the steps are too long."""
    if dim.size <= limit:
        return None
    inner = largest_factor(dim.size, limit, buffer.alignment if dim.stride == 1 else 1)
    if inner is None or inner == 1:
        return None
    outer = dim.size // inner
    # the outer step would be too long: let the smaller factor be inside
    if dim.stride * inner > MAX_STRIDE:
        inner, outer = outer, inner
    return PatternDimension(ZERO, outer, dim.stride * inner), replace(dim, size=inner)


def largest_factor(number: int, limit: int, multiple_of: int = 1) -> int | None:
    """The largest divisor within a limit that is a multiple of something; None if there is none."""
    if multiple_of == 1 and number <= limit:
        return number
    start = limit // multiple_of * multiple_of
    return next((factor for factor in range(start, 0, -multiple_of) if number % factor == 0), None)


def _without_units(dims: Pattern, buffer: PatternBuffer) -> Pattern:
    """Without dimensions of one element, where their offset can be said in another one."""
    found = list(dims)
    units = [index for index, dim in enumerate(dims) if dim.size == 1]
    # something has to say where the one element is
    if len(units) == len(dims) and buffer.volume != 1:
        units = units[:-1]
    for index in reversed(units):
        _erase(found, index)
    return found


def _merged(dims: Pattern, limits: Limits) -> Pattern:
    """With one dimension for two of which the outer goes on where the inner ends."""
    found = list(dims)
    for index in range(len(found) - 1, 0, -1):
        outer, inner = found[index - 1], found[index]
        fits = limits.size is None or outer.size * inner.size <= limits.size or is_row_major(found)
        if fits and outer.stride == inner.size * inner.stride:
            _erase(found, index - 1)
    return found


def _erase(dims: Pattern, index: int) -> None:
    """Drop a dimension; its elements go to the next one, its offset to an inner one that can count it."""
    dim = dims[index]
    if dim.offset != ZERO:
        target = _place_for_offset(dims, index)
        # the offset would be lost: such a dimension stays
        if target is None:
            return
        inner = dims[target]
        moved = dim.offset * (dim.stride // inner.stride)
        dims[target] = replace(inner, offset=moved if inner.offset == ZERO else moved + inner.offset)
    if index + 1 < len(dims):
        dims[index + 1] = replace(dims[index + 1], size=dims[index + 1].size * dim.size)
    del dims[index]


def _place_for_offset(dims: Pattern, index: int) -> int | None:
    """The first inner dimension with a known offset whose steps make up one of this dimension."""
    stride = dims[index].stride
    for number in range(index + 1, len(dims)):
        inner = dims[number]
        if inner.offset.is_constant and inner.stride and stride % inner.stride == 0:
            return number
    return None


def pad(dims: Pattern, count: int, at: int = 0) -> Pattern:
    """With dimensions of one element, put in at a place, until there are `count`."""
    return [*dims[:at], *[UNIT] * (count - len(dims)), *dims[at:]]


def with_repeat_outermost(dims: Pattern) -> Pattern | None:
    """The pattern with what it repeats in its outermost dimension; None if the repetition is inside of other steps."""
    found = list(dims)
    has_steps_before = False
    for index in range(1, len(found)):
        dim = found[index]
        if dim.size <= 1:
            continue
        if dim.stride:
            has_steps_before = True
        elif found[0].size == 1 and not has_steps_before:
            found[0], found[index] = found[index], found[0]
        else:
            return None
    return found


def buffer_of(type: Attribute) -> PatternBuffer:
    """What a memref type says of its memory."""
    memref = cast("MemRefType | UnrankedMemRefType", type)
    # elements of unknown width count as words
    bits = width_of(memref.element_type) or WORD_BITS
    shape = tuple(memref.get_shape()) if isinstance(memref, MemRefType) else None
    return PatternBuffer(None if shape is None or DYNAMIC_INDEX in shape else shape, bits)


def pattern_of(op: ChannelEnd) -> Pattern | None:
    """What a channel operation moves; None if sizes or strides are not known."""
    access = op.access(op.SIDE)
    sizes, strides = ([known_int(entry) for entry in entries] for entries in (access.sizes, access.strides))
    if len(strides) != len(sizes) or len(access.offsets) > len(sizes):
        return None
    offsets = [linear_of(entry) for entry in access.offsets]
    # fewer offsets than sizes are for the innermost dimensions
    offsets = [ZERO] * (len(sizes) - len(offsets)) + offsets
    dims = [
        PatternDimension(offset, size, stride)
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
    access, dims = op.access(op.SIDE), pattern_of(op)
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
