"""One device: its grid of tiles and every question the compiler and the simulator ask of it.

Source: AIETargetModel.h and AIETargetModel.cpp of mlir-aie at 3ca0193cea9e.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from . import architecture as limits
from .architecture import Architecture, BlockFormat, TileResources
from .enums import Arch, DeviceName, DmaDirection, Side, TileType, WireBundle
from .registers import AIE1_REGISTERS, AIE2_REGISTERS, TileRegisters
from .stream_switch import SHIM_MUX_DESTS, SHIM_MUX_SOURCES, StreamSwitch


class TileId(NamedTuple):
    """A place on the array; `str` gives the text upstream's messages use."""

    column: int
    row: int

    def __str__(self) -> str:
        return f"TileID({self.column}, {self.row})"


@dataclass(frozen=True)
class DeviceModel:
    """The facts about one device. Tiles are always given as column, row."""

    name: DeviceName
    architecture: Architecture
    columns: int
    rows: int
    mem_rows: int
    noc_columns: frozenset[int] | None  # shim tiles with a DMA and a port to host memory; None: all of them
    is_npu: bool = False
    is_virtualized: bool = False  # a partition: column 0 is wherever the driver puts it
    txn_generation: int | None = None  # device generation in the header of a transaction binary

    def __str__(self) -> str:
        return self.name.name

    def __reduce__(self) -> tuple[Callable[[DeviceName], "DeviceModel"], tuple[DeviceName]]:
        """Pickle as the name: the tables of each process have the same facts, some of them as functions."""
        from .devices import device_of

        return device_of, (self.name,)

    # The grid.

    @property
    def arch(self) -> Arch:
        return self.architecture.arch

    @property
    def tiles(self) -> Iterator[TileId]:
        """Every tile, column by column from the bottom up."""
        return (TileId(column, row) for column in range(self.columns) for row in range(self.rows))

    @property
    def mem_tile_rows(self) -> range:
        return range(1, 1 + self.mem_rows)

    @property
    def core_rows(self) -> range:
        return range(1 + self.mem_rows, self.rows)

    @cached_property
    def tile_types(self) -> frozenset[TileType]:
        return frozenset(self.tile_type(column, row) for column, row in self.tiles)

    def tile_type(self, column: int, row: int) -> TileType:
        if row == 0:
            is_noc = self.noc_columns is None or column in self.noc_columns
            return TileType.ShimNOCTile if is_noc else TileType.ShimPLTile
        return TileType.MemTile if row <= self.mem_rows else TileType.CoreTile

    def is_valid_tile(self, column: int, row: int) -> bool:
        return 0 <= column < self.columns and 0 <= row < self.rows

    def is_core_tile(self, column: int, row: int) -> bool:
        return self.tile_type(column, row) is TileType.CoreTile

    def is_mem_tile(self, column: int, row: int) -> bool:
        return self.tile_type(column, row) is TileType.MemTile

    def is_shim_noc(self, column: int, row: int) -> bool:
        return self.tile_type(column, row) is TileType.ShimNOCTile

    def is_shim_pl(self, column: int, row: int) -> bool:
        return self.tile_type(column, row) is TileType.ShimPLTile

    def is_shim_tile(self, column: int, row: int) -> bool:
        return row == 0

    def representative_tile(self, tile_type: TileType) -> TileId:
        """Some tile of a kind, the first one in `tiles`."""
        return next(tile for tile in self.tiles if self.tile_type(*tile) is tile_type)

    # Resources of a tile.

    def resources(self, tile_type: TileType) -> TileResources:
        return self.architecture.tiles[tile_type]

    def tile_resources(self, column: int, row: int) -> TileResources:
        return self.resources(self.tile_type(column, row))

    def num_locks(self, column: int, row: int) -> int:
        return self.tile_resources(column, row).locks

    def num_bds(self, column: int, row: int) -> int:
        return self.tile_resources(column, row).bds

    def num_dma_channels(self, column: int, row: int, direction: DmaDirection) -> int:
        return self.tile_resources(column, row).channels(direction)

    def is_bd_channel_accessible(self, column: int, row: int, bd_id: int, channel: int) -> bool:
        """Even channels of a mem tile reach the lower half of its descriptors, odd ones the upper half."""
        if not self.is_mem_tile(column, row):
            return True
        return (bd_id < self.num_bds(column, row) // 2) == (channel % 2 == 0)

    def accessible_bds(self, column: int, row: int, channel: int) -> list[int]:
        count = self.num_bds(column, row)
        if not self.is_mem_tile(column, row):
            return list(range(count))
        return list(range(count // 2) if channel % 2 == 0 else range(count // 2, count))

    @property
    def local_memory_bytes(self) -> int:
        """Data memory of a core tile."""
        return self.resources(TileType.CoreTile).data_memory_bytes

    @property
    def mem_tile_bytes(self) -> int:
        return self.resources(TileType.MemTile).data_memory_bytes if self.mem_rows else 0

    @property
    def max_lock_value(self) -> int:
        return self.architecture.max_lock_value

    @property
    def cascade_bits(self) -> int:
        return self.architecture.cascade_bits

    @property
    def default_stack_bytes(self) -> int:
        return limits.DEFAULT_STACK_BYTES

    @property
    def granule_bits(self) -> int:
        return limits.GRANULE_BITS

    @property
    def max_packet_id(self) -> int:
        return limits.MAX_PACKET_ID

    @property
    def num_slave_slots(self) -> int:
        return limits.NUM_SLAVE_SLOTS

    @property
    def adjacent_mem_tile_channels(self) -> int:
        """Channels below this one reach the neighbouring mem tiles, the others only their own."""
        return 4 if self.mem_rows else 0

    def supports_block_format(self, name: str) -> bool:
        return name in (self.architecture.block_formats or {})

    def block_format(self, name: str) -> BlockFormat:
        return (self.architecture.block_formats or {})[name]

    # Shim bursts.

    @property
    def burst_lengths(self) -> Sequence[int]:
        """The AXI burst lengths of the shim DMA in bytes, shortest first."""
        return sorted(self.architecture.shim_bursts)

    def burst_bytes(self, requested: int) -> int:
        """The burst a request selects; 0 asks for the longest."""
        return requested or self.burst_lengths[-1]

    def burst_of(self, encoding: int) -> int:
        """Bytes of the burst that a descriptor's field means; one that means none is the longest."""
        return next(
            (size for size, value in self.architecture.shim_bursts.items() if value == encoding), self.burst_bytes(0)
        )

    def burst_encoding(self, requested: int) -> int:
        return self.architecture.shim_bursts[self.burst_bytes(requested)]

    # Who reaches whose memory and locks.

    def memory_side(self, column: int, row: int, memory_column: int, memory_row: int) -> Side | None:
        """The window in which the core of one tile sees the memory of another, or none."""
        step = (memory_column - column, memory_row - row)
        if step == (0, 1):
            return Side.North
        if step == (0, -1):
            return Side.South
        # on AIE1 the memory of a tile lies to its core's west in every other row
        internal_is_west = self.architecture.lanes_alternate and row % 2 == 0
        if internal_is_west:
            return {(0, 0): Side.West, (1, 0): Side.East}.get(step)
        return {(0, 0): Side.East, (-1, 0): Side.West}.get(step)

    def memory_tile(self, column: int, row: int, side: Side) -> TileId | None:
        """The tile whose memory a core sees in one of its windows."""
        steps = ((0, 0), (-1, 0), (1, 0), (0, 1), (0, -1))
        for tile in (TileId(column + right, row + up) for right, up in steps):
            if self.memory_side(column, row, *tile) is side and self.is_valid_tile(*tile):
                # a core does not see the memory of a mem tile
                hidden = side is Side.South and not self.is_core_tile(*tile)
                return None if hidden else tile
        return None

    def is_legal_memory_affinity(self, column: int, row: int, memory_column: int, memory_row: int) -> bool:
        """Whether a tile's core (or a mem tile's DMA) reaches the memory and locks of another."""
        if self.is_mem_tile(column, row):
            return row == memory_row and abs(column - memory_column) <= 1
        side = self.memory_side(column, row, memory_column, memory_row)
        return side is not None and not (side is Side.South and self.is_mem_tile(memory_column, memory_row))

    def lock_base_index(self, column: int, row: int, lock_column: int, lock_row: int) -> int | None:
        """Number under which a tile knows lock 0 of a tile it reaches."""
        window = self._window(column, row, lock_column, lock_row)
        return None if window is None else window * self.num_locks(column, row)

    def memory_base_address(self, column: int, row: int, memory_column: int, memory_row: int) -> int | None:
        """Byte address at which a core, or a mem tile's DMA, finds the start of a memory it reaches."""
        window = self._window(column, row, memory_column, memory_row)
        if window is None:
            return None
        if self.is_mem_tile(column, row):
            return window * self.mem_tile_bytes
        return self.architecture.memory_windows[Side(window)]

    def _window(self, column: int, row: int, other_column: int, other_row: int) -> int | None:
        if self.is_core_tile(column, row):
            return self.memory_side(column, row, other_column, other_row)
        if self.is_mem_tile(column, row) and row == other_row and abs(other_column - column) <= 1:
            return other_column - column + 1
        return None

    # Streams.

    def stream_switch(self, column: int, row: int) -> StreamSwitch:
        return self.architecture.switches[self.tile_type(column, row)]

    def num_switchbox_sources(self, column: int, row: int, bundle: WireBundle) -> int:
        """Ports of a bundle through which data enters the tile's stream switch."""
        return self.stream_switch(column, row).sources(bundle) if self._has_ports(column, row, bundle) else 0

    def num_switchbox_dests(self, column: int, row: int, bundle: WireBundle) -> int:
        """Ports of a bundle through which data leaves the tile's stream switch."""
        return self.stream_switch(column, row).dests(bundle) if self._has_ports(column, row, bundle) else 0

    def _has_ports(self, column: int, row: int, bundle: WireBundle) -> bool:
        match bundle:
            case WireBundle.West:
                return column > 0
            case WireBundle.East:
                return column < self.columns - 1
            case WireBundle.North:
                return row < self.rows - 1
            case WireBundle.TileControl:
                return not self.is_shim_pl(column, row)
            case _:
                return True

    def num_shim_mux_sources(self, column: int, row: int, bundle: WireBundle) -> int:
        return SHIM_MUX_SOURCES.get(bundle, 0) if self.is_shim_tile(column, row) else 0

    def num_shim_mux_dests(self, column: int, row: int, bundle: WireBundle) -> int:
        return SHIM_MUX_DESTS.get(bundle, 0) if self.is_shim_tile(column, row) else 0

    def is_legal_tile_connection(
        self, column: int, row: int, source: WireBundle, source_channel: int, dest: WireBundle, dest_channel: int
    ) -> bool:
        """Whether a tile's stream switch can connect two of its ports."""
        return (
            source_channel < self.num_switchbox_sources(column, row, source)
            and dest_channel < self.num_switchbox_dests(column, row, dest)
            and self.stream_switch(column, row).connects(source, source_channel, dest, dest_channel)
        )

    def port_number(self, column: int, row: int, bundle: WireBundle, channel: int, *, master: bool) -> int | None:
        return self.stream_switch(column, row).port_number(bundle, channel, master=master)

    def controller_ids(self, *, unique_per_column: bool = True) -> dict[TileId, int]:
        """Packet ids under which the tiles answer control packets and completion tokens."""
        if self.rows > len(CONTROLLER_IDS[0]):
            return {tile: tile.row for tile in self.tiles}
        if not unique_per_column and self.columns > len(CONTROLLER_IDS):
            raise ValueError(f"there are ids for {len(CONTROLLER_IDS)} columns, {self} has {self.columns}")
        return {tile: CONTROLLER_IDS[0 if unique_per_column else tile.column][tile.row] for tile in self.tiles}

    # Registers.

    def registers(self, column: int, row: int) -> TileRegisters:
        table = AIE1_REGISTERS if self.arch is Arch.AIE1 else AIE2_REGISTERS
        return table[self.tile_type(column, row)]

    def tile_address(self, column: int, row: int, offset: int = 0) -> int:
        """Address in the array of a register at a byte offset inside a tile."""
        return (column & 0xFF) << self.architecture.column_shift | (row & 0xFF) << self.architecture.row_shift | offset

    def locate(self, address: int) -> tuple[TileId, int]:
        """The inverse of `tile_address`: whose register is it, and at which offset."""
        shift = self.architecture
        column = address >> shift.column_shift & 0xFF
        # rows have the bits below the columns
        row = address >> shift.row_shift & ((1 << (shift.column_shift - shift.row_shift)) - 1)
        return TileId(column, row), address & ((1 << shift.row_shift) - 1)

    def bd_address(self, column: int, row: int, bd_id: int) -> int:
        return self.tile_address(column, row, self.registers(column, row).bds[bd_id])

    def channel_control_address(self, column: int, row: int, direction: DmaDirection, channel: int) -> int:
        return self.tile_address(column, row, self.registers(column, row).control(direction)[channel])

    def task_queue_address(self, column: int, row: int, direction: DmaDirection, channel: int) -> int:
        return self.tile_address(column, row, self.registers(column, row).task_queue(direction)[channel])

    def channel_status_address(self, column: int, row: int, direction: DmaDirection, channel: int) -> int | None:
        """None where a channel has no register for its state alone."""
        bank = self.registers(column, row).status(direction)
        return None if bank is None else self.tile_address(column, row, bank[channel])

    def lock_address(self, column: int, row: int, lock_id: int) -> int | None:
        """Offset inside the tile of a lock's value register; none where locks cannot be written as values."""
        locks = self.registers(column, row).locks
        return locks[lock_id] if locks is not None and lock_id < self.num_locks(column, row) else None


# Ids picked so that one mask-and-match rule of a switch tells the tiles of a column apart. A shim tile's is below 16:
# the actor field of a completion token has 4 bits.
CONTROLLER_IDS = (
    (15, 26, 27, 29, 30, 31),
    (14, 21, 22, 23, 24, 25),
    (13, 11, 17, 18, 19, 20),
    (12, 28, 7, 8, 9, 10),
)
