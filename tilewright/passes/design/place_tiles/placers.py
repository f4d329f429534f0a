"""Placement: logical tiles in; a place on the array for each of them out, in one of two ways.

Sequentially, cores come first, column by column from the bottom, those with the strictest wishes before the others.
Mem and shim tiles follow, each near the columns of the cores it serves. A choice is final: a tile that then finds no
place is an error that names the tiles in its way.

What limits a core is its DMA. A FIFO to another kind of tile takes a channel, while one between cores takes none if the
two can share memory. A core with more such FIFOs than spare channels needs some of its peers as neighbours, and the
slots around it are kept for them as long as others are left to choose from.

By simulated annealing, see `annealing`, everything is considered at once, memory too.
"""

from typing import NamedTuple

from tilewright.device import TileId
from tilewright.dialects.aie.objectfifo import ObjectFifoOp
from tilewright.dialects.aie.tiles import DeviceOp, LogicalTileOp
from tilewright.passes.design.place_tiles.annealing import Annealer
from tilewright.passes.design.place_tiles.others import OtherPlacer
from tilewright.passes.design.place_tiles.places import Places
from tilewright.passes.design.place_tiles.problem import Design
from tilewright.passes.design.place_tiles.sequential import CorePlacer


class Placement(NamedTuple):
    """Where each logical tile goes, in the order of the program, and which FIFOs have their buffers elsewhere."""

    places: dict[LogicalTileOp, TileId]
    storage: list[tuple[ObjectFifoOp, TileId]]


def anneal(device: DeviceOp, seed: int) -> Placement:
    """A placement by chance and patience; the same for the same seed, unless that is 0."""
    annealer = Annealer(Design(device), seed)
    return Placement(annealer.place(), annealer.spilled())


def place_sequentially(device: DeviceOp, cores_per_column: int | None = None, merge: bool = True) -> Placement:
    """One choice after the other; `merge` lets mem and shim tiles share a place."""
    design = Design(device)
    places = Places(design)
    CorePlacer(design, places, cores_per_column).place()
    OtherPlacer(design, places, merge).place()
    return Placement({tile: places.placed[tile] for tile in design.tiles}, [])
