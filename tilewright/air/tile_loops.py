"""Loops of the program that carry tiles from turn to turn: each lane carries its elements."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.ir import Attribute

from tilewright.air.tile_axes import fitted
from tilewright.air.tile_layouts import TileLayout
from tilewright.air.tiles import Elementwise, Tile, as_tile
from tilewright.air.trace import in_herd
from tilewright.iron.builders.control import for_
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import InsertionPoint
from tilewright.iron.builders.types import is_list

CARRIED = "carried tiles"


@dataclass(frozen=True)
class CarriedTile:
    """How a loop carries a tile."""

    layout: TileLayout
    type: Attribute

    def slots_of(self, given: Any) -> Sequence[Any]:
        """What is handed on for it."""
        tile = as_tile(given)
        if not isinstance(tile, Tile) or tile.shape != self.layout.shape or tile.type != self.type:
            sizes = " x ".join(map(str, self.layout.shape))
            refuse(f"this loop carries a tile of {sizes} of {self.type}, not {given!r}")
        return fitted(tile, self.layout).slots


Carried = list["CarriedTile | None"]
"""For each value that a loop carries; None for numbers."""


def sequential_tiles(start: Any, stop: Any, step: Any, iter_args: Sequence[Any]) -> Generator[Any]:
    """`sequential` with tiles, or buffers, among what it carries."""
    given = [as_tile(value) for value in iter_args]
    forms: Carried = [CarriedTile(v.layout, v.type) if isinstance(v, Tile) else None for v in given]
    flat = [part for value in given for part in (value.slots if isinstance(value, Tile) else [value])]

    def packed(values: Any) -> Any:
        rest = iter(cast("tuple[Any, ...]", values) if isinstance(values, tuple) else (values,))
        found = [
            next(rest) if form is None else Tile(form.layout, [next(rest) for _ in range(form.layout.slots)])
            for form in forms
        ]
        return found[0] if len(found) == 1 else tuple(found)

    for variable, arguments, results in for_(start, stop, step, flat):
        in_herd("a tile").made.setdefault(CARRIED, {})[InsertionPoint.current.block] = forms
        yield variable, packed(arguments), packed(results)


def handed_on(values: Any) -> list[Any]:
    """What ends the body of a loop, tiles by their elements."""
    given = list(values) if is_list(values) else [values]
    forms: Carried | None = in_herd("a tile").made.get(CARRIED, {}).get(InsertionPoint.current.block)
    if forms is None:
        refuse("nothing here carries a tile", (None, "name it in `iter_args` of the loop: `iter_args=[tile]`"))
    if len(forms) != len(given):
        refuse(f"this loop carries {len(forms)} values, but its body hands on {len(given)}")
    found = list[Any]()
    for form, value in zip(forms, given, strict=True):
        found += [value] if form is None else form.slots_of(value)
    return found


def carries_tiles(values: Any) -> bool:
    given = list(values) if is_list(values) else [values]
    return any(isinstance(value, Elementwise) for value in given)
