"""Sums that run along an axis of a tile and their like, and places of the largest and smallest elements."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import IndexType, i1
from xdsl.dialects.builtin import i32 as long

from tilewright.air.dtypes import i32, i64
from tilewright.air.tile_axes import checked_axis, staged
from tilewright.air.tile_transfers import guarded_load
from tilewright.air.tiles import SHORT_FLOATS, Tile, as_tile, combine, reduced, widened, workers_here
from tilewright.iron import math
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.scalars import ScalarValue, as_index
from tilewright.iron.builders.types import is_float_type

Join = Callable[[ScalarValue, ScalarValue], ScalarValue]


def _tile(given: Any) -> Tile:
    tile = as_tile(given)
    if not isinstance(tile, Tile):
        refuse(f"expected a tile, not {given!r}", (None, "such as `air.load(a[:64])`"))
    return tile


def cumsum(tile: Any, axis: int = 0, reverse: bool = False) -> Tile:
    """The sum of each element of a `tile` and those before it along an `axis`, or with `reverse` those behind it.

    f16 and bf16 are added up as f32, i8 and i16 as i32.
    """
    given = _tile(tile)
    found = scan(widened("sum", given), operator.add, axis, reverse)
    return found.astype(given.type) if given.type in SHORT_FLOATS else found


def scan(tile: Any, function: Join, axis: int = 0, reverse: bool = False) -> Tile:
    """What a `function` of two numbers makes of each element of a `tile` and all before it along an `axis`.

    With `reverse` it is all behind it. It must not matter which are joined first: `f(f(a, b), c) == f(a, f(b, c))`.
    """
    given = _tile(tile)
    axis = checked_axis(given, axis)
    if given.type == i1:
        given = given.astype(i32)
    elif isinstance(given.type, IndexType):
        given = given.astype(i64)
    layout, number, size, distance = given.layout, workers_here().number, given.shape[axis], 1
    spots = [layout.indices(slot, number) for slot in range(layout.slots)]
    while distance < size:
        place, slots = staged(given), list[ScalarValue]()
        for slot, spot in enumerate(spots):
            at = as_index(spot[axis])
            is_in = at + distance < size if reverse else at >= distance
            there = layout.is_there(slot, number)
            keys = place.keys([*spot[:axis], at + distance if reverse else at - distance, *spot[axis + 1 :]])
            other = guarded_load(place.array, keys, is_in if there is None else there & is_in, 0)
            own = given.slots[slot]
            joined = function(own, other) if reverse else function(other, own)
            if not isinstance(joined, ScalarValue) or joined.type != own.type:
                refuse(f"a scan of {own.type} joins two of them in one, not in {joined!r}")
            slots.append(math.where(is_in, joined, own))
        given, distance = Tile(layout, slots), 2 * distance
    return given


def place_of_extreme(kind: str, given: Any, axis: int | None, keepdims: bool) -> Any:
    """The index of the first element that is the largest or smallest, or of those of lines along an axis, as i32."""
    tile = _tile(given)
    if axis is not None:
        axis = checked_axis(tile, axis)
    extreme = reduced(kind, tile, axis, axis is not None)
    shape = tile.shape

    def place(indices: Any) -> ScalarValue:
        found = as_index(indices[axis or 0])
        if axis is None:
            for index, size in zip(indices[1:], shape[1:], strict=True):
                found = found * size + index
        return found.astype(long)

    def choose(element: ScalarValue, best: ScalarValue, at: ScalarValue) -> ScalarValue:
        is_it = element == best
        if is_float_type(element.type):
            is_it = is_it | (element != element)  # NaN is the largest, and the smallest
        return math.where(is_it, at, (1 << 31) - 1)

    number = workers_here().number
    slots = [place(tile.layout.indices(slot, number)) for slot in range(tile.layout.slots)]
    return reduced("min", combine(choose, tile, extreme, Tile(tile.layout, slots, place)), axis, keepdims)
