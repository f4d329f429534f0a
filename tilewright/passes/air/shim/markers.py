"""Attributes by which AIR programs ask for an order that their dependencies do not say."""

from __future__ import annotations

PRESERVE_ORDER = "air.preserve_shim_dma_order"
"""Feeds that move in step: at most two tasks of a channel are under way."""
RUNTIME_HOIST = "air.runtime_hoist"
"""Feeds that go first."""
AWAIT_APPENDS = "air.await_appends"
"""Reads back what appends have written."""
APPEND_BARRIER = "air.append_barrier"
"""Writes what is read back later."""
COALESCED = "air.coalesced_shim_feed"
"""One feed made of several."""
AWAITED = "air.await_completion"
"""Ours: whether a wait for the transfer waits for its end, told by a token, or only frees its descriptor."""
LAUNCH_WAVE = "air.launch_wave"
"""Which of several launches an operation belongs to, while the pass runs."""
LAUNCH_END = "air.launch_end"

CARRIED = PRESERVE_ORDER, RUNTIME_HOIST, AWAIT_APPENDS, APPEND_BARRIER, COALESCED, AWAITED, LAUNCH_WAVE
"""What a task keeps of the transfer that it was made of."""
FIXED = PRESERVE_ORDER, RUNTIME_HOIST, COALESCED, APPEND_BARRIER, AWAIT_APPENDS, AWAITED
"""Whose place among other feeds must not change."""
