"""The registers of a device as columns, so that the addresses of a whole stream are looked up at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from tilewright.device import DEVICES, DeviceModel, DeviceName, DmaDirection, TileId, TileType
from tilewright.device.architecture import NUM_ARBITERS
from tilewright.device.bd import BD_LAYOUTS, MemTileBd, ShimBd
from tilewright.device.devices import whole_array
from tilewright.device.dma_registers import ChannelId, ChannelRegisterRole, dma_registers
from tilewright.device.hazards import next_bd_fields
from tilewright.device.layout import WORD_BYTES, WORD_MASK, Field, Layout
from tilewright.device.register_fields import layout_at
from tilewright.device.register_names import areas, named_registers
from tilewright.device.registers import (
    SHIM_STREAM_ENDS,
    MasterPort,
    MemTileTaskQueue,
    PacketMasterPort,
    ShimDemux,
    ShimMux,
    SlaveSlot,
)
from tilewright.device.vendor_registers import RegisterAccess, access_of
from tilewright.txn.stream import Indices

NONE = -1
RESERVED, PLAIN, READ_ONLY, WRITE_ONLY = range(4)
"""What is at a word of a tile."""
QUEUE, STATUS, LINK, VALID, ADDRESS, FIRST, CONTROL, LOCK_REQUEST = (1 << number for number in range(8))
"""What it is to the DMA, a bit each: of a channel its queue, status or control; of a descriptor the word with the next
one, with the valid bit, with the address of a host buffer, and the first one where it is memory of a tile; and where a
lock is asked for, which descriptors release."""
DESCRIPTORS, CHANNELS = 1 << 6, 1 << 5
"""Room for those of a tile."""
AIE1_ENABLE = 1
"""Bit 0 of a channel's control enabled the DMAs of AIE1; production streams still set it, and later DMAs have none."""
_ROLES = {
    ChannelRegisterRole.QUEUE: QUEUE,
    ChannelRegisterRole.STATUS: STATUS,
    ChannelRegisterRole.CONTROL: CONTROL,
}
_ACCESS = {
    RegisterAccess.READ_ONLY: READ_ONLY,
    RegisterAccess.WRITE_ONLY: WRITE_ONLY,
    RegisterAccess.READ_WRITE: PLAIN,
}


@dataclass(frozen=True)
class FieldLimit:
    """A field that names one of `count` things, from 0 on, where the bits of `when` are `then` (NONE: not all 0)."""

    bits: Field
    count: int
    what: str
    when: int = 0
    then: int = 0


def _limits(model: DeviceModel, tile_type: TileType) -> Iterator[tuple[type[Layout], FieldLimit]]:
    """What the registers of a tile may name."""
    resources = model.resources(tile_type)
    slaves = sum(model.architecture.switches[tile_type].slaves.values())
    circuit = MasterPort.master_enable.mask | MasterPort.packet_enable.mask, MasterPort.master_enable.mask
    yield MemTileTaskQueue, FieldLimit(MemTileTaskQueue.start_bd_id, resources.bds, "descriptors")
    yield ShimBd, FieldLimit(ShimBd.burst_length, len(model.architecture.shim_bursts), "lengths of bursts")
    yield SlaveSlot, FieldLimit(SlaveSlot.arbit, NUM_ARBITERS, "arbiters", *_set(SlaveSlot.enable))
    yield MasterPort, FieldLimit(MasterPort.configuration, slaves, "slave ports", *circuit)
    yield MasterPort, FieldLimit(PacketMasterPort.arbiter, NUM_ARBITERS, "arbiters", *_set(MasterPort.packet_enable))
    for mux in (ShimMux, ShimDemux):
        for port in mux.fields.values():
            yield mux, FieldLimit(port, len(SHIM_STREAM_ENDS), "ends of streams")
    # their own and those of the tiles west and east
    locks, releases = 3 * resources.locks, MemTileBd.lock_rel_value.mask
    yield MemTileBd, FieldLimit(MemTileBd.lock_acq_id, locks, "locks", *_set(MemTileBd.lock_acq_enable))
    yield MemTileBd, FieldLimit(MemTileBd.lock_rel_id, locks, "locks", releases, NONE)
    yield MemTileBd, FieldLimit(MemTileBd.next_bd, resources.bds, "descriptors", *_set(MemTileBd.use_next_bd))


def _set(flag: Field) -> tuple[int, int]:
    return flag.mask, flag.mask


