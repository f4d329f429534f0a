"""Registers that are written while others use what they hold, and buffers that are named by a number."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import TESTS

import tilewright as tw
from tilewright.device import DmaDirection, TileId
from tilewright.device.registers import CoreControl
from tilewright.sim.faults import FaultKind, FaultPolicy
from tilewright.sim.host import HostMemory

DESIGNS = TESTS / "e2e" / "designs"


def test_a_descriptor_in_use_can_be_written_as_it_is() -> None:
    """A device that is configured once more in the same way goes on as before."""
    loaded = tw.compile(DESIGNS / "mem_tile_ring.mlir").load()
    loaded.run(np.arange(64, dtype=np.int32), np.zeros(64, np.int32))
    tile = loaded.machine.tiles[TileId(0, 1)]
    length = tile.table.bds[1]
    tile.write(length, tile.register(length))
    with pytest.raises(tw.Fault, match=r"BD 1 of mem tile \(0, 1\) is rewritten") as fault:
        tile.write(length, tile.register(length) + 1)
    assert fault.value.kind is FaultKind.DESCRIPTOR_IN_USE


def test_scalars_are_no_buffers() -> None:
    """Arguments 0, 1 and 3 are arrays, 2 is a number: the fourth argument is the third buffer."""
    host = HostMemory(FaultPolicy())
    source, target, trace = (host.add(number, str(number), np.zeros(16, np.uint8)) for number in (0, 1, 3))
    assert [host.argument(index) for index in range(5)] == [source, target, trace, trace, None]


@pytest.mark.parametrize("field, mode", [(16, "finish-on-TLAST"), (3, "out-of-order")])
def test_a_mode_that_is_not_modelled_is_said(field: int, mode: str) -> None:
    machine = tw.compile(DESIGNS / "mem_tile_ring.mlir").load().machine
    tile = machine.tiles[TileId(0, 1)]
    tile.write(tile.table.control(DmaDirection.S2MM)[2], 1 << field)
    (note,) = machine.policy.notes
    assert note.text == f"the {mode} mode of S2MM 2 of tile (0, 1) is not modelled: writing it has no effect"


def test_a_core_that_runs_is_not_started_again() -> None:
    """To write its enable bit once more changes nothing; only a reset makes it begin anew."""
    loaded = tw.compile(DESIGNS / "core_streams.mlir").load()
    tile = loaded.machine.tiles[TileId(0, 2)]
    assert tile.table.core_control is not None
    sums = list[int]()
    for words in ([1], [1], [CoreControl.pack(reset=1)[0], 1]):
        for word in words:
            tile.write(tile.table.core_control, word)
        given, result = np.full(24, 1, np.int32), np.zeros(24, np.int32)
        loaded.run(given, result)
        sums.append(int(result[-1]))
    assert sums == [24, 48, 24]
