"""Cascades: the side that a core takes accumulators from, and the one it gives them to."""

from __future__ import annotations

from tilewright.device import CascadeDirection, DeviceModel
from tilewright.device.registers import CascadeControl
from tilewright.dialects.aie.cascade import ConfigureCascadeOp
from tilewright.dialects.aie.lookup import tile_of
from tilewright.passes.control.configuration.writes import TileWriter, Write, placed


def configured_cascade(model: DeviceModel, op: ConfigureCascadeOp) -> Write:
    tile = TileWriter(model, placed(op, tile_of(op.tile)), op.location)
    register = model.registers(*tile.place).cascade_control
    assert register is not None, "the verifier asks for a core tile"
    (word,) = CascadeControl.encode(
        input=int(op.input_direction is CascadeDirection.West), output=int(op.output_direction is CascadeDirection.East)
    )
    return tile.write(register, word)
