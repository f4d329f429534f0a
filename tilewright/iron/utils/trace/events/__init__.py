"""Events that tiles can record, by name."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from tilewright.device import Arch
from tilewright.device.events import EVENTS, EventModule


# numbers are of AIE2P; programs name events, and each device has its own numbers for those
def _events(name: str, module: EventModule) -> Any:
    return IntEnum(name, dict(EVENTS[Arch.AIE2p][module]), module=__name__)


CoreEvent = _events("CoreEvent", EventModule.Core)
MemEvent = _events("MemEvent", EventModule.Mem)
MemTileEvent = _events("MemTileEvent", EventModule.MemTile)
ShimTileEvent = _events("ShimTileEvent", EventModule.ShimTile)


@dataclass(frozen=True)
class GenericEvent:
    """An event to record."""

    code: Any


@dataclass(frozen=True)
class PortEvent(GenericEvent):
    """An event of a port of the stream switch; the number at its end says which of eight monitors watches it."""

    port: Any
    channel: int
    master: bool = True


class MemTilePortEvent(PortEvent):
    """The same in a mem tile."""


class ShimTilePortEvent(PortEvent):
    """The same in a shim tile."""
