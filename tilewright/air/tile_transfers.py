"""Transfers between arrays and tiles, or memory of the block: what is outside of an array is not touched."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

from tilewright.air.arrays import Array, Region, product_of, region_of, stored_number
from tilewright.air.dtypes import value_type
from tilewright.air.tidying import is_natural
from tilewright.air.tile_layouts import Shape, TileLayout, split_value
from tilewright.air.tiles import Tile, as_tile, layout_of, workers_here
from tilewright.air.trace import current
from tilewright.air.waves import barrier
from tilewright.dialects import scf
from tilewright.iron.builders.control import for_, if_, make_if, yield_
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import InsertionPoint
from tilewright.iron.builders.scalars import ScalarValue, as_index, cmpi
from tilewright.iron.builders.types import is_integer

MOST_UNROLLED = 64
"""Elements that are moved by as many operations; more in a loop."""


def inside(region: Region, indices: Sequence[Any]) -> ScalarValue | None:
    """Whether an element of a part is in the array; None if that is certain."""
    condition: ScalarValue | None = None
    rest = list(zip(region.offsets, region.sizes, region.array.shape, region.is_point, strict=True))
    keys = region.keys(indices)
    for (offset, length, size, _), key in zip(rest, keys, strict=True):
        if is_integer(offset) and offset == 0 and length is size:
            continue
        if is_integer(offset) and is_integer(length) and is_integer(size) and offset + length <= size:
            continue
        place = as_index(key)
        # of numbers that may be below 0, which are very large without a sign
        check = place < size if is_natural(place.ssa) else cmpi("ult", place, as_index(size))
        condition = check if condition is None else condition & check
    return condition


def both_hold(first: ScalarValue | None, second: ScalarValue | None) -> ScalarValue | None:
    """That two conditions hold; None stands for one that is certain."""
    return second if first is None else first if second is None else first & second


def guarded_load(array: Array, keys: Sequence[Any], condition: ScalarValue | None, fill: Any) -> ScalarValue:
    """An element where a condition holds, and `fill` elsewhere."""
    if condition is None:
        return array.element(keys)
    choice = make_if(condition, True, [value_type(array.dtype)])
    with InsertionPoint(choice.thenRegion.blocks[0]):
        yield_([array.element(keys)])
    with InsertionPoint(choice.elseRegion.blocks[0]):
        yield_([ScalarValue(stored_number(fill, array.dtype))])
    return ScalarValue(cast(scf.IfOp, choice.op).results[0])


def load(source: Any, fill: Any = 0, like: Any = None) -> Tile:
    """A part of an array, `source`, as a tile; what is outside of the array is `fill`.

    With a tile among the indices, `a[rows]`, it is the elements at these.

    With `like`, a tile or a buffer of the same shape, elements are with the lanes that hold that one's.
    """
    if not isinstance(source, Region | Array):
        from tilewright.air.scattered import Scattered  # it imports this module

        if isinstance(source, Scattered):
            return source.load(fill, like)
    region = region_of(source, "`air.load`")
    shape, workers = region.known_shape(), workers_here()
    layout = layout_of(shape) if like is None else as_tile(like).layout
    if layout.shape != shape:
        refuse(f"a part of {' x '.join(map(str, shape))} is not like {like!r}")
    slots = list[ScalarValue]()
    for slot in range(layout.slots):
        indices = layout.indices(slot, workers.number)
        condition = both_hold(layout.is_there(slot, workers.number), inside(region, indices))
        slots.append(guarded_load(region.array, region.keys(indices), condition, fill))
    return Tile(layout, slots)


def check_shape(shape: Shape, part: Shape) -> None:
    """A part of an array takes a tile of its shape."""
    if shape != part:
        sizes = (" x ".join(map(str, sizes)) for sizes in (shape, part))
        refuse("a tile of {} cannot be stored in a part of {}".format(*sizes))


def store_tile(given: Any, target: Any) -> None:
    """Store a tile, or one number everywhere, into a part of an array, as far as it is in the array."""
    if not isinstance(target, Region | Array):
        from tilewright.air.scattered import Scattered  # it imports this module

        if isinstance(target, Scattered):
            target.store(given)
            return
    region = region_of(target, "`air.store`")
    tile, workers = as_tile(given), workers_here()
    layout = tile.layout if isinstance(tile, Tile) else layout_of(region.known_shape())
    check_shape(layout.shape, region.known_shape())
    for slot in range(layout.slots):
        indices = layout.indices(slot, workers.number)
        condition = both_hold(layout.is_own(slot, workers.number), inside(region, indices))
        value = tile.slots[slot] if isinstance(tile, Tile) else tile
        if condition is None:
            region.array.set_element(region.keys(indices), value)
        else:
            with if_(condition, hasElse=False):
                region.array.set_element(region.keys(indices), value)


def store(source: Any, target: Any) -> None:
    """Store a tile, a buffer or a number, `source`, into a part of an array, `target`, as far as it is in the array.

    With a tile among the indices, `a[rows]`, to the elements at these.
    """
    store_tile(source, target)


def cooperative_copy(target: Array, source: Region, fill: Any = 0) -> None:
    """Fill memory of the block with a part of an array: all lanes of the block share the work, and all wait for it."""
    trace = current()
    herd = trace.inner("herd")
    if herd is None:
        from tilewright.air.waves import thread_numbers

        number, count = thread_numbers()
    else:
        workers = herd.workers
        assert workers is not None and workers.wave is not None and herd.lane is not None
        number, count = workers.wave * trace.lanes + herd.lane, workers.block_waves * trace.lanes
    shape = source.known_shape()
    if prod(shape) != product_of(target.shape):
        refuse(f"a part of {' x '.join(map(str, shape))} does not fill {target!r}")
    barrier()
    copy_elements(Region.whole(target), source, number, count, fill)
    barrier()


def copy_elements(target: Region, source: Region, number: ScalarValue, count: Any, fill: Any = 0) -> None:
    """Copy a part of an array to one that has as many elements, of which lane `number` of `count` copies some."""
    shape = source.shape
    total = product_of(shape)
    if is_integer(count) and is_integer(total) and total <= MOST_UNROLLED * count:
        layout = TileLayout(source.known_shape(), count)
        for slot in range(layout.slots):
            indices = layout.indices(slot, number)
            there = layout.is_there(slot, number)
            if there is None:
                _copy_element(target, source, indices, fill)
            else:
                with if_(there, hasElse=False):
                    _copy_element(target, source, indices, fill)
    else:
        for place in for_(number, total, count):
            _copy_element(target, source, split_value(place, shape), fill)


def _copy_element(target: Region, source: Region, indices: Sequence[Any], fill: Any) -> None:
    value = guarded_load(source.array, source.keys(indices), inside(source, indices), fill)
    # leading dimensions of one element need not be written
    rank = len(target.shape)
    own = [0] * (rank - len(indices)) + list(indices)[-rank:]
    condition = inside(target, own)
    if condition is None:
        target.array.set_element(target.keys(own), value)
    else:
        with if_(condition, hasElse=False):
            target.array.set_element(target.keys(own), value)
