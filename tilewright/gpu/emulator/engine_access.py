"""What goes on beside waves, as the watch for races sees it: products that read tiles, and copies by the engine.

A tile is read by a product, or by a store of the engine, until the wave that asked for it has waited. What the engine
brings is ordered by the barrier that it tells. What lanes have stored it sees behind a fence of theirs alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.gpu.emulator.lower_memory import PLAIN
from tilewright.gpu.emulator.memory import Array
from tilewright.gpu.emulator.store_buffers import History, Level, StoreBuffers

if TYPE_CHECKING:
    from tilewright.gpu.emulator.lockstep import LockstepGroup
    from tilewright.gpu.emulator.races import Races

CHUNK = 16
Groups = list[list[tuple[Array, int]]]
"""Chunks that may still be read, and from where in the program: groups, the last one open."""


class EngineAccess:
    """Reads and writes of one launch that no lane does."""

    buffers: StoreBuffers | None
    races: Races | None
    history: History

    def __init__(self) -> None:
        self.products: dict[int, Groups] = {}
        """By wave."""
        self.stores: dict[tuple[int, int], Groups] = {}
        """By wave and lane: groups of stores are those of one thread."""

    def begin_engines(self) -> None:
        self.products.clear()
        self.stores.clear()

    def engine_stored(self, g: LockstepGroup, places: Array, old: Array, site: int) -> None:
        """The copy engine has filled places for a wave that asked for it; they held `old`."""
        if self.races is not None:
            self.races.write(g, places, site, PLAIN)
        if self.buffers is not None:
            self.history.wrote(int(g.waves[0]), places, old)

    def engine_reads(self, g: LockstepGroup, chunks: Array, lane: int, site: int) -> None:
        """The copy engine reads chunks of memory of a block, at some time before the lane has waited for it."""
        wave = int(g.waves[0])
        self.stores.setdefault((wave, lane), [[]])[-1].append((chunks, site))
        if self.races is None:
            return
        for address in chunks.tolist():
            write = self.races.engine_sees(wave, address)
            # what it has brought itself needs no fence
            if write is not None and g.plan.sites[write.site].name != "tensor_copy":
                text = f"data race: the copy engine reads what {g.batch.who(write.wave)} stored, and may not see it"
                g.fault(site, text, None, "nvvm.fence.proxy behind the stores, before the waves meet, lets it see them")

    def check_engine(self, g: LockstepGroup, places: Array, site: int) -> None:
        """Lanes write to places that the engine, asked by the same wave, may still read."""
        wave = int(g.waves[0])
        if self.races is None:
            return
        for (asker, _), groups in self.stores.items():
            for chunks, _ in (read for group in groups for read in group) if asker == wave else ():
                if np.isin(places // CHUNK * CHUNK, chunks).any():
                    note = "nvvm.cp.async.bulk.wait_group in the lane that asked for the store says when it is read"
                    g.fault(site, "data race: writes what the copy engine may still read, to store it", None, note)

    def stores_end(self, g: LockstepGroup, m: Any, left: int | None) -> None:
        """Lanes close a group of stores, or have waited until so many groups are left: the others are read now."""
        wave = int(g.waves[0])
        for (asker, lane), groups in self.stores.items():
            if asker == wave and g.active(m)[lane]:
                self._ended(g, groups, left)

    def proxy_fence(self, g: LockstepGroup) -> None:
        """The engine sees what a wave has stored."""
        wave = int(g.waves[0])
        if self.buffers is not None:
            # it reads what memory holds
            self.buffers.flush(wave, Level.MEMORY)
        if self.races is not None:
            self.races.proxy_fence(wave)

    def product_reads(self, g: LockstepGroup, chunks: Array, site: int) -> None:
        """Tensor cores read chunks at some time before the wave has waited for them."""
        self.products.setdefault(int(g.waves[0]), [[]])[-1].append((chunks, site))

    def products_end(self, g: LockstepGroup, left: int | None) -> None:
        """A wave closes a group of products, or has waited until so many groups are left: the others are read now."""
        self._ended(g, self.products.setdefault(int(g.waves[0]), [[]]), left)

    def _ended(self, g: LockstepGroup, groups: Groups, left: int | None) -> None:
        if left is None:
            groups.append([])
            return
        done = groups[: max(0, len(groups) - 1 - left)]
        del groups[: len(done)]
        for chunks, site in (read for group in done for read in group):
            if self.races is not None:
                self.races.read(g, chunks, site, PLAIN)
