"""Routes through the array, written out: from a port of one tile to ports of others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.device import DmaDirection, WireBundle
from tilewright.iron.builders.location import refuse
from tilewright.iron.device.tile import SHIM_TYPES, Tile
from tilewright.iron.resolvable import Emitted


@dataclass
class PacketDest:
    """A port that a packet flow leads to: `port` and `channel` of a `tile`."""

    tile: Tile
    port: WireBundle = WireBundle.DMA
    channel: int = 0


class _Route(Emitted[Any]):
    """What circuits and packet flows have in common: where they start and end, and a name for the shim's end."""

    def __init__(self, src: PacketDest, dst: PacketDest, shim_symbol: str | None):
        super().__init__()
        self._source, self._target = src, dst
        self._shim_symbol = shim_symbol

    @property
    def src(self) -> Tile:
        return self._source.tile

    @property
    def dst(self) -> Tile:
        return self._target.tile

    def all_tiles(self) -> list[Tile]:
        """Every tile that the route starts or ends on."""
        return [self.src, self.dst]

    def _name_shim_end(self) -> None:
        """Let runtime sequences refer to the end on the shim by its symbol."""
        from tilewright.iron.dialects.aie import shim_dma_allocation

        if self._shim_symbol is None:
            return
        # the host's memory is read by what a route starts with, and written by what it ends with
        for end, direction in ((self._source, DmaDirection.MM2S), (self._target, DmaDirection.S2MM)):
            if end.tile.tile_type in SHIM_TYPES:
                shim_dma_allocation(self._shim_symbol, end.tile.op, direction, end.channel)
                return
        refuse(
            f"shim_symbol '{self._shim_symbol}' names an end on a shim tile, "
            f"but neither {self.src} nor {self.dst} is one",
            (None, "give one of them tile_type=AIETileType.ShimNOCTile, or leave shim_symbol out"),
        )


class Flow(_Route):
    """A circuit: everything that leaves one port arrives at another. DMA programs at both ends are yours to write.

    It leads from `src_port` and `src_channel` of the tile `src` to `dst_port` and `dst_channel` of the tile `dst`.
    `shim_symbol` is what runtime sequences call the end on a shim tile.
    """

    def __init__(
        self,
        src: Tile,
        dst: Tile,
        *,
        src_port: WireBundle = WireBundle.DMA,
        src_channel: int = 0,
        dst_port: WireBundle = WireBundle.DMA,
        dst_channel: int = 0,
        shim_symbol: str | None = None,
    ):
        super().__init__(PacketDest(src, src_port, src_channel), PacketDest(dst, dst_port, dst_channel), shim_symbol)

    def _emit(self) -> Any:
        from tilewright.iron.dialects.aie import flow

        source, target = self._source, self._target
        op = flow(source.tile.op, source.port, source.channel, target.tile.op, target.port, target.channel)
        self._name_shim_end()
        return op


class PacketFlow(_Route):
    """A route for packets of one id, which share their wires with other routes; it may end in several places.

    `pkt_id` is the id, `extra_dsts` are the other places. With `keep_pkt_header` the receiver sees the header too.
    `src`, `src_port`, `src_channel`, `dst`, `dst_port`, `dst_channel` and `shim_symbol` are as for `Flow`.
    """

    def __init__(
        self,
        pkt_id: int,
        src: Tile,
        dst: Tile,
        *,
        src_port: WireBundle = WireBundle.DMA,
        src_channel: int = 0,
        dst_port: WireBundle = WireBundle.DMA,
        dst_channel: int = 0,
        extra_dsts: Sequence[PacketDest] = (),
        keep_pkt_header: bool = False,
        shim_symbol: str | None = None,
    ):
        super().__init__(PacketDest(src, src_port, src_channel), PacketDest(dst, dst_port, dst_channel), shim_symbol)
        self.pkt_id = pkt_id
        self._targets = [self._target, *extra_dsts]
        self._keep_header = keep_pkt_header

    def all_tiles(self) -> list[Tile]:
        return [self.src, *(target.tile for target in self._targets)]

    def _emit(self) -> Any:
        from tilewright.iron.dialects.aie import packetflow

        op = packetflow(
            self.pkt_id,
            self.src.op,
            self._source.port,
            self._source.channel,
            [{"dest": end.tile.op, "port": end.port, "channel": end.channel} for end in self._targets],
            keep_pkt_header=self._keep_header,
        )
        self._name_shim_end()
        return op
