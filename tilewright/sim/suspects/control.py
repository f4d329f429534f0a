"""What the controller waits for: tokens, and registers that it polls."""

from __future__ import annotations

from tilewright.sim.controller import Controller, Polled, TokenSource
from tilewright.sim.dma import Channel
from tilewright.sim.engine import Actor
from tilewright.sim.register_roles import Role, register_roles
from tilewright.sim.suspects.locks import releasers
from tilewright.sim.tile import Tile
from tilewright.sim.wait_graph import Cast, Cause, Onward, Suspect, asked_at, listed, name_of, pushed_at


def suspect_token(cast: Cast, actor: Actor, source: TokenSource) -> Suspect:
    """The channel whose token is missing."""
    channel = cast.machine.find_channel(source.tile, source.direction, source.channel)
    if channel is None:
        return Cause(f"the device has no {source}: wait for a channel that it has", asked_at(actor))
    if not channel.is_idle:
        return Onward(cast.channel(channel))
    controller = actor.wait.by if actor.wait else None
    return _no_token(cast, actor, channel, controller if isinstance(controller, Controller) else None)


def _no_token(cast: Cast, actor: Actor, channel: Channel, controller: Controller | None) -> Cause:
    """Why a channel that has nothing to do did not send a token."""
    source = TokenSource(channel.tile.place, channel.direction, channel.number)
    awaited = controller.awaited[source] if controller else 0
    if channel.overflowed:
        text = f"a push on {channel} was dropped, as six tasks were in flight: wait for one of them before it"
        return Cause(text, asked_at(actor))
    if len(channel.with_token) > awaited:
        return Cause(f"{channel} has sent a token, but it has no route to the controller", pushed_at(channel, actor))
    if awaited:
        sent = "1 token, which was" if awaited == 1 else f"{awaited} tokens, which were"
        text = f"{channel} has sent {sent} waited for before: this wait is one too many"
        return Cause(text, asked_at(actor))
    if cast.tasks_done(channel):
        text = f"{cast.run_out(channel)}, without a token: set issue_token on the task that is waited for"
        return Cause(text, pushed_at(channel, actor))
    return Cause(f"{cast.run_out(channel)}: {_instead(controller)}", asked_at(actor))


def _instead(controller: Controller | None) -> str:
    """What to wait for: tokens that did come."""
    came = [str(source) for source, count in controller.tokens.items() if count] if controller else []
    return f"wait for {listed(came)}, which has sent one" if came else "push one before this wait"


def suspect_polled(cast: Cast, actor: Actor, polled: Polled) -> Suspect:
    """Whoever changes a register."""
    place, offset = cast.machine.model.locate(polled.address)
    tile = cast.machine.tiles.get(place)
    found = _who_changes(cast, tile, offset) if tile is not None else []
    if found:
        return Onward(found[0], f"{name_of(found[0])} changes it")
    text = f"nobody who still runs changes {polled.name}: poll for a value that it gets, or change it before"
    return Cause(text, asked_at(actor))


def _who_changes(cast: Cast, tile: Tile, offset: int) -> list[Actor]:
    role = register_roles(cast.machine.model.name, tile.type).get(offset)
    match role.role if role else None:
        case Role.LOCK if role:
            return releasers(cast, tile.locks[role.number])
        case Role.STATUS if role and not tile.channel(role).is_idle:
            return [cast.channel(tile.channel(role))]
        case Role.CORE_STATUS:
            return [core for core in [cast.core(tile)] if core is not None]
        case _:
            return []
