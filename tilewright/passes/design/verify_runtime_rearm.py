"""Checks that whoever resets a DMA channel also sets the locks of its descriptors."""

from __future__ import annotations

from typing import TypeAlias

from tilewright.device import DmaDirection, TileId
from tilewright.dialects.aie.dma import MemOp, MemTileDmaOp, reachable_blocks
from tilewright.dialects.aie.locks import LockOp, UseLockOp
from tilewright.dialects.aie.lookup import tile_of
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.control import DmaChannelResetOp, SetLockOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.traversal import all_operations
from tilewright.rewrite.pass_bases import DevicePass, ops_of

Channel: TypeAlias = tuple[TileId, DmaDirection, int]


class VerifyRuntimeRearmPass(DevicePass):
    """Setting the locks is necessary, not sufficient: the channel must be started again, too."""

    name = "aie-verify-runtime-rearm"

    def apply_to(self, device: DeviceOp) -> None:
        set_locks = {setting.lock_op for setting in ops_of(all_operations(device), SetLockOp)}
        locks = _locks_of_channels(device)
        for reset in ops_of(all_operations(device), DmaChannelResetOp):
            frozen = [lock for lock in locks.get(_channel(reset), ()) if lock not in set_locks]
            if frozen:
                fail_op(
                    reset,
                    "resets a DMA channel whose objectFIFO lock is never re-armed; the semaphore counter stays frozen "
                    "and the channel's peer will block forever on acquire (a runtime deadlock). Re-arm each bound lock "
                    "with an aiex.set_lock",
                    *((lock, "this lock is bound to the reset channel and is not re-armed") for lock in frozen),
                )


def _channel(reset: DmaChannelResetOp) -> Channel | None:
    tile = tile_of(reset.tile)
    if tile is None or tile.place is None:
        return None
    return tile.place, reset.dma_direction, reset.channel.value.data


def _locks_of_channels(device: DeviceOp) -> dict[Channel | None, dict[LockOp, None]]:
    """The locks that the descriptors of each channel use, in the order of their first uses."""
    locks: dict[Channel | None, dict[LockOp, None]] = {}
    # Shim tiles are left out: the host starts what they run.
    dmas = ops_of(device.body.ops, MemOp, MemTileDmaOp)
    for dma, place in ((dma, dma.place) for dma in dmas if dma.place is not None):
        for start in dma.starts:
            uses = (use for block in reachable_blocks(start.dest) for use in ops_of(block.ops, UseLockOp))
            used = locks.setdefault((place, start.channel.direction, start.channel.number), {})
            used.update((use.lock_op, None) for use in uses if use.lock_op is not None)
    return locks
