"""Code with which the firmware saves memory tiles to host memory and brings them back, so that another context can run.

Source: `gen-preemption.cpp` of aiebu, which writes such code for partitions of several widths with the AIE driver, and
whose assembler puts it into each file with a point of preemption. Both halves of a memory tile go at once, over two
channels and a circuit of their own through the shim below.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.device import DEVICES, DeviceName, DmaDirection, WireBundle
from tilewright.device.bd import MemTileBd, ShimBd
from tilewright.device.layout import WORD_BYTES
from tilewright.device.registers import SHIM_STREAM_ENDS, MasterPort, ShimDemux, ShimMux, SlavePort
from tilewright.device.stream_switch import SHIM_DMA_PORTS
from tilewright.support.structure import ContainerError
from tilewright.txn.codec import encode
from tilewright.txn.opcodes import Opcode
from tilewright.txn.stream import Header, Operation, Stream, address_patch

WIDTHS = (1, 2, 4, 8)
"""Columns of partitions that there is code for."""
SAVED, RESTORED = 0, 1
"""The arguments that the addresses of the host's copy are patched from; loaders give both the same buffer."""
# aiebu has this code for npu2 alone, and uses it whatever device the instructions are for
_MODEL = DEVICES[DeviceName.npu2]
_HEADER = {"major": 1, "minor": 0, "device_generation": 4, "rows": _MODEL.rows, "long_patches": 1}
_CHANNELS = range(2)
_PIECE_BYTES = _MODEL.mem_tile_bytes // len(_CHANNELS)
_OWN_MEMORY = _MODEL.mem_tile_bytes
"""Where descriptors of a memory tile see its own memory: behind the western neighbour's."""
_MEM_TILE_BDS = (0, 24)
"""A channel of a memory tile takes every other half of the descriptors."""
_TOKEN_ID = 9
_ENABLED = 1
"""What the driver writes to a channel's control register to start it; the bit has no name on NPUs."""
_SHIM, _MEM_TILE = 0, 1


def preemption_code(columns: int, *, saves: bool) -> bytes:
    """The code for a partition, in version 1.0; addresses of host memory are those in a buffer at 0."""
    if columns not in WIDTHS:
        known = ", ".join(map(str, WIDTHS))
        text = f"a point of preemption in code for {columns} columns; there is code to save {known} columns"
        raise ContainerError(None, text)
    make = _saved if saves else _restored
    operations = [op for column in range(columns) for channel in _CHANNELS for op in make(column, channel)]
    tokens = columns * len(_CHANNELS)
    operations.append(Operation(Opcode.MERGE_SYNC, value=columns << 8 | tokens))
    return encode(Stream.of(Header(**_HEADER, columns=columns), operations)).astype("<u4").tobytes()


def _saved(column: int, channel: int) -> Iterator[Operation]:
    mem, shim = _Tile(column, _MEM_TILE), _Tile(column, _SHIM)
    port = SHIM_DMA_PORTS[DmaDirection.S2MM][channel]
    yield from mem.connect((WireBundle.DMA, channel), (WireBundle.South, channel))
    yield from shim.connect((WireBundle.North, channel), (WireBundle.South, port))
    yield shim.mux(port, to_switch=False)
    yield from shim.connect((WireBundle.TileControl, 0), (WireBundle.South, 0))
    yield mem.descriptor(channel)
    yield shim.descriptor(channel)
    yield shim.patch(channel, SAVED)
    yield mem.start(DmaDirection.MM2S, channel, has_token=True)
    yield shim.control(DmaDirection.S2MM, channel, _TOKEN_ID << 8)
    yield shim.start(DmaDirection.S2MM, channel, has_token=True)
    yield mem.control(DmaDirection.MM2S, channel, _ENABLED)
    yield shim.control(DmaDirection.S2MM, channel, _ENABLED)


