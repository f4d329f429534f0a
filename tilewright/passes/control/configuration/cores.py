"""Cores: stopped while their memories are written, reset before they start, enabled when everything else is set."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.device import DmaDirection
from tilewright.device.layout import Field
from tilewright.device.registers import ChannelControl, CoreControl
from tilewright.passes.control.configuration.writes import TileWriter, Write


def stopped_core(tile: TileWriter) -> Write:
    return _control(tile, CoreControl.enable, 0)


def started_core(tile: TileWriter) -> Write:
    return _control(tile, CoreControl.enable, 1)


def restarted_core(tile: TileWriter) -> Iterator[Write]:
    """Pulse the reset of a core: it begins at the start of its program once it is enabled."""
    for value in (1, 0):
        yield _control(tile, CoreControl.reset, value)


def reset_channels(tile: TileWriter, reset: bool) -> Iterator[Write]:
    """Hold all channels of a tile's DMA in reset, or let them go."""
    registers = tile.model.registers(*tile.place)
    for direction in (DmaDirection.MM2S, DmaDirection.S2MM):
        for channel in range(tile.model.num_dma_channels(*tile.place, direction)):
            field = ChannelControl.reset
            yield tile.mask_write(registers.control(direction)[channel], field.place(int(reset)), field.mask)


def _control(tile: TileWriter, field: Field, value: int) -> Write:
    register = tile.model.registers(*tile.place).core_control
    assert register is not None, "the verifier puts cores on core tiles"
    return tile.mask_write(register, field.place(value), field.mask)
