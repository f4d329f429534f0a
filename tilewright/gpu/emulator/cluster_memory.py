"""Memory of other blocks of a cluster: where it is, and that they are still there when a group reaches into it.

Addresses of a block's own memory begin at the same place in every block; those of others are addresses of this process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.gpu.emulator.memory import Array
from tilewright.gpu.emulator.plain_access import PlainAccess
from tilewright.gpu.emulator.program import LDS_WINDOW

if TYPE_CHECKING:
    from tilewright.gpu.emulator.launch import BlockBatch


class ClusterMemory(PlainAccess):
    """Addresses in memory of other blocks, for a group of waves."""

    access: Any
    batch: BlockBatch

    def mapa(self, addresses: Array, ranks: Array, m: Any, site: int) -> Array:
        """The same places in memory of other blocks of the cluster."""
        offsets, count = addresses - LDS_WINDOW, self.batch.clusters.blocks
        inside = (offsets >= 0) & (offsets < self.lds_bytes)
        self.check(inside, m, site, "maps an address that is not in memory of its block")
        text = f"maps to a block that its cluster has not: it has {count}"
        self.check((ranks >= 0) & (ranks < count), m, site, text)
        slots = self.slots // count * count + ranks
        return self.lds.base + slots * self.lds_bytes + offsets

    def reach(self, addresses: Any, m: Any, site: int) -> None:
        """Active lanes access memory of a block of the cluster, maybe another one."""
        slots = (self.real(addresses) - self.lds.base) // self.lds_bytes
        for lane in np.flatnonzero(self.active(m) & (slots != self.slots)).tolist():
            self.reach_block(int(slots[lane]), lane, site)

    def reach_block(self, slot: int, lane: int, site: int) -> None:
        """A lane accesses memory of another block."""
        if not self.batch.barriers.alive[slot]:
            only = np.arange(self.lanes) == lane
            text = f"reaches into memory of {self.batch.block(slot)}, which has ended"
            self.fault(site, text, only, STAY)
        if self.access is not None:
            self.access.reached(self, slot, site)


STAY = "nvvm.cluster.arrive and nvvm.cluster.wait before the end let a block stay until all of its cluster are done"
