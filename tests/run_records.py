"""Records of runs that never took place, for tests: a column of npu1, and rows that say what happened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.device import DEVICES, DmaDirection, TileId
from tilewright.device.enums import DeviceName
from tilewright.device.timing import Timing
from tilewright.sim.parts import PartKind, part_ids_of
from tilewright.sim.record import HostArgument, RunRecord
from tilewright.sim.record import SourceNames as SourceNames
from tilewright.sim.trace import TraceEvent
from tilewright.txn.stream import Header, Operation, Stream

DEVICE = DeviceName.npu1_1col
PART_IDS = part_ids_of(DEVICE)
SHIM, MEM, CORE = TileId(0, 0), TileId(0, 1), TileId(0, 2)
TIMING = Timing(instruction_ns=10, host_read_ns=20, host_read_warm_ns=20, host_write_ns=5)


def channel(tile: TileId, direction: DmaDirection, number: int = 0) -> int:
    return PART_IDS.number(PartKind.CHANNEL, tile, (direction, number))


def core(tile: TileId = CORE) -> int:
    return PART_IDS.number(PartKind.CORE, tile)


Row = tuple[int, TraceEvent, int] | tuple[int, TraceEvent, int, int] | tuple[int, TraceEvent, int, int, int]


def record_of(rows: Sequence[Row], cycles: int, operations: Sequence[Operation] = (), **more: Any) -> RunRecord:
    """A record with these rows; what a row does not give is 0."""
    trace = np.array([(*row, 0, 0)[:5] for row in rows], dtype=np.int64).reshape(-1, 5)
    given: dict[str, Any] = {
        "model": DEVICES[DEVICE],
        "timing": TIMING,
        "cycles": cycles,
        "trace": trace,
        "stream": Stream.of(Header(columns=1), operations),
        "locations": (),
        "connections": (),
        "carried": {},
        "arguments": [HostArgument(0, "a", 0x1_0000_0000, 256)],
        "descriptors": {},
        "names": SourceNames(),
    }
    return RunRecord(**given | more)
