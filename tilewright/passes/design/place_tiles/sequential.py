"""Sequential placement: one tile after the other, cores and what is pinned first, then mem and shim tiles.

Cores come column by column from the bottom, those with the strictest wishes before the others. Mem and shim tiles
follow, each near the columns of the cores it serves. A choice is final: a tile that then finds no place is an error,
which names the tiles in its way.

What limits a core is its DMA. A FIFO to another kind of tile takes a channel, while one between cores takes none if the
two can share memory. A core with more such FIFOs than spare channels needs some of its peers as neighbours, and the
slots around it are kept for them as long as others are left to choose from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from xdsl.ir import SSAValue

from tilewright.device import TileId
from tilewright.dialects.aie.interfaces import TileLike
from tilewright.dialects.aie.lookup import tile_of
from tilewright.dialects.aie.tiles import LogicalTileOp
from tilewright.ir.diagnostics import Where, fail
from tilewright.passes.design.place_tiles.problem import ChannelCount, Edges, PlacementProblem

Note: TypeAlias = "tuple[Where, str]"
LOGICAL_TILE = "an LTO is a logical tile, one without coordinates: `aie.logical_tile`, or a Worker without `tile=`"
"""What upstream's notes call the tiles that are to be placed."""


@dataclass(frozen=True)
class Adjacency:
    """A kind of pairs whose tiles must be next to each other, and how to say so."""

    name: str
    edges: Edges
    is_legal: Callable[[TileId, TileId], bool]
    labels: tuple[str, str]  # what the second tile is to the first, and the first to the second
    hint: str


@dataclass
class PlaceSearch:
    """A place for a core, or why there is none."""

    place: TileId | None = None
    saw_candidate: bool = False
    buffers_fit: bool = False
    is_short_of_channels: bool = False


