"""Elements of arrays at indices that tiles hold: `a[rows, columns]` to load, to store to, or to update in one step."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.air.arrays import Array, Region, Unloaded, refuse_open_size
from tilewright.air.tile_axes import spread, together
from tilewright.air.tile_layouts import TileLayout
from tilewright.air.tile_transfers import both_hold, check_shape, guarded_load, inside
from tilewright.air.tiles import Buffer, Tile, arange, as_tile, layout_of, refuse_shapes, workers_here
from tilewright.iron.builders.control import if_
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.scalars import ScalarValue, as_index, cmpi
from tilewright.iron.builders.types import is_integer


@dataclass(frozen=True, repr=False)
class Scattered(Unloaded):
    """The elements of an `array` at `keys`, indices of which some are tiles of one shape; they may be outside of it."""

    array: Array
    keys: tuple[Any, ...]

    @classmethod
    def of(cls, array: Array, keys: Sequence[Any]) -> Scattered:
        """As NumPy has it: tiles of indices go together, and a slice among them is a dimension of its own."""
        places = [place for place, key in enumerate(keys) if isinstance(key, Tile | Buffer)]
        if places != list(range(places[0], places[-1] + 1)):
            refuse(
                "tiles of indices stand side by side",
                (None, "give a tile for each dimension: `air.arange(n)[None, :]`"),
            )
        inner = max(len(keys[place].shape) for place in places)
        slices = [place for place, key in enumerate(keys) if isinstance(key, slice)]
        before, behind = (sum(place < places[0] for place in slices), sum(place > places[0] for place in slices))
        region = Region.of(array, [slice(None) if place in places else key for place, key in enumerate(keys)])

        def spanning(place: int, key: Any) -> Any:
            """A key as a tile with all dimensions of the elements."""
            if isinstance(key, Tile | Buffer):
                around = [None] * (before + inner - len(key.shape)), [None] * behind
                return as_tile(key)[(*around[0], *[slice(None)] * len(key.shape), *around[1])]
            if not isinstance(key, slice):
                return key
            if not is_integer(region.sizes[place]):
                refuse_open_size()
            dimension = slices.index(place) + (inner if place > places[0] else 0)
            line = region.offsets[place] + arange(region.sizes[place])
            return line[tuple(slice(None) if i == dimension else None for i in range(before + inner + behind))]

        return cls(array, tuple(together([spanning(place, key) for place, key in enumerate(keys)])))

    @property
    def layout(self) -> TileLayout:
        return next(key.layout for key in self.keys if isinstance(key, Tile))

    def along(self, tile: Tile) -> tuple[Scattered, Tile]:
        """The same elements and a tile for them, both divided in one way."""
        if len(tile.shape) > len(self.layout.shape):
            refuse_shapes([next(key for key in self.keys if isinstance(key, Tile)), tile])
        *keys, found = together([*self.keys, tile])
        if found.shape != self.layout.shape:
            refuse_shapes([next(key for key in self.keys if isinstance(key, Tile)), tile])
        return Scattered(self.array, tuple(keys)), found

    def spot(self, slot: int) -> tuple[list[Any], ScalarValue | None]:
        """Where the element of a slot is, and whether that is in the array."""
        keys = [as_index(key.slots[slot] if isinstance(key, Tile) else key) for key in self.keys]
        condition: ScalarValue | None = None
        for key, size in zip(keys, self.array.shape, strict=True):
            condition = both_hold(condition, cmpi("ult", key, as_index(size)))
        return keys, condition

    def load(self, fill: Any = 0, like: Any = None) -> Tile:
        """The elements as a tile, `fill` for those outside of the array, divided as `like` is, if that is given."""
        layout, keys = self.layout, self.keys
        if like is not None:
            layout = as_tile(like).layout
            keys = tuple(spread(key, layout) if isinstance(key, Tile) else key for key in keys)
        place, slots = Scattered(self.array, keys), list[ScalarValue]()
        for slot in range(layout.slots):
            spot, condition = place.spot(slot)
            there = layout.is_there(slot, workers_here().number)
            slots.append(guarded_load(self.array, spot, both_hold(there, condition), fill))
        return Tile(layout, slots)

    def store(self, given: Any) -> None:
        """Store a tile, or one number everywhere, as far as elements are in the array."""
        for keys, value in spots(self, given):
            self.array.set_element(keys, value)

    def __repr__(self) -> str:
        return f"<elements of {self.array!r} at tiles of indices>"


def spots(place: Region | Scattered, given: Any) -> Generator[tuple[list[Any], Any]]:
    """Where the elements of a part of an array are that this lane is to store, and the numbers for them."""
    tile, number = as_tile(given), workers_here().number
    if isinstance(place, Scattered) and isinstance(tile, Tile):
        place, tile = place.along(tile)
    if isinstance(place, Region):
        layout = tile.layout if isinstance(tile, Tile) else layout_of(place.known_shape())
        check_shape(layout.shape, place.known_shape())
    else:
        layout = place.layout
    for slot in range(layout.slots):
        own = layout.is_own(slot, number)
        if isinstance(place, Region):
            indices = layout.indices(slot, number)
            keys, condition = place.keys(indices), inside(place, indices)
        else:
            keys, condition = place.spot(slot)
        wanted, value = both_hold(own, condition), tile.slots[slot] if isinstance(tile, Tile) else tile
        if wanted is None:
            yield keys, value
        else:
            with if_(wanted, hasElse=False):
                yield keys, value
