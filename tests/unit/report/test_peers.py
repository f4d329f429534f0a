"""Who is at the other end of a stream: switches are followed from tile to tile."""

from __future__ import annotations

import pytest
from run_records import CORE, MEM, SHIM, channel, record_of

from tilewright.device import DmaDirection, TileId, WireBundle
from tilewright.report.spans import peers_of
from tilewright.sim.record import SwitchConnection
from tilewright.sim.switch import PortName

DMA, NORTH, SOUTH = (WireBundle.DMA, WireBundle.North, WireBundle.South)
ABOVE = TileId(0, 3)


def way(tile: TileId, source: tuple[WireBundle, int], target: tuple[WireBundle, int]) -> SwitchConnection:
    return SwitchConnection(tile, PortName(*source), PortName(*target), False)


THROUGH = [way(SHIM, (SOUTH, 3), (NORTH, 2)), way(MEM, (SOUTH, 2), (NORTH, 1))]
"""From MM2S 0 of the shim tile past the mem tile."""
BROADCAST = [
    *THROUGH,
    way(CORE, (SOUTH, 1), (DMA, 0)),
    way(CORE, (SOUTH, 1), (NORTH, 4)),
    way(ABOVE, (SOUTH, 4), (DMA, 1)),
]


@pytest.mark.parametrize(
    "connections, reached",
    [
        pytest.param(THROUGH, set(), id="a stream that ends nowhere"),
        pytest.param([*THROUGH, way(CORE, (SOUTH, 1), (DMA, 0))], {(CORE, 0)}, id="one receiver"),
        pytest.param(BROADCAST, {(CORE, 0), (ABOVE, 1)}, id="a broadcast"),
    ],
)
def test_receivers_of_a_shim_channel(connections: list[SwitchConnection], reached: set[tuple[TileId, int]]) -> None:
    found = peers_of(record_of([], 0, connections=connections))
    sender = channel(SHIM, DmaDirection.MM2S)
    receivers = {channel(tile, DmaDirection.S2MM, number) for tile, number in reached}
    assert found.get(sender, set()) == receivers
    assert all(found[receiver] == {sender} for receiver in receivers)
