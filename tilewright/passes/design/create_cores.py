"""Puts functions onto cores: a call that says `aie.x` and `aie.y` becomes the program of the core there."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import FixedBitwidthType, IntegerAttr, MemRefType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import TileId
from tilewright.dialects import func
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.core import CoreOp, EndOp
from tilewright.dialects.aie.dma import MemOp
from tilewright.dialects.aie.lookup import lookup_symbol
from tilewright.dialects.aie.tiles import DeviceOp, TileOp
from tilewright.ir.diagnostics import fail_op
from tilewright.rewrite.device_tiles import tiles_by_place
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.pass_bases import DevicePass, located, ops_of

COLUMN, ROW = "aie.x", "aie.y"


class CreateCoresPass(DevicePass):
    name = "aie-create-cores"

    def apply_to(self, device: DeviceOp) -> None:
        cores = _Cores(device)
        ops = ops_of(device.body.ops, func.CallOp)
        calls = [(op, place) for op in ops if (place := _place_of(op)) is not None]
        placed: dict[Operation, None] = {}
        for call, place in calls:
            callee = _callee(call)
            cores.place(call, callee, cores.tile(call, place))
            placed[callee] = None
        # At the end, as several calls may name the same function.
        for op in (*(call for call, _ in calls), *placed):
            Rewriter.erase_op(op)


class _Cores:
    """The tiles of a device, as far as calls have put something onto them."""

    def __init__(self, device: DeviceOp):
        self.device, self.tiles = device, tiles_by_place(device)
        self.cores: dict[TileOp, CoreOp] = {}
        self.last: dict[TileOp, Operation] = {}
        """What was put behind each tile last."""

    def tile(self, call: func.CallOp, place: TileId) -> TileOp:
        if place not in self.tiles:
            self.tiles[place] = Emitter.at_start(self.device.body, call.location).insert(TileOp(*place))
        return self.tiles[place]

    def place(self, call: func.CallOp, callee: func.FuncOp, tile: TileOp) -> None:
        """Give the core what the function does, and the tile buffers for its arguments."""
        buffers = [self.buffer(call, value, tile) for value in call.arguments]
        if tile not in self.cores:
            self.add_behind(tile, MemOp(tile.result, Region(Block([EndOp()]))), call)
            self.cores[tile] = Emitter.before(call).insert(located(CoreOp(tile.result), call.location))
        end = self.cores[tile].body.blocks[-1].last_op
        assert end is not None
        build = Emitter(InsertPoint.before(end), call.location)
        values: dict[SSAValue, SSAValue] = {}
        for argument, buffer in zip(callee.body.block.args, buffers, strict=True):
            values[argument] = buffer if isinstance(argument.type, MemRefType) else build.load(buffer, [build.index(0)])
        for op in callee.body.block.ops:
            if not isinstance(op, func.ReturnOp):
                build.insert(op.clone(values))

    def buffer(self, call: func.CallOp, value: SSAValue, tile: TileOp) -> SSAValue:
        """A buffer of the tile for an argument; a scalar becomes one of one element."""
        if isinstance(value.owner, BufferOp):
            if value.owner.tile is tile.result:
                return value
            fail_op(call, "has an argument that is on another tile already", (value.owner, "here"))
        type = value.type
        if isinstance(type, FixedBitwidthType):
            scalar: MemRefType = MemRefType(cast(Attribute, type), [1])
            return self.add_behind(tile, BufferOp(tile.result, scalar), call).results[0]
        if not isinstance(type, MemRefType):
            fail_op(call, f"has an argument of type {type}, which no buffer can hold")
        buffer = self.add_behind(tile, BufferOp(tile.result, cast(MemRefType, type)), call).results[0]
        # All calls with this argument mean the same memory: the next one finds the buffer.
        value.replace_all_uses_with(buffer)
        return buffer

    def add_behind(self, tile: TileOp, op: Operation, call: func.CallOp) -> Operation:
        Rewriter.insert_op(located(op, call.location), InsertPoint.after(self.last.get(tile, tile)))
        self.last[tile] = op
        return op


def _place_of(call: func.CallOp) -> TileId | None:
    """Where a call is to be run, if it says so."""
    column, row = (call.attributes.get(name) for name in (COLUMN, ROW))
    if isinstance(column, IntegerAttr) and isinstance(row, IntegerAttr):
        return TileId(column.value.data, row.value.data)
    return None


def _callee(call: func.CallOp) -> func.FuncOp:
    callee = lookup_symbol(call, call.callee)
    if not isinstance(callee, func.FuncOp) or len(callee.body.blocks) != 1:
        fail_op(call, "is to run on a core, but calls no function with a body of one block")
    return callee
