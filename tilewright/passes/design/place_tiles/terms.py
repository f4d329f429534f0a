"""Values that each depend on the places of a few tiles, kept up to date as tiles move."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from tilewright.dialects.aie.interfaces import TileLike

ItemT = TypeVar("ItemT")
ValueT = TypeVar("ValueT")


class Terms(Generic[ItemT, ValueT]):
    """`values[n]` is what `compute` makes of item n; moving a tile concerns the items it takes part in."""

    def __init__(
        self,
        items: Sequence[ItemT],
        tiles_of: Callable[[ItemT], Iterable[TileLike]],
        compute: Callable[[ItemT], ValueT],
    ):
        self.items, self._compute = items, compute
        self.values = [compute(item) for item in items]
        self._concerned: dict[TileLike, list[int]] = defaultdict(list)
        for number, item in enumerate(items):
            for tile in set(tiles_of(item)):
                self._concerned[tile].append(number)

        self._old: dict[int, ValueT] = {}

    def refresh(self, moved: Iterable[TileLike]) -> None:
        """Compute anew what concerns tiles that have moved."""
        self._old = {}
        for tile in moved:
            for number in self._concerned.get(tile, ()):
                if number not in self._old:
                    self._old[number] = self.values[number]
                    self.values[number] = self._compute(self.items[number])

    def changes(self) -> Iterator[tuple[ValueT, ValueT]]:
        """What the last refresh changed: the value before and the value now."""
        return ((value, self.values[number]) for number, value in self._old.items())

    def undo(self) -> None:
        """Take the last refresh back."""
        for number, value in self._old.items():
            self.values[number] = value
