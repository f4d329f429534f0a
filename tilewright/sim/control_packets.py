"""Control packets: register reads and writes that reach a tile over its streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.device import WireBundle
from tilewright.device.packets import READ, ControlHeader, PacketHeader, with_parity
from tilewright.sim.descriptors import WORD_BYTES
from tilewright.sim.engine import Process
from tilewright.sim.fifo import Beat, Fifo
from tilewright.sim.ports import PortName

if TYPE_CHECKING:
    from tilewright.sim.tile import Tile

RETURN_TYPE = 0
"""Packet type of what a read sends back; switches go by the id alone."""


def serve_control_port(tile: Tile, fifo: Fifo) -> Process[None]:
    """Carry out, for ever, the packets that come in.

    A packet ends after as many words as it says. Several can come in one transfer, only the last word of which is
    marked as such: what mlir-aie sends to AIE2P.
    """
    while True:
        word, last = yield from fifo.take(fifo)
        if not tile.switch.drops_header(fifo) and not last:
            word, last = yield from fifo.take(fifo)
        fields = ControlHeader.decode([word])
        if fields["operation"] == READ:
            yield from _answer(tile, fields)
            continue
        for beat in range(fields["beats"]):
            if last:
                break
            word, last = yield from fifo.take(fifo)
            tile.write(fields["address"] + WORD_BYTES * beat, word)


def _answer(tile: Tile, fields: dict[str, int]) -> Process[None]:
    """Send back what the registers hold, as a packet with the id that the request names."""
    outlet = tile.switch.slaves[PortName(WireBundle.TileControl, 0)]
    asker = f"the answer of the control port of {tile}"
    place = tile.place
    header = PacketHeader.encode(
        id=fields["return_id"], type=RETURN_TYPE, source_column=place.column, source_row=place.row
    )[0]
    words = [tile.read(fields["address"] + WORD_BYTES * n) for n in range(fields["beats"])]
    for n, word in enumerate([with_parity(header), *words]):
        yield from outlet.pass_on(Beat(word, n == len(words)), asker)
