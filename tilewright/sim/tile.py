"""One tile: memory, locks, DMA channels, switch and core behind their registers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr

from tilewright.device import DmaDirection, TileId, TileType, WireBundle
from tilewright.device.bd import BD_LAYOUTS, ShimBd
from tilewright.device.descriptors import PAD, Addresses, BufferDescriptor, read_descriptor
from tilewright.device.layout import WORD_BYTES, Field
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
from tilewright.sim.dma import Channel, Words
from tilewright.sim.engine import Process, Wait
from tilewright.sim.faults import At, FaultKind, place_of
from tilewright.sim.fifo import Fifo
from tilewright.sim.host import Bursts, HostLimit, bursts_of, word_cost
from tilewright.sim.locks import Lock
from tilewright.sim.memory_watch import check_written, fresh_memory
from tilewright.sim.register_roles import RegisterEffect, RegisterRole, register_roles
from tilewright.sim.switch import PortName, Slave

if TYPE_CHECKING:
    from tilewright.sim.core import BoundCore
    from tilewright.sim.machine import Machine

OTHER_MODES = {
    "fot_mode": "finish-on-TLAST",
    "enable_out_of_order": "out-of-order",
    "pause_stream": "stream pause",
    "pause_mem": "memory pause",
}
"""Fields of a channel's control register that have no effect here."""
Span: TypeAlias = "tuple[Tile, npt.NDArray[np.bool_], Addresses]"
"""A tile, which of some addresses are on it, and where there."""


@dataclass(frozen=True)
class MuxJoint:
    """A shim tile's channel joined to a port of its switch by the multiplexer between them."""

    channel: Channel
    port: PortName

    def __str__(self) -> str:
        return f"the joint of {self.channel} with {self.port} of its switch"


