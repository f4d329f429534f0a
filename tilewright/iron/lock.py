"""Locks of tiles, by name, for programs that synchronise cores and DMAs themselves."""

from __future__ import annotations

from itertools import count
from typing import Any

from tilewright.device import LockAction
from tilewright.iron.device.tile import Tile
from tilewright.iron.placed.buffers import lock, use_lock
from tilewright.iron.resolvable import Emitted
from tilewright.support.tracebacks import user_facing

_numbers = count()  # unique in a process, as upstream's are


@user_facing
class Lock(Emitted[Any]):
    """A lock on a tile. `acquire` and `release` are for workers' functions."""

    def __init__(self, tile: Tile, lock_id: int | None = None, init: int = 0, name: str | None = None):
        """A lock on a `tile` that holds `init` at first; without a `lock_id` it gets one that is free, and a `name`."""
        super().__init__()
        self.tile = tile
        self.name = name or f"lock_{next(_numbers)}"
        self._lock_id, self._init = lock_id, init

    def __repr__(self) -> str:
        return f"Lock('{self.name}' on {self.tile})"

    def tiles(self) -> list[Tile]:
        return [self.tile]

    def acquire(self, value: int = 1) -> None:
        """Wait until it holds at least `value`, and take that away."""
        self._use(LockAction.AcquireGreaterEqual, value)

    def acquire_exact(self, value: int = 1) -> None:
        """Wait until it holds exactly `value`, and take that away."""
        self._use(LockAction.Acquire, value)

    def release(self, value: int = 1) -> None:
        """Add `value` to it."""
        self._use(LockAction.Release, value)

    def _use(self, action: LockAction, value: int) -> None:
        use_lock(self.op, action, value=value)

    def _emit(self) -> Any:
        return lock(self.tile.op, lock_id=self._lock_id, init=self._init, sym_name=self.name)
