"""Replaces locks in the programs of cores by the numbers under which the cores know them.

A core sees its own locks and those of its neighbours in one row of numbers, a window per tile.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tilewright.device import TileId
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.lookup import device_model
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.traversal import all_operations
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.pass_bases import DevicePass, ops_of


class LocalizeLocksPass(DevicePass):
    name = "aie-localize-locks"

    def apply_to(self, device: DeviceOp) -> None:
        # Where upstream's constant for each lock stands: tiles in order and, in a tile, the newest lock first.
        tiles: dict[TileId | None, int] = {tile.place: position for position, tile in enumerate(device.tiles)}
        locks = enumerate(ops_of(all_operations(device), LockOp))
        order = {lock: (tiles.get(lock.place, 0), -position) for position, lock in locks}
        for core in ops_of(device.body.ops, CoreOp):
            if core.place is not None:
                _localize(core, core.place, order)


def _localize(core: CoreOp, place: TileId, order: dict[LockOp, tuple[int, int]]) -> None:
    """Make a constant for each lock that the core uses, each before the ones made so far."""
    uses = _uses_in(core)
    for lock in sorted(uses, key=lambda lock: order[lock]):
        number = Emitter.at_start(core.body.blocks[0], lock.location).index(_local_number(core, place, lock))
        for user, index in uses[lock]:
            user.operands[index] = number


def _local_number(core: CoreOp, place: TileId, lock: LockOp) -> int:
    if lock.number is None:
        fail_op(lock, "has no number that a core could know it by; run --aie-assign-lock-ids first")
    base = device_model(core).lock_base_index(*place, *lock.place) if lock.place is not None else None
    if base is None:
        fail_op(lock, f"is used by the core of tile ({place.column}, {place.row}), which cannot reach it")
    return base + lock.number


def _uses_in(core: CoreOp) -> dict[LockOp, list[tuple[Operation, int]]]:
    """The locks that a core's program uses, each with the operands that are it."""
    uses: dict[LockOp, list[tuple[Operation, int]]] = {}
    for op in core.body.walk():
        for index, operand in enumerate(op.operands):
            if isinstance(operand.owner, LockOp):
                uses.setdefault(operand.owner, []).append((op, index))
    return uses