class Tile:
    """A tile of the array. Registers are addressed by their byte offset inside it."""

    def __init__(self, machine: Machine, place: TileId):
        self.machine = machine
        self.model = machine.model
        self.place = place
        self.engine, self.policy, self.timing, self.trace = (
            machine.engine,
            machine.policy,
            machine.timing,
            machine.trace,
        )
        self.type = self.model.tile_type(*place)
        self.table = self.model.registers(*place)
        self.queue_layout = self.table.queue
        resources = self.model.tile_resources(*place)
        self.memory = fresh_memory(resources.data_memory_bytes, self.policy)
        self.bd_count = resources.bds
        self.host_limit = HostLimit(word_cost(self.timing, self.timing.column_mb_per_s))
        self.locks: list[Lock] = machine.make_locks(place, resources.locks)
        self.switch = machine.make_switch(place, self.register)
        self.channels = {
            (direction, number): machine.make_channel(self, direction, number)
            for direction in DmaDirection
            for number in range(self.model.num_dma_channels(*place, direction))
        }
        self.mux_changed = machine.make_mux_signal(place)
        self.program: BoundCore | None = None
        """What the core runs, where there is something."""
        self.core_releases: set[Lock] = set()
        """Locks that the program releases somewhere."""
        self.core_enabled = False
        self._registers: dict[int, int] = {}
        self._descriptors: dict[int, BufferDescriptor] = {}
        """Those that were read since they were written."""
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
            return
        role = self._roles.get(offset)
        if role is None:
            self._write_other(offset, value, location)
            return
        is_descriptor = role.effect is RegisterEffect.DESCRIPTOR
        if is_descriptor:
            self.machine.descriptor_touched(self, role.number)
            # Writing the same value changes nothing for the task in flight.
            changed = value ^ self._registers.get(offset, 0)
            if changed and not self._is_compression(role.number, offset, changed):
                self._check_unused(role.number, location)
            self._descriptors.pop(role.number, None)
        self._registers[offset] = value
        self._authors[offset] = location
        if not is_descriptor:
            self._act(role, value, location)
            self.machine.register_written(self, role)

    def _act(self, role: RegisterRole, value: int, location: LocationAttr) -> None:
        match role.effect:
            case RegisterEffect.QUEUE:
                self.channel(role).push(value, location)
            case RegisterEffect.CONTROL:
                self._control_channel(self.channel(role), value, location)
            case RegisterEffect.LOCK:
                self.locks[role.number].set(value)
            case RegisterEffect.SWITCH:
                self.switch.reconfigure()
            case RegisterEffect.SHIM_MUX:
                self.mux_changed.fire()
            case RegisterEffect.CORE_CONTROL:
                self._control_core(value, location)
            case RegisterEffect.EVENT:
                self.machine.event_register_written(self, role, location)
            case _:
                pass

    def _control_channel(self, channel: Channel, value: int, location: LocationAttr) -> None:
        fields = self.table.channel_control.decode([value])
        if fields.get("reset"):
            self.machine.restart_channel(channel)
        for field, mode in OTHER_MODES.items():
            if fields.get(field):
                self.machine.report_unknown(f"the {mode} mode of {channel}", location)

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
        match role.effect if role else None:
            case RegisterEffect.LOCK if role:
                return self.locks[role.number].value
            case RegisterEffect.STATUS if role:
                return self._status(self.channel(role))
            case RegisterEffect.CORE_STATUS:
                return self.machine.core_status(self)
            # The count of iterations may be ahead in native code.
            case RegisterEffect.DESCRIPTOR if role:
                self.machine.descriptor_touched(self, role.number)
                return self.register(offset)
            case _:
                return self.register(offset)

    def _lock_request(self, offset: int) -> int | None:
        window, layout = self.table.lock_request, self.table.lock_request_window
        # The request is in the address: which lock, by how much, and whether to acquire.
        if window is None or not window <= offset < window + (len(self.locks) << layout.lock_id.lo):
            return None
        fields = layout.decode([offset - window])
        # An acquire takes away whichever sign the request has.
        change = fields["change"] if not fields["acquire"] else -abs(fields["change"])
        return int(self.locks[fields["lock_id"]].try_change(change, "the controller"))

    def channel(self, role: RegisterRole) -> Channel:
        assert role.direction is not None
        return self.channels[role.direction, role.number]

    def _status(self, channel: Channel) -> int:
        transfer = channel.transfer
        # 2 is `running` of the status field; what it stalls on is not told apart.
        state = 0 if channel.is_idle else 2
        return ChannelStatus.pack(
            status=state,
            channel_running=int(channel.running is not None),
            task_queue_size=len(channel.queue),
            task_queue_overflow=int(channel.overflowed),
            cur_bd=transfer.bd if transfer else self._last_bd(channel),
        )[0]

    def _last_bd(self, channel: Channel) -> int:
        """The descriptor that an idle channel came to last: its status still names it.

        The validation binary aie_reconfig_overhead.elf of amd/xdna-driver polls for exactly that.
        """
        *_, last = channel.chain(channel.latest.start_bd if channel.latest else 0)
        return last

    def _is_compression(self, bd: int, offset: int, changed: int) -> bool:
        """Whether a write changes only how words go through the stream: no harm comes of that between two runs.

        mlir-aie's dma_compression does so to descriptors that run in circles.
        """
        field = getattr(BD_LAYOUTS[self.type], "enable_compression", None)
        at = offset - self.table.bds[bd]
        return isinstance(field, Field) and at == WORD_BYTES * field.word and changed == field.mask

    def _check_unused(self, bd: int, location: LocationAttr) -> None:
        """A descriptor that a task in flight still needs must not change."""
        for channel in self.channels.values():
            for task in channel.users(bd):
                state = "which runs it" if task is channel.running else "in whose queue it waits"
                self.policy.fault(
                    FaultKind.DESCRIPTOR_IN_USE,
                    f"BD {bd} of {self} is rewritten while {channel}, {state}, needs it",
                    At(location),
                    (task.location, "the task was pushed here"),
                    (location, "await the task before its descriptor is written again, or use another descriptor"),
                )
                return

    # What channels need.

    def descriptor(self, bd: int) -> BufferDescriptor:
        found = self._descriptors.get(bd)
        if found is None:
            found = self._descriptors[bd] = read_descriptor(self.type, self._bd_words(bd))
        return found

    def _bd_words(self, bd: int) -> list[int]:
        first = self.table.bds[bd]
        return [self.register(first + WORD_BYTES * word) for word in range(BD_LAYOUTS[self.type].words)]

    def descriptor_location(self, bd: int) -> LocationAttr:
        first = self.table.bds[bd]
        known = (self._authors.get(first + WORD_BYTES * word) for word in range(BD_LAYOUTS[self.type].words))
        return next((location for location in known if location is not None), UNKNOWN_LOC)

    def count_iteration(self, bd: int, iteration: int) -> None:
        """A channel loads a descriptor, which counts how often."""
        self.check_length(bd)
        self.set_iteration(bd, iteration)

    def set_iteration(self, bd: int, iteration: int) -> None:
        field = BD_LAYOUTS[self.type].fields["iteration_current"]
        offset = self.table.bds[bd] + WORD_BYTES * field.word
        self._descriptors.pop(bd, None)
        self._registers[offset] = self.register(offset) & ~field.mask | field.place(iteration)

    def check_length(self, bd: int) -> None:
        """A transfer of more words than the host has is judged when it is loaded, before there is room for them."""
        if self.type is not TileType.ShimNOCTile:
            return
        # One comparison for the usual case; only a length that cannot be right is worth a look at the pattern.
        if self.register(self.table.bds[bd] + WORD_BYTES * ShimBd.buffer_length.word) > self.machine.host.words:
            loading = (channel.transfer for channel in self.channels.values() if channel.transfer)
            asker = next((transfer for transfer in loading if transfer.bd == bd), None)
            self.machine.host.check_reach(self.descriptor(bd), asker or f"BD {bd} of {self}")

    def can_use(self, bd: int, channel: int) -> bool:
        return bd < self.model.num_bds(*self.place) and self.model.is_bd_channel_accessible(*self.place, bd, channel)

    def dma_lock(self, number: int, channel: int, asker: object) -> Lock:
        """A lock as descriptors number them: a mem tile's see those of the tiles west and east of it, too."""
        found = self.find_lock(number, channel)
        if found is None:
            text = f"{asker} names lock {number}, which {self._beyond(number // len(self.locks))}"
            note = place_of(asker), f"locks of this tile are numbered from {len(self.locks)} on here"
            self.policy.fault(FaultKind.UNREACHABLE_LOCK, text, asker, note)
        # Where the policy only notes it, the run goes on with a lock of this tile.
        return found or self.locks[number % len(self.locks)]

    def find_lock(self, number: int, channel: int) -> Lock | None:
        """The lock that a channel's descriptors mean by a number; None if the channel cannot reach it."""
        if self.type is not TileType.MemTile:
            return self.locks[number]
        tile = self._neighbour(number // len(self.locks), channel)
        return tile.locks[number % len(self.locks)] if tile else None

    def _neighbour(self, window: int, channel: int) -> Tile | None:
        """The mem tile in a window: west, this one, east; None if the channel cannot reach it."""
        place = TileId(self.place.column + window - 1, self.place.row)
        # Only the first channels of a mem tile reach the memory of its neighbours.
        reachable = window == 1 or channel < self.model.adjacent_mem_tile_channels
        return self.machine.mem_tile(place) if 0 <= window <= 2 and reachable else None

    def _beyond(self, window: int) -> str:
        """Why a window cannot be reached."""
        column = self.place.column + window - 1
        if not 0 <= window <= 2:
            return "no mem tile has"
        if self.machine.mem_tile(TileId(column, self.place.row)) is None:
            return f"would be on tile ({column}, {self.place.row}), which the device does not have"
        usable = self.model.adjacent_mem_tile_channels - 1
        return f"is on tile ({column}, {self.place.row}): only channels 0 to {usable} reach a neighbour"

    def reason_of(self, channel: Channel) -> str:
        """Why a channel does not get on faster."""
        waits = (actor.wait for actor in self.engine.actors if actor.name == str(channel))
        return next((wait.reason() for wait in waits if wait is not None), f"{channel} is at work")

    def begin_access(self, addresses: Callable[[], Addresses], channel: Channel) -> None:
        """A channel begins to move words."""
        if self.machine.watch.is_on:
            self.machine.watch.begin(channel, lambda: self.in_array(addresses()))

    def end_access(self, channel: Channel) -> None:
        """A channel has moved its words; those that it received are about to be in memory."""
        self.machine.watch.end(channel)

    def in_array(self, addresses: Addresses) -> Addresses:
        """Addresses in this tile's memory, or as its DMA sees them, as addresses in the whole array."""
        if self.type is TileType.ShimNOCTile:
            return addresses
        start = self.model.tile_address(*self.place, 0)
        if self.type is TileType.MemTile:
            step = self.model.tile_address(1, 0, 0)
            # A mem tile's DMA sees three memories in a row: west, its own, east.
            window = addresses // len(self.memory)
            start = start + (window - 1) * step - window * len(self.memory)
        return np.where(addresses == PAD, PAD, addresses + start)

    def goes_in_pieces(self, descriptor: BufferDescriptor) -> bool:
        """Whether words come into memory before the last of them has arrived."""
        return self.type is TileType.ShimNOCTile and self.machine.host.goes_in_pieces(descriptor)

    def gather(self, addresses: Addresses, channel: Channel, asker: object) -> Words:
        if self.type is TileType.ShimNOCTile:
            return self.machine.host.gather(addresses, asker)
        pad = self.pad_value(channel)
        words = np.full(len(addresses), pad, dtype=np.uint32)
        for tile, inside, offsets in self._spans(addresses, channel, asker):
            words[inside] = found = tile.memory.view(np.uint32)[offsets // WORD_BYTES]
            check_written(found, offsets, tile, self.policy, asker)
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
            tile = self._neighbour(window, channel.number)
            inside = real & (addresses // size == window)
            if tile is None:
                text = f"{asker} reaches address {int(addresses[inside].min()):#x}, which {self._beyond(window)}"
                note = place_of(asker), f"addresses of this tile begin at {size:#x} here"
                self.policy.fault(FaultKind.OUTSIDE_MEMORY, text, asker, note)
            # As with locks: noted, and carried out on this tile.
            yield tile or self, inside, addresses[inside] % size

    def _check_inside(self, addresses: Addresses, size: int, asker: object) -> None:
        if len(addresses) and addresses.max() >= size:
            text = f"{asker} reaches address {int(addresses.max()):#x} of {self}, whose memory has {size:#x} bytes"
            note = place_of(asker), "let the transfer begin earlier, or move fewer words"
            self.policy.fault(FaultKind.OUTSIDE_MEMORY, text, asker, note)

    def pad_value(self, channel: Channel) -> int:
        values = self.table.mm2s_pad_value
        return self.register(values[channel.number]) if values is not None else 0

    def outlet(self, channel: Channel) -> Process[Slave]:
        """The port of the switch that an MM2S channel feeds."""
        yield from self._joined(channel)
        port = self.port_of(channel)
        assert isinstance(port, Slave)
        return port

    def inlet(self, channel: Channel) -> Process[Fifo]:
        """The stream that an S2MM channel reads."""
        yield from self._joined(channel)
        port = self.port_of(channel)
        assert isinstance(port, Fifo)
        return port

    def port_of(self, channel: Channel) -> Slave | Fifo:
        """What a channel is wired to."""
        name = PortName(WireBundle.DMA, channel.number)
        if self.type is TileType.ShimNOCTile:
            # A shim tile's DMA is below its switch, so its channels come in as ports of the south.
            name = PortName(WireBundle.South, SHIM_DMA_PORTS[channel.direction][channel.number])
        return self.switch.slaves[name] if channel.direction is DmaDirection.MM2S else self.switch.masters[name]

    def is_joined(self, channel: Channel) -> bool:
        """Whether a channel has a stream; below the switch of a shim tile a multiplexer has to lead to it."""
        if self.type is not TileType.ShimNOCTile:
            return True
        sends = channel.direction is DmaDirection.MM2S
        offset, layout = (self.table.shim_mux, ShimMux) if sends else (self.table.shim_demux, ShimDemux)
        assert offset is not None
        field = layout.fields[f"south{SHIM_DMA_PORTS[channel.direction][channel.number]}"]
        # The same port can lead to the PL or the NoC instead.
        return field.get([self.register(offset)]) == SHIM_STREAM_ENDS[WireBundle.DMA]

    def _joined(self, channel: Channel) -> Process[None]:
        """Wait until the multiplexer below the switch joins a South port to the DMA."""
        while not self.is_joined(channel):
            yield self.mux_wait(channel)

    def mux_wait(self, channel: Channel) -> Wait:
        joint = MuxJoint(channel, PortName(WireBundle.South, SHIM_DMA_PORTS[channel.direction][channel.number]))
        reason = partial("{} has no stream: {} is not made".format, channel.transfer, joint)
        return Wait(self.mux_changed, reason, joint, channel.transfer)

    def token_outlet(self) -> Slave:
        return self.switch.slaves[PortName(WireBundle.TileControl, 0)]

    def controller_id(self, direction: DmaDirection, channel: int) -> int:
        return self._control(direction, channel)["controller_id"]

    def compression_group(self, direction: DmaDirection, channel: int) -> int | None:
        """The bytes that have one mask, where a channel is to compress what its descriptors say."""
        enabled = self._control(direction, channel).get("compression_enable")
        return self.model.architecture.compression_group_bytes if enabled else None

    def _control(self, direction: DmaDirection, channel: int) -> dict[str, int]:
        return self.table.channel_control.decode([self.register(self.table.control(direction)[channel])])

    def bursts(self, direction: DmaDirection) -> Bursts | None:
        """How a channel takes turns with others, where it is host memory that it moves words from or to."""
        if self.type is not TileType.ShimNOCTile:
            return None
        return bursts_of(self.machine.host_port, self.host_limit, self.timing, direction is DmaDirection.MM2S)

    def burst_bytes(self, descriptor: BufferDescriptor) -> int:
        return self.model.burst_of(descriptor.burst)

    def start_cost(self, direction: DmaDirection, tasks: int) -> int:
        """From the push of a task to its first word, for a channel that has had some tasks."""
        reads_host = self.type is TileType.ShimNOCTile and direction is DmaDirection.MM2S
        return self.timing.host_read_cycles(tasks) if reads_host else 0

    def end_cost(self, direction: DmaDirection) -> int:
        """From the last word of a transfer to its end."""
        return self.timing.cycles(self.timing.host_write_ns) if self._writes_host(direction) else 0

    def least_cost(self, direction: DmaDirection, tasks: int) -> int:
        """From the start of a task to the end of its first transfer, for a channel that has had some tasks."""
        return self.timing.host_write_cycles(tasks) if self._writes_host(direction) else 0

    def _writes_host(self, direction: DmaDirection) -> bool:
        return self.type is TileType.ShimNOCTile and direction is DmaDirection.S2MM

    # The core.

    def machine_code(self) -> bytes | None:
        """What is in the program memory, where there is anything."""
        start = self.table.program_memory
        if start is None or not self._has_code:
            return None
        words = [self.register(start + at) for at in range(0, PROGRAM_MEMORY_BYTES, WORD_BYTES)]
        return np.array(words, dtype="<u4").tobytes()

    def _control_core(self, value: int, location: LocationAttr) -> None:
        fields = CoreControl.decode([value])
        enabled = bool(fields["enable"]) and not fields["reset"]
        # Loading code alone is no fault: designs may load cores that they never start.
        starts_code = enabled and not self.core_enabled and self.program is None and self._has_code
        if starts_code and not self.machine.runs_machine_code:
            self.policy.fault(
                FaultKind.PROGRAM_MEMORY,
                f"the core of {self} is started with machine code in its program memory, which runs from packages "
                "only, and on npu1",
                At(location),
                (location, "run the design that the code was made from, or bind a kernel to this core"),
            )
        # Writing the same state again must not start the program anew.
        if enabled != self.core_enabled:
            self.core_enabled = enabled
            self.machine.core_enabled(self)
