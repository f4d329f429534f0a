"""Why nobody moves: from the controller's wait to whoever should end it, and on, until the chain closes or ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr

from tilewright.device import DmaDirection, TileType, WireBundle
from tilewright.device.stream_switch import SHIM_DMA_PORTS
from tilewright.sim.controller import TokenSource
from tilewright.sim.dma import Channel
from tilewright.sim.engine import Actor
from tilewright.sim.faults import place_of
from tilewright.sim.fifo import Fifo
from tilewright.sim.locks import Lock
from tilewright.sim.machine import Machine
from tilewright.sim.ports import PortName
from tilewright.sim.switch import Slave
from tilewright.sim.tile import Tile

Note: TypeAlias = "tuple[LocationAttr, str]"
Suspect: TypeAlias = "Actor | str"
"""Who should end a wait; or a text that says why there is nobody."""


def explain(machine: Machine, waiting: Actor) -> list[Note]:
    """Notes that follow the waits from one to the next; the last one is the most likely cause."""
    return list(_Chain(machine).follow(waiting))


class _Chain:
    def __init__(self, machine: Machine):
        self.machine = machine
        self.by_name = {actor.name: actor for actor in machine.engine.actors if not actor.done}

    def follow(self, first: Actor) -> Iterator[Note]:
        seen: list[Actor] = [first]
        while True:
            suspect = self.suspect(seen[-1])
            if isinstance(suspect, str):
                yield UNKNOWN_LOC, f"most likely cause: {suspect}"
                return
            if suspect in seen:
                yield UNKNOWN_LOC, f"most likely cause: a cycle of waits, which closes with {suspect.name}"
                return
            seen.append(suspect)
            wait = suspect.wait
            if wait is None:
                yield UNKNOWN_LOC, f"most likely cause: {suspect.name} goes on for ever without doing what is needed"
                return
            yield place_of(wait.by), wait.reason()

    def suspect(self, actor: Actor) -> Suspect:
        """Who should do what an actor waits for."""
        match actor.wait.of if actor.wait else None:
            case TokenSource() as source:
                return self._sender(source)
            case Lock() as lock:
                return self._releaser(lock, actor)
            case Fifo() as fifo:
                return self._drain(fifo) if fifo.is_full else self._source(fifo)
            case Slave() as slave:
                return f"{slave} is not connected to anything; the design has no route from there"
            case Channel() as channel:
                return f"nothing was pushed on {channel}"
            case Tile() as tile:
                return f"the multiplexer of {tile} was never set; the design has no route there"
            case _:
                return f"{actor.name} waits for something that nobody here does"

    def _sender(self, source: TokenSource) -> Suspect:
        """The channel whose token is missing."""
        tile = self.machine.tiles.get(source.tile)
        channel = tile.channels.get((source.direction, source.channel)) if tile else None
        if channel is None:
            return f"there is no {source}"
        if not channel.is_idle:
            return self.by_name[str(channel)]
        token = f"the completion token of {channel}"
        stuck = next((a for a in self.machine.engine.waiting if a.wait and str(a.wait.by) == token), None)
        if stuck is not None:
            return stuck
        if channel.completed:
            return f"all {channel.completed} tasks of {channel} are done, and none of them has a token left: issue one"
        return f"no task was pushed on {channel}"

    def _releaser(self, lock: Lock, asker: Actor) -> Suspect:
        """Channels and cores that would release a lock, were they to move."""
        found = [channel for channel in self.machine.channels() if lock in self._releases(channel)]
        actors = [self.by_name[str(channel)] for channel in found]
        for tile in self.machine.tiles.values():
            core = self.by_name.get(f"the core of {tile}")
            if core is not None and lock in tile.core_releases:
                actors.append(core)
        others = [actor for actor in actors if actor is not asker and actor.wait is not None]
        if others:
            return others[0]
        return f"nobody who still runs releases {lock}"

    def _releases(self, channel: Channel) -> Iterator[Lock]:
        """The locks that the tasks of a channel release."""
        for bd in channel.descriptors_ahead():
            release = channel.tile.descriptor(bd).release
            if release is not None:
                yield channel.tile.dma_lock(release.number, channel.number, channel)

    def _source(self, fifo: Fifo) -> Suspect:
        """Who feeds a stream that is empty."""
        place = self._place(fifo)
        if place is None:
            return f"nobody feeds {fifo}"
        tile, _ = place
        feeding = [slave for slave in tile.switch.slaves.values() if tile.switch.leads_to(slave, fifo)]
        if not feeding:
            return f"no route leads to {fifo}"
        for slave in feeding:
            found = self._feeder(tile, slave)
            if found is not None:
                return found
        return f"nothing comes in at {feeding[0]}"

    def _feeder(self, tile: Tile, slave: Slave) -> Suspect | None:
        """What sends into a slave port: a block of the tile, or the stream from the neighbour."""
        upstream = self.machine.upstream(tile, slave.name)
        if upstream is not None:
            return self._source(upstream)
        channel = self._channel_at(tile, slave.name, DmaDirection.MM2S)
        if channel is not None:
            return self.by_name[str(channel)]
        if slave.name.bundle is WireBundle.Core:
            return self.by_name.get(f"the core of {tile}") or f"the core of {tile} does not run"
        return None

    def _drain(self, fifo: Fifo) -> Suspect:
        """Who should take words out of a stream that is full."""
        place = self._place(fifo)
        carrier = self.by_name.get(fifo.name)
        if carrier is not None:
            return carrier
        if place is not None:
            tile, name = place
            channel = self._channel_at(tile, name, DmaDirection.S2MM)
            if channel is not None:
                return self.by_name[str(channel)]
            if name.bundle is WireBundle.Core:
                return self.by_name.get(f"the core of {tile}") or f"the core of {tile} does not run"
        return f"nobody reads {fifo}"

    def _place(self, fifo: Fifo) -> tuple[Tile, PortName] | None:
        for tile in self.machine.tiles.values():
            for name, other in tile.switch.masters.items():
                if other is fifo:
                    return tile, name
        return None

    def _channel_at(self, tile: Tile, port: PortName, direction: DmaDirection) -> Channel | None:
        """The channel that is joined to a port of its tile's switch."""
        if tile.type is TileType.ShimNOCTile:
            ports = SHIM_DMA_PORTS[direction]
            if port.bundle is not WireBundle.South or port.channel not in ports:
                return None
            return tile.channels[direction, ports.index(port.channel)]
        return tile.channels.get((direction, port.channel)) if port.bundle is WireBundle.DMA else None
