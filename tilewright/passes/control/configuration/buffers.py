"""Buffers with initial values: their bytes in the data memory of their tiles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from tilewright.device import DeviceModel
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.data_layout import type_bytes
from tilewright.ir.diagnostics import fail, fail_op
from tilewright.passes.control.configuration.writes import Write, fail_as_driver, writer_for


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
    if stored == wanted:
        return data
    return b"".join(data[start : start + wanted] for start in range(0, len(data), stored))
