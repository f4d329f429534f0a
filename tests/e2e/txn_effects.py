"""What a TXN stream does: its pushes, waits, patches and plain writes in order, with the descriptors of each push.

Two streams that choose different descriptors for the same transfers have the same effects.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TypeAlias

from tilewright import txn
from tilewright.codegen.sequence_scalars import Words
from tilewright.device import DeviceModel, DeviceName, DmaDirection, TileId, model
from tilewright.device.bd import BD_LAYOUTS
from tilewright.device.layout import Layout
from tilewright.device.registers import MemTileTaskQueue, TaskQueue

Content: TypeAlias = "int | tuple[object, ...] | None"
"""A register: a number, the address of a host buffer, or None where nothing was written."""
Effect: TypeAlias = tuple[object, ...]
WORD_BYTES = 4
HIGH_ADDRESS = 0xFFFF  # bits of the word after an address that a patch replaces


class Channels:
    """Where the descriptors and queues of a device are."""

    def __init__(self, model: DeviceModel):
        self.model = model
        self.queues: dict[int, tuple[TileId, DmaDirection, int]] = {}
        self.descriptor_words: set[int] = set()
        for tile in model.tiles:
            if model.tile_type(*tile) not in BD_LAYOUTS:
                continue
            for direction in DmaDirection:
                for channel in range(model.num_dma_channels(*tile, direction)):
                    self.queues[model.task_queue_address(*tile, direction, channel)] = tile, direction, channel
            for number in range(model.num_bds(*tile)):
                start = model.bd_address(*tile, number)
                self.descriptor_words.update(range(start, start + WORD_BYTES * self.layout(tile).words, WORD_BYTES))

    def layout(self, tile: TileId) -> type[Layout]:
        return BD_LAYOUTS[self.model.tile_type(*tile)]


@cache
def channels_of(device: DeviceName) -> Channels:
    return Channels(model(device))


def effects(words: Words, device: DeviceName) -> list[Effect]:
    """Everything that a stream does, in order; writes to descriptors show in the pushes only."""
    return list(_Replay(channels_of(device)).run(words))


class _Replay:
    def __init__(self, channels: Channels):
        self.channels, self.model = channels, channels.model
        self.registers: dict[int, Content] = {}

    def run(self, words: Words) -> Iterator[Effect]:
        for op in txn.decode(words).operations:
            match op.name:
                case "WRITE" if op.address in self.channels.queues:
                    yield self.push(op.address, op.value)
                case "WRITE":
                    yield from self.write(op.address, op.value)
                case "MASKWRITE":
                    old = self.registers.get(op.address) or 0
                    assert isinstance(old, int), "a patched address is not written again"
                    yield from self.write(op.address, old & ~op.mask | op.value & op.mask)
                case "BLOCKWRITE":
                    for index, value in enumerate(op.payload.tolist()):
                        yield from self.write(op.address + WORD_BYTES * index, value)
                case "DDR_PATCH":
                    yield self.patch(op.address, op.argument_index, op.argument_offset)
                case _:
                    yield (op.name, *sorted(op.fields.items()))

    def write(self, address: int, value: int) -> Iterator[Effect]:
        self.registers[address] = value
        if address not in self.channels.descriptor_words:
            yield "write", address, value

    def patch(self, address: int, argument: int, offset: int) -> Effect:
        """A patch replaces the address that was there."""
        self.registers[address] = "argument", argument, offset
        high = self.registers.get(address + WORD_BYTES) or 0
        assert isinstance(high, int)
        self.registers[address + WORD_BYTES] = high & ~HIGH_ADDRESS
        return "patch", argument, offset

    def push(self, queue: int, value: int) -> Effect:
        tile, direction, channel = self.channels.queues[queue]
        fields = (MemTileTaskQueue if self.model.is_mem_tile(*tile) else TaskQueue).unpack([value])
        chain = self.chain(tile, fields.pop("start_bd_id"))
        return "push", tile, direction.name, channel, tuple(sorted(fields.items())), chain

    def chain(self, tile: TileId, first: int) -> tuple[object, ...]:
        """The descriptors that run, each with the position in the chain of the one that follows it, not its number."""
        layout, numbers, contents = self.channels.layout(tile), [first], list[object]()
        for number in numbers:
            start = self.model.bd_address(*tile, number)
            words = [self.registers.get(start + WORD_BYTES * index) for index in range(layout.words)]
            link = layout.fields["next_bd"]
            linked = words[link.word]
            following = None
            if isinstance(linked, int):
                if layout.fields["use_next_bd"].get([linked] * layout.words):
                    target = link.get([linked] * layout.words)
                    if target not in numbers:
                        numbers.append(target)
                    following = numbers.index(target)
                words[link.word] = linked & ~link.mask
            contents.append((tuple(words), following))
        return tuple(contents)
