"""One tile: memory, locks, DMA channels, switch and core behind their registers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr

from tilewright.device import DmaDirection, TileId, TileType, WireBundle
from tilewright.device.bd import BD_LAYOUTS
from tilewright.device.register_names import TILE_WORDS, name_address
from tilewright.device.registers import (
    PROGRAM_MEMORY_BYTES,
    SHIM_STREAM_ENDS,
    ChannelStatus,
    CoreControl,
    ShimDemux,
    ShimMux,
)
from tilewright.device.stream_switch import SHIM_DMA_PORTS
from tilewright.sim.descriptors import PAD, WORD_BYTES, Addresses, Descriptor, read_descriptor
from tilewright.sim.dma import Channel, Words
from tilewright.sim.engine import Process, Signal, Wait
from tilewright.sim.faults import FaultKind
from tilewright.sim.fifo import Fifo
from tilewright.sim.locks import Lock, locks_of
from tilewright.sim.ports import PortName
from tilewright.sim.register_roles import RegisterRole, Role, register_roles
from tilewright.sim.roster import PartKind
from tilewright.sim.switch import Slave, Switch

if TYPE_CHECKING:
    from tilewright.sim.machine import Machine

Span: TypeAlias = "tuple[Tile, npt.NDArray[np.bool_], Addresses]"
"""A tile, which of some addresses are on it, and where there."""


class Tile:
    """A tile of the array. Registers are addressed by their byte offset inside it."""

    def __init__(self, machine: Machine, place: TileId):
        self.machine = machine
        self.model = machine.model
        self.place = place
        self.engine, self.judge, self.timing, self.trace = machine.engine, machine.judge, machine.timing, machine.trace
        self.type = self.model.tile_type(*place)
        self.table = self.model.registers(*place)
        self.queue_layout = self.table.queue
        resources = self.model.tile_resources(*place)
        self.memory = np.zeros(resources.data_memory_bytes, dtype=np.uint8)
        self.locks: list[Lock] = locks_of(place, resources.locks, machine.first_lock(place), self.judge, self.trace)
        self.switch = Switch(self.engine, self.model, place, self.register, self.judge, self.timing)
        self.channels = {
            (direction, number): Channel(
                self, direction, number, machine.roster.number(PartKind.CHANNEL, place, (direction, number))
            )
            for direction in DmaDirection
            for number in range(self.model.num_dma_channels(*place, direction))
        }
        self.mux_changed = Signal()
        self.program: Callable[[], Process[None]] | None = None
        """Starts the core's program, where there is one."""
        self.core_releases: set[Lock] = set()
        """Locks that the program releases somewhere."""
        self.core_enabled = False
        self._registers: dict[int, int] = {}
        self._authors: dict[int, LocationAttr] = {}
        self._roles = register_roles(self.model.name, self.type)
        self._has_code = False

    def __str__(self) -> str:
        return f"{TILE_WORDS[self.type]} tile ({self.place.column}, {self.place.row})"

    # Registers.

    def register(self, offset: int) -> int:
        """What a register holds, without the effects of reading it."""
        return self._registers.get(offset, 0)

    def write(self, offset: int, value: int, location: LocationAttr = UNKNOWN_LOC) -> None:
        """Write a word, with everything that comes of it."""
        if offset < len(self.memory):
            self.memory[offset : offset + WORD_BYTES].view(np.uint32)[0] = value
            self.machine.memory_written(self.place, offset)
            return
        role = self._roles.get(offset)
        if role is None:
            self._write_other(offset, value, location)
            return
        if role.role is Role.DESCRIPTOR:
            self._check_unused(role.number, location)
        self._registers[offset] = value
        self._authors[offset] = location
        self._act(role, value, location)

    def _act(self, role: RegisterRole, value: int, location: LocationAttr) -> None:
        match role.role:
            case Role.QUEUE:
                self.channel(role).push(value, location)
            case Role.CONTROL:
                if self.table.channel_control.decode([value]).get("reset"):
                    self.machine.restart_channel(self.channel(role))
            case Role.LOCK:
                self.locks[role.number].set(value)
            case Role.SWITCH:
                self.switch.reconfigure()
            case Role.SHIM_MUX:
                self.mux_changed.fire()
            case Role.CORE_CONTROL:
                self._control_core(value, location)
            case _:
                pass

    def _write_other(self, offset: int, value: int, location: LocationAttr) -> None:
        program = self.table.program_memory
        self._registers[offset] = value
        if program is not None and program <= offset < program + PROGRAM_MEMORY_BYTES:
            self._has_code = True
            return
        name = name_address(self.model, self.model.tile_address(*self.place, offset)) or f"{self} +{offset:#x}"
        self.machine.report_unknown(name, location)

    def read(self, offset: int) -> int:
        """Read a word, with everything that comes of it."""
        if offset < len(self.memory):
            return int(self.memory[offset : offset + WORD_BYTES].view(np.uint32)[0])
        if (request := self._lock_request(offset)) is not None:
            return request
        role = self._roles.get(offset)
        match role.role if role else None:
            case Role.LOCK if role:
                return self.locks[role.number].value
            case Role.STATUS if role:
                return self._status(self.channel(role))
            case Role.CORE_STATUS:
                return self.machine.core_status(self)
            case _:
                return self.register(offset)

    def _lock_request(self, offset: int) -> int | None:
        window, layout = self.table.lock_request, self.table.lock_request_window
        if window is None or not window <= offset < window + (len(self.locks) << layout.lock_id.lo):
            return None
        fields = layout.decode([offset - window])
        change = fields["change"] if not fields["acquire"] else -abs(fields["change"])
        return int(self.locks[fields["lock_id"]].try_change(change, "the controller"))

    def channel(self, role: RegisterRole) -> Channel:
        assert role.direction is not None
        return self.channels[role.direction, role.number]

    def _status(self, channel: Channel) -> int:
        transfer = channel.transfer
        state = 0 if channel.is_idle else 2
        return ChannelStatus.pack(
            status=state,
            channel_running=int(channel.running is not None),
            task_queue_size=len(channel.queue),
            task_queue_overflow=int(channel.overflowed),
            cur_bd=transfer.bd if transfer else 0,
        )[0]

    def _check_unused(self, bd: int, location: LocationAttr) -> None:
        """A descriptor that a task in flight still needs must not change."""
        for channel in self.channels.values():
            for task in channel.users(bd):
                state = "which runs it" if task is channel.running else "in whose queue it waits"
                self.judge.fault(
                    FaultKind.DESCRIPTOR_IN_USE,
                    f"BD {bd} of {self} is rewritten while {channel}, {state}, needs it",
                    _At(location),
                    (task.location, "the task was pushed here"),
                    (location, "await the task before its descriptor is written again, or use another descriptor"),
                )
                return

    # What channels need.

    def descriptor(self, bd: int) -> Descriptor:
        return read_descriptor(self.type, self._bd_words(bd))

    def _bd_words(self, bd: int) -> list[int]:
        first = self.table.bds[bd]
        return [self.register(first + WORD_BYTES * word) for word in range(BD_LAYOUTS[self.type].words)]

    def descriptor_location(self, bd: int) -> LocationAttr:
        first = self.table.bds[bd]
        known = (self._authors.get(first + WORD_BYTES * word) for word in range(BD_LAYOUTS[self.type].words))
        return next((location for location in known if location is not None), UNKNOWN_LOC)

    def count_iteration(self, bd: int, iteration: int) -> None:
        field = BD_LAYOUTS[self.type].fields["iteration_current"]
        offset = self.table.bds[bd] + WORD_BYTES * field.word
        self._registers[offset] = self.register(offset) & ~field.mask | field.place(iteration)

    def can_use(self, bd: int, channel: int) -> bool:
        return bd < self.model.num_bds(*self.place) and self.model.is_bd_channel_accessible(*self.place, bd, channel)

    def dma_lock(self, number: int, channel: int, asker: object) -> Lock:
        """A lock as descriptors number them: a mem tile's see those of the tiles west and east of it, too."""
        if self.type is not TileType.MemTile:
            return self.locks[number]
        tile = self._neighbour(number // len(self.locks), channel, asker, f"lock {number}")
        return tile.locks[number % len(self.locks)]

    def _neighbour(self, window: int, channel: int, asker: object, what: str) -> Tile:
        """The mem tile in a window: west, this one, east."""
        place = TileId(self.place.column + window - 1, self.place.row)
        reachable = window == 1 or channel < self.model.adjacent_mem_tile_channels
        tile = self.machine.mem_tile(place) if 0 <= window <= 2 and reachable else None
        if tile is None:
            self.judge.fault(FaultKind.OUTSIDE_MEMORY, f"{asker} cannot reach {what}", asker)
            return self
        return tile

    def gather(self, addresses: Addresses, channel: Channel, asker: object) -> Words:
        if self.type is TileType.ShimNOCTile:
            return self.machine.host.gather(addresses, asker)
        pad = self._pad_value(channel)
        words = np.full(len(addresses), pad, dtype=np.uint32)
        for tile, inside, offsets in self._spans(addresses, channel, asker):
            words[inside] = tile.memory.view(np.uint32)[offsets // WORD_BYTES]
        return words

    def scatter(self, addresses: Addresses, words: Words, channel: Channel, asker: object) -> None:
        if self.type is TileType.ShimNOCTile:
            self.machine.host.scatter(addresses, words, asker)
            return
        for tile, inside, offsets in self._spans(addresses, channel, asker):
            tile.memory.view(np.uint32)[offsets // WORD_BYTES] = words[inside]

    def _spans(self, addresses: Addresses, channel: Channel, asker: object) -> Iterator[Span]:
        """The tiles that addresses are on: which of them, and where there."""
        size, real = len(self.memory), addresses != PAD
        if self.type is not TileType.MemTile:
            self._check_inside(addresses[real], size, asker)
            inside = real & (addresses < size)
            yield self, inside, addresses[inside]
            return
        for window in np.unique(addresses[real] // size).tolist():
            tile = self._neighbour(window, channel.number, asker, f"address {int(addresses[real].min()):#x}")
            inside = real & (addresses // size == window)
            yield tile, inside, addresses[inside] % size

    def _check_inside(self, addresses: Addresses, size: int, asker: object) -> None:
        if len(addresses) and addresses.max() >= size:
            text = f"{asker} reaches address {int(addresses.max()):#x} of {self}, whose memory has {size:#x} bytes"
            self.judge.fault(FaultKind.OUTSIDE_MEMORY, text, asker)

    def _pad_value(self, channel: Channel) -> int:
        values = self.table.mm2s_pad_value
        return self.register(values[channel.number]) if values is not None else 0

    def outlet(self, channel: int) -> Process[Slave]:
        """The port of the switch that an MM2S channel feeds."""
        if self.type is not TileType.ShimNOCTile:
            return self.switch.slaves[PortName(WireBundle.DMA, channel)]
        port = SHIM_DMA_PORTS[DmaDirection.MM2S][channel]
        yield from self._joined(self.table.shim_mux, ShimMux, port, f"MM2S {channel}")
        return self.switch.slaves[PortName(WireBundle.South, port)]

    def inlet(self, channel: int) -> Process[Fifo]:
        """The stream that an S2MM channel reads."""
        if self.type is not TileType.ShimNOCTile:
            return self.switch.masters[PortName(WireBundle.DMA, channel)]
        port = SHIM_DMA_PORTS[DmaDirection.S2MM][channel]
        yield from self._joined(self.table.shim_demux, ShimDemux, port, f"S2MM {channel}")
        return self.switch.masters[PortName(WireBundle.South, port)]

    def _joined(self, offset: int | None, layout: type[ShimMux | ShimDemux], port: int, what: str) -> Process[None]:
        """Wait until the multiplexer below the switch joins a South port to the DMA."""
        assert offset is not None
        field = layout.fields[f"south{port}"]
        text = f"{what} of {self} is not joined to South {port} of its switch: the multiplexer is not set"
        while field.get([self.register(offset)]) != SHIM_STREAM_ENDS[WireBundle.DMA]:
            yield Wait(self.mux_changed, lambda: text, self)

    def token_outlet(self) -> Slave:
        return self.switch.slaves[PortName(WireBundle.TileControl, 0)]

    def controller_id(self, direction: DmaDirection, channel: int) -> int:
        return self._control(direction, channel)["controller_id"]

    def _control(self, direction: DmaDirection, channel: int) -> dict[str, int]:
        return self.table.channel_control.decode([self.register(self.table.control(direction)[channel])])

    def start_cost(self, direction: DmaDirection) -> int:
        reads_host = self.type is TileType.ShimNOCTile and direction is DmaDirection.MM2S
        return self.timing.host_read if reads_host else 0

    def end_cost(self, direction: DmaDirection) -> int:
        writes_host = self.type is TileType.ShimNOCTile and direction is DmaDirection.S2MM
        return self.timing.host_write if writes_host else 0

    # The core.

    def _control_core(self, value: int, location: LocationAttr) -> None:
        fields = CoreControl.decode([value])
        enabled = bool(fields["enable"]) and not fields["reset"]
        if enabled and not self.core_enabled and self.program is None and self._has_code:
            self.judge.fault(
                FaultKind.PROGRAM_MEMORY,
                f"the core of {self} is started with machine code in its program memory, which cannot be executed here",
                _At(location),
                (location, "run the design that the code was made from, or bind a kernel to this core"),
            )
        self.core_enabled = enabled
        self.machine.core_enabled(self)


class _At:
    """A place to complain about."""

    def __init__(self, location: LocationAttr):
        self.location = location
