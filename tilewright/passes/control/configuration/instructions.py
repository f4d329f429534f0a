"""A configuration in a runtime sequence: as register writes and block writes of globals, or as control packets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest

import numpy as np
from xdsl.dialects.builtin import LocationAttr, UnknownLoc
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright import txn
from tilewright.device.layout import WORD_BYTES
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.blockwrite_data import DataGlobalRef, make_data_global
from tilewright.dialects.aiex.control import NpuControlPacketOp
from tilewright.dialects.aiex.instructions import NpuBlockWriteOp, NpuMaskWrite32Op, NpuWrite32Op
from tilewright.dialects.memref.buffers import GlobalOp
from tilewright.ir.symbols import FreeNames
from tilewright.passes.control.configuration.writes import Write
from tilewright.passes.control.legalize_ctrl_packet import MAX_WORDS
from tilewright.rewrite.emitter import constant_op

DATA_PREFIX = "config_blockwrite_data_"


def as_transaction(writes: Iterable[Write]) -> Iterator[Write]:
    """The writes as the driver's transactions have them.

    Block writes to neighbouring registers are one, which belongs to the first; a mask without bits writes all bits.
    Source: `_XAie_TxnExportSerialized` in xaie_helper.c of aie-rt.
    """
    run = list[Write]()
    for write in writes:
        if run and not _continues(run[-1].operation, write.operation):
            yield _serialized(run)
            run = []
        run.append(write)
    if run:
        yield _serialized(run)


def _continues(first: txn.Operation, second: txn.Operation) -> bool:
    both = first.opcode == second.opcode == txn.Opcode.BLOCKWRITE
    return both and second.address == first.address + WORD_BYTES * len(first.payload)


def _serialized(run: Sequence[Write]) -> Write:
    op, location = run[0]
    if len(run) > 1:
        op = txn.block_write(op.address, np.concatenate([write.operation.payload for write in run]))
    elif op.opcode == txn.Opcode.MASKWRITE and op.mask == 0:
        op = txn.write(op.address, op.value)
    return Write(op, location)


def insert_transaction(
    device: DeviceOp, writes: Iterable[Write], at: InsertPoint, data_prefix: str = DATA_PREFIX
) -> None:
    """Insert writes into a runtime sequence of `device`; the data of its block writes goes to the device's start.

    Instructions have the locations that asked for them, or the device's where there is none.
    """
    name_data = partial(FreeNames.beside(device.body).numbered, data_prefix)
    globals, instructions = list[Operation](), list[Operation]()
    for op, location in as_transaction(writes):
        made = list(_instructions(op, name_data))
        for instruction in made:
            instruction.location = located(location, device)
        # Data goes to the start of the device, the instructions that read it into the sequence.
        if isinstance(made[0], GlobalOp):
            made[0].location = device.location
            globals.append(made.pop(0))
        instructions += made
    Rewriter.insert_op(instructions, at)
    Rewriter.insert_op(globals, InsertPoint.at_start(device.body))


def located(location: LocationAttr, device: DeviceOp) -> LocationAttr:
    return device.location if isinstance(location, UnknownLoc) else location


def _instructions(op: txn.Operation, name_data: Callable[[], str]) -> Iterator[Operation]:
    """An instruction after what it reads; a block write after its data."""
    if op.opcode == txn.Opcode.BLOCKWRITE:
        # the bytes of a global lie as on the device, whatever machine compiles
        data = make_data_global(name_data(), op.payload.astype("<u4").tobytes())
        source = DataGlobalRef.of(data).read()
        yield from (data, source, NpuBlockWriteOp(source.results[0], op.address))
        return
    masked = op.opcode == txn.Opcode.MASKWRITE
    constants = [constant_op(number) for number in (op.address, op.value, *((op.mask,) if masked else ()))]
    yield from constants
    address, value = constants[0].result, constants[1].result
    yield NpuMaskWrite32Op(address, value, constants[2].result) if masked else NpuWrite32Op(address, value)


@dataclass
class ControlPacketData:
    """Words for consecutive registers."""

    address: int
    words: list[int]
    location: LocationAttr


def insert_control_packets(device: DeviceOp, writes: Iterable[Write], at: InsertPoint) -> None:
    """Insert packets that do what the writes do, as far as packets can: they have no masks."""
    made = list[NpuControlPacketOp]()
    for packet in _united(_packets(as_transaction(writes))):
        # packets print their words with a sign
        words = np.array(packet.words, dtype=np.uint32).view(np.int32).tolist()
        op = NpuControlPacketOp(packet.address, words)
        op.location = located(packet.location, device)
        made.append(op)
    Rewriter.insert_op(made, at)


def _packets(writes: Iterable[Write]) -> Iterator[ControlPacketData]:
    for op, location in writes:
        words = op.payload.tolist() if op.opcode == txn.Opcode.BLOCKWRITE else [op.value]
        for start in range(0, len(words), MAX_WORDS):
            yield ControlPacketData(op.address + WORD_BYTES * start, words[start : start + MAX_WORDS], location)


def _united(packets: Iterable[ControlPacketData]) -> Iterator[ControlPacketData]:
    """Packets to one address that follow each other set their bits together, as masked writes would have done."""
    last: ControlPacketData | None = None
    for packet in packets:
        if last is not None and last.address == packet.address:
            last.words = [first | second for first, second in zip_longest(last.words, packet.words, fillvalue=0)]
            continue
        if last is not None:
            yield last
        last = packet
    if last is not None:
        yield last
