"""Events that tiles can record, by name."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

from tilewright.device import Arch
from tilewright.device import events as numbered
from tilewright.device.devices import DEVICES
from tilewright.device.enums import DeviceName
from tilewright.device.events import EVENTS, EventModule
from tilewright.iron.placed.dma import DMAChannelDir


def _events(name: str, module: EventModule, arch: Arch) -> Any:
    numbers = EVENTS[arch].get(module)
    return None if numbers is None else IntEnum(name, dict(numbers), module=__name__)


# programs name events, and each device has its own numbers for those
CoreEvent = _events("CoreEvent", EventModule.Core, Arch.AIE2p)
MemEvent = _events("MemEvent", EventModule.Mem, Arch.AIE2p)
MemTileEvent = _events("MemTileEvent", EventModule.MemTile, Arch.AIE2p)
ShimTileEvent = _events("ShimTileEvent", EventModule.ShimTile, Arch.AIE2p)
_BY_ARCH = {
    arch: SimpleNamespace(
        CoreEvent=_events("CoreEvent", EventModule.Core, arch),
        MemEvent=_events("MemEvent", EventModule.Mem, arch),
        ShimTileEvent=_events("ShimTileEvent", EventModule.ShimTile, arch),
        MemTileEvent=_events("MemTileEvent", EventModule.MemTile, arch),
    )
    for arch in EVENTS
}
VOCABULARIES: dict[str, Any] = {
    name: IntEnum(name, dict(numbers), module=__name__) for name, numbers in numbered.VOCABULARIES.items()
}
"""The events of each module of each generation, by names such as `CoreEventAIE2`."""


def __getattr__(name: str) -> Any:
    if name in VOCABULARIES:
        return VOCABULARIES[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class PacketType(IntEnum):
    """Which module of which tile a packet of a trace comes from."""

    CORE = 0
    MEM = 1
    SHIMTILE = 2
    MEMTILE = 3


NUM_TRACE_TYPES = len(PacketType)


def get_events_for_device(device: str) -> Any:
    """The events of a device, by the name of a device or of a family of them, such as `npu2p`."""
    known: dict[str, DeviceName] = {str(name): name for name in DEVICES}
    name = str(device)
    if name in known:
        return _BY_ARCH[DEVICES[known[name]].arch]
    return _BY_ARCH[Arch.AIE2p if name.startswith("npu2") else Arch.AIE2]


@dataclass(frozen=True)
class GenericEvent:
    """An event to record."""

    code: Any

    def get_register_writes(self) -> dict[int, int]:
        """What registers must hold for it, by address: nothing, but for classes of programs that say more."""
        return {}


@dataclass(frozen=True)
class BasePortEvent(GenericEvent):
    """An event of a port of the stream switch; the number at its end says which of eight monitors watches it."""

    port: Any
    channel: int
    master: bool = True

    @property
    def slot(self) -> int:
        """The monitor."""
        return int(self.code.name.rpartition("_")[2])

    @property
    def direction(self) -> Any:
        """S2MM for a port that words leave the switch by."""
        return DMAChannelDir.S2MM if self.master else DMAChannelDir.MM2S


class PortEvent(BasePortEvent):
    """An event of a port in a core's tile."""


class MemTilePortEvent(BasePortEvent):
    """The same in a mem tile."""


class ShimTilePortEvent(BasePortEvent):
    """The same in a shim tile."""
