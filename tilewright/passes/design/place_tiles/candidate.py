"""A placement while it is being improved: where everything is, what that costs, and which limits it breaks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from tilewright.device import TileId
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.interfaces import TileLike
from tilewright.dialects.aie.lookup import tile_of
from tilewright.dialects.aie.tiles import LogicalTileOp
from tilewright.passes.design.place_tiles.fifo_storage import StoredFifo, stored_fifos
from tilewright.passes.design.place_tiles.loads import Charge, Loads
from tilewright.passes.design.place_tiles.problem import Channels, Design
from tilewright.passes.design.place_tiles.terms import Terms

Pair: TypeAlias = "tuple[TileLike, TileLike]"

MANY_CONSUMERS = 4  # a broadcast to more costs double: its branches compete for the same wires
GAP_COST = 30  # for each step that tiles are too far apart; more than any wire that could save


class Price(NamedTuple):
    """What a placement breaks, in the units of costs, and the length of its wires."""

    broken: int
    wires: int

    @property
    def total(self) -> int:
        return self.broken + self.wires


class Candidate:
    """A placement that tiles can be moved in."""

    def __init__(self, design: Design, places: Mapping[LogicalTileOp, TileId]):
        self.design, self.model = design, design.model
        self.places = dict(places)
        self._old: dict[LogicalTileOp, TileId] = {}
        fixed_bytes = _fixed_bytes(design)
        cores = [tile for tile in design.tiles if tile.is_core]
        self.wires = Terms(design.nets(), lambda net: net, self._wire_length)
        self.cascades = Terms(design.cascades.pairs, lambda pair: pair, self._cascade_gap)
        self.buffers = Terms(design.buffers.pairs, lambda pair: pair, self._buffer_gap)
        own = Terms(design.tiles, lambda tile: [tile], lambda tile: self._own_charges(tile, fixed_bytes))
        peers = Terms(cores, lambda tile: [tile, *_peers(design, tile)], self._far_peer_charges)
        self.storage = Terms(stored_fifos(design), lambda fifo: fifo.tiles, self._fifo_charges)
        self._gaps = (self.cascades, self.buffers)
        self._charges = (own, peers, self.storage)
        self.loads = Loads(design.model)
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
        east, south = TileId(source.column + 1, source.row), TileId(source.column, source.row - 1)
        return min(_distance(dest, east), _distance(dest, south))

    def _buffer_gap(self, pair: Pair) -> int:
        user, owner = map(self.position, pair)
        if user is None or owner is None or self.model.is_legal_memory_affinity(*user, *owner):
            return 0
        return max(1, _distance(user, owner) - 1)

    def _own_charges(self, tile: LogicalTileOp, fixed_bytes: Mapping[TileLike, int]) -> list[Charge]:
        """What a tile takes wherever it is."""
        need = self.design.need(tile)
        return [Charge(self.places[tile], need.inputs, need.outputs, fixed_bytes.get(tile, 0))]

    def _far_peer_charges(self, tile: LogicalTileOp) -> list[Charge]:
        """Channels of a core for FIFOs to other cores with which it shares no memory."""
        place, channels = self.places[tile], Channels()
        for peer, is_producer in self.design.core_peers.peers(tile):
            other = self.position(peer)
            if other is not None and not self.model.is_legal_memory_affinity(*place, *other):
                channels.count(output=is_producer)
        return [Charge(place, channels.inputs, channels.outputs)] if channels.total else []

    def _fifo_charges(self, fifo: StoredFifo) -> list[Charge]:
        return list(fifo.charges(self.position, self.model))


def _fixed_bytes(design: Design) -> dict[TileLike, int]:
    """Memory that the buffers and the stack of a tile take wherever it is."""
    sizes: dict[TileLike, int] = defaultdict(int)
    for buffer in design.ops(BufferOp):
        if (tile := tile_of(buffer.tile)) is not None:
            sizes[tile] += buffer.size_bytes
    for core in design.ops(CoreOp):
        if (tile := tile_of(core.tile)) is not None:
            sizes[tile] += core.stack_bytes
    return sizes


def _peers(design: Design, tile: TileLike) -> list[TileLike]:
    return [peer for peer, _ in design.core_peers.peers(tile)]


def _distance(one: TileId, other: TileId) -> int:
    return abs(one.column - other.column) + abs(one.row - other.row)
