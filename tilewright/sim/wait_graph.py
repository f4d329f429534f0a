"""The wait graph of a machine: from an actor that waits to the one that should end the wait, or why there is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr

from tilewright.device import DmaDirection, TileId, TileType, WireBundle
from tilewright.device.stream_switch import SHIM_DMA_PORTS
from tilewright.sim.controller import Controller, Polled, TokenSource
from tilewright.sim.core_binding import CoreAsker
from tilewright.sim.dma import BdTransfer, Channel
from tilewright.sim.engine import Actor
from tilewright.sim.faults import place_of
from tilewright.sim.fifo import CascadeLink, Fifo
from tilewright.sim.locks import Lock, LockNeed
from tilewright.sim.machine import Machine
from tilewright.sim.register_roles import RegisterEffect, register_roles
from tilewright.sim.switch import Arbiter, PortName, Slave
from tilewright.sim.tile import MuxJoint, Tile
from tilewright.sim.trace import Rows, TraceEvent


@dataclass(frozen=True)
class Blocker:
    """The actor that should end a wait; `how` says in what way."""

    actor: Actor
    how: str = ""


@dataclass(frozen=True)
class Cause:
    """No actor will end it: the reason, in words of the program, and what to do about it."""

    text: str
    location: LocationAttr = UNKNOWN_LOC


WaitEdge: TypeAlias = "Blocker | Cause"


class WaitGraph:
    """The actors of a machine, by the block that each of them is."""

    def __init__(self, machine: Machine):
        self.machine = machine
        # By name, since the fast model makes new actors for each look at it.
        self.by_name = {actor.name: actor for actor in machine.engine.actors if not actor.done}

        self._masters = {
            fifo: (tile, port) for tile in machine.tiles.values() for port, fifo in tile.switch.masters.items()
        }

    def master(self, fifo: Fifo) -> tuple[Tile, PortName]:
        """The master port that a stream leads to."""
        return self._masters[fifo]

    def channel(self, channel: Channel) -> Actor:
        return self.by_name[str(channel)]

    def core(self, tile: Tile) -> Actor | None:
        return self.by_name.get(f"the core of {tile}")

    def missing_core(self, place: TileId) -> str:
        """Why there is no core at work at a place."""
        tile = self.machine.tiles.get(place)
        if tile is None or (tile.program is None and not self.machine.runs_machine_code):
            return f"tile ({place.column}, {place.row}) has no core with a program"
        return f"{core_name(place)} {'has ended' if tile.core_enabled else 'was not started'}"

    def run_out(self, channel: Channel) -> str:
        """Why an idle channel does nothing."""
        count = self.tasks_done(channel)
        if not count:
            return f"no task was pushed on {channel}"
        # The last number of such a row: words that the descriptor moved.
        words = self._rows_of(channel, TraceEvent.BD_END)[:, 4].sum()
        return f"{channel} has done {'its task' if count == 1 else f'its {count} tasks'}, {words} words in all"

    def tasks_done(self, channel: Channel) -> int:
        """How many tasks a channel has finished in this run."""
        return len(self._rows_of(channel, TraceEvent.TASK_END))

    def _rows_of(self, channel: Channel, event: TraceEvent) -> Rows:
        return self._rows[(self._rows[:, 1] == event) & (self._rows[:, 2] == channel.part)]

    @cached_property
    def _rows(self) -> Rows:
        return self.machine.trace.since(0)


def core_name(place: TileId) -> str:
    return f"the core of tile ({place.column}, {place.row})"


def name_of(actor: Actor) -> str:
    """What messages call an actor."""
    is_core = actor.tile is not None and actor.name.startswith("the core of ")
    return core_name(actor.tile) if is_core and actor.tile is not None else actor.name


def asked_at(actor: Actor) -> LocationAttr:
    """Where in the program an actor waits."""
    return place_of(actor.wait.by) if actor.wait is not None else UNKNOWN_LOC


def pushed_at(channel: Channel, actor: Actor) -> LocationAttr:
    """Where the last task of a channel comes from; where the channel is waited for if it never had one."""
    return channel.latest.location if channel.latest is not None else asked_at(actor)


def listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def lock_edge(graph: WaitGraph, actor: Actor, need: LockNeed) -> WaitEdge:
    """The channel or core that should release a lock."""
    # Nothing takes a lock down but acquires, and this is the one that waits.
    if need.exactly and need.lock.value > need.value:
        return _overtaken(actor, need)
    releasing = releasers(graph, need.lock)
    # What waits cannot be what ends the wait, even if it releases the lock later.
    others = [other for other in releasing if other.name != actor.name]
    if others:
        return Blocker(others[0], _who_releases(releasing))
    if releasing:
        remedy = "give the lock an initial value, or let somebody else release it"
        text = f"only {name_of(actor)} itself releases {need.lock}, and only after this: {remedy}"
        return Cause(text, asked_at(actor))
    return _no_releaser(graph, actor, need)


def _who_releases(releasing: list[Actor]) -> str:
    names = list(map(name_of, releasing))
    return f"{listed(names)} release it" if len(names) > 1 else f"only {names[0]} releases it"


def _overtaken(actor: Actor, need: LockNeed) -> Cause:
    text = (
        f"{need.lock} has gone past {need.value}: whoever releases it ran ahead of {name_of(actor)}, which waits for "
        f"exactly {need.value}; acquire with AcquireGreaterEqual, or let the other side wait for this one"
    )
    return Cause(text, asked_at(actor))


def releasers(graph: WaitGraph, lock: Lock) -> list[Actor]:
    """Channels and cores that release a lock when they get on."""
    channels = (
        graph.channel(channel)
        for channel in graph.machine.channels()
        if any(_released(channel, bd) is lock for bd in channel.descriptors_ahead())
    )
    cores = (graph.core(tile) for tile in graph.machine.tiles.values() if lock in tile.core_releases)
    return [*channels, *(core for core in cores if core is not None)]


def _released(channel: Channel, bd: int) -> Lock | None:
    release = channel.tile.descriptor(bd).release
    # Only a release that adds ends a wait for more.
    if release is None or release.value <= 0:
        return None
    return channel.tile.find_lock(release.number, channel.number)


def _no_releaser(graph: WaitGraph, actor: Actor, need: LockNeed) -> Cause:
    lock = need.lock
    for tile in graph.machine.tiles.values():
        if lock in tile.core_releases:
            return Cause(f"{graph.missing_core(tile.place)}, and nobody else releases {lock}", asked_at(actor))
    idle = next(_idle_releases(graph, lock), None)
    if idle is not None:
        return Cause(f"BD {idle.bd} releases {lock}, but no task in flight comes to it: start one", idle.location)
    remedy = f"release it where what it guards is ready, or give it an initial value of {need.value} or more"
    return Cause(f"nothing releases {lock}: {remedy}", asked_at(actor))


def _idle_releases(graph: WaitGraph, lock: Lock) -> Iterator[BdTransfer]:
    """Descriptors that release a lock, were they run."""
    for channel in graph.machine.channels():
        for bd in range(channel.tile.bd_count):
            if channel.tile.can_use(bd, channel.number) and _released(channel, bd) is lock:
                yield BdTransfer(channel, bd, channel.tile.descriptor_location(bd))


def stream_edge(graph: WaitGraph, actor: Actor, fifo: Fifo) -> WaitEdge:
    """Who should take from a stream that is full, or feed one that is empty."""
    return _reader(graph, actor, fifo) if fifo.is_full else _feeder(graph, actor, fifo)


def _reader(graph: WaitGraph, actor: Actor, fifo: Fifo) -> WaitEdge:
    """Who should take words out of a stream; carriers in between that wait for room are passed over."""
    shared = False
    while True:
        shared = shared or _is_shared(graph, fifo)
        carrier = graph.by_name.get(fifo.name)
        # A carrier that waits for its own stream has nothing to carry: the end is here.
        if carrier is None or carrier.wait is None or carrier.wait.of is fifo:
            return _end_reader(graph, actor, fifo, shared)
        if not isinstance(carrier.wait.of, Fifo):
            return Blocker(carrier, "it goes no further")
        # Streams in between that are full themselves explain nothing.
        fifo = carrier.wait.of


def _end_reader(graph: WaitGraph, actor: Actor, fifo: Fifo, shared: bool) -> WaitEdge:
    tile, port = graph.master(fifo)
    one_of = ", one of the readers of a broadcast," if shared else ""
    channel = channel_at(tile, port, DmaDirection.S2MM)
    if channel is not None and channel.is_idle:
        return _no_reader(graph, actor, channel, shared)
    if channel is not None:
        return Blocker(graph.channel(channel), f"{channel}{one_of} takes from it")
    if port.bundle is WireBundle.Core:
        return _core_end(graph, actor, tile, f"{core_name(tile.place)}{one_of} reads it")
    return Cause(f"nobody reads {fifo}: end the route at a DMA or a core", asked_at(actor))


def _no_reader(graph: WaitGraph, actor: Actor, channel: Channel, shared: bool) -> Cause:
    what = "and takes no more" if graph.tasks_done(channel) else "where the words should go"
    why = ", and a broadcast goes on only when all its readers take" if shared else ""
    remedy = "send only what is taken, or start a task there"
    return Cause(f"{graph.run_out(channel)}, {what}{why}: {remedy}", pushed_at(channel, actor))


def _core_end(graph: WaitGraph, actor: Actor, tile: Tile, how: str) -> WaitEdge:
    core = graph.core(tile)
    if core is not None:
        return Blocker(core, how)
    remedy = "make both ends of the stream agree on the number of words"
    return Cause(f"{graph.missing_core(tile.place)}: {remedy}", asked_at(actor))


def _is_shared(graph: WaitGraph, fifo: Fifo) -> bool:
    """Whether a stream is one of the branches of a broadcast."""
    switch = graph.master(fifo)[0].switch
    circuits = (switch.circuit(slave) for slave in switch.slaves.values() if switch.is_enabled(slave))
    return any(len(route.targets) > 1 and any(t.fifo is fifo for t in route.targets) for route in circuits)


def _feeder(graph: WaitGraph, actor: Actor, fifo: Fifo) -> WaitEdge:
    """Who feeds a stream that is empty. Of several, one that has something to do."""
    found = list(_sources(graph, actor, fifo, set()))
    if not found:
        return Cause(f"no route leads to {fifo}: the design needs a flow that ends there", asked_at(actor))
    # With packets several senders share a stream; one that is at work explains more than one that is not.
    return next((edge for edge in found if isinstance(edge, Blocker)), found[0])


def _sources(graph: WaitGraph, actor: Actor, fifo: Fifo, seen: set[Fifo]) -> Iterator[WaitEdge]:
    # Routes of packets may go in a circle.
    if fifo in seen:
        return
    seen.add(fifo)
    tile, _ = graph.master(fifo)
    for slave in tile.switch.slaves.values():
        if tile.switch.leads_to(slave, fifo):
            yield from _behind(graph, actor, tile, slave, seen)


def _behind(graph: WaitGraph, actor: Actor, tile: Tile, slave: Slave, seen: set[Fifo]) -> Iterator[WaitEdge]:
    """What sends into a slave port: a block of the tile, or the stream from the neighbour."""
    upstream = graph.machine.upstream(tile, slave.name)
    carrier = graph.by_name.get(upstream.name) if upstream is not None else None
    channel = channel_at(tile, slave.name, DmaDirection.MM2S)
    # There are words, so what keeps them is on this side of the wire.
    if upstream is not None and len(upstream) and carrier is not None:
        yield Blocker(carrier, f"words for it are in {upstream}")
    elif upstream is not None:
        yield from _sources(graph, actor, upstream, seen)
    elif channel is not None and channel.is_idle:
        yield _no_feeder(graph, actor, tile, channel)
    elif channel is not None:
        yield Blocker(graph.channel(channel), f"{channel} feeds it")
    elif slave.name.bundle is WireBundle.Core:
        yield _core_end(graph, actor, tile, f"{core_name(tile.place)} feeds it")


def _no_feeder(graph: WaitGraph, actor: Actor, tile: Tile, channel: Channel) -> Cause:
    remedy = ", and sends no more: send as many words as are taken" if graph.tasks_done(channel) else ": push one"
    for other in tile.channels.values():
        wait = graph.channel(other).wait
        # A channel of the same tile that sends nowhere: the flow most likely names the wrong one of the two.
        if wait is not None and isinstance(wait.of, Slave):
            remedy += f", or let the flow begin at {other}, which has words and no flow"
    return Cause(f"{graph.run_out(channel)}{remedy}", pushed_at(channel, actor))


def slave_edge(actor: Actor, slave: Slave) -> Cause:
    text = f"{slave} is joined to nothing: the design needs a flow from there, or a route for these packets"
    return Cause(text, asked_at(actor))


def arbiter_edge(graph: WaitGraph, actor: Actor, arbiter: Arbiter) -> WaitEdge:
    """The sender of the packet that holds an arbiter."""
    slave = arbiter.held_by
    if slave is None:
        return Cause(f"{arbiter} is free", asked_at(actor))
    tile = graph.machine.tiles[slave.switch.tile]
    senders = list(_behind(graph, actor, tile, slave, set()))
    # The actor itself may be behind that port too, with a packet of another id.
    going_on = next((s for s in senders if isinstance(s, Blocker) and s.actor.name != actor.name), None)
    if going_on is not None:
        return Blocker(going_on.actor, f"{name_of(going_on.actor)} sends that packet")
    sender = senders[0] if senders else None
    text = f"a packet that came through {slave} never ended, so {arbiter} is held for ever: its last word needs a TLAST"
    return Cause(text, sender.location if isinstance(sender, Cause) else asked_at(actor))


def mux_edge(actor: Actor, joint: MuxJoint) -> Cause:
    text = f"the shim tile's multiplexer does not join {joint.channel} to {joint.port}"
    return Cause(f"{text}: the design needs a flow there", asked_at(actor))


def cascade_edge(graph: WaitGraph, actor: Actor, link: CascadeLink) -> WaitEdge:
    """The core at the other end."""
    source, target = graph.machine.cascade_ends(link)
    asker = actor.wait.by if actor.wait else None
    puts = isinstance(asker, CoreAsker) and asker.tile == source
    other, verb = (target, "takes from") if puts else (source, "puts into")
    tile = graph.machine.tiles.get(other)
    core = graph.core(tile) if tile else None
    if core is not None:
        return Blocker(core, f"only {core_name(other)} {verb} it")
    remedy = "let the core there use its end as often, or turn the cascade with aie.cascade_flow"
    return Cause(f"{graph.missing_core(other)}, and only it {verb} {link}: {remedy}", asked_at(actor))


def channel_at(tile: Tile, port: PortName, direction: DmaDirection) -> Channel | None:
    """The channel that is joined to a port of its tile's switch."""
    if tile.type is TileType.ShimNOCTile:
        ports = SHIM_DMA_PORTS[direction]
        if port.bundle is not WireBundle.South or port.channel not in ports:
            return None
        return tile.channels[direction, ports.index(port.channel)]
    return tile.channels.get((direction, port.channel)) if port.bundle is WireBundle.DMA else None


