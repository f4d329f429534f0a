"""Trace units, the numbers of their events, and writes of their registers in a runtime sequence."""

from __future__ import annotations

from difflib import get_close_matches

from xdsl.ir import Operation, SSAValue

from tilewright.device import TileId
from tilewright.device.event_unit import EventUnit
from tilewright.dialects.aie.lookup import device_model, tile_of
from tilewright.dialects.aiex.instructions import NpuMaskWrite32Op, NpuWrite32Op
from tilewright.ir.diagnostics import fail
from tilewright.rewrite.emitter import Emitter


def unit_at(op: Operation, tile: SSAValue, *, memory: bool) -> EventUnit:
    """The unit that `op` records with at a tile."""
    found = tile_of(tile)
    if found is None:
        fail(op, "tile operand must be a TileOp")
    return EventUnit.of(device_model(op), found.tile_type, memory=memory)


def event_number(op: Operation, unit: EventUnit, name: str) -> int:
    number = unit.event(name)
    if number is None:
        fail(op, f"unknown trace event '{name}'", (op, _advice(unit, name)))
    return number


def _advice(unit: EventUnit, name: str) -> str:
    for other in unit.neighbours:
        # a core tile has two modules, each with events of its own
        if other.event(name) is not None:
            return f"it is one of the {other.module} module, this trace is of the {unit.module} module of its tile"
    if close := get_close_matches(name.upper(), unit.events, n=3):
        return f"did you mean {' or '.join(close)}?"
    return f"`tilewright.device.events` lists those that the {unit.module} module raises"


class RegisterWriter(Emitter):
    """Writes registers at a point of a sequence, the constants of each write before it."""

    def write(self, tile: TileId, offset: int, value: int) -> None:
        self.insert(NpuWrite32Op(self.constant(offset), self.constant(value), *tile))

    def write_masked(self, tile: TileId, offset: int, value: int, mask: int) -> None:
        self.insert(NpuMaskWrite32Op(self.constant(offset), self.constant(value), self.constant(mask), *tile))
