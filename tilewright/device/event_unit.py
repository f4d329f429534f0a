"""Event unit of one module of a tile, as set up for events and traces: event numbers, registers and fields by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from .enums import Arch, TileType
from .events import EVENTS, MODULES, EventModule
from .layout import Field
from .model import DeviceModel
from .register_fields import layout_at
from .vendor_registers import find_register


@dataclass(frozen=True)
class EventUnit:
    """The events and registers of a module. Names are the vendor's; case does not matter."""

    model: DeviceModel
    tile_type: TileType
    module: EventModule

    @classmethod
    def of(cls, model: DeviceModel, tile_type: TileType, *, memory: bool = False) -> EventUnit:
        """The unit of a kind of tile; a core tile has two, one of them in its memory module."""
        modules = MODULES[tile_type]
        return cls(model, tile_type, modules[-1] if memory else modules[0])

    @property
    def neighbours(self) -> list[EventUnit]:
        """The other units of the same tile."""
        return [replace(self, module=other) for other in MODULES[self.tile_type] if other is not self.module]

    @property
    def events(self) -> Mapping[str, int]:
        """Name and number of what the module can raise."""
        return EVENTS[self.model.arch].get(self.module, {})

    def event(self, name: str) -> int | None:
        """The number of an event."""
        return self.events.get(name.upper())

    def broadcast_event(self, channel: int) -> str:
        """The name of what a module hears on a broadcast channel; a shim tile has two networks and listens to A."""
        return f"BROADCAST_{'A_' if self.module is EventModule.ShimTile else ''}{channel}"

    def register(self, name: str) -> int | None:
        """The offset of a register in the tile."""
        return None if self.model.arch is Arch.AIE1 else find_register(self.module, name)

    def field(self, register: str, name: str) -> Field | None:
        """A field of a register."""
        offset = self.register(register)
        found = None if offset is None else layout_at(self.model, self.tile_type, offset)
        if found is None:
            return None
        layout, word = found
        fields = (field for field in layout.fields.values() if field.word == word)
        return next((field for field in fields if _plain(field.name) == _plain(name)), None)


def _plain(name: str) -> str:
    """What a vendor's name (`eventA`, `Start_BD_ID`) and ours (`event_a`, `start_bd_id`) have in common."""
    return name.replace("_", "").lower()
