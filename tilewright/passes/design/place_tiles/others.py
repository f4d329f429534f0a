"""Placing mem and shim tiles near the cores they serve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from xdsl.ir import SSAValue

from tilewright.device import TileId
from tilewright.dialects.aie.lookup import tile_of
from tilewright.dialects.aie.tiles import LogicalTileOp
from tilewright.ir.diagnostics import fail
from tilewright.passes.design.place_tiles.places import Places
from tilewright.passes.design.place_tiles.problem import Design


class OtherPlacer:
    def __init__(self, design: Design, places: Places, merge: bool):
        self.design, self.places, self.merge = design, places, merge
        self.connections = design.connections()
        self.hosts: set[TileId] = set()

    def place(self) -> None:
        """The tiles that need most channels choose first."""
        waiting = [tile for tile in self.design.tiles if tile not in self.places.placed]
        for tile in sorted(waiting, key=lambda tile: -self.design.need(tile).total):
            centre = self._centre_column(tile)
            place = self._roomiest(tile, centre if tile.col is None else tile.col.value.data)
            if place is None:
                self._report_no_room(tile, centre)
            self.places.put(tile, place)
            if not self.merge:
                self.hosts.add(place)

    def _roomiest(self, tile: LogicalTileOp, column: int) -> TileId | None:
        """The tile of the right kind closest to a column that has the channels; the least loaded of those."""

        def rank(place: TileId) -> tuple[int, int, int, int]:
            return abs(place.column - column), self.places.taken[place].total, place.column, place.row

        model = self.design.model
        places = (place for place in model.tiles if model.tile_type(*place) is tile.tile_type)
        return min((p for p in places if p not in self.hosts and self.places.has_room(p, tile)), key=rank, default=None)

    def _report_no_room(self, tile: LogicalTileOp, centre: int) -> NoReturn:
        need = self.design.need(tile)
        where = f"near centroid column {centre}" if tile.col is None else f"at column {tile.col.value.data}"
        fail(
            tile,
            f"no {tile.tile_type} has sufficient DMA capacity for {need.inputs} input/{need.outputs} output channels "
            f"{where}",
            (
                tile,
                f"to fix, pin this {tile.tile_type} to a column with available DMA budget, or rebalance compute peers "
                "so the centroid lands on a less-busy column",
            ),
        )

    def _centre_column(self, tile: LogicalTileOp) -> int:
        """The column with the shortest way to the cores that the tile serves.

        Anywhere between the outermost cores of a broadcast is equally good; among equals the one closest to the mean
        of all cores wins.
        """
        reached = [self._core_columns(tile, others) for others in self.connections.get(tile.result, ())]
        spans = [columns for columns in reached if columns]
        if not spans:
            return 0
        all_columns = [column for columns in spans for column in columns]
        mean = sum(all_columns) / len(all_columns)

        def cost(column: int) -> tuple[int, float]:
            way = sum(max(min(columns) - column, column - max(columns), 0) for columns in spans)
            return way, abs(column - mean)

        return min(range(self.design.model.columns), key=cost)

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