class CorePlacer:
    def __init__(self, problem: PlacementProblem, places: PlacedTiles, cores_per_column: int | None):
        self.problem, self.places, self.model = problem, places, problem.model
        self.free = self._core_places(cores_per_column)
        self.reserved: dict[TileId, list[LogicalTileOp]] = defaultdict(list)
        self.buffers = Adjacency(
            "shared-L1 buffer",
            problem.buffers,
            self._reaches,
            ("shared-L1 buffer owner", "shared-L1 buffer consumer"),
            "shared-L1 buffer adjacency requires this LTO to be on a tile whose L1 is shared with the buffer owner's "
            "tile (N/S neighbor, or W neighbor per the device's checkerboard rule)",
        )
        self.cascades = Adjacency(
            "cascade",
            problem.cascades,
            _is_cascade_step,
            ("cascade destination", "cascade source"),
            "cascade adjacency requires the destination tile to be one row South or one column East of the source tile",
        )

    def place(self) -> None:
        for tile in sorted(self.problem.tiles, key=self._urgency):
            if tile.place is not None:
                self._place_pinned(tile, tile.place)
            elif tile.is_core:
                self._place_core(tile)
            elif tile.is_shim_pl:
                fail(tile, "DMA channel-based SequentialPlacer does not support unplaced ShimPLTiles (no DMAs).")

    def _core_places(self, limit: int | None) -> list[TileId]:
        """Where cores may go, column by column from the bottom."""
        columns: dict[int, list[TileId]] = defaultdict(list)
        for tile in self.model.tiles:
            if self.model.is_core_tile(*tile):
                columns[tile.column].append(tile)
        most = max(map(len, columns.values()))
        if limit is not None and limit > most:
            fail(
                self.problem.device,
                f"requested cores-per-col ({limit}) exceeds device capacity ({most} cores per column)",
            )
        return [tile for column in columns.values() for tile in column[:limit]]  # no limit: whole columns

    def _reaches(self, place: TileId, memory: TileId) -> bool:
        return self.model.is_legal_memory_affinity(*place, *memory)

    def _urgency(self, tile: LogicalTileOp) -> tuple[int, int, int]:
        """The order of placement: what is pinned, then what needs neighbours and those neighbours, then the rest."""
        freedom = (tile.col is None) + (tile.row is None)
        demand = self.problem.demand(tile)
        peers = map(self.problem.demand, self.problem.core_peers.tiles(tile))
        # negative: the greatest demand first, and the program's order among equals
        return freedom, -max(demand, *peers, 0), -demand

    def _place_pinned(self, tile: LogicalTileOp, place: TileId) -> None:
        for kind in (self.buffers, self.cascades):
            if not self._is_close(tile, place, kind):
                fail(
                    tile,
                    f"tile ({place.column}, {place.row}) violates {kind.name} adjacency",
                    *self._peer_notes(tile, kind.edges, kind.labels),
                    (tile, kind.hint),
                    (tile, LOGICAL_TILE),
                )
        self.places.put(tile, place)
        self._occupy(tile, place)

    def _place_core(self, tile: LogicalTileOp) -> None:
        search = self._search(tile)
        if search.place is None:
            self._report_no_place(tile, search)
        self.places.put(
            tile,
            search.place,
            "placer selected this tile; to fix, pin this LTO to a tile with more spare DMA capacity, or reduce the "
            "LTO's DMA fanin (e.g. via memtile staging)",
        )
        self._occupy(tile, search.place)

    def _occupy(self, tile: LogicalTileOp, place: TileId) -> None:
        if not tile.is_core:
            return
        if place in self.free:
            self.free.remove(place)
        if self.problem.demand(tile):
            for neighbour in self._memory_neighbours(place):
                self.reserved[neighbour].append(tile)

    def _memory_neighbours(self, place: TileId) -> Iterator[TileId]:
        """Cores around a place whose memory it reaches."""
        for right, up in ((0, -1), (0, 1), (-1, 0), (1, 0)):
            other = TileId(place.column + right, place.row + up)
            if self._is_core(other) and self._reaches(place, other):
                yield other

    def _is_core(self, place: TileId) -> bool:
        return self.model.is_valid_tile(*place) and self.model.is_core_tile(*place)

    def _search(self, tile: LogicalTileOp) -> PlaceSearch:
        search = PlaceSearch()
        column, row = (None if number is None else number.value.data for number in (tile.col, tile.row))
        wished = [p for p in self._candidates(tile) if column in (None, p.column) and row in (None, p.row)]
        # Slots beside cores that need neighbours are for those neighbours, unless nothing else is left.
        for allow_reserved in (False, True):
            for place in wished:
                if not allow_reserved and self._is_reserved_for_others(tile, place):
                    continue
                search.saw_candidate = True
                if not self._is_close(tile, place, self.buffers):
                    continue
                search.buffers_fit = True
                if not self._is_close(tile, place, self.cascades):
                    continue
                if not self._suits_peers(tile, place):
                    search.is_short_of_channels = True
                    continue
                search.place = place
                return search
        return search

    def _candidates(self, tile: LogicalTileOp) -> list[TileId]:
        """Free places in the order to try: a core that needs neighbours prefers one with cores above and below."""
        if not self.problem.demand(tile):
            return self.free

        def rank(place: TileId) -> tuple[int, int, int]:
            above_and_below = [TileId(place.column, place.row + step) for step in (-1, 1)]
            return place.column, -sum(map(self._is_core, above_and_below)), place.row

        return sorted(self.free, key=rank)

    def _is_reserved_for_others(self, tile: LogicalTileOp, place: TileId) -> bool:
        partners = {tile, *self.problem.core_peers.tiles(tile)}
        return any(owner not in partners for owner in self.reserved.get(place, ()))

    def _is_close(self, tile: LogicalTileOp, place: TileId, kind: Adjacency) -> bool:
        """Whether a place is legal beside all partners that have one already."""
        for peer, is_first in kind.edges.peers(tile):
            other = self.places.position(peer)
            if other is not None and not kind.is_legal(*((place, other) if is_first else (other, place))):
                return False
        return True

    def _suits_peers(self, tile: LogicalTileOp, place: TileId) -> bool:
        """Whether this core and its placed peers still fit their channels if it goes there."""
        peers = self.problem.core_peers.peers(tile)
        if not peers:
            return True
        needed = self.problem.needed_neighbours(tile)
        near, far = self._near_and_far(tile, place)
        if not far.fits(self.problem.peer_counts(tile) - needed):
            return False
        free = sum(neighbour in self.free for neighbour in self._memory_neighbours(place))
        if (needed - near).lacking.total > free:  # the neighbours still to come need slots
            return False
        return all(self._peer_still_fits(tile, place, peer, not is_producer) for peer, is_producer in peers)

    def _near_and_far(self, tile: LogicalTileOp, place: TileId) -> tuple[ChannelCount, ChannelCount]:
        """How many placed peers share memory with a core at a place, and how many do not."""
        near, far = ChannelCount(), ChannelCount()
        for peer, is_producer in self.problem.core_peers.peers(tile):
            other = self.places.position(peer)
            if other is not None:
                (near if self._reaches(place, other) else far).count(output=is_producer)
        return near, far

    def _peer_still_fits(self, tile: LogicalTileOp, place: TileId, peer: TileLike, peer_produces: bool) -> bool:
        """Whether a placed peer can do with the channels it has if `tile` goes to `place`."""
        position = self.places.position(peer)
        if position is None or not isinstance(peer, LogicalTileOp):
            return True
        slack = self.problem.peer_counts(peer) - self.problem.needed_neighbours(peer)
        far = 0
        for other, produces in self.problem.core_peers.peers(peer):
            where = place if other is tile else self.places.position(other)
            far += produces is peer_produces and where is not None and not self._reaches(position, where)
        return far <= (slack.outputs if peer_produces else slack.inputs)

    def _report_no_place(self, tile: LogicalTileOp, search: PlaceSearch) -> NoReturn:
        reasons: list[tuple[str, list[Note]]] = []
        if search.saw_candidate and not search.buffers_fit and self.buffers.edges.peers(tile):
            notes = self._peer_notes(tile, self.buffers.edges, self.buffers.labels)
            reasons.append(("shared-L1 buffer adjacency", notes))
        if self.cascades.edges.peers(tile):
            reasons.append(("cascade adjacency", self._peer_notes(tile, self.cascades.edges, self.cascades.labels)))
        if search.is_short_of_channels:
            labels = ("compute-peer consumer", "compute-peer producer")
            advice = (
                "to fix, pin this LTO to a position that is shared-L1 with the placed compute-peers above, or pin one "
                "of those peers to a different coordinate so this LTO's constraints become satisfiable"
            )
            notes = [*self._peer_notes(tile, self.problem.core_peers, labels), (tile, advice)]
            reasons.append(("compute-peer DMA budget", notes))
        if tile.col is None and tile.row is None:
            text = "no available compute tiles for placement"
            text += "".join(f" ({reason} unsatisfiable)" for reason, _ in reasons)
        else:
            column, row = ("?" if number is None else number.value.data for number in (tile.col, tile.row))
            text = f"no compute tile available matching constraint ({column}, {row})"
            text += "".join(f" and {reason}" for reason, _ in reasons)
        found = [note for _, notes in reasons for note in notes]
        cores = len(self.model.core_rows) * self.model.columns
        # Upstream's notes use a word that its users have to guess.
        if any("LTO" in text for _, text in found):
            found.append((tile, LOGICAL_TILE))
        fail(tile, text, *(found or [(tile, f"{self.model} has {cores} of them: use fewer, or a larger device")]))

    def _peer_notes(self, tile: LogicalTileOp, edges: Edges, labels: tuple[str, str]) -> list[Note]:
        peers = [(peer, is_first, self.places.position(peer)) for peer, is_first in edges.peers(tile)]
        notes: list[Note] = [
            (peer, f"{labels[0] if is_first else labels[1]} peer placed at {tuple(place)}")
            for peer, is_first, place in peers
            if place is not None
        ]
        unplaced = len(peers) - len(notes)
        if unplaced:
            text = (
                f"{unplaced} additional peer(s) on this LTO are not yet placed (placed after this LTO; their positions "
                "may subsequently constrain or unblock this placement)"
            )
            notes.append((tile, text))
        return notes


