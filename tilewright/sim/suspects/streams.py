"""Waits for streams: from a full one down to whoever should take from it, from an empty one up to whoever feeds it."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.device import DmaDirection, TileType, WireBundle
from tilewright.device.stream_switch import SHIM_DMA_PORTS
from tilewright.sim.core_binding import CoreAsker
from tilewright.sim.dma import Channel
from tilewright.sim.engine import Actor
from tilewright.sim.fifo import CascadeLink, Fifo
from tilewright.sim.switch import Arbiter, PortName, Slave
from tilewright.sim.tile import MuxJoint, Tile
from tilewright.sim.wait_graph import Cast, Cause, Onward, Suspect, asked_at, core_name, name_of, pushed_at


def suspect_stream(cast: Cast, actor: Actor, fifo: Fifo) -> Suspect:
    """Who should take from a stream that is full, or feed one that is empty."""
    return _reader(cast, actor, fifo) if fifo.is_full else _feeder(cast, actor, fifo)


def _reader(cast: Cast, actor: Actor, fifo: Fifo) -> Suspect:
    """Who should take words out of a stream; carriers in between that wait for room are passed over."""
    shared = False
    while True:
        shared = shared or _is_shared(cast, fifo)
        carrier = cast.by_name.get(fifo.name)
        if carrier is None or carrier.wait is None or carrier.wait.of is fifo:
            return _end_reader(cast, actor, fifo, shared)
        if not isinstance(carrier.wait.of, Fifo):
            return Onward(carrier, "it goes no further")
        fifo = carrier.wait.of


def _end_reader(cast: Cast, actor: Actor, fifo: Fifo, shared: bool) -> Suspect:
    tile, port = cast.master(fifo)
    one_of = ", one of the readers of a broadcast," if shared else ""
    channel = channel_at(tile, port, DmaDirection.S2MM)
    if channel is not None and channel.is_idle:
        return _no_reader(cast, actor, channel, shared)
    if channel is not None:
        return Onward(cast.channel(channel), f"{channel}{one_of} takes from it")
    if port.bundle is WireBundle.Core:
        return _core_end(cast, actor, tile, f"{core_name(tile.place)}{one_of} reads it")
    return Cause(f"nobody reads {fifo}: end the route at a DMA or a core", asked_at(actor))


def _no_reader(cast: Cast, actor: Actor, channel: Channel, shared: bool) -> Cause:
    what = "and takes no more" if cast.tasks_done(channel) else "where the words should go"
    why = ", and a broadcast goes on only when all its readers take" if shared else ""
    remedy = "send only what is taken, or start a task there"
    return Cause(f"{cast.run_out(channel)}, {what}{why}: {remedy}", pushed_at(channel, actor))


def _core_end(cast: Cast, actor: Actor, tile: Tile, how: str) -> Suspect:
    core = cast.core(tile)
    if core is not None:
        return Onward(core, how)
    remedy = "make both ends of the stream agree on the number of words"
    return Cause(f"{cast.missing_core(tile.place)}: {remedy}", asked_at(actor))


def _is_shared(cast: Cast, fifo: Fifo) -> bool:
    """Whether a stream is one of the branches of a broadcast."""
    switch = cast.master(fifo)[0].switch
    circuits = (switch.circuit(slave) for slave in switch.slaves.values() if switch.is_enabled(slave))
    return any(len(route.targets) > 1 and any(t.fifo is fifo for t in route.targets) for route in circuits)


def _feeder(cast: Cast, actor: Actor, fifo: Fifo) -> Suspect:
    """Who feeds a stream that is empty. Of several, somebody who has something to do."""
    found = list(_sources(cast, actor, fifo, set()))
    if not found:
        return Cause(f"no route leads to {fifo}: the design needs a flow that ends there", asked_at(actor))
    return next((suspect for suspect in found if isinstance(suspect, Onward)), found[0])


def _sources(cast: Cast, actor: Actor, fifo: Fifo, seen: set[Fifo]) -> Iterator[Suspect]:
    if fifo in seen:
        return
    seen.add(fifo)
    tile, _ = cast.master(fifo)
    for slave in tile.switch.slaves.values():
        if tile.switch.leads_to(slave, fifo):
            yield from _behind(cast, actor, tile, slave, seen)


def _behind(cast: Cast, actor: Actor, tile: Tile, slave: Slave, seen: set[Fifo]) -> Iterator[Suspect]:
    """What sends into a slave port: a block of the tile, or the stream from the neighbour."""
    upstream = cast.machine.upstream(tile, slave.name)
    carrier = cast.by_name.get(upstream.name) if upstream is not None else None
    channel = channel_at(tile, slave.name, DmaDirection.MM2S)
    if upstream is not None and len(upstream) and carrier is not None:
        yield Onward(carrier, f"words for it are in {upstream}")
    elif upstream is not None:
        yield from _sources(cast, actor, upstream, seen)
    elif channel is not None and channel.is_idle:
        yield _no_feeder(cast, actor, tile, channel)
    elif channel is not None:
        yield Onward(cast.channel(channel), f"{channel} feeds it")
    elif slave.name.bundle is WireBundle.Core:
        yield _core_end(cast, actor, tile, f"{core_name(tile.place)} feeds it")


def _no_feeder(cast: Cast, actor: Actor, tile: Tile, channel: Channel) -> Cause:
    remedy = ", and sends no more: send as many words as are taken" if cast.tasks_done(channel) else ": push one"
    for other in tile.channels.values():
        wait = cast.channel(other).wait
        if wait is not None and isinstance(wait.of, Slave):
            remedy += f", or let the flow begin at {other}, which has words and no flow"
    return Cause(f"{cast.run_out(channel)}{remedy}", pushed_at(channel, actor))


def suspect_slave(actor: Actor, slave: Slave) -> Cause:
    text = f"{slave} is joined to nothing: the design needs a flow from there, or a route for these packets"
    return Cause(text, asked_at(actor))


def suspect_arbiter(cast: Cast, actor: Actor, arbiter: Arbiter) -> Suspect:
    """Whoever sends the packet that holds an arbiter."""
    slave = arbiter.held_by
    if slave is None:
        return Cause(f"{arbiter} is free", asked_at(actor))
    tile = cast.machine.tiles[slave.switch.tile]
    senders = list(_behind(cast, actor, tile, slave, set()))
    going_on = next((s for s in senders if isinstance(s, Onward) and s.actor.name != actor.name), None)
    if going_on is not None:
        return Onward(going_on.actor, f"{name_of(going_on.actor)} sends that packet")
    sender = senders[0] if senders else None
    text = f"a packet that came through {slave} never ended, so {arbiter} is held for ever: its last word needs a TLAST"
    return Cause(text, sender.location if isinstance(sender, Cause) else asked_at(actor))


def suspect_joint(actor: Actor, joint: MuxJoint) -> Cause:
    text = f"the shim tile's multiplexer does not join {joint.channel} to {joint.port}"
    return Cause(f"{text}: the design needs a flow there", asked_at(actor))


def suspect_cascade(cast: Cast, actor: Actor, link: CascadeLink) -> Suspect:
    """The core at the other end."""
    source, target = cast.machine.cascade_ends(link)
    asker = actor.wait.by if actor.wait else None
    puts = isinstance(asker, CoreAsker) and asker.tile == source
    other, verb = (target, "takes from") if puts else (source, "puts into")
    tile = cast.machine.tiles.get(other)
    core = cast.core(tile) if tile else None
    if core is not None:
        return Onward(core, f"only {core_name(other)} {verb} it")
    remedy = "let the core there use its end as often, or turn the cascade with aie.cascade_flow"
    return Cause(f"{cast.missing_core(other)}, and only it {verb} {link}: {remedy}", asked_at(actor))


def channel_at(tile: Tile, port: PortName, direction: DmaDirection) -> Channel | None:
    """The channel that is joined to a port of its tile's switch."""
    if tile.type is TileType.ShimNOCTile:
        ports = SHIM_DMA_PORTS[direction]
        if port.bundle is not WireBundle.South or port.channel not in ports:
            return None
        return tile.channels[direction, ports.index(port.channel)]
    return tile.channels.get((direction, port.channel)) if port.bundle is WireBundle.DMA else None
