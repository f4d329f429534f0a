"""Axes of tiles: reductions along one of them, and tiles that are repeated along others.

What a line of a tile comes to is with all lanes that hold elements of the line, so that it goes with the tile again
where it is. Everything else moves from lane to lane through memory of the block.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import reduce
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import IndexType, i1

from tilewright.air.arrays import Region
from tilewright.air.atomics import fence
from tilewright.air.dtypes import DType, as_dtype, i32, i64
from tilewright.air.tile_layouts import ExpandedLayout, LineLayout, Lines, Shape, TileLayout, lines_of
from tilewright.air.tile_transfers import guarded_load, store_tile
from tilewright.air.tiles import (
    SHORT_FLOATS,
    Buffer,
    Formula,
    Tile,
    as_tile,
    join,
    layout_of,
    reduced,
    refuse_layout,
    refuse_shapes,
    shared,
    widened,
    workers_here,
)
from tilewright.air.trace import current
from tilewright.air.waves import barrier, shuffle
from tilewright.dialects._syntax import INDEX
from tilewright.iron import math
from tilewright.iron.builders.control import for_, if_, yield_
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.scalars import ScalarValue
from tilewright.iron.builders.types import is_integer, numpy_type


def expanded(tile: Tile, keys: Sequence[Any]) -> Tile:
    """A tile with a dimension of one element wherever there is None among `keys`."""
    places = tuple(place for place, key in enumerate(keys) if key is not None)
    shape = [1] * len(keys)
    for place, size in zip(places, tile.shape, strict=True):
        shape[place] = size
    old = tile.layout
    if type(old) is TileLayout:
        layout: TileLayout = TileLayout(tuple(shape), old.workers)
    elif isinstance(old, LineLayout) and not old.is_kept and [i for i, k in enumerate(keys) if k is None] == [old.axis]:
        layout = LineLayout(tuple(shape), old.workers, old.whole, old.axis)
    else:
        layout = ExpandedLayout(tuple(shape), old.workers, old, places)
    given = tile.formula
    formula = None if given is None else _at_places(given, places)
    return Tile(layout, tile.slots, formula)


def _at_places(formula: Formula, places: Sequence[int]) -> Formula:
    return lambda indices: formula([indices[place] for place in places])


def reduced_along(kind: str, given: Any, axis: Any, keepdims: bool) -> Any:
    """The lines of a tile along an axis, each in one number: a tile with a dimension less, or of one element there."""
    tile = as_tile(given)
    if not isinstance(tile, Tile):
        refuse(f"expected a tile, not {given!r}")
    axis = checked_axis(tile, axis)
    if len(tile.shape) == 1 and not keepdims:
        return reduced(kind, tile)
    wide = widened(kind, tile)
    lines = lines_of(wide.layout, axis)
    found = _by_memory(kind, wide, axis) if lines is None else _by_lanes(kind, wide, axis, lines)
    if not keepdims:
        found = _without(found, axis)
    return found.astype(tile.type) if tile.type in SHORT_FLOATS else found


def checked_axis(tile: Tile, axis: Any) -> int:
    count = len(tile.shape)
    if not is_integer(axis) or not -count <= axis < count:
        refuse(f"a tile of {count} dimension{'s' * (count != 1)} has no axis {axis!r}", (None, "the first one is 0"))
    return axis % count


def _without(tile: Tile, axis: int) -> Tile:
    """A tile without a dimension of one element."""
    shape, old = (*tile.shape[:axis], *tile.shape[axis + 1 :]), tile.layout
    if isinstance(old, LineLayout):
        return Tile(LineLayout(shape, old.workers, old.whole, old.axis), tile.slots)
    return Tile(TileLayout(shape, old.workers), tile.slots)


def _by_lanes(kind: str, tile: Tile, axis: int, lines: Lines) -> Tile:
    """Each lane its own elements, then among the lanes of a wave, then among waves."""
    shape = (*tile.shape[:axis], 1, *tile.shape[axis + 1 :])
    layout, lanes = LineLayout(shape, tile.layout.workers, tile.layout, axis), current().lanes

    def both(left: ScalarValue, right: ScalarValue) -> ScalarValue:
        return join(kind, left, right)

    values = [reduce(both, (tile.slots[slot] for slot in group)) for group in lines.groups]
    for bit in reversed(range(lanes.bit_length() - 1)):
        if lines.bits >> bit & 1:
            values = [both(value, shuffle(value, 1 << bit, "xor")) for value in values]
    if lines.bits >= lanes:
        values = _among_waves(kind, values, layout, lines)
    return Tile(layout, values)


def _among_waves(kind: str, values: Sequence[ScalarValue], layout: LineLayout, lines: Lines) -> list[ScalarValue]:
    """What waves have come to for lines that they share, through memory of the block."""
    workers, lanes = workers_here(), current().lanes
    assert workers.wave is not None
    place = _place((*layout.shape, workers.waves), values[0])
    among = lines.bits // lanes
    first = workers.wave - (workers.wave & among)
    # in one order, so that all waves have the same sum
    waves = [number for number in range(workers.waves) if number & among == number]
    spots = [layout.indices(slot, workers.number) for slot in range(layout.slots)]
    meet()
    repeated = (lines.bits | lines.copies) % lanes
    with if_(workers.number & repeated == 0, hasElse=False) if repeated else nullcontext():
        for spot, value in zip(spots, values, strict=True):
            place.array.set_element(place.keys([*spot, workers.wave]), value)
    meet()
    return [
        reduce(
            lambda left, right: join(kind, left, right),
            [place.array.element(place.keys([*spot, first + number if number else first])) for number in waves],
        )
        for spot in spots
    ]


def _by_memory(kind: str, tile: Tile, axis: int) -> Tile:
    """Lines of any tile: a lane takes each as a whole from memory of the block."""
    shape = (*tile.shape[:axis], 1, *tile.shape[axis + 1 :])
    layout, number, place = layout_of(shape), workers_here().number, staged(tile)
    slots = list[ScalarValue]()
    for slot in range(layout.slots):
        spot = layout.indices(slot, number)
        if layout.is_there(slot, number) is not None:
            # further elements of the tile are not there; the last line will do
            outer = next(dimension for dimension, size in enumerate(shape) if size > 1 or prod(shape) == 1)
            spot[outer] = math.minimum(spot[outer], shape[outer] - 1)
        slots.append(_line(kind, place, spot, axis, tile.shape[axis]))
    return Tile(layout, slots)


def _line(kind: str, place: Region, spot: Sequence[Any], axis: int, size: int) -> ScalarValue:
    def element(at: Any) -> ScalarValue:
        return place.array.element(place.keys([*spot[:axis], at, *spot[axis + 1 :]]))

    if size == 1:
        return element(0)
    last = element(0)
    for at, found, total in for_(1, size, 1, [last]):
        yield_([join(kind, found, element(at))])
        last = total
    return last


def meet() -> None:
    """The lanes that work on a tile wait for each other."""
    if workers_here().waves == 1:
        fence(scope="wave")  # other waves may be elsewhere
    else:
        barrier()


def own_place(shape: Shape, dtype: DType) -> Region:
    """Memory of the block for the lanes that work on a tile; waves that work by themselves have a part each.

    There is one of each shape: who uses it meets before and after it is filled.
    """
    workers, home = workers_here(), current().inner("segment", "launch")
    assert home is not None, "there are herds in launches"
    is_apart = workers.waves == 1 and workers.block_waves > 1
    room = (workers.block_waves, *shape) if is_apart else shape
    name = f"place {room} {dtype}"
    if name not in home.made:
        home.made[name] = shared(room, dtype)
    return Region.of(home.made[name], [*[workers.wave] * is_apart, *[slice(None)] * len(shape)])


def _place(shape: Shape, value: ScalarValue) -> Region:
    return own_place(shape, as_dtype(numpy_type(value.type)))


def staged(tile: Tile) -> Region:
    """All of a tile in memory of the block, where all lanes that work on it reach it."""
    place = _place(tile.shape, tile.slots[0])
    meet()
    store_tile(tile, place)
    meet()
    return place


def spread(tile: Tile, layout: TileLayout) -> Tile:
    """A tile divided as a `layout` says, and repeated along dimensions of one element."""
    if tile.layout == layout:
        return tile
    shape, number, given, old = tile.shape, workers_here().number, tile.formula, tile.layout

    def own(indices: Sequence[Any]) -> list[Any]:
        return [0 if size == 1 else index for index, size in zip(indices, shape, strict=True)]

    if given is not None:
        slots = [given(own(layout.indices(slot, number))) for slot in range(layout.slots)]
        return Tile(layout, slots, lambda indices: given(own(indices)))
    if isinstance(old, LineLayout) and old.is_kept and old.whole == layout:
        line = {slot: line for line, group in enumerate(old.lines.groups) for slot in group}
        return Tile(layout, [tile.slots[line[slot]] for slot in range(layout.slots)])
    # memory has neither
    if tile.type == i1:
        return cast(Tile, spread(tile.astype(i32), layout) != 0)
    if isinstance(tile.type, IndexType):
        return spread(tile.astype(i64), layout).astype(INDEX)
    place, slots = staged(tile), list[ScalarValue]()
    for slot in range(layout.slots):
        keys = place.keys(own(layout.indices(slot, number)))
        slots.append(guarded_load(place.array, keys, layout.is_there(slot, number), 0))
    return Tile(layout, slots)


def together(given: Sequence[Any]) -> list[Any]:
    """Tiles and buffers of different shapes, or divided in different ways, as tiles that go together."""
    tiles = [value for value in given if isinstance(value, Tile | Buffer)]
    try:
        shape = np.broadcast_shapes(*(tile.shape for tile in tiles))
    except ValueError:
        refuse_shapes(tiles)
    equal = list[Any]()
    for value in given:
        missing = len(shape) - len(value.shape) if isinstance(value, Tile | Buffer) else 0
        keys = [*[None] * missing, *[slice(None)] * (len(shape) - missing)]
        equal.append(expanded(as_tile(value), keys) if missing else value)
    layout = _common_layout([value for value in equal if isinstance(value, Tile | Buffer)], shape)
    for value in equal:
        if isinstance(value, Buffer) and value.shape == shape:
            value.divide(layout)
    return [spread(as_tile(value), layout) if isinstance(value, Tile | Buffer) else value for value in equal]


def _is_line(shape: Shape) -> bool:
    """Whether a tile is small enough to move unasked: it has elements along one axis alone."""
    return prod(shape) == max(shape)


def _common_layout(tiles: Sequence[Tile | Buffer], shape: Shape) -> TileLayout:
    """How a tile that is computed from others is divided: as most of them are that cannot be divided otherwise."""
    whole = [tile for tile in tiles if tile.shape == shape]
    firm = [tile for tile in whole if not (tile.is_uniform if isinstance(tile, Buffer) else tile.formula)]
    rigid = [tile for tile in firm if not isinstance(tile.layout, LineLayout)]
    for tile in rigid[1:]:
        if tile.layout != rigid[0].layout and len(rigid) == len(firm) and not _is_line(shape):
            refuse_layout()
    lines = [tile for tile in firm if isinstance(tile.layout, LineLayout)]
    if lines or rigid:
        return (lines or rigid)[0].layout
    for tile in whole:
        if isinstance(tile, Buffer):
            return tile.layout
    for tile in tiles:
        if isinstance(tile.layout, LineLayout) and tile.layout.is_kept and tile.layout.whole.shape == shape:
            return tile.layout.whole
    return whole[0].layout if whole else layout_of(shape)


def fitted(tile: Tile, layout: TileLayout) -> Tile:
    """A tile as it can be held where a `layout` is settled: divided so, and repeated to be as large."""
    shape = layout.shape
    missing = len(shape) - len(tile.shape)
    if missing < 0 or any(size not in (1, wanted) for size, wanted in zip(tile.shape, shape[missing:], strict=True)):
        refuse_shapes([layout, tile])
    if missing:
        tile = expanded(tile, [*[None] * missing, *[slice(None)] * len(tile.shape)])
    is_loose = tile.formula is not None or any(isinstance(each, LineLayout) for each in (tile.layout, layout))
    if tile.layout != layout and tile.shape == shape and not is_loose and not _is_line(shape):
        refuse_layout()
    return spread(tile, layout)