class RegisterMap:
    """A device's tiles by the bits of addresses above `shift`; its registers by type of tile and word."""

    def __init__(self, model: DeviceModel):
        self.model, self._array = model, whole_array(model)
        self.shift = model.architecture.row_shift
        self.word_bits = self.shift - 2
        self.tiles = [*model.tiles]
        self.types = [*dict.fromkeys(model.tile_type(*tile) for tile in self.tiles)]
        self.tile_numbers = np.full(1 << (32 - self.shift), NONE, dtype=np.int16)
        self.tile_numbers[[model.tile_address(*tile) >> self.shift for tile in self.tiles]] = range(len(self.tiles))
        self.tile_types = np.array([self.types.index(model.tile_type(*tile)) for tile in self.tiles])
        self.is_shim = np.array([model.is_shim_noc(*tile) for tile in self.tiles])
        self.neighbours = np.array([[model.is_valid_tile(x + side, y) for side in (-1, 1)] for x, y in self.tiles])
        """Whether there is a tile west of it, and one east."""
        size = len(self.types) << self.word_bits
        self.access = np.zeros(size, dtype=np.uint8)
        self.reserved = np.zeros(size, dtype=np.uint32)
        """Bits that no field has."""
        self.classes = np.zeros(size, dtype=np.uint8)
        """Which of `limits` are about the word."""
        self.limits: list[tuple[FieldLimit, ...]] = [()]
        self.roles = np.zeros(size, dtype=np.uint8)
        self.numbers = np.zeros(size, dtype=np.uint8)
        """Of the descriptor; or twice the channel, and its direction."""
        for number, tile_type in enumerate(self.types):
            first = number << self.word_bits
            self._fill(tile_type, first)
            self._fill_dma(tile_type, first)

    def _fill(self, tile_type: TileType, first: int) -> None:
        model = self.model
        table = model.registers(*model.representative_tile(tile_type))
        for _, base, size in areas(model, tile_type):
            self.access[first + base // WORD_BYTES : first + (base + size) // WORD_BYTES] = PLAIN
        if table.lock_request is not None:
            window = 1 << (table.lock_request_window.lock_id.hi + 1)
            begin = first + table.lock_request // WORD_BYTES
            self.access[begin : begin + window // WORD_BYTES] = READ_ONLY
            self.roles[begin : begin + window // WORD_BYTES] = LOCK_REQUEST
        limits = [*_limits(model, tile_type)]
        for offset in named_registers(model.name, tile_type):
            at = first + offset // WORD_BYTES
            self.access[at] = _ACCESS[access_of(tile_type, offset)]
            if (found := layout_at(model, tile_type, offset)) is not None:
                layout, word = found
                bits = sum(each.mask for each in layout.fields.values() if each.word == word)
                self.reserved[at] = WORD_MASK & ~bits
                self._limit(at, tuple(it for of, it in limits if of is layout and it.bits.word == word))

    def _limit(self, at: int, limits: tuple[FieldLimit, ...]) -> None:
        if limits not in self.limits:
            self.limits.append(limits)
        self.classes[at] = self.limits.index(limits)

    def _fill_dma(self, tile_type: TileType, first: int) -> None:
        if tile_type not in BD_LAYOUTS:
            return
        is_shim = tile_type is TileType.ShimNOCTile
        table = self.model.registers(*self.model.representative_tile(tile_type))
        of_words = np.zeros(BD_LAYOUTS[tile_type].words, dtype=np.uint8)
        of_words[next_bd_fields(tile_type)[0].word] |= LINK
        of_words[BD_LAYOUTS[tile_type].fields["valid_bd"].word] |= VALID
        of_words[table.bd_address_word if is_shim else 0] |= ADDRESS if is_shim else FIRST
        for offset, register in dma_registers(self.model.name, tile_type).items():
            at = first + offset // WORD_BYTES
            match register:
                case (DmaDirection() as direction, int(number), ChannelRegisterRole() as role):
                    self.roles[at], self.numbers[at] = _ROLES[role], number * 2 + direction
                case (int(bd), int(word)):
                    self.roles[at], self.numbers[at] = of_words[word], bd

    def find(self, addresses: Indices) -> tuple[npt.NDArray[np.int16], Indices]:
        """The tile of each address, or NONE, and the number of the word in the columns."""
        is_beyond = addresses > WORD_MASK
        tiles = self.tile_numbers[(addresses & WORD_MASK) >> self.shift]
        tiles[is_beyond] = NONE
        words = addresses >> 2 & ((1 << self.word_bits) - 1)
        return tiles, words | self.tile_types[tiles] << self.word_bits

    def locate(self, address: int) -> TileId:
        """The tile of an address, whether or not the device has it."""
        return self.model.locate(address)[0]

    def is_beside(self, column: int, row: int) -> bool:
        """Whether a tile is no part of the device, and one of the whole array."""
        return not self.model.is_valid_tile(column, row) and self._array.is_valid_tile(column, row)

    def channel(self, place: int) -> ChannelId:
        """The channel of a number that has its tile above `CHANNELS`."""
        tile, number = divmod(place, CHANNELS)
        return ChannelId(self.tiles[tile], DmaDirection(number & 1), number >> 1)

    def channel_place(self, column: int, row: int, direction: int, channel: int) -> int | None:
        """The inverse of `channel`; None if there is no such channel."""
        model = self.model
        if direction not in tuple(DmaDirection) or not model.is_valid_tile(column, row):
            return None
        if channel >= model.num_dma_channels(column, row, DmaDirection(direction)):
            return None
        tile = int(self.tile_numbers[model.tile_address(column, row) >> self.shift])
        return tile * CHANNELS + channel * 2 + direction


@cache
def register_map(device: DeviceName) -> RegisterMap:
    return RegisterMap(DEVICES[device])
