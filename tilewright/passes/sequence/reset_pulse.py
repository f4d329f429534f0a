"""Resets: a bit is set in a register of a tile and cleared again."""

from __future__ import annotations

from tilewright.device import TileId
from tilewright.dialects.aiex.instructions import NpuMaskWrite32Op
from tilewright.rewrite.emitter import Emitter


def pulse_reset(emit: Emitter, place: TileId, register: int, bit: int) -> None:
    """Write twice to the register at a byte offset in a tile; its other bits keep their values."""
    for value in (bit, 0):
        address, written, mask = emit.constants(register, value, bit)
        emit.insert(NpuMaskWrite32Op(address, written, mask, *place))