def token_edge(graph: WaitGraph, actor: Actor, source: TokenSource) -> WaitEdge:
    """The channel whose token is missing."""
    channel = graph.machine.find_channel(source.tile, source.direction, source.channel)
    if channel is None:
        return Cause(f"the device has no {source}: wait for a channel that it has", asked_at(actor))
    if not channel.is_idle:
        return Blocker(graph.channel(channel))
    controller = actor.wait.by if actor.wait else None
    return _no_token(graph, actor, channel, controller if isinstance(controller, Controller) else None)


def _no_token(graph: WaitGraph, actor: Actor, channel: Channel, controller: Controller | None) -> Cause:
    """Why a channel that has nothing to do did not send a token."""
    source = TokenSource(channel.tile.place, channel.direction, channel.number)
    awaited = controller.awaited[source] if controller else 0
    # First: a dropped push explains every count below that is one too low.
    if channel.overflowed:
        text = f"a push on {channel} was dropped, as six tasks were in flight: wait for one of them before it"
        return Cause(text, asked_at(actor))
    if len(channel.with_token) > awaited:
        return Cause(f"{channel} has sent a token, but it has no route to the controller", pushed_at(channel, actor))
    if awaited:
        sent = "1 token, which was" if awaited == 1 else f"{awaited} tokens, which were"
        text = f"{channel} has sent {sent} waited for before: this wait is one too many"
        return Cause(text, asked_at(actor))
    if graph.tasks_done(channel):
        text = f"{graph.run_out(channel)}, without a token: set issue_token on the task that is waited for"
        return Cause(text, pushed_at(channel, actor))
    return Cause(f"{graph.run_out(channel)}: {_instead(controller)}", asked_at(actor))


