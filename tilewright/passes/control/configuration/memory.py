"""State that memories of tiles begin with: values of locks, and contents of buffers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from tilewright.device import DeviceModel
from tilewright.device.registers import LockValue
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.data_layout import type_bytes
from tilewright.dialects.aie.locks import LockOp
from tilewright.ir.diagnostics import fail, fail_op
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
        # Without an initial value nothing is written: locks of core tiles are 0 by then.
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


def initial_buffers(model: DeviceModel, buffers: Iterable[BufferOp]) -> Iterator[Write]:
    for buffer in buffers:
        if buffer.initial_value is not None:
            yield from _contents(model, buffer, buffer.initial_value)


def _contents(model: DeviceModel, buffer: BufferOp, value: Attribute) -> Iterator[Write]:
    tile, address = writer_for(model, buffer), buffer_address(buffer)
    if not isa(value, DenseIntOrFPElementsAttr):
        remedy = (buffer, "write its contents as dense<...>; those of a resource are not in the program")
        fail_op(buffer, "has an initial value whose bytes are not known", remedy)
    data, size = _bytes_of(value), model.tile_resources(*tile.place).data_memory_bytes
    if address + len(data) > size:
        why = f"the buffer ends at {address + len(data):#x}, the memory of the tile at {size:#x}"
        fail_as_driver(buffer, "XAie_DataMemBlockWrite", "XAIE_ERR_OUTOFBOUND", (buffer, why))
    yield from tile.memory(address, data)


def buffer_address(buffer: BufferOp) -> int:
    """Where a buffer is in the memory of its tile."""
    if buffer.address_bytes is None:
        remedy = (buffer, "run --aie-assign-buffer-addresses first, or give the buffer an address")
        fail(buffer, "buffer must have address assigned", remedy)
    return buffer.address_bytes


def _bytes_of(value: DenseIntOrFPElementsAttr) -> bytes:
    """Elements as they lie in memory: each in as many bytes as its bits need."""
    data, element = value.data.data, value.get_element_type()
    stored, wanted = element.compile_time_size, type_bytes(element)
    # xDSL stores elements of odd widths in more bytes than they take in memory.
    if stored == wanted:
        return data
    return b"".join(data[start : start + wanted] for start in range(0, len(data), stored))
