"""Everybody on a machine who acts, and what there is to say of those who do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr

from tilewright.device import TileId
from tilewright.sim.dma import Channel
from tilewright.sim.engine import Actor
from tilewright.sim.faults import place_of
from tilewright.sim.fifo import Fifo
from tilewright.sim.machine import Machine
from tilewright.sim.switch import PortName
from tilewright.sim.tile import Tile
from tilewright.sim.trace import Event, Rows


@dataclass(frozen=True)
class Onward:
    """Somebody who should end a wait; `how` says in what way."""

    actor: Actor
    how: str = ""


@dataclass(frozen=True)
class Cause:
    """Nobody will end it: the reason, in words of the program, and what to do about it."""

    text: str
    location: LocationAttr = UNKNOWN_LOC


Suspect: TypeAlias = "Onward | Cause"


class Cast:
    """The actors of a machine, by what they are."""

    def __init__(self, machine: Machine):
        self.machine = machine
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
        if tile is None or tile.program is None:
            return f"tile ({place.column}, {place.row}) has no core with a program"
        return f"{core_name(place)} {'has ended' if tile.core_enabled else 'was not started'}"

    def run_out(self, channel: Channel) -> str:
        """Why an idle channel does nothing."""
        count = self.tasks_done(channel)
        if not count:
            return f"no task was pushed on {channel}"
        words = self._rows_of(channel, Event.BD_END)[:, 4].sum()
        return f"{channel} has done {'its task' if count == 1 else f'its {count} tasks'}, {words} words in all"

    def tasks_done(self, channel: Channel) -> int:
        """How many tasks a channel has finished in this run."""
        return len(self._rows_of(channel, Event.TASK_END))

    def _rows_of(self, channel: Channel, event: Event) -> Rows:
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
    """Where the last task of a channel comes from; where somebody waits for the channel if it never had one."""
    return channel.latest.location if channel.latest is not None else asked_at(actor)


def listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