def _restored(column: int, channel: int) -> Iterator[Operation]:
    mem, shim = _Tile(column, _MEM_TILE), _Tile(column, _SHIM)
    port = SHIM_DMA_PORTS[DmaDirection.MM2S][channel]
    yield from mem.connect((WireBundle.South, channel), (WireBundle.DMA, channel))
    yield from shim.connect((WireBundle.South, port), (WireBundle.North, channel))
    yield shim.mux(port, to_switch=True)
    # tokens come from the memory tile, which has the data when it is all there
    yield from mem.connect((WireBundle.TileControl, 0), (WireBundle.South, 2))
    yield from shim.connect((WireBundle.North, 2), (WireBundle.South, 0))
    yield shim.descriptor(channel)
    yield mem.descriptor(channel)
    yield shim.patch(channel, RESTORED)
    yield shim.start(DmaDirection.MM2S, channel, has_token=False)
    yield mem.control(DmaDirection.S2MM, channel, _TOKEN_ID << 8)
    yield mem.start(DmaDirection.S2MM, channel, has_token=True)
    yield shim.control(DmaDirection.MM2S, channel, _ENABLED)
    yield mem.control(DmaDirection.S2MM, channel, _ENABLED)


class _Tile:
    """Writes to the registers of a tile, as the driver makes them in version 1.0."""

    def __init__(self, column: int, row: int):
        self.column, self.row = column, row
        self.registers = _MODEL.registers(column, row)
        self.is_shim = row == _SHIM

    def _write(self, offset: int, value: int) -> Operation:
        return Operation(Opcode.WRITE, address=_MODEL.tile_address(self.column, self.row, offset), value=value)

    def connect(self, source: tuple[WireBundle, int], target: tuple[WireBundle, int]) -> Iterator[Operation]:
        """A circuit through the switch."""
        masters, slaves = self.registers.switch_masters, self.registers.switch_slaves
        slave = _MODEL.port_number(self.column, self.row, *source, master=False)
        master = _MODEL.port_number(self.column, self.row, *target, master=True)
        assert masters is not None and slaves is not None and slave is not None and master is not None
        yield self._write(masters[master], MasterPort.encode(master_enable=1, configuration=slave)[0])
        yield self._write(slaves[slave], SlavePort.encode(slave_enable=1)[0])

    def mux(self, port: int, *, to_switch: bool) -> Operation:
        """Let a South port of a shim's switch be one of its DMA."""
        layout, register = (ShimMux, self.registers.shim_mux) if to_switch else (ShimDemux, self.registers.shim_demux)
        assert register is not None
        field = layout.fields[f"south{port}"]
        address = _MODEL.tile_address(self.column, self.row, register)
        value = field.place(SHIM_STREAM_ENDS[WireBundle.DMA])
        return Operation(Opcode.MASKWRITE, address=address, value=value, mask=field.mask)

    def _bd(self, channel: int) -> int:
        return channel if self.is_shim else _MEM_TILE_BDS[channel]

    def descriptor(self, channel: int) -> Operation:
        words = _PIECE_BYTES // WORD_BYTES
        if self.is_shim:
            burst = _MODEL.burst_encoding(max(_MODEL.burst_lengths))
            payload = ShimBd.encode(
                buffer_length=words, address_low=self._host_offset(channel), burst_length=burst, valid_bd=1
            )
        else:
            address = (_OWN_MEMORY + channel * _PIECE_BYTES) // WORD_BYTES
            payload = MemTileBd.encode(buffer_length=words, address=address, valid_bd=1)
        return Operation(Opcode.BLOCKWRITE, payload, address=self._bd_address(channel))

    def _bd_address(self, channel: int) -> int:
        return _MODEL.bd_address(self.column, self.row, self._bd(channel))

    def _host_offset(self, channel: int) -> int:
        return self.column * _MODEL.mem_tile_bytes + channel * _PIECE_BYTES

    def patch(self, channel: int, argument: int) -> Operation:
        register = self._bd_address(channel) + WORD_BYTES * self.registers.bd_address_word
        return address_patch(register, argument, self._host_offset(channel))

    def start(self, direction: DmaDirection, channel: int, *, has_token: bool) -> Operation:
        queue = self.registers.task_queue(direction)[channel]
        task = self.registers.queue.encode(enable_token_issue=int(has_token), start_bd_id=self._bd(channel))
        return self._write(queue, task[0])

    def control(self, direction: DmaDirection, channel: int, value: int) -> Operation:
        return self._write(self.registers.control(direction)[channel], value)
