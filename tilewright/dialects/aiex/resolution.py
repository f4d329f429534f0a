"""Resolution of register instructions on the array: absolute addresses, and the words that they write."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerType, MemRefType

from tilewright.device.layout import WORD_BITS, WORD_BYTES, WORD_MASK
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.data_layout import type_bits
from tilewright.dialects.aie.interfaces import Target
from tilewright.dialects.aie.lookup import device_symbol, lookup_symbol, parent_of_type
from tilewright.dialects.memref import GetGlobalOp
from tilewright.dialects.memref.buffers import GlobalOp
from tilewright.ir.diagnostics import fail

from .instructions import NpuBlockWriteOp, Placed

TILE_OFFSET = 0xFFFFF  # the part of an address inside a tile


def absolute_address(op: Placed, offset: int) -> int:
    """The address that `offset` of an instruction means: words into its buffer, bytes into its tile, or absolute."""
    device = parent_of_type(op, Target)
    if device is None:
        fail(op, "Must be inside a device.")
    if op.buffer is not None:
        name = op.buffer.root_reference.data
        buffer = lookup_symbol(device, name)
        if not isinstance(buffer, BufferOp) or buffer.place is None:
            fail(op, f"buffer '{name}' not found in device")
        if buffer.address_bytes is None:
            fail(op, "referenced buffer must have address assigned", (buffer, "This buffer must have an address."))
        return device.model.tile_address(*buffer.place, buffer.address_bytes + WORD_BYTES * offset & TILE_OFFSET)
    if op.column is not None and op.row is not None:
        address = device.model.tile_address(op.column.value.data, op.row.value.data, offset & TILE_OFFSET)
        # columns and rows are any 32-bit numbers here: nothing has checked them against the array
        if address > WORD_MASK:
            fail(op, f"tile ({op.column.value.data}, {op.row.value.data}) has no address in 32 bits")
        return address
    return offset


def block_words(op: NpuBlockWriteOp) -> list[int]:
    """The words that a block write writes."""
    return list(block_data(op).get_values())


def block_data(op: NpuBlockWriteOp) -> DenseIntOrFPElementsAttr[IntegerType]:
    """What holds the words of a block write; fails if it has none."""
    if type_bits(cast(MemRefType, op.data.type).element_type) != WORD_BITS:
        fail(op, "Only 32-bit data type is supported for now")
    if not isinstance(source := op.data.owner, GetGlobalOp):
        fail(op, "Only MemRefs from memref.get_global are supported")
    symbol = device_symbol(op, source.name_)
    if not isinstance(symbol, GlobalOp):
        fail(op, "Global symbol not found")
    if symbol.initial_value is None:
        fail(op, "Global symbol has no initial value")
    if not isinstance(values := symbol.initial_value, DenseIntOrFPElementsAttr):
        fail(op, "Global symbol initial value is not a dense int array")
    return cast("DenseIntOrFPElementsAttr[IntegerType]", values)
