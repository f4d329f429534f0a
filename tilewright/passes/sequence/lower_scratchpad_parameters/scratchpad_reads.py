"""Reads of scratchpad parameters by cores: loads from a buffer that the firmware fills."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

from xdsl.dialects.builtin import BFloat16Type, IndexType, IntegerType, MemRefType, i16, i32
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects import arith, memref
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.lookup import parent_of_type, symbol_name
from tilewright.dialects.aie.tiles import DeviceOp, TileOp
from tilewright.dialects.aiex.scratchpad import ReadScratchpadParameterOp, ScratchpadParameterOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.shown import quoted
from tilewright.rewrite.emitter import Emitter

BUFFER = MemRefType(i32, [2])  # the firmware writes pairs of words
SHIFT = 2  # it forces the low bits of the first word to zero, so the host shifts what it passes


class Entry(NamedTuple):
    """An entry of the scratchpad, and the buffer that it is for."""

    number: int
    buffer: str


def lower_reads(
    device: DeviceOp, reads: Sequence[ReadScratchpadParameterOp], parameters: dict[str, ScratchpadParameterOp]
) -> list[Entry]:
    """Give each core a buffer for each parameter that it reads, and read that. Returns how to fill the buffers."""
    names, numbers = {symbol_name(op) for op in device.body.ops}, count()
    buffers: dict[tuple[str, TileOp], BufferOp] = {}
    entries: list[Entry] = []
    for read in reads:
        parameter, tile = read.parameter.root_reference.data, _tile_of(read)
        if (parameter, tile) not in buffers:
            prefix = f"__param_{parameter}_{tile.place.column}_{tile.place.row}_"
            name = next(name for number in numbers if (name := f"{prefix}{number}") not in names)
            buffer = BufferOp(tile.result, BUFFER, name)
            buffers[parameter, tile] = Emitter(InsertPoint.after(tile), read.location).insert(buffer)
            index = parameters[parameter].state_table_idx
            assert index is not None, "every parameter has been given an entry"
            entries.append(Entry(index.value.data, name))
        _lower_read(read, buffers[parameter, tile])
    return entries


def _tile_of(read: ReadScratchpadParameterOp) -> TileOp:
    core = parent_of_type(read, CoreOp)
    tile = core.tile.owner if core is not None else None
    if not isinstance(tile, TileOp):
        fail_op(read, "cannot be lowered in a core whose tile is not placed; run placement first")
    return tile


def _lower_read(read: ReadScratchpadParameterOp, buffer: BufferOp) -> None:
    build = Emitter.before(read)
    zero = build.constant(0, IndexType())
    loaded = build.value(memref.LoadOp.create(operands=[buffer.buffer, zero], result_types=[i32]))
    shift = build.constant(SHIFT)
    value: SSAValue = build.value(arith.ShRUIOp(loaded, shift))
    match read.result.type:
        case IntegerType() as type if type.bitwidth < 32:
            value = build.value(arith.TruncIOp(value, type))
        case BFloat16Type() as type:
            half = build.value(arith.TruncIOp(value, i16))
            value = build.value(arith.BitcastOp(half, type))
        case type if type == i32:
            pass
        case type:
            remedy = "use bf16 or an integer of up to 32 bits"
            fail_op(read, f"parameters of type {quoted(type)} are not supported; {remedy}")
    read.result.replace_all_uses_with(value)
    Rewriter.erase_op(read)