def _is_cascade_step(source: TileId, dest: TileId) -> bool:
    """Cascades run down and to the right."""
    return (dest.column - source.column, dest.row - source.row) in ((0, -1), (1, 0))


class MemShimPlacer:
    def __init__(self, problem: PlacementProblem, places: PlacedTiles, merge: bool):
        self.problem, self.places, self.merge = problem, places, merge
        self.connections = problem.connections()
        self.hosts: set[TileId] = set()

    def place(self) -> None:
        """The tiles that need most channels choose first."""
        waiting = [tile for tile in self.problem.tiles if tile not in self.places.placed]
        for tile in sorted(waiting, key=lambda tile: -self.problem.need(tile).total):
            centre = self._centre_column(tile)
            place = self._roomiest(tile, centre if tile.col is None else tile.col.value.data)
            if place is None:
                need, kind = self.problem.need(tile), tile.tile_type
                where = f"near centroid column {centre}" if tile.col is None else f"at column {tile.col.value.data}"
                fail(
                    tile,
                    f"no {kind} has sufficient DMA capacity for {need.inputs} input/{need.outputs} output channels "
                    f"{where}",
                    (
                        tile,
                        f"to fix, pin this {kind} to a column with available DMA budget, or rebalance compute peers so "
                        "the centroid lands on a less-busy column",
                    ),
                )
            self.places.put(tile, place)
            if not self.merge:  # nothing else may come here
                self.hosts.add(place)

    def _roomiest(self, tile: LogicalTileOp, column: int) -> TileId | None:
        """The tile of the right kind closest to a column that has the channels; the least loaded of those."""

        def rank(place: TileId) -> tuple[int, int, int, int]:
            return abs(place.column - column), self.places.taken[place].total, place.column, place.row

        model = self.problem.model
        places = (place for place in model.tiles if model.tile_type(*place) is tile.tile_type)
        return min((p for p in places if p not in self.hosts and self.places.has_room(p, tile)), key=rank, default=None)

    def _centre_column(self, tile: LogicalTileOp) -> int:
        """The column with the shortest way to the cores that the tile serves.

        Anywhere between the outermost cores of a broadcast is equally good; among equals the one closest to the mean
        of all cores wins.
        """
        reached = (self._core_columns(tile, others) for others in self.connections.get(tile.result, ()))
        spans = [columns for columns in reached if columns]
        if not spans:
            return 0
        all_columns = [column for columns in spans for column in columns]
        mean = sum(all_columns) / len(all_columns)

        def cost(column: int) -> tuple[int, float]:
            way = sum(max(min(columns) - column, column - max(columns), 0) for columns in spans)
            return way, abs(column - mean)

        return min(range(self.problem.model.columns), key=cost)

    def _core_columns(self, tile: LogicalTileOp, others: Sequence[SSAValue]) -> list[int]:
        """Columns of the cores among some tiles, or of those one step behind them."""
        columns: list[int] = []
        for other in others:
            column = self._core_column(other)
            if column is not None:
                columns.append(column)
            elif other is not tile.result:
                behind = (self._core_column(peer) for peers in self.connections.get(other, ()) for peer in peers)
                columns += [column for column in behind if column is not None]
        return columns

    def _core_column(self, value: SSAValue) -> int | None:
        tile = tile_of(value)
        place = self.places.position(tile) if tile is not None and tile.is_core else None
        return None if place is None else place.column


