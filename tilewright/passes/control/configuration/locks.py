"""Locks: those of a core tile start at 0, then those with an initial value get it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tilewright.device import DeviceModel
from tilewright.device.registers import LockValue
from tilewright.dialects.aie.locks import LockOp
from tilewright.passes.control.configuration.writes import TileWriter, Write, fail_as_driver, writer_for


def cleared_locks(tile: TileWriter) -> Iterator[Write]:
    """Set all locks of a tile to 0."""
    registers, count = tile.model.registers(*tile.place).locks, tile.model.num_locks(*tile.place)
    assert registers is not None, "NPUs have lock value registers"
    for number in range(count):
        yield tile.write(registers[number], 0)


def initial_locks(model: DeviceModel, locks: Iterable[LockOp]) -> Iterator[Write]:
    """Give locks their initial values. A lock without a number is not used by anything that is configured here."""
    for lock in locks:
        if lock.number is not None and lock.init is not None:
            yield _initial_value(model, lock, lock.number, lock.init.value.data)


def _initial_value(model: DeviceModel, lock: LockOp, number: int, value: int) -> Write:
    tile = writer_for(model, lock)
    if value not in LockValue.lock_value.limits:
        why = f"a lock counts from 0 to {LockValue.lock_value.limits[-1]}, its initial value is {value}"
        fail_as_driver(lock, "XAie_LockSetValue", "XAIE_INVALID_LOCK_VALUE", (lock, why))
    offset = model.lock_address(*tile.place, number)
    assert offset is not None, "the verifier knows how many locks there are"
    return tile.write(offset, LockValue.encode(lock_value=value)[0])
