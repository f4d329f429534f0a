"""Hazards in a TXN stream: queues that may overflow, descriptors that are rewritten while they may be in use."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright.device import DeviceModel
from tilewright.device.dma_registers import descriptors_between, dma_register
from tilewright.device.hazard_reader import PATCHED_WORDS, Bits, HazardReader
from tilewright.device.hazards import Hazard
from tilewright.txn.opcodes import WORD_BYTES, Opcode
from tilewright.txn.stream import Group, Indices, Operation, Stream

_WAITS = (Opcode.TCT, Opcode.MERGE_SYNC, Opcode.LOADPDI, Opcode.MASKPOLL, Opcode.MASKPOLL_BUSY)
_WRITES = (Opcode.WRITE, Opcode.MASKWRITE, Opcode.BLOCKWRITE, Opcode.DDR_PATCH, Opcode.UPDATE_REG)


def hazards(stream: Stream, model: DeviceModel) -> Iterator[Hazard[int]]:
    """Each hazard in a stream, in order; origins are numbers of operations."""
    reader, operations = HazardReader[int](model), stream.operations
    positions: list[int] = _relevant(stream, model).tolist()
    for position in positions:
        yield from _read(reader, position, operations[position])


def _relevant(stream: Stream, model: DeviceModel) -> Indices:
    """The operations that a DMA has to do with: few among many thousands that set up memory and switches."""
    kept = [stream.groups[opcode].positions for opcode in _WAITS if opcode in stream.groups]
    kept += [_on_dma(stream.groups[opcode], model) for opcode in _WRITES if opcode in stream.groups]
    return np.sort(np.concatenate(kept)) if kept else np.empty(0, dtype=np.int64)


def _on_dma(group: Group, model: DeviceModel) -> Indices:
    addresses, inverse = np.unique(group.fields["address"], return_inverse=True)
    longest = WORD_BYTES * max(int(np.diff(group.payload_starts).max(initial=0)), PATCHED_WORDS)
    touches = [
        dma_register(model, address) is not None or any(descriptors_between(model, address, address + longest))
        for address in addresses.tolist()
    ]
    return group.positions[np.array(touches)[inverse]]


def _read(reader: HazardReader[int], position: int, op: Operation) -> Iterator[Hazard[int]]:
    match op.opcode:
        case Opcode.WRITE:
            yield from reader.write(position, op.address, Bits(op.value))
        case Opcode.MASKWRITE:
            yield from reader.write(position, op.address, Bits(op.value, op.mask))
        case Opcode.BLOCKWRITE:
            yield from reader.write_block(position, op.address, op.payload.tolist())
        case Opcode.DDR_PATCH | Opcode.UPDATE_REG:
            yield from reader.patch(position, op.address)
        case Opcode.MASKPOLL | Opcode.MASKPOLL_BUSY:
            reader.poll(position, op.address, op.value, op.mask)
        case Opcode.TCT:
            place = {"column": op.column, "row": op.row, "columns": op.column_count, "rows": op.row_count}
            reader.wait(position, direction=op.direction, channel=op.channel, **place)
        case Opcode.MERGE_SYNC:  # waits for tokens of several tiles; which channel's is not documented
            reader.state.pace(position)
        case _:
            reader.forget()