class PlacedTiles:
    def __init__(self, problem: PlacementProblem):
        self.problem = problem
        self.placed: dict[LogicalTileOp, TileId] = {}
        self.taken: dict[TileId, ChannelCount] = defaultdict(ChannelCount)

    def position(self, tile: TileLike) -> TileId | None:
        """Where a tile is or has asked to be."""
        return self.placed.get(tile, tile.place) if isinstance(tile, LogicalTileOp) else tile.place

    def spare(self, place: TileId) -> ChannelCount:
        resources = self.problem.model.tile_resources(*place)
        return ChannelCount(resources.s2mm_channels, resources.mm2s_channels) - self.taken[place]

    def has_room(self, place: TileId, tile: LogicalTileOp) -> bool:
        return self.problem.need(tile).fits(self.spare(place))

    def put(self, tile: LogicalTileOp, place: TileId, advice: str | None = None) -> None:
        """Place a tile and take its channels; `advice` is added to the error if there are not enough."""
        need = self.problem.need(tile)
        if not self.has_room(place, tile):
            spare = self.spare(place)
            fail(
                tile,
                f"tile ({place.column}, {place.row}) requires {need.inputs} input/{need.outputs} output DMA channels, "
                f"but only {spare.inputs} input/{spare.outputs} output available",
                *([] if advice is None else [(tile, advice), (tile, LOGICAL_TILE)]),
            )
        self.taken[place] += need
        self.placed[tile] = place
