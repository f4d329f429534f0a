"""Blocks of one number of all ranks wait for each other, in a kernel: no host takes part."""

from __future__ import annotations

from typing import Any

from tilewright.air.atomics import atomic_load, atomic_store, wait_until
from tilewright.air.dtypes import ui32
from tilewright.air.levels import rank_number, world_size
from tilewright.air.messages import peer, symmetric
from tilewright.air.tiles import workers_here
from tilewright.air.trace import current
from tilewright.air.waves import barrier
from tilewright.iron import math
from tilewright.iron.builders.control import if_
from tilewright.iron.builders.scalars import as_index

MOST_RANKS = 8
BEGIN, END = 0, 1
UNIT_BLOCKS = 2
"""On each unit of a GPU, at most."""


class Meeting:
    """Where blocks of launches meet: each at the beginning of its launch and at its end.

    All ranks launch as many blocks. Ranks that share a GPU have their share of its units, so that all blocks are there
    at a time: one that waits for a block that has no room would wait for ever.
    """

    def __init__(self) -> None:
        self._units = current().target.compute_units
        self._flags = symmetric((2, UNIT_BLOCKS * self._units, MOST_RANKS), ui32)

    def most_blocks(self, unit_blocks: int) -> Any:
        """Of one rank, if there are so many on each unit."""
        return math.maximum(self._units // as_index(world_size()), 1) * unit_blocks

    def meet(self, point: int, block: Any) -> None:
        """Wait for blocks of this number of all ranks; what they did before is there for all of them."""
        barrier()
        other = workers_here().number
        with if_(other < world_size(), hasElse=False):
            here = [point, block, other]
            atomic_store(peer(self._flags, other), [point, block, rank_number()], 1)
            wait_until(lambda: atomic_load(self._flags, here) == 1)
            # the other comes here again only after it has met this one at the other point
            atomic_store(self._flags, here, 0, "relaxed")
        barrier()
