"""Moving the buffers of FIFOs out of a core's memory that is too small for them, into one that both ends reach."""

from __future__ import annotations

from tilewright.device import TileId
from tilewright.dialects.aie.objectfifo import ObjectFifoOp
from tilewright.passes.design.place_tiles.candidate import Candidate
from tilewright.passes.design.place_tiles.fifo_storage import StoredFifo
from tilewright.passes.design.place_tiles.loads import Charge


def spill_fifos(state: Candidate) -> list[tuple[ObjectFifoOp, TileId]]:
    """Which FIFOs move, and where to: the largest first, as long as their tile holds too much."""
    loads, spilled = state.loads, list[tuple[ObjectFifoOp, TileId]]()
    for fifo, charge in sorted(_movable(state), key=lambda item: -item[1].size_bytes):
        if loads.spare_bytes(charge.place) >= 0:
            continue
        rooms = [place for place in _reachable(state, fifo) if place != charge.place]
        room = max(rooms, key=loads.spare_bytes, default=None)
        if room is not None and loads.spare_bytes(room) >= charge.size_bytes:
            loads.add([charge], -1)
            loads.add([charge._replace(place=room)])
            spilled.append((fifo.op, room))
    return spilled


def _movable(state: Candidate) -> list[tuple[StoredFifo, Charge]]:
    stored = zip(state.storage.items, state.storage.values, strict=True)
    return [(fifo, charge) for fifo, charges in stored for charge in charges if charge.movable]


def _reachable(state: Candidate, fifo: StoredFifo) -> list[TileId]:
    """The core tiles whose memory the cores at both ends reach."""
    ends = [place for tile in fifo.tiles if (place := state.position(tile)) is not None]
    near = [{place, *state.loads.neighbours[place]} for place in ends if state.model.is_core_tile(*place)]
    return sorted(place for place in near[0] if all(place in others for others in near)) if near else []
