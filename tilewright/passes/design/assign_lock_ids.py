"""Gives the locks of every tile their numbers: those that the program gives stay, the others get the lowest free."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, i32

from tilewright.device import TileId
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.tiles import DeviceOp, TileOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.traversal import all_operations
from tilewright.rewrite.pass_bases import DevicePass, ops_of


class AssignLockIdsPass(DevicePass):
    name = "aie-assign-lock-ids"

    def apply_to(self, device: DeviceOp) -> None:
        on_tile: dict[TileId | None, list[LockOp]] = {}
        for lock in ops_of(all_operations(device), LockOp):
            on_tile.setdefault(lock.place, []).append(lock)
        for locks in on_tile.values():
            tile = locks[0].tile_like
            if not isinstance(tile, TileOp):
                fail_op(locks[0], "is on a tile that is not placed; run --aie-place-tiles first")
            _number(locks, tile)


def _number(locks: Sequence[LockOp], tile: TileOp) -> None:
    # Numbers that the program gives are known before the first is chosen, wherever they stand.
    taken = _given(locks, tile)
    free = (number for number in range(tile.resources.locks) if number not in taken)
    for lock in locks:
        if lock.number is not None:
            continue
        number = next(free, None)
        if number is None:
            count = tile.resources.locks
            fail_op(lock, "not allocated a lock.", (tile, f"because only {count} locks available in this tile."))
        lock.lock_id = IntegerAttr(number, i32)


def _given(locks: Sequence[LockOp], tile: TileOp) -> dict[int, LockOp]:
    taken: dict[int, LockOp] = {}
    for lock in locks:
        if lock.number is None:
            continue
        other = taken.setdefault(lock.number, lock)
        if other is not lock:
            fail_op(
                lock,
                f"is assigned to the same lock ({lock.number}) as another op.",
                (tile, "tile has lock ops assigned to same lock."),
                (other, "the other one is here; leave out one number to have a free one found"),
            )
    return taken
