"""Replaces the start of a trace in a runtime sequence by the register writes that set it up."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.aie.lookup import tile_of
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aie.trace_config import TraceConfigOp, TraceRegOp, TraceStartConfigOp
from tilewright.ir.diagnostics import fail
from tilewright.ir.traversal import all_operations
from tilewright.passes.design.trace_units import RegisterWriter, unit_at
from tilewright.rewrite.pass_bases import DevicePass, ops_of


class InlineTraceConfigPass(DevicePass):
    name = "aie-inline-trace-config"

    def apply_to(self, device: DeviceOp) -> None:
        configs = {config.sym_name.data: config for config in ops_of(device.body.ops, TraceConfigOp)}
        for start in ops_of(all_operations(device), TraceStartConfigOp):
            name = start.trace_config.string_value()
            if name not in configs:
                fail(start, f"trace config symbol '{name}' not found")
            _inline(start, configs[name])


def _inline(start: TraceStartConfigOp, config: TraceConfigOp) -> None:
    tile = tile_of(config.tile)
    if tile is None or tile.place is None or not tile.is_placed:
        fail(start, "tile operand must be a TileOp", (config, "run --aie-place-tiles first"))
    unit = unit_at(config, config.tile, memory=config.records_memory)
    for write in config.writes:
        value = _word(write)
        offset = unit.register(write.reg_name.data)
        if offset is None:
            fail(write, f"Register '{write.reg_name.data}' not found for tile {tuple(tile.place)}")
        # located at the line of the trace that asks for the write, not at the start
        RegisterWriter(InsertPoint.before(start), write.location).write(tile.place, offset, value)
    Rewriter.erase_op(start)


def _word(write: TraceRegOp) -> int:
    """What the whole register becomes: bits outside of the mask are unused, or for things that the trace leaves off."""
    if write.field is not None:
        fail(write, "aie.trace.reg still has field attribute - run -aie-trace-pack-reg-writes pass first")
    if not isinstance(write.value, IntegerAttr):
        fail(write, "value must be an integer after packing")
    return write.value.value.data