def _instead(controller: Controller | None) -> str:
    """What to wait for: tokens that did come."""
    came = [str(source) for source, count in controller.tokens.items() if count] if controller else []
    return f"wait for {listed(came)}, which has sent one" if came else "push one before this wait"


def poll_edge(graph: WaitGraph, actor: Actor, polled: Polled) -> WaitEdge:
    """The actor that changes a register."""
    place, offset = graph.machine.model.locate(polled.address)
    tile = graph.machine.tiles.get(place)
    found = _who_changes(graph, tile, offset) if tile is not None else []
    if found:
        return Blocker(found[0], f"{name_of(found[0])} changes it")
    text = f"nobody who still runs changes {polled.name}: poll for a value that it gets, or change it before"
    return Cause(text, asked_at(actor))


def _who_changes(graph: WaitGraph, tile: Tile, offset: int) -> list[Actor]:
    role = register_roles(graph.machine.model.name, tile.type).get(offset)
    match role.effect if role else None:
        case RegisterEffect.LOCK if role:
            return releasers(graph, tile.locks[role.number])
        case RegisterEffect.STATUS if role and not tile.channel(role).is_idle:
            return [graph.channel(tile.channel(role))]
        case RegisterEffect.CORE_STATUS:
            return [core for core in [graph.core(tile)] if core is not None]
        case _:
            return []
