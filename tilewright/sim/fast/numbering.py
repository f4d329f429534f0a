"""Numbers of the streams, slave ports, channels and so on of a device: their places in the columns of the state."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import accumulate
from typing import TypeVar

from tilewright.device import DeviceModel, DmaDirection, TileId, TileType
from tilewright.device.architecture import NUM_SLAVE_SLOTS
from tilewright.device.devices import DEVICES
from tilewright.device.enums import DeviceName
from tilewright.device.layout import WORD_BYTES
from tilewright.device.timing import Timing
from tilewright.native.shared_state import NUMBER_BYTES
from tilewright.sim.fast.state import (
    BD_NUMBERS,
    CALL_MEMORIES,
    CALLS,
    FAR,
    MAX_TARGETS,
    REGIONS,
    RING_JOBS,
    ROW,
    RUNS,
    TIMES,
    WHEEL,
    WORD_BITS,
    FastState,
)
from tilewright.sim.models import MOST_JOBS
from tilewright.sim.parts import PartIds, part_ids_of
from tilewright.sim.switch import NUM_ARBITERS, names_of

T = TypeVar("T")
TRACE_ROWS = 1 << 14
ROWS_OF_A_TURN = 256
"""More rows than one turn of a part can write."""
HOST_BUFFERS = 64
STOPS = 64
"""Stops of programs that there is room for at first."""
PER_STOP = {"stop": 1, "call": CALLS, "given": CALLS * CALL_MEMORIES}
"""Places in columns, by the first word of their names, that each of them has."""
NODES = 16
"""Nodes that there is room for, for each channel that sends."""


class Numbering:
    """The numbers of one device."""

    def __init__(self, model: DeviceModel):
        self.model = model
        self.part_ids: PartIds = part_ids_of(model.name)
        self.tiles = {tile: number for number, tile in enumerate(model.tiles)}
        switches = {tile: model.architecture.switches[model.tile_type(*tile)] for tile in self.tiles}
        self.fifos = _numbered((tile, name) for tile in self.tiles for name in names_of(switches[tile].masters))
        self.slaves = _numbered((tile, name) for tile in self.tiles for name in names_of(switches[tile].slaves))
        self.channels = _numbered(
            (tile, direction, number)
            for tile in self.tiles
            for direction in DmaDirection
            for number in range(model.num_dma_channels(*tile, direction))
        )
        self.senders = sum(direction is DmaDirection.MM2S for _, direction, _ in self.channels)
        self.cores = _numbered(tile for tile in self.tiles if model.tile_type(*tile) is TileType.CoreTile)
        resources = [model.tile_resources(*tile) for tile in self.tiles]
        self.first_bd = dict(zip(self.tiles, accumulate((r.bds for r in resources), initial=0), strict=False))
        self.bds = sum(r.bds for r in resources)
        self.locks_of_tiles = sum(r.locks for r in resources)
        self.locks = self.locks_of_tiles + (model.resources(TileType.MemTile).locks if model.is_virtualized else 0)
        """With those of the mem tile west of a partition, which no design owns."""

    def arbiter(self, tile: TileId, number: int) -> int:
        return self.tiles[tile] * NUM_ARBITERS + number

    def new_state(self, timing: Timing) -> FastState:
        """A state with room for the device, and nothing in it."""
        tiles, parts, fifos, channels = len(self.tiles), len(self.part_ids), len(self.fifos), len(self.channels)
        words = -(-parts // WORD_BITS)
        groups = -(-words // WORD_BITS)
        depth = max(timing.local_depth, timing.external_depth)
        # A power of two, so that places in the ring are masked, not divided.
        ring = 1 << (depth - 1).bit_length()
        sizes = {
            "wheel": WHEEL * words,
            "summary": WHEEL * groups,
            "far": FAR,
            "part": parts,
            "stream": fifos,
            "fifo": fifos,
            "beat": fifos * ring,
            "slave": len(self.slaves),
            "rule": len(self.slaves) * NUM_SLAVE_SLOTS,
            "target": len(self.slaves) * NUM_SLAVE_SLOTS * MAX_TARGETS,
            "arbiter": tiles * NUM_ARBITERS,
            "lock": self.locks,
            "channel": channels,
            "tile": max(tiles, channels),
            "region": tiles * REGIONS + HOST_BUFFERS,
            "core": len(self.cores),
            "tree": self.senders,
            "node": self.senders * NODES,
            **{name: STOPS * count for name, count in PER_STOP.items()},
            "worker": MOST_JOBS,
            "job": MOST_JOBS * RING_JOBS,
        }
        special = {
            "bd_known": self.bds,
            "bd_number": self.bds * BD_NUMBERS,
            "channel_descriptor": channels * BD_NUMBERS,
            "trace_rows": TRACE_ROWS * ROW,
            "tree_words": self.senders * TIMES * WORD_BYTES // NUMBER_BYTES,
            "run_first": self.senders * NODES * RUNS,
            "run_time": self.senders * NODES * RUNS,
            "signal_first": self.locks + fifos + tiles * NUM_ARBITERS + tiles + tiles + channels,
        }
        columns = FastState.columns()
        state = FastState(**{name: special.get(name, sizes.get(name.split("_")[0], 0)) for name in columns})
        state.wheel_words, state.summary_words, state.ring = words, groups, ring
        state.channels, state.cores = channels, len(self.cores)
        state.tree_memory = state.array("tree_words").ctypes.data
        state.host_first = state.host_end = tiles * REGIONS
        state.trees, state.blocks = self.senders, int(depth <= TIMES // 8)
        state.trace_limit = TRACE_ROWS - ROWS_OF_A_TURN
        state.signal_fifo = self.locks
        state.signal_arbiter = state.signal_fifo + fifos
        state.signal_switch = state.signal_arbiter + tiles * NUM_ARBITERS
        state.signal_mux = state.signal_switch + tiles
        state.signal_task = state.signal_mux + tiles
        return state


def _numbered(things: Iterable[T]) -> dict[T, int]:
    return {thing: number for number, thing in enumerate(things)}


@cache
def numbering_of(device: DeviceName) -> Numbering:
    return Numbering(DEVICES[device])
