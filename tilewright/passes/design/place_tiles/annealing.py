"""Placement by simulated annealing: random moves, the bad ones accepted less and less, from a seed.

Unlike sequential placement it looks at all tiles at once: short wires, and no more channels, memory and descriptors
than there are. It takes longer, and finds places where one choice after the other runs into a corner.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import exp
from random import Random
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from tilewright.device import TileId
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.interfaces import TileLike
from tilewright.dialects.aie.lookup import tile_of
from tilewright.dialects.aie.objectfifo import ObjectFifoOp
from tilewright.dialects.aie.tiles import LogicalTileOp, TileOp
from tilewright.ir.diagnostics import fail
from tilewright.passes.design.place_tiles.loads import Charge, Loads, StoredFifo, stored_fifos
from tilewright.passes.design.place_tiles.problem import ChannelCount, PlacementProblem

ROUNDS, GREEDY_ROUNDS = 60, 10
COOLING = 0.9  # the last of the rounds is at 1/500 of the first temperature
MOVES_PER_TILE, FEWEST_MOVES, MOST_MOVES = 8, 50, 400  # in a round
SAMPLES = 50
Pair: TypeAlias = "tuple[TileLike, TileLike]"

MANY_CONSUMERS = 4  # a broadcast to more costs double: its branches compete for the same wires
GAP_COST = 30  # for each step that tiles are too far apart; more than any wire that could save
ItemT = TypeVar("ItemT")
ValueT = TypeVar("ValueT")


class Annealer:
    def __init__(self, problem: PlacementProblem, seed: int):
        self.problem = problem
        self.random = Random(seed if seed else None)  # None: seeded by the system
        self.allowed = _allowed_places(problem)
        self.state = Candidate(problem, self._first_places())
        self.movable = [tile for tile in problem.tiles if len(self.allowed[tile]) > 1]

    def place(self) -> dict[LogicalTileOp, TileId]:
        """The best places that were found; it is an error if they break a limit that placement has to keep."""
        best, best_price = dict(self.state.places), self.state.price()
        price = best_price
        # Nothing to move, or nothing to gain: then there is nothing to do.
        for temperature in self._temperatures() if self.movable and price.total else ():
            for _ in range(min(max(MOVES_PER_TILE * len(self.movable), FEWEST_MOVES), MOST_MOVES)):
                price = self._try_move(price, temperature)
                if price.total < best_price.total:
                    best, best_price = dict(self.state.places), price
        self.state.move(best)
        self._require_legal()
        return {tile: best[tile] for tile in self.problem.tiles}

    def _temperatures(self) -> list[float]:
        """From one at which most moves are accepted, down to none."""
        base, changes = self.state.price().total, [1]  # not 0, even if no move changes anything
        for _ in range(SAMPLES):
            if moves := self._pick_move():
                self.state.move(moves)
                changes.append(abs(self.state.price().total - base))
                self.state.undo()
        typical = sum(changes) / len(changes)
        return [*(typical * COOLING**step for step in range(ROUNDS)), *[0.0] * GREEDY_ROUNDS]

    def _try_move(self, price: Price, temperature: float) -> Price:
        """Make a move if it is good, or not too bad for the temperature."""
        if not (moves := self._pick_move()):
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
        if not tile.is_core:  # mem and shim tiles may share a place
            return {tile: there}
        other = next((core for core, place in self.state.places.items() if place == there and core.is_core), None)
        if other is None:
            return {tile: there}
        return {tile: there, other: here} if here in self.allowed[other] else None

    def _first_places(self) -> dict[LogicalTileOp, TileId]:
        """Tiles with few places to choose from first; cores apart from each other, other tiles in turns."""
        places: dict[LogicalTileOp, TileId] = {}
        for tile in sorted(self.problem.tiles, key=lambda tile: len(self.allowed[tile])):
            taken = set(places.values()) if tile.is_core else set[TileId]()
            free = [place for place in self.allowed[tile] if place not in taken]
            if not free:
                why = f"the {len(self.allowed[tile])} places it may have are taken by other cores"
                if not self.allowed[tile]:
                    why = f"the device has no free {tile.tile_type} at the column and row asked for"
                fail(tile, "no available physical tile for placement", (tile, why))
            places[tile] = free[0] if tile.is_core else self.random.choice(free)
        return places

    def _require_legal(self) -> None:
        state = self.state
        for terms, what in ((state.cascades, "cascade"), (state.buffers, "shared-L1 buffer")):
            for (tile, other), gap in zip(terms.items, terms.values, strict=True):
                if gap:
                    fail(
                        tile,
                        f"found no placement that satisfies {what} adjacency",
                        (other, "this tile has to be next to it"),
                        (tile, "another sa-seed may help, or fewer wishes for columns and rows"),
                    )
        for tile, place in state.places.items():
            if state.loads.missing_channels(place):
                load = state.loads[place]
                fail(
                    tile,
                    f"found no placement with enough DMA channels: tile ({place.column}, {place.row}) would need "
                    f"{load.inputs} input/{load.outputs} output channels",
                    (tile, "another sa-seed may help, or fewer FIFOs and flows at this tile"),
                )


def _allowed_places(problem: PlacementProblem) -> dict[LogicalTileOp, Sequence[TileId]]:
    """Where each tile may go, by its kind and its wishes; not where a core is already. Cores: those apart first."""
    occupied = {core.place for core in problem.ops(CoreOp) if isinstance(core.tile_like, TileOp)}
    model, allowed = problem.model, dict[LogicalTileOp, Sequence[TileId]]()
    places = sorted(model.tiles, key=lambda place: (sum(place) % 2, place.row, place.column))
    for tile in problem.tiles:
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


class Price(NamedTuple):
    """What a placement breaks, in the units of costs, and the length of its wires."""

    broken: int
    wires: int

    @property
    def total(self) -> int:
        return self.broken + self.wires


class Candidate:
    """A placement that tiles can be moved in."""

    def __init__(self, problem: PlacementProblem, places: Mapping[LogicalTileOp, TileId]):
        self.problem, self.model = problem, problem.model
        self.places = dict(places)
        self._old: dict[LogicalTileOp, TileId] = {}
        fixed_bytes = _fixed_bytes(problem)
        cores = [tile for tile in problem.tiles if tile.is_core]
        self.wires = CostTerms(problem.nets(), lambda net: net, self._wire_length)
        self.cascades = CostTerms(problem.cascades.pairs, lambda pair: pair, self._cascade_gap)
        self.buffers = CostTerms(problem.buffers.pairs, lambda pair: pair, self._buffer_gap)
        own = CostTerms(problem.tiles, lambda tile: [tile], lambda tile: self._own_charges(tile, fixed_bytes))
        peers = CostTerms(cores, lambda tile: [tile, *problem.core_peers.tiles(tile)], self._far_peer_charges)
        self.storage = CostTerms(
            stored_fifos(problem), lambda fifo: fifo.tiles, lambda fifo: [*fifo.charges(self.position, self.model)]
        )
        self._gaps = (self.cascades, self.buffers)
        self._charges = (own, peers, self.storage)
        self.loads = Loads(problem.model)
        for terms in self._charges:
            for charges in terms.values:
                self.loads.add(charges)

    def position(self, tile: TileLike) -> TileId | None:
        return self.places[tile] if isinstance(tile, LogicalTileOp) else tile.place

    def move(self, moves: Mapping[LogicalTileOp, TileId]) -> None:
        self._old = {tile: self.places[tile] for tile in moves}
        self.places |= moves
        for terms in (self.wires, *self._gaps, *self._charges):
            terms.refresh(moves)
        self._charge(before=-1)

    def undo(self) -> None:
        """Take the last move back."""
        self._charge(before=1)
        self.places |= self._old
        for terms in (self.wires, *self._gaps, *self._charges):
            terms.undo()

    def _charge(self, before: int) -> None:
        """Add what the last move changed to the loads, or take it away."""
        for terms in self._charges:
            for old, new in terms.changes():
                self.loads.add(old, before)
                self.loads.add(new, -before)

    def price(self) -> Price:
        gaps = GAP_COST * sum(sum(terms.values) for terms in self._gaps)
        return Price(gaps + self.loads.cost(), sum(self.wires.values))

    def _wire_length(self, net: Sequence[TileLike]) -> int:
        """Half the way around all ends, and the area in between: a row is easier to route than a scattered set."""
        places = [place for tile in net if (place := self.position(tile)) is not None]
        if not places:
            return 0
        columns, rows = zip(*places, strict=True)
        width, height = max(columns) - min(columns), max(rows) - min(rows)
        return (width + height) * (2 if len(net) > MANY_CONSUMERS + 1 else 1) + width * height

    def _cascade_gap(self, pair: Pair) -> int:
        source, dest = map(self.position, pair)
        if source is None or dest is None:
            return 0
        # a cascade leads there and nowhere else
        east, south = TileId(source.column + 1, source.row), TileId(source.column, source.row - 1)
        return min(_distance(dest, east), _distance(dest, south))

    def _buffer_gap(self, pair: Pair) -> int:
        user, owner = map(self.position, pair)
        if user is None or owner is None or self.model.is_legal_memory_affinity(*user, *owner):
            return 0
        return max(1, _distance(user, owner) - 1)

    def _own_charges(self, tile: LogicalTileOp, fixed_bytes: Mapping[TileLike, int]) -> list[Charge]:
        """What a tile takes wherever it is."""
        need = self.problem.need(tile)
        return [Charge(self.places[tile], need.inputs, need.outputs, fixed_bytes.get(tile, 0))]

    def _far_peer_charges(self, tile: LogicalTileOp) -> list[Charge]:
        """Channels of a core for FIFOs to other cores with which it shares no memory."""
        place, channels = self.places[tile], ChannelCount()
        for peer, is_producer in self.problem.core_peers.peers(tile):
            other = self.position(peer)
            if other is not None and not self.model.is_legal_memory_affinity(*place, *other):
                channels.count(output=is_producer)
        return [Charge(place, channels.inputs, channels.outputs)] if channels.total else []


def _fixed_bytes(problem: PlacementProblem) -> dict[TileLike, int]:
    """Memory that the buffers and the stack of a tile take wherever it is."""
    sizes: dict[TileLike, int] = defaultdict(int)
    for buffer in problem.ops(BufferOp):
        if (tile := tile_of(buffer.tile)) is not None:
            sizes[tile] += buffer.size_bytes
    for core in problem.ops(CoreOp):
        if (tile := tile_of(core.tile)) is not None:
            sizes[tile] += core.stack_bytes
    return sizes


def _distance(one: TileId, other: TileId) -> int:
    return abs(one.column - other.column) + abs(one.row - other.row)


class CostTerms(Generic[ItemT, ValueT]):
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
            for tile in set(tiles_of(item)):  # one that is at both ends counts once
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


def spill_fifos(state: Candidate) -> list[tuple[ObjectFifoOp, TileId]]:
    """Which FIFOs move, and where to: the largest first, as long as their tile holds too much."""
    loads, spilled = state.loads, list[tuple[ObjectFifoOp, TileId]]()
    stored = zip(state.storage.items, state.storage.values, strict=True)
    movable = [(fifo, charge) for fifo, charges in stored for charge in charges if charge.movable]
    for fifo, charge in sorted(movable, key=lambda item: -item[1].size_bytes):
        if loads.spare_bytes(charge.place) >= 0:
            continue
        rooms = [place for place in _reachable(state, fifo) if place != charge.place]
        room = max(rooms, key=loads.spare_bytes, default=None)
        if room is not None and loads.spare_bytes(room) >= charge.size_bytes:
            # Later, smaller FIFOs see what is left.
            loads.add([charge], -1)
            loads.add([charge._replace(place=room)])
            spilled.append((fifo.op, room))
    return spilled


def _reachable(state: Candidate, fifo: StoredFifo) -> list[TileId]:
    """The core tiles whose memory the cores at both ends reach."""
    ends = [place for tile in fifo.tiles if (place := state.position(tile)) is not None]
    near = [{place, *state.loads.neighbours[place]} for place in ends if state.model.is_core_tile(*place)]
    return sorted(place for place in near[0] if all(place in others for others in near)) if near else []
