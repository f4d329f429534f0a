"""Explanations of hangs: from the controller's wait to the part that should end it, until the chain closes or ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr, UnknownLoc

from tilewright.device import DmaDirection, TileId
from tilewright.sim.controller import Polled, TokenSource
from tilewright.sim.core_binding import CoreAsker
from tilewright.sim.dma import BdTransfer, Channel
from tilewright.sim.engine import Actor
from tilewright.sim.faults import place_of
from tilewright.sim.fifo import CascadeLink, Fifo
from tilewright.sim.locks import LockNeed
from tilewright.sim.machine import Machine
from tilewright.sim.switch import Arbiter, Slave
from tilewright.sim.tile import MuxJoint, Tile
from tilewright.sim.wait_graph import (
    Blocker,
    Cause,
    WaitEdge,
    WaitGraph,
    arbiter_edge,
    asked_at,
    cascade_edge,
    listed,
    lock_edge,
    mux_edge,
    name_of,
    poll_edge,
    pushed_at,
    slave_edge,
    stream_edge,
    token_edge,
)

Note: TypeAlias = "tuple[LocationAttr, str]"


def explain(machine: Machine, waiting: Actor) -> list[Note]:
    """Notes that follow the waits from one to the next; the last one is the most likely cause.

    Why the first one waits is not among them: it is what the hang is called.
    """
    return list(_located(_follow(WaitGraph(machine), waiting)))


def _located(notes: Iterable[Note]) -> Iterator[Note]:
    """What is in between, such as a switch, has no place in the program: it is told where it is about."""
    last: LocationAttr = UNKNOWN_LOC
    for location, text in notes:
        last = last if isinstance(location, UnknownLoc) else location
        yield last, text


def _follow(graph: WaitGraph, first: Actor) -> Iterator[Note]:
    chain = [first]
    while True:
        edge = edge_of(graph, chain[-1])
        if text := _link(chain[-1], edge, is_first=len(chain) == 1):
            yield asked_at(chain[-1]), text
        # A cause has no wait of its own: the chain ends here.
        if isinstance(edge, Cause):
            yield edge.location, f"most likely cause: {edge.text}"
            return
        names = [actor.name for actor in chain]
        # By name: the fast model makes new actors for each look at it.
        if edge.actor.name in names:
            yield _circle(chain[names.index(edge.actor.name) :])
            return
        chain.append(edge.actor)


def _link(actor: Actor, edge: WaitEdge, is_first: bool) -> str:
    """Why an actor waits, and which other one should end that."""
    reason = "" if is_first or actor.wait is None else actor.wait.reason() + _progress(actor)
    how = edge.how if isinstance(edge, Blocker) else ""
    return "; ".join(filter(None, [reason, how]))


def _progress(actor: Actor) -> str:
    """How far a transfer that waits for its stream has come."""
    wait = actor.wait
    if wait is None or not isinstance(wait.of, Fifo) or not isinstance(wait.by, BdTransfer):
        return ""
    channel = wait.by.channel
    has_moved = "have come" if channel.direction is DmaDirection.S2MM else "are sent"
    return f" ({channel.moved} of {channel.tile.descriptor(wait.by.bd).length} words {has_moved})"


def _circle(actors: list[Actor]) -> Note:
    if len(actors) == 1:
        return asked_at(actors[0]), f"most likely cause: {name_of(actors[0])} waits for itself"
    names = listed([name_of(actor) for actor in actors])
    text = f"most likely cause: {names} wait for each other in a circle: {_way_out(actors)}"
    return asked_at(actors[-1]), text


def _way_out(actors: list[Actor]) -> str:
    """What ends a circle: of cores the order of their locks is wrong, of others what a lock begins with."""
    waits = [actor.wait for actor in actors if actor.wait is not None]
    if not any(isinstance(wait.of, LockNeed) for wait in waits):
        return "let one of them send before it waits"
    if all(isinstance(wait.by, CoreAsker) for wait in waits):
        return "let them take their locks in the same order"
    return "give one of these locks a higher initial value, or release it before the wait"


def edge_of(graph: WaitGraph, actor: Actor) -> WaitEdge:
    """The actor that should end a wait, or why there is none."""
    match actor.wait.of if actor.wait else None:
        case TokenSource() as source:
            return token_edge(graph, actor, source)
        case Polled() as polled:
            return poll_edge(graph, actor, polled)
        case LockNeed() as need:
            return lock_edge(graph, actor, need)
        case Fifo() as fifo:
            return stream_edge(graph, actor, fifo)
        case Slave() as slave:
            return slave_edge(actor, slave)
        case Arbiter() as arbiter:
            return arbiter_edge(graph, actor, arbiter)
        case CascadeLink() as link:
            return cascade_edge(graph, actor, link)
        case MuxJoint() as joint:
            return mux_edge(actor, joint)
        case Channel() as channel:
            return Cause(f"{graph.run_out(channel)}, and there is no other", pushed_at(channel, actor))
        case Tile():
            return _looks_for_ever(actor)
        case _:
            return Cause(f"{name_of(actor)} goes on for ever without doing what is needed", asked_at(actor))


def _looks_for_ever(actor: Actor) -> Cause:
    """A core in a loop that ends when something in its memory changes."""
    remedy = "let somebody write what it looks at, or wait for a lock instead"
    return Cause(f"{name_of(actor)} is in a loop whose end depends on what nobody changes: {remedy}", asked_at(actor))


@dataclass(frozen=True)
class OpenWait:
    """An actor that does not move: why, and which other one should end its wait."""

    name: str
    part: int
    """Its number, see `sim.part_ids`."""
    tile: TileId | None
    reason: str
    since: int
    location: LocationAttr
    needs: str | None
    """The name of the actor that should end the wait, if there is one."""
    cause: str | None
    """Why there is none."""


def open_waits(machine: Machine, since: Mapping[int, int]) -> list[OpenWait]:
    """All actors that are stuck in the middle of something, and those they wait for.

    `since` has the cycle in which each part began what it is at.
    """
    graph, found = WaitGraph(machine), dict[str, OpenWait]()
    asked = [actor for actor in machine.engine.waiting if not _is_idle(actor)]
    while asked:
        actor = asked.pop(0)
        # Trace units are no parts: a buffer that is full of theirs is nobody's hang.
        if actor.name in found or actor.wait is None or actor.rank >= len(machine.part_ids):
            continue
        edge, by = edge_of(graph, actor), place_of(actor.wait.by)
        needs, cause = (None, edge.text) if isinstance(edge, Cause) else (edge.actor.name, None)
        begun, reason = since.get(actor.rank, 0), actor.wait.reason()
        found[actor.name] = OpenWait(actor.name, actor.rank, actor.tile, reason, begun, by, needs, cause)
        if isinstance(edge, Blocker):
            asked.append(edge.actor)
    return list(found.values())


def _is_idle(actor: Actor) -> bool:
    """Whether an actor is ready for work, and there is none."""
    wait = actor.wait
    if wait is None or isinstance(wait.of, Channel):
        return True
    # A stream asks in its own name, the collector of tokens in that of the controller: neither began anything.
    return isinstance(wait.of, Fifo) and not wait.of.is_full and isinstance(wait.by, Fifo | str)
