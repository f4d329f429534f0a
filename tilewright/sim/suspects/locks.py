"""Waits for locks: the channels and cores that release them, or why none does."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.sim.dma import Channel, Transfer
from tilewright.sim.engine import Actor
from tilewright.sim.locks import Lock, LockNeed
from tilewright.sim.wait_graph import Cast, Cause, Onward, Suspect, asked_at, listed, name_of


def suspect_lock(cast: Cast, actor: Actor, need: LockNeed) -> Suspect:
    """Whoever should release a lock."""
    if need.exactly and need.lock.value > need.value:
        return _overtaken(actor, need)
    releasing = releasers(cast, need.lock)
    others = [other for other in releasing if other.name != actor.name]
    if others:
        return Onward(others[0], _who_releases(releasing))
    if releasing:
        remedy = "give the lock an initial value, or let somebody else release it"
        text = f"only {name_of(actor)} itself releases {need.lock}, and only after this: {remedy}"
        return Cause(text, asked_at(actor))
    return _no_releaser(cast, actor, need)


def _who_releases(releasing: list[Actor]) -> str:
    names = list(map(name_of, releasing))
    return f"{listed(names)} release it" if len(names) > 1 else f"only {names[0]} releases it"


def _overtaken(actor: Actor, need: LockNeed) -> Cause:
    text = (
        f"{need.lock} has gone past {need.value}: whoever releases it ran ahead of {name_of(actor)}, which waits for "
        f"exactly {need.value}; acquire with AcquireGreaterEqual, or let the other side wait for this one"
    )
    return Cause(text, asked_at(actor))


def releasers(cast: Cast, lock: Lock) -> list[Actor]:
    """Channels and cores that release a lock when they get on."""
    channels = (
        cast.channel(channel)
        for channel in cast.machine.channels()
        if any(_released(channel, bd) is lock for bd in channel.descriptors_ahead())
    )
    cores = (cast.core(tile) for tile in cast.machine.tiles.values() if lock in tile.core_releases)
    return [*channels, *(core for core in cores if core is not None)]


def _released(channel: Channel, bd: int) -> Lock | None:
    release = channel.tile.descriptor(bd).release
    if release is None or release.value <= 0:
        return None
    return channel.tile.find_lock(release.number, channel.number)


def _no_releaser(cast: Cast, actor: Actor, need: LockNeed) -> Cause:
    lock = need.lock
    for tile in cast.machine.tiles.values():
        if lock in tile.core_releases:
            return Cause(f"{cast.missing_core(tile.place)}, and nobody else releases {lock}", asked_at(actor))
    idle = next(_idle_releases(cast, lock), None)
    if idle is not None:
        return Cause(f"BD {idle.bd} releases {lock}, but no task in flight comes to it: start one", idle.location)
    remedy = f"release it where what it guards is ready, or give it an initial value of {need.value} or more"
    return Cause(f"nothing releases {lock}: {remedy}", asked_at(actor))


def _idle_releases(cast: Cast, lock: Lock) -> Iterator[Transfer]:
    """Descriptors that release a lock, were they run."""
    for channel in cast.machine.channels():
        for bd in range(channel.tile.bd_count):
            if channel.tile.can_use(bd, channel.number) and _released(channel, bd) is lock:
                yield Transfer(channel, bd, channel.tile.descriptor_location(bd))
