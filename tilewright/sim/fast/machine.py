"""A machine whose parts are played by native code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import LocationAttr

from tilewright.device import DeviceModel, DmaDirection, TileId, TileType
from tilewright.device.layout import WORD_BYTES
from tilewright.device.register_names import name_address
from tilewright.device.timing import Timing, timing_of
from tilewright.sim.core import BoundCore
from tilewright.sim.core_kernels import KernelCall
from tilewright.sim.dma import Channel
from tilewright.sim.engine import Engine, Signal
from tilewright.sim.fast.blocks import (
    FastChannel,
    FastFifo,
    FastLock,
    FastSlave,
    FastStreamBlocks,
    FastSwitch,
    NativeSignal,
    find_nodes,
    put_nodes,
    receivers,
)
from tilewright.sim.fast.engine import FastEngine, FastTrace
from tilewright.sim.fast.jobs import Workers
from tilewright.sim.fast.numbering import HOST_BUFFERS, PER_STOP, numbering_of
from tilewright.sim.fast.services import Services
from tilewright.sim.fast.state import (
    BD_NUMBERS,
    CALL_MEMORIES,
    CALLS,
    NONE,
    REGIONS,
    BdField,
    ChannelStep,
    CoreStep,
    TreeKind,
    TurnKind,
    WaitKind,
)
from tilewright.sim.fast.views import Views
from tilewright.sim.faults import FaultKind, FaultLevel, FaultPolicy
from tilewright.sim.fifo import Fifo
from tilewright.sim.host import word_cost
from tilewright.sim.kernels import NativeCall, PreparedCall
from tilewright.sim.locks import Lock
from tilewright.sim.machine import Machine
from tilewright.sim.parts import PartKind
from tilewright.sim.register_roles import RegisterEffect, RegisterRole, event_registers
from tilewright.sim.switch import Arbiter, PortName, Slave, Switch
from tilewright.sim.tile import Tile
from tilewright.sim.trace import Trace


class FastMachine(Machine):
    """The machine of `sim.machine`, faster."""

    translates_code = True

    def __init__(
        self,
        model: DeviceModel,
        policy: FaultPolicy | None = None,
        timing: Timing | None = None,
        *,
        runs_machine_code: bool = False,
        in_blocks: bool = True,
        jobs: int = 1,
    ):
        """Words that flow steadily move many at once, if they may move in blocks; kernels run in `jobs` threads."""
        self.numbering = numbering_of(model.name)
        self.state = self.numbering.new_state(timing or timing_of(model.arch))
        self.state.blocks &= int(in_blocks)
        self._workers = Workers(self.state, len(self.numbering.cores), jobs) if jobs > 1 else None
        self.fast = FastEngine(self.state)
        self.fast_trace = FastTrace(self.fast)
        self.services = Services(self)
        self.fast.find_route = self._tell_route
        self.fast.before_run = self._begin_run
        self.fast.after_run = self._end_run
        self.fast.before_settling = self.fast_trace.forget_ahead
        self.fast.after_step = self.services.after_step
        views = Views(self)
        self.fast.views, self.fast.wait_of = views.actors, views.wait_of
        self._is_beyond = False
        self._locks: list[Lock] = []
        self._fifo_places = {number: place for place, number in self.numbering.fifos.items()}
        self._carried = set[int]()
        self._channels: dict[int, FastChannel] = {}
        self._calls: dict[int, tuple[object, NativeCall]] = {}
        """What calls that native code makes need, by their entries in the state."""
        super().__init__(model, policy, timing, runs_machine_code=runs_machine_code)

    # What the machine is made of.

    def make_engine(self) -> Engine:
        return self.fast

    def make_trace(self) -> Trace:
        return self.fast_trace

    def make_locks(self, place: TileId, count: int) -> list[Lock]:
        first = self.numbering.locks_of_tiles if self._is_beyond else self.first_lock(place)
        made: list[Lock] = [FastLock(self.fast, place, n, first + n, self.policy, self.trace) for n in range(count)]
        self._locks[first : first + count] = made
        return made

    def make_switch(self, place: TileId, register: Callable[[int], int]) -> Switch:
        if self._is_beyond:
            return super().make_switch(place, register)
        blocks = FastStreamBlocks(self.fast, self.numbering)
        switch = FastSwitch(self.fast, self.model, place, register, self.policy, self.timing, blocks)
        number = self.numbering.tiles[place]
        switch.bind(self.fast, number, self._forget_trees)
        switch.configured = NativeSignal(self.fast, self.state.signal_switch + number)
        return switch

    def make_channel(self, tile: Tile, direction: DmaDirection, number: int) -> Channel:
        if self._is_beyond:
            return super().make_channel(tile, direction, number)
        part = self.part_ids.number(PartKind.CHANNEL, tile.place, (direction, number))
        index = self.numbering.channels[tile.place, direction, number]
        made = self._channels[part] = FastChannel(self.fast, tile, direction, number, part, index)
        return made

    def make_mux_signal(self, place: TileId) -> Signal:
        return NativeSignal(self.fast, self.state.signal_mux + self.numbering.tiles[place])

    def mem_tile(self, place: TileId) -> Tile | None:
        """The one west of a partition has no streams and no channels that are used."""
        self._is_beyond = place not in self.tiles
        found = super().mem_tile(place)
        self._is_beyond = False
        return found

    def channel_of(self, part: int) -> FastChannel:
        return self._channels[part]

    def lock_at(self, index: int) -> Lock:
        return self._locks[index]

    def arbiter_at(self, index: int) -> Arbiter:
        tiles = list(self.tiles.values())
        count = len(tiles[0].switch.arbiters)
        return tiles[index // count].switch.arbiters[index % count]

    # Reset.

    def reset(self) -> None:
        for part in list(self.services.activations):
            self.services.end_activation(part)
        self._empty()
        super().reset()
        self._receivers = receivers(self._channels)
        for tile in self.tiles.values():
            self._tell_memory(tile)

    def close(self) -> None:
        for part in list(self.services.activations):
            self.services.end_activation(part)
        super().close()
        self.state.close()

    def _empty(self) -> None:
        """Let no part have a turn, and nothing be known."""
        state = self.state
        for name in state.columns():
            # These are large, and written before they are read.
            if name not in ("trace_rows", "tree_words", "run_first", "run_time"):
                state.array(name)[:] = 0
        for name in ("part_due", "part_signal", "signal_first", "slave_open", "arbiter_held", "channel_low"):
            state.array(name)[:] = NONE
        state.far_count = state.slots = 0
        port, state.burst_unused_percent = self.host_port, self.timing.burst_unused_percent
        state.host_read_cost, state.host_cost, state.host_plain_cost = (
            port.read.word_cost,
            port.both.word_cost,
            port.plain_cost,
        )
        state.column_cost = word_cost(self.timing, self.timing.column_mb_per_s)
        state.lock_cycles, state.descriptor_cycles = self.timing.lock, self.timing.descriptor
        self._stops = self._nodes = self._trees = 0
        state.adopted = 0

    def _tell_memory(self, tile: Tile) -> None:
        """Write down which memories the DMA of a tile reaches."""
        number, state = self.numbering.tiles[tile.place], self.state
        state.tile_is_shim[number] = int(tile.type is TileType.ShimNOCTile)
        if tile.type is not TileType.MemTile:
            self._put_region(number * REGIONS, 0, tile.memory)
            return
        state.tile_adjacent[number] = self.model.adjacent_mem_tile_channels
        size = len(tile.memory)
        # Region 0 is the tile's own memory, which all its channels reach.
        for region, window in enumerate((1, 0, 2)):
            other = self.tiles.get(TileId(tile.place.column + window - 1, tile.place.row))
            if other is not None:
                self._put_region(number * REGIONS + region, window * size, other.memory)

    def _put_region(self, region: int, low: int, memory: np.ndarray) -> None:
        self.state.region_low[region] = low
        self.state.region_high[region] = low + len(memory) // WORD_BYTES * WORD_BYTES
        self.state.region_data[region] = memory.ctypes.data if len(memory) else 0

    def _begin_run(self) -> None:
        self._tell_host()
        if self._workers is not None:
            self._workers.start()

    def _end_run(self) -> None:
        if self._workers is not None:
            self._workers.stop()
        self._keep_lent_words()

    def _tell_host(self) -> None:
        """Write down where host buffers are that may be written; before a run, since they do not change during one."""
        state = self.state
        # Others are left to Python, which complains where one is written.
        buffers = [buffer for buffer in self.host.buffers if buffer.is_writeable][:HOST_BUFFERS]
        for region, buffer in enumerate(buffers, state.host_first):
            self._put_region(region, buffer.address, buffer.data)
        state.host_end = state.host_first + len(buffers)
        state.watches = int(self.watch.is_on)
        state.lends = int(self.policy.level(FaultKind.UNORDERED_WRITES) is FaultLevel.FAULT)

    def _keep_lent_words(self) -> None:
        """Host buffers may go with the run: a channel that still sends from one gets words of its own."""
        for channel in self._channels.values():
            if channel.step in (ChannelStep.JOIN, ChannelStep.SEND) and channel.is_lent:
                channel.keep_words()

    def _tell_route(self, slave: int) -> None:
        found = self.fast.slaves[slave]
        assert isinstance(found.switch, FastSwitch)
        found.switch.tell_route(found)

    def _forget_trees(self) -> None:
        """Circuits have changed."""
        self.fast.settle()
        if self._trees:
            self.state.array("channel_kind")[:] = TreeKind.UNKNOWN
            self._nodes = self._trees = 0

    def tell_tree(self, channel: FastChannel) -> None:
        """Find out whether the circuit that a channel sends to ends in channels everywhere, and write it down."""
        state, port = self.state, channel.home.port_of(channel)
        assert isinstance(port, FastSlave)
        nodes = find_nodes(self, port)
        self._trees += 1
        state.channel_kind[channel.index] = TreeKind.NONE
        if nodes is None or self._nodes + len(nodes) >= len(state.node_tree) or self._trees > state.trees:
            return
        tree, root = self._trees - 1, self._nodes
        self._nodes += 1 + len(nodes)
        state.channel_kind[channel.index], state.channel_slot[channel.index] = TreeKind.TREE, tree
        state.tree_root[tree], state.tree_nodes[tree] = root, len(nodes)
        put_nodes(state, channel, nodes, tree, root)

    def room_for_stops(self, count: int) -> int:
        """Where the stops of a program go; there is room for as many as are needed."""
        first, self._stops = self._stops, self._stops + count
        if self._stops > len(self.state.stop_kind):
            for name in self.state.columns():
                if size := PER_STOP.get(name.split("_")[0]):
                    # Twice as many, so that growing does not happen for each core.
                    grown = np.zeros(2 * self._stops * size, dtype=np.int64)
                    grown[: first * size] = self.state.array(name)[: first * size]
                    self.state.replace(name, grown)
        return first

    def tell_call(self, stop: int, call: KernelCall, prepared: PreparedCall) -> None:
        """Let native code make a call itself whenever the program passes the same again."""
        state, native = self.state, prepared.native
        if native is None or len(native.memories) > CALL_MEMORIES:
            return
        passed = np.frombuffer(call.passed, dtype=np.int64)
        state.stop_passed[stop], state.stop_numbers[stop] = call.place, len(passed)
        entry = stop * CALLS + int(state.stop_calls[stop]) % CALLS
        state.call_passed[entry], state.call_cycles[entry] = passed.ctypes.data, prepared.cycles
        state.call_function[entry], state.call_argument[entry] = native.function, native.argument
        for number in range(CALL_MEMORIES):
            place = entry * CALL_MEMORIES + number
            memory = native.memories[number] if number < len(native.memories) else (0, 0)
            state.given_low[place], state.given_high[place] = memory
        state.stop_calls[stop] += 1
        self._calls[entry] = passed, native

    def place_of(self, fifo: FastFifo) -> tuple[TileId, PortName]:
        return self._fifo_places[fifo.number]

    def end_of(self, fifo: FastFifo) -> Slave:
        """The slave port that a stream leads to."""
        return self.fast.slaves[int(self.state.stream_slave[fifo.number])]

    def has_end(self, fifo: FastFifo) -> bool:
        return fifo.number in self._carried

    def receiver_of(self, fifo: FastFifo) -> FastChannel | None:
        """The channel that reads a stream."""
        return self._receivers.get(fifo.number)

    # Who acts.

    def _join(self, tile: Tile, name: PortName, fifo: Fifo) -> None:
        slave = self.other_end(tile, name)
        if slave is None:
            super()._join(tile, name, fifo)
            return
        assert isinstance(fifo, FastFifo) and isinstance(slave, FastSlave)
        part, number = self.part_ids.number(PartKind.STREAM, tile.place, name), fifo.number
        self.state.part_kind[part] = TurnKind.STREAM
        self.state.part_index[part] = self.state.stream_fifo[number] = number
        self.state.stream_slave[number] = slave.index
        self._carried.add(number)
        self.fast.wait_for(part, self.state.signal_fifo + number, WaitKind.EMPTY)

    def _run_channel(self, channel: Channel) -> None:
        assert isinstance(channel, FastChannel)
        state, index, tile = self.state, channel.index, channel.home
        sends = channel.direction is DmaDirection.MM2S
        state.part_kind[channel.part] = TurnKind.CHANNEL
        state.part_index[channel.part] = index
        state.channel_step[index] = ChannelStep.IDLE
        state.channel_part[index] = channel.part
        state.channel_tile[index] = self.numbering.tiles[tile.place]
        state.channel_number[index] = channel.number
        state.channel_sends[index] = int(sends)
        state.channel_bds[index] = self.numbering.first_bd[tile.place]
        state.channel_end_cost[index] = tile.end_cost(channel.direction)
        bursts = tile.bursts(channel.direction)
        state.channel_word_cost[index] = 0 if bursts is None else bursts.word_cost
        state.channel_pad[index] = tile.pad_value(channel) if sends else 0
        state.channel_joined[index] = int(tile.is_joined(channel))
        port, token = tile.port_of(channel), tile.token_outlet()
        assert isinstance(port, FastSlave | FastFifo) and isinstance(token, FastSlave)
        state.channel_port[index] = port.index if isinstance(port, FastSlave) else port.number
        state.channel_token_port[index] = token.index
        channel.make_room(0)
        self.fast.wait_for(channel.part, state.signal_task + index, WaitKind.TASK)

    def restart_channel(self, channel: Channel) -> None:
        assert isinstance(channel, FastChannel)
        self.fast.settle()
        self.fast.forget(channel.part)
        self.state.channel_low[channel.index] = NONE
        channel.clear()
        self._run_channel(channel)

    def _stop_core(self, tile: Tile) -> None:
        part = self.part_ids.number(PartKind.CORE, tile.place)
        actor = self.fast.by_part.pop(part, None)
        if actor is not None and not actor.done:
            actor.stop()
        self.fast.forget(part)
        self.services.end_activation(part)

    def _start_core(self, tile: Tile, program: BoundCore) -> None:
        part = self.part_ids.number(PartKind.CORE, tile.place)
        self.services.begin_core(part, self.numbering.cores[tile.place], program)

    def core_is_done(self, tile: Tile) -> bool:
        part = self.part_ids.number(PartKind.CORE, tile.place)
        if part not in self.services.activations:
            return super().core_is_done(tile)
        return bool(self.state.core_step[self.numbering.cores[tile.place]] == CoreStep.FINISHED)

    def name_of(self, part: int) -> str:
        tile = self.part_ids.parts[part].tile
        assert tile is not None
        return f"the core of {self.tiles[tile]}"

    # Registers.

    def descriptor_touched(self, tile: Tile, bd: int) -> None:
        """Native code counts iterations; what Python does with a descriptor begins with that count."""
        for channel in tile.channels.values():
            if isinstance(channel, FastChannel):
                channel.keep_location(bd)
        number = self.numbering.first_bd[tile.place] + bd
        if self.state.bd_known[number]:
            tile.set_iteration(bd, int(self.state.bd_number[number * BD_NUMBERS + BdField.ITERATION]))
            # Native code asks for the descriptor again when it comes to it.
            self.state.bd_known[number] = 0

    def event_register_written(self, tile: Tile, role: RegisterRole, location: LocationAttr) -> None:
        """Events are modelled by the other machine."""
        _, _, offset = event_registers(tile.type)[role.number]
        address = self.model.tile_address(*tile.place, offset)
        self.report_unknown(f"{name_address(self.model, address)} (by the fast model)", location)

    def register_written(self, tile: Tile, role: RegisterRole) -> None:
        if role.effect in (RegisterEffect.SHIM_MUX, RegisterEffect.PLAIN):
            for channel in tile.channels.values():
                assert isinstance(channel, FastChannel)
                self.state.channel_joined[channel.index] = int(tile.is_joined(channel))
                if channel.direction is DmaDirection.MM2S:
                    self.state.channel_pad[channel.index] = tile.pad_value(channel)

    def check_meeting(self, channel: FastChannel) -> None:
        """Let the watch look closely at all transfers in flight, this one last."""
        low, high = (self.state.array(name) for name in ("channel_low", "channel_high"))
        close = (low != NONE) & (low < high[channel.index]) & (high > low[channel.index])
        for other in self._channels.values():
            if other is not channel and close[other.index]:
                self.watch.note(other, other.addresses_in_array)
        self.watch.meet(channel, channel.addresses_in_array)
        self.watch.forget()
