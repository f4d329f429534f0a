"""Placement by simulated annealing: random moves, the bad ones accepted less and less, from a seed.

Unlike sequential placement it looks at all tiles at once: short wires, and no more channels, memory and descriptors
than there are. It takes longer, and finds places where one choice after the other runs into a corner.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from random import Random
from typing import NoReturn

from tilewright.device import TileId
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.interfaces import TileLike
from tilewright.dialects.aie.objectfifo import ObjectFifoOp
from tilewright.dialects.aie.tiles import LogicalTileOp, TileOp
from tilewright.ir.diagnostics import fail
from tilewright.passes.design.place_tiles.candidate import Candidate, Price
from tilewright.passes.design.place_tiles.problem import Design
from tilewright.passes.design.place_tiles.spilling import spill_fifos

ROUNDS, GREEDY_ROUNDS = 60, 10
COOLING = 0.9  # the last of the rounds is at 1/500 of the first temperature
MOVES_PER_TILE, FEWEST_MOVES, MOST_MOVES = 8, 50, 400  # in a round
SAMPLES = 50


class Annealer:
    def __init__(self, design: Design, seed: int):
        self.design = design
        self.random = Random(seed if seed else None)
        self.allowed = _allowed_places(design)
        self.state = Candidate(design, self._first_places())
        self.movable = [tile for tile in design.tiles if len(self.allowed[tile]) > 1]

    def place(self) -> dict[LogicalTileOp, TileId]:
        """The best places that were found; it is an error if they break a limit that placement has to keep."""
        best, best_price = dict(self.state.places), self.state.price()
        price = best_price
        for temperature in self._temperatures() if self.movable and price.total else ():
            for _ in range(min(max(MOVES_PER_TILE * len(self.movable), FEWEST_MOVES), MOST_MOVES)):
                price = self._try_move(price, temperature)
                if price.total < best_price.total:
                    best, best_price = dict(self.state.places), price
        self.state.move(best)
        self._require_legal()
        return {tile: best[tile] for tile in self.design.tiles}

    def spilled(self) -> list[tuple[ObjectFifoOp, TileId]]:
        """FIFOs whose buffers have to be elsewhere, because those of their tile are too many for its memory."""
        return spill_fifos(self.state)

    def _temperatures(self) -> list[float]:
        """From one at which most moves are accepted, down to none."""
        start = self._typical_change()
        return [*(start * COOLING**step for step in range(ROUNDS)), *[0.0] * GREEDY_ROUNDS]

    def _typical_change(self) -> float:
        base, changes = self.state.price().total, [1]
        for _ in range(SAMPLES):
            if moves := self._pick_move():
                self.state.move(moves)
                changes.append(abs(self.state.price().total - base))
                self.state.undo()
        return sum(changes) / len(changes)

    def _try_move(self, price: Price, temperature: float) -> Price:
        """Make a move if it is good, or not too bad for the temperature."""
        moves = self._pick_move()
        if not moves:
            return price
        self.state.move(moves)
        after = self.state.price()
        worse = after.total - price.total
        if worse <= 0 or (temperature > 0 and self.random.random() < exp(-worse / temperature)):
            return after
        self.state.undo()
        return price

    def _pick_move(self) -> dict[LogicalTileOp, TileId] | None:
        """Some tile to some place; a core that is there comes here, if both may."""
        tile = self.random.choice(self.movable)
        here, there = self.state.places[tile], self.random.choice(self.allowed[tile])
        if here == there:
            return None
        if not tile.is_core:
            return {tile: there}
        other = next((core for core, place in self.state.places.items() if place == there and core.is_core), None)
        if other is None:
            return {tile: there}
        return {tile: there, other: here} if here in self.allowed[other] else None

    def _first_places(self) -> dict[LogicalTileOp, TileId]:
        """Tiles with few places to choose from first; cores apart from each other, other tiles in turns."""
        places: dict[LogicalTileOp, TileId] = {}
        for tile in sorted(self.design.tiles, key=lambda tile: len(self.allowed[tile])):
            taken = set(places.values()) if tile.is_core else set[TileId]()
            free = [place for place in self.allowed[tile] if place not in taken]
            if not free:
                fail(tile, "no available physical tile for placement", (tile, self._why_none(tile)))
            places[tile] = free[0] if tile.is_core else self.random.choice(free)
        return places

    def _why_none(self, tile: LogicalTileOp) -> str:
        if not self.allowed[tile]:
            return f"the device has no free {tile.tile_type} at the column and row asked for"
        return f"the {len(self.allowed[tile])} places it may have are taken by other cores"

    def _require_legal(self) -> None:
        state = self.state
        for terms, what in ((state.cascades, "cascade"), (state.buffers, "shared-L1 buffer")):
            for (tile, other), gap in zip(terms.items, terms.values, strict=True):
                if gap:
                    self._report_gap(tile, other, what)
        for tile, place in state.places.items():
            if state.loads.missing_channels(place):
                load = state.loads[place]
                fail(
                    tile,
                    f"found no placement with enough DMA channels: tile ({place.column}, {place.row}) would need "
                    f"{load.inputs} input/{load.outputs} output channels",
                    (tile, "another sa-seed may help, or fewer FIFOs and flows at this tile"),
                )

    def _report_gap(self, tile: TileLike, other: TileLike, what: str) -> NoReturn:
        fail(
            tile,
            f"found no placement that satisfies {what} adjacency",
            (other, "this tile has to be next to it"),
            (tile, "another sa-seed may help, or fewer wishes for columns and rows"),
        )


def _allowed_places(design: Design) -> dict[LogicalTileOp, Sequence[TileId]]:
    """Where each tile may go, by its kind and its wishes; not where a core is already. Cores: those apart first."""
    occupied = {core.place for core in design.ops(CoreOp) if isinstance(core.tile_like, TileOp)}
    model, allowed = design.model, dict[LogicalTileOp, Sequence[TileId]]()
    places = sorted(model.tiles, key=lambda place: (sum(place) % 2, place.row, place.column))
    for tile in design.tiles:
        column, row = (None if number is None else number.value.data for number in (tile.col, tile.row))
        allowed[tile] = [
            place
            for place in places
            if model.tile_type(*place) is tile.tile_type
            and column in (None, place.column)
            and row in (None, place.row)
            and not (tile.is_core and place in occupied)
        ]
    return allowed
