"""Layouts of tiles: which elements each lane holds.

They compute with numbers of the program, and with NumPy's for all lanes at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, TypeAlias, cast

import numpy as np

from tilewright.iron.builders.scalars import ScalarValue

Shape: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class TileLayout:
    """Which elements of a tile each lane holds: element `e` is with lane `e mod workers`."""

    shape: Shape
    workers: int

    @property
    def slots(self) -> int:
        """How many elements a lane holds."""
        return -(-prod(self.shape) // self.workers)

    @property
    def is_exact(self) -> bool:
        """Whether all lanes hold as many."""
        return prod(self.shape) % self.workers == 0

    def indices(self, slot: int, number: ScalarValue) -> list[Any]:
        """Where in the tile the element is that lane `number` holds in this slot."""
        return _split(slot * self.workers, number, self.workers, self.shape)

    def line_keys(self, slot: int) -> tuple[Any, Any]:
        """What is the same for slots of one row, and of one column, of a tile of two dimensions."""
        return slot, "same" if self.workers % self.shape[1] == 0 else slot

    def is_there(self, slot: int, number: ScalarValue) -> ScalarValue | None:
        """Whether the tile has such an element; None if that is certain."""
        if (slot + 1) * self.workers <= prod(self.shape):
            return None
        return number + slot * self.workers < prod(self.shape)

    def is_own(self, slot: int, number: ScalarValue) -> ScalarValue | None:
        """Whether it is this lane, of those that hold the element, that stores it; None if that is certain."""
        return self.is_there(slot, number)


@dataclass(frozen=True)
class SquareLayout(TileLayout):
    """A tile of two dimensions, divided in both among `lanes`: so many rows and columns of them."""

    lanes: tuple[int, int]

    def indices(self, slot: int, number: ScalarValue) -> list[Any]:
        rows, columns = self.lanes
        row, column = self.line_keys(slot)
        return [number // columns + row * rows, number % columns + column * columns]

    def line_keys(self, slot: int) -> tuple[Any, Any]:
        return divmod(slot, self.shape[1] // self.lanes[1])


@dataclass(frozen=True)
class MovedLayout(TileLayout):
    """A tile with the elements of another one at other places; lanes hold what they held."""

    straight: TileLayout

    @property
    def slots(self) -> int:
        return self.straight.slots

    @property
    def is_exact(self) -> bool:
        return self.straight.is_exact

    def is_there(self, slot: int, number: ScalarValue) -> ScalarValue | None:
        return self.straight.is_there(slot, number)

    def is_own(self, slot: int, number: ScalarValue) -> ScalarValue | None:
        return self.straight.is_own(slot, number)


@dataclass(frozen=True)
class TurnedLayout(MovedLayout):
    """A tile whose dimensions are those of another one in reverse."""

    def indices(self, slot: int, number: ScalarValue) -> list[Any]:
        return self.straight.indices(slot, number)[::-1]

    def line_keys(self, slot: int) -> tuple[Any, Any]:
        row, column = self.straight.line_keys(slot)
        return column, row


def _split(first: int, number: ScalarValue, workers: int, shape: Shape) -> list[Any]:
    """The indices of element `first + number`, where `first` is a multiple of the number of lanes."""
    if len(shape) <= 1:
        return [number + first if first else number][: len(shape)]
    width = shape[-1]
    if workers % width == 0:
        return [*_split(first // width, number // width, workers // width, shape[:-1]), number % width]
    if width % workers == 0:
        rest, column = divmod(first, width)
        return [*_indices_of(rest, shape[:-1]), number + column if column else number]
    place = number + first
    return [*split_value(place // width, shape[:-1]), place % width]


def split_value(value: ScalarValue, shape: Shape) -> list[Any]:
    """The indices of an element, by its number in row-major order."""
    return [value] if len(shape) == 1 else [*split_value(value // shape[-1], shape[:-1]), value % shape[-1]]


def _indices_of(number: int, shape: Shape) -> list[int]:
    return [number] if len(shape) == 1 else [*_indices_of(number // shape[-1], shape[:-1]), number % shape[-1]]


def square_layout(shape: Shape, workers: int) -> TileLayout:
    """A tile of two dimensions, divided so that lanes hold about as many rows as columns."""
    rows, columns = shape
    best: tuple[int, int] | None = None
    for across in range(1, workers + 1):
        down = workers // across
        if workers % across or rows % down or columns % across:
            continue
        if best is None or _unevenness(shape, (down, across)) < _unevenness(shape, best):
            best = down, across
    return TileLayout(shape, workers) if best is None else SquareLayout(shape, workers, best)


def _unevenness(shape: Shape, lanes: tuple[int, int]) -> float:
    """How much a lane reads for what it computes; neighbours in a row are better than in a column."""
    rows, columns = shape[0] // lanes[0], shape[1] // lanes[1]
    return (rows + columns) / (rows * columns) + (0.001 * lanes[0] / lanes[1])


@dataclass(frozen=True)
class Lines:
    """How the lanes hold the lines of a tile along an axis."""

    groups: tuple[tuple[int, ...], ...]
    """The slots of a lane, those of one line together."""
    bits: int
    """Lanes whose numbers differ in these bits have other elements of the same lines."""
    copies: int
    """Lanes whose numbers differ in these bits have the same elements."""


@lru_cache(256)
def lines_of(layout: TileLayout, axis: int) -> Lines | None:
    """How lanes hold lines along an axis; None if that is not the same for all of them."""
    if not layout.is_exact:
        return None
    number = np.arange(layout.workers)
    # layouts compute with numbers of NumPy as with those of the program
    numbers = cast(Any, number)
    places = [[np.broadcast_to(i, number.shape) for i in layout.indices(s, numbers)] for s in range(layout.slots)]
    along = np.array([place.pop(axis) for place in places])
    others = np.array(places).reshape(layout.slots, -1, layout.workers)
    groups = dict[bytes, list[int]]()
    for slot in range(layout.slots):
        groups.setdefault(others[slot].tobytes(), []).append(slot)
    bits = copies = 0
    for bit in (1 << place for place in range((layout.workers - 1).bit_length())):
        partner = number ^ bit
        if partner.max() >= layout.workers or not np.array_equal(others[..., partner], others):
            continue
        if np.array_equal(along[:, partner], along):
            copies |= bit
        else:
            bits |= bit
    if any(len(group) << bits.bit_count() != layout.shape[axis] for group in groups.values()):
        return None
    return Lines(tuple(map(tuple, groups.values())), bits, copies)


@dataclass(frozen=True)
class LineLayout(TileLayout):
    """A number for each line of a tile along an axis, with all lanes that hold elements of the line."""

    whole: TileLayout
    axis: int

    @property
    def lines(self) -> Lines:
        found = lines_of(self.whole, self.axis)
        assert found is not None
        return found

    @property
    def is_kept(self) -> bool:
        """Whether the axis is there, as one of one element."""
        return len(self.shape) == len(self.whole.shape)

    @property
    def slots(self) -> int:
        return len(self.lines.groups)

    @property
    def is_exact(self) -> bool:
        return True

    def indices(self, slot: int, number: ScalarValue) -> list[Any]:
        place = self.whole.indices(self.lines.groups[slot][0], number)
        place[self.axis : self.axis + 1] = [0] * self.is_kept
        return place

    def line_keys(self, slot: int) -> tuple[Any, Any]:
        return slot, slot

    def is_there(self, slot: int, number: ScalarValue) -> ScalarValue | None:
        return None

    def is_own(self, slot: int, number: ScalarValue) -> ScalarValue | None:
        shared_bits = self.lines.bits | self.lines.copies
        return number & shared_bits == 0 if shared_bits else None


@dataclass(frozen=True)
class ExpandedLayout(MovedLayout):
    """A tile with dimensions of one element more than another one."""

    places: tuple[int, ...]
    """Where the dimensions of the other one are."""

    def indices(self, slot: int, number: ScalarValue) -> list[Any]:
        found: list[Any] = [0] * len(self.shape)
        for place, index in zip(self.places, self.straight.indices(slot, number), strict=True):
            found[place] = index
        return found

    def line_keys(self, slot: int) -> tuple[Any, Any]:
        return slot, slot
