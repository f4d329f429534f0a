"""Turns logical tiles into tiles of the array.

`problem` reads which tiles belong together and how many DMA channels each needs. Places are found in one of two ways:
one tile after the other (`sequential`), or by simulated annealing (`annealing`), which considers everything at once,
memory too (`loads`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import TileId
from tilewright.dialects.aie.objectfifo import ObjectFifoOp
from tilewright.dialects.aie.objectfifo_storage import ObjectFifoAllocateOp
from tilewright.dialects.aie.tiles import DeviceOp, LogicalTileOp
from tilewright.passes.design.place_tiles.annealing import Annealer, spill_fifos
from tilewright.passes.design.place_tiles.problem import PlacementProblem
from tilewright.passes.design.place_tiles.sequential import CorePlacer, MemShimPlacer, PlacedTiles
from tilewright.rewrite.device_tiles import tile_at
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.pass_bases import DevicePass


class PlacerKind(StrEnum):
    SEQUENTIAL = "sequential_placer"
    ANNEALING = "sa_placer"


@dataclass(frozen=True)
class PlaceTilesPass(DevicePass):
    name = "aie-place-tiles"

    placer: PlacerKind = field(default=PlacerKind.SEQUENTIAL, metadata={"help": "how places are found"})
    cores_per_col: int = field(default=-1, metadata={"help": "most cores to put into one column; -1: no limit"})
    merge_logical_tiles: bool = field(
        default=True, metadata={"help": "let several logical mem or shim tiles become one tile"}
    )

    sa_seed: int = field(default=1, metadata={"help": "seed of sa_placer; 0: another one each time"})

    def apply_to(self, device: DeviceOp) -> None:
        if self.placer is PlacerKind.ANNEALING:
            placement = anneal(device, self.sa_seed)
        else:
            most = self.cores_per_col if self.cores_per_col >= 0 else None
            placement = place_sequentially(device, most, self.merge_logical_tiles)
        for logical, place in placement.places.items():
            tile = tile_at(device, *place)
            if tile.location == device.location:  # one that `tile_at` has just made
                tile.location = logical.location
            if logical.allocation_scheme is not None:
                tile.allocation_scheme = logical.allocation_scheme
            logical.result.replace_all_uses_with(tile.result)
            Rewriter.erase_op(logical)
        for fifo, place in placement.storage:  # FIFOs whose home had no room for their buffers
            allocate = ObjectFifoAllocateOp(fifo.sym_name.data, tile_at(device, *place).result)
            Emitter(InsertPoint.after(fifo), fifo.location).insert(allocate)


class TilePlacement(NamedTuple):
    """Where each logical tile goes, in the order of the program, and which FIFOs have their buffers elsewhere."""

    places: dict[LogicalTileOp, TileId]
    storage: list[tuple[ObjectFifoOp, TileId]]


def anneal(device: DeviceOp, seed: int) -> TilePlacement:
    """A placement by chance and patience; the same for the same seed, unless that is 0."""
    annealer = Annealer(PlacementProblem(device), seed)
    return TilePlacement(annealer.place(), spill_fifos(annealer.state))


def place_sequentially(device: DeviceOp, cores_per_column: int | None = None, merge: bool = True) -> TilePlacement:
    """One choice after the other; `merge` lets mem and shim tiles share a place."""
    problem = PlacementProblem(device)
    places = PlacedTiles(problem)
    CorePlacer(problem, places, cores_per_column).place()
    MemShimPlacer(problem, places, merge).place()
    return TilePlacement({tile: places.placed[tile] for tile in problem.tiles}, [])
