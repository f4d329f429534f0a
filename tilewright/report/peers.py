"""Who is at the other end of a channel's stream, as the switches are set."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from tilewright.device import DmaDirection, TileId, TileType, WireBundle
from tilewright.device.stream_switch import SHIM_DMA_PORTS, STEPS
from tilewright.sim.parts import ArrayPart, PartKind, part_ids_of
from tilewright.sim.record import RunRecord
from tilewright.sim.switch import PortName

Port = tuple[TileId, PortName]


def port_of(record: RunRecord, part: ArrayPart) -> Port | None:
    """The port of its tile's switch that a channel is joined to: a slave port if it sends, else a master port."""
    match part:
        case ArrayPart(
            kind=PartKind.CHANNEL, tile=TileId() as tile, detail=(DmaDirection() as direction, int() as channel)
        ):
            is_shim = record.model.tile_type(*tile) is TileType.ShimNOCTile
            south = SHIM_DMA_PORTS[direction]
            return tile, PortName(WireBundle.South, south[channel]) if is_shim else PortName(WireBundle.DMA, channel)
        case _:
            return None


def sends(part: ArrayPart) -> bool:
    return part.kind is PartKind.CHANNEL and isinstance(part.detail, tuple) and part.detail[0] is DmaDirection.MM2S


def peers_of(record: RunRecord) -> Mapping[int, set[int]]:
    """For each channel the channels that it sends to or gets words from."""
    parts = part_ids_of(record.model.name).parts
    senders = {port: n for n, part in enumerate(parts) if sends(part) and (port := port_of(record, part))}
    receivers = {port: n for n, part in enumerate(parts) if not sends(part) and (port := port_of(record, part))}
    targets = defaultdict[Port, list[Port]](list)
    for connection in record.connections:
        targets[connection.tile, connection.source].append((connection.tile, connection.target))
    found = defaultdict[int, set[int]](set)
    for port, sender in senders.items():
        for master in _reached(targets, port):
            if master in receivers:
                found[sender].add(receivers[master])
                found[receivers[master]].add(sender)
    return found


def _reached(targets: Mapping[Port, list[Port]], start: Port) -> Iterator[Port]:
    """The master ports that words from a slave port may go out of, near and far."""
    seen, ahead = {start}, [start]
    while ahead:
        for master in targets.get(ahead.pop(), ()):
            yield master
            beyond = _other_end(*master)
            if beyond is not None and beyond not in seen:
                seen.add(beyond)
                ahead.append(beyond)


def _other_end(tile: TileId, port: PortName) -> Port | None:
    """The slave port that a master port is wired to."""
    if port.bundle not in STEPS:
        return None
    columns, rows = STEPS[port.bundle]
    return TileId(tile.column + columns, tile.row + rows), PortName(port.bundle.opposite, port.channel)
