"""Sequential placement: logical tiles in; a place on the array for each of them out.

Cores come first, column by column from the bottom, those with the strictest wishes before the others. Mem and shim
tiles follow, each near the columns of the cores it serves. A choice is final: a tile that then finds no place is an
error that names the tiles in its way.

What limits a core is its DMA. A FIFO to another kind of tile takes a channel, while one between cores takes none if the
two can share memory. A core with more such FIFOs than spare channels needs some of its peers as neighbours, and the
slots around it are kept for them as long as others are left to choose from.
"""

from tilewright.device import TileId
from tilewright.dialects.aie.tiles import DeviceOp, LogicalTileOp
from tilewright.passes.placement.cores import CorePlacer
from tilewright.passes.placement.design import Design
from tilewright.passes.placement.others import OtherPlacer
from tilewright.passes.placement.places import Places


def place_sequentially(
    device: DeviceOp, cores_per_column: int | None = None, merge: bool = True
) -> dict[LogicalTileOp, TileId]:
    """Where each logical tile goes, in the order of the program; `merge` lets mem and shim tiles share a place."""
    design = Design(device)
    places = Places(design)
    CorePlacer(design, places, cores_per_column).place()
    OtherPlacer(design, places, merge).place()
    return {tile: places.placed[tile] for tile in design.tiles}
