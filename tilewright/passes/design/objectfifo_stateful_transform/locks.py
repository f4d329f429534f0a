"""The locks of FIFOs: who may use which buffers now.

Where locks are semaphores, a pair of them counts the empty and the full buffers of an end, or of each branch of a join
or distribute. Where a lock has two states there is one for each buffer: 0 is empty, 1 is full.
"""

from __future__ import annotations

from typing import NamedTuple

from tilewright.device import DeviceModel
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.tiles import TileOp
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.design.objectfifo_stateful_transform.ends import End


class LockPair(NamedTuple):
    """Semaphores that count buffers to fill and buffers to empty."""

    empty: LockOp
    full: LockOp


def pair_of(locks: list[LockOp], branch: int = 0) -> LockPair:
    """The semaphores of one branch among all of an end."""
    return LockPair(*locks[2 * branch : 2 * branch + 2])


def locks_for(end: End, tile: TileOp, model: DeviceModel) -> list[LockOp]:
    """New locks for the buffers of an end, in a tile."""
    if not end.is_synchronized or is_replayed(end):
        return []
    count = len(end.external_buffers) if tile.is_shim else end.depth
    if model.architecture.semaphore_locks:
        return _semaphores(end, tile, count, model)
    init = 0 if end.init_values is None else 1
    return [LockOp(tile.result, init=init, sym_name=f"{end.name}_lock_{number}") for number in range(count)]


def is_replayed(end: End) -> bool:
    """Whether the DMA sends contents given from the start several times: nobody refills them, so nobody counts them."""
    values, iterations = end.init_values, end.iter_count
    return values is not None and len(values) == end.depth and (iterations or 1) > 1 and end.link is None


def _semaphores(end: End, tile: TileOp, count: int, model: DeviceModel) -> list[LockOp]:
    repeats, branches = end.repeat_count or 1, 1
    if end.link is not None:
        repeats = end.link.repeat_count or repeats
        branches = len(end.link.branches) or 1
    full = len(end.init_values) if end.init_values is not None else 0
    _check_count(end, tile, max(count - full, full), repeats, model.max_lock_value)
    locks: list[LockOp] = []
    for branch in range(branches):
        locks.append(LockOp(tile.result, init=(count - full) * repeats, sym_name=f"{end.name}_prod_lock_{branch}"))
        locks.append(LockOp(tile.result, init=full * repeats, sym_name=f"{end.name}_cons_lock_{branch}"))
    return locks


def _check_count(end: End, tile: TileOp, count: int, repeats: int, limit: int) -> None:
    if count * repeats > limit:
        fail_op(
            end.fifo,
            f"needs a lock of tile {tuple(tile.place)} to count to {count * repeats}, the limit is {limit}",
            (end.fifo, f"@{end.name} has {count} buffers that are each used {repeats} times; lower one of the two"),
        )
