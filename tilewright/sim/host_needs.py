"""Host buffers as a stream uses them: what its shim descriptors reach when they are pushed, and which way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tilewright.device import DeviceModel, DmaDirection, TileId, TileType
from tilewright.device.bd import ShimBd
from tilewright.device.descriptors import BufferDescriptor, read_descriptor
from tilewright.device.layout import WORD_BITS, WORD_BYTES, WORD_MASK
from tilewright.sim.register_roles import RegisterEffect, register_roles
from tilewright.txn.containers import ControlCode
from tilewright.txn.opcodes import FOLDED_OFFSET, Opcode
from tilewright.txn.stream import Indices, OpcodeGroup, Operation, Stream

ADDRESS_BITS = 40
"""Each buffer is taken to begin at a multiple of two to this power, so an address tells whose it is."""
MOST_BLOCK_BYTES = 1 << 12
"""A longer block is taken to touch everything."""
HIGH_BITS = ShimBd.address_high.mask
_WRITES = (Opcode.WRITE, Opcode.MASKWRITE, Opcode.BLOCKWRITE)


class HostUse(NamedTuple):
    """What a stream does with one argument."""

    size_bytes: int
    """Bytes from the beginning that it reads or writes at most; 0 where that cannot be told."""
    may_write: bool
    """Whether a channel writes to it, or nothing tells what is done with its address."""


def needed_bytes(code: ControlCode, model: DeviceModel) -> dict[int, int]:
    """By number of the argument: bytes that the stream reads or writes of it; 0 where that cannot be told."""
    return {number: use.size_bytes for number, use in host_uses(code, model).items()}


def host_uses(code: ControlCode, model: DeviceModel) -> dict[int, HostUse]:
    """By number of the argument: what the stream does with it; those that it has no address of are not there."""
    arguments = {patch.buffer: patch.argument for patch in code.patches}
    own = {name: number for number, name in enumerate(name for name in arguments if arguments[name] is None)}
    addresses = {
        # Places of a shim descriptor's 48 bits: arguments below, buffers of the file itself above them.
        name: ((number if number is not None else 0x80 + own[name] % 0x40) + 1) << ADDRESS_BITS
        for name, number in arguments.items()
    }
    reader = _Reader(model, is_patched=bool(code.patches))
    reader.read(code.decode(addresses))
    in_packets = {patch.argument for name in own if name in code.buffers for patch in code.buffers[name].patches}
    reader.written |= {number for number in in_packets if number is not None}
    return reader.uses(reader.named | {number for number in (*arguments.values(), *in_packets) if number is not None})


def stream_uses(stream: Stream, model: DeviceModel) -> dict[int, HostUse]:
    """The same for a stream whose own operations say where addresses go."""
    reader = _Reader(model, is_patched=False)
    reader.read(stream)
    return reader.uses(reader.named)


def awaited_words(stream: Stream, model: DeviceModel) -> list[tuple[int, int]]:
    """Tasks that write to the host: the number of the operation that pushes one, and its words in all its runs."""
    reader = _Reader(model, is_patched=False)
    reader.read(stream)
    return reader.awaited


class _Reader:
    """Keeps the registers of shim DMAs as a stream writes them."""

    def __init__(self, model: DeviceModel, is_patched: bool):
        self.model = model
        self.is_patched = is_patched
        self.registers: dict[int, int] = {}
        self.needs: dict[int, int] = {}
        self.named = set[int]()
        self.pushed = set[int]()
        self.written = set[int]()
        self.awaited = list[tuple[int, int]]()
        self.position = 0
        """Of the operation that is read."""
        self.roles = register_roles(model.name, TileType.ShimNOCTile)
        self._pushed = set[tuple[TileId, int, DmaDirection | None]]()
        """What has been pushed since a descriptor was written: pushing it again needs nothing more."""

    def uses(self, named: set[int]) -> dict[int, HostUse]:
        # An address that goes somewhere else than into a pushed descriptor may be written through.
        written = self.written | named - self.pushed
        return {number: HostUse(self.needs.get(number, 0), number in written) for number in sorted(named)}

    def read(self, stream: Stream) -> None:
        operations = stream.operations
        positions: list[int] = self._relevant(stream).tolist()
        for position in positions:
            op, self.position = operations[position], position
            match op.opcode:
                case Opcode.WRITE:
                    self.write(op.address, op.value)
                case Opcode.MASKWRITE:
                    self.write(op.address, self.registers.get(op.address, 0) & ~op.mask | op.value & op.mask)
                case Opcode.BLOCKWRITE:
                    for index, word in enumerate(op.payload.tolist()):
                        self.write(op.address + WORD_BYTES * index, word)
                case _:
                    self._patch(op)

    def _relevant(self, stream: Stream) -> Indices:
        """The operations that shim DMAs have to do with: few among many thousands that set up the array."""
        kept = [self._on_shim(stream.groups[opcode]) for opcode in _WRITES if opcode in stream.groups]
        if Opcode.DDR_PATCH in stream.groups and not self.is_patched:
            kept.append(stream.groups[Opcode.DDR_PATCH].positions)
        return np.sort(np.concatenate(kept)) if kept else np.empty(0, dtype=np.int64)

    def _on_shim(self, group: OpcodeGroup) -> Indices:
        addresses, inverse = np.unique(group.fields["address"], return_inverse=True)
        longest = WORD_BYTES * int(np.diff(group.payload_starts).max(initial=0))
        touches = [self._is_shim(self.model.locate(address)[0]) and self._is_dma(address, longest)
                   for address in addresses.tolist()]  # fmt: skip
        return group.positions[np.array(touches, dtype=np.bool_)[inverse]]

    def _is_dma(self, address: int, size: int) -> bool:
        offset = self.model.locate(address)[1]
        return size > MOST_BLOCK_BYTES or any(at in self.roles for at in range(offset, offset + size + 1, WORD_BYTES))

    def write(self, address: int, value: int) -> None:
        place, offset = self.model.locate(address)
        role = self.roles.get(offset) if self._is_shim(place) else None
        if role is None:
            return
        if role.effect is RegisterEffect.DESCRIPTOR:
            # A descriptor that changes may reach further when it is pushed again.
            self._pushed.clear()
        self.registers[address] = value
        if role.effect is RegisterEffect.QUEUE:
            task = self.model.registers(*place).queue.decode([value])
            self._push(place, task["start_bd_id"], role.direction)
            if role.direction is DmaDirection.S2MM:
                lengths = (descriptor.length for descriptor in self._chain(place, task["start_bd_id"]))
                self.awaited.append((self.position, task["repeat_count"] * sum(lengths)))

    def _patch(self, op: Operation) -> None:
        self.named.add(op.argument_index)
        address = (op.argument_index + 1 << ADDRESS_BITS) + (op.argument_offset & ~FOLDED_OFFSET)
        high = self.registers.get(op.address + WORD_BYTES, 0)
        self.write(op.address, address & WORD_MASK)
        self.write(op.address + WORD_BYTES, high & ~HIGH_BITS | address >> WORD_BITS & HIGH_BITS)

    def _push(self, place: TileId, start_bd: int, direction: DmaDirection | None) -> None:
        # Sequences push the same chain thousands of times.
        if (place, start_bd, direction) in self._pushed:
            return
        self._pushed.add((place, start_bd, direction))
        for descriptor in self._chain(place, start_bd):
            start, end = descriptor.reach(descriptor.iterations - 1)
            argument = (descriptor.base >> ADDRESS_BITS) - 1
            self.pushed.add(argument)
            if direction is DmaDirection.S2MM:
                self.written.add(argument)
            if start < end and argument >= 0:
                self.needs[argument] = max(self.needs.get(argument, 0), end & (1 << ADDRESS_BITS) - 1)

    def _chain(self, place: TileId, first: int) -> Iterator[BufferDescriptor]:
        at: int | None = first
        seen = set[int]()
        # A stream that is damaged may name a descriptor that a tile does not have.
        while at is not None and at not in seen and at < self.model.num_bds(*place):
            seen.add(at)
            start = self.model.bd_address(*place, at)
            words = [self.registers.get(start + WORD_BYTES * word, 0) for word in range(ShimBd.words)]
            descriptor = read_descriptor(TileType.ShimNOCTile, words)
            yield descriptor
            at = descriptor.next

    def _is_shim(self, place: TileId) -> bool:
        return place in self.model.tiles and self.model.tile_type(*place) is TileType.ShimNOCTile
