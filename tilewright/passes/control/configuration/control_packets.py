"""A configuration as control packets of a runtime sequence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
from xdsl.dialects.builtin import LocationAttr
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright import txn
from tilewright.device.layout import WORD_BYTES
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.control import NpuControlPacketOp
from tilewright.passes.control.configuration.transaction import as_transaction, located
from tilewright.passes.control.configuration.writes import Write
from tilewright.passes.control.legalize_ctrl_packet import MAX_WORDS


@dataclass
class Packet:
    """Words for consecutive registers."""

    address: int
    words: list[int]
    location: LocationAttr


def insert_control_packets(device: DeviceOp, writes: Iterable[Write], at: InsertPoint) -> None:
    """Insert packets that do what the writes do, as far as packets can: they have no masks."""
    made = list[NpuControlPacketOp]()
    for packet in _united(_packets(as_transaction(writes))):
        words = np.array(packet.words, dtype=np.uint32).view(np.int32).tolist()
        op = NpuControlPacketOp(packet.address, words)
        op.location = located(packet.location, device)
        made.append(op)
    Rewriter.insert_op(made, at)


def _packets(writes: Iterable[Write]) -> Iterator[Packet]:
    for op, location in writes:
        words = op.payload.tolist() if op.opcode == txn.Opcode.BLOCKWRITE else [op.value]
        for start in range(0, len(words), MAX_WORDS):
            yield Packet(op.address + WORD_BYTES * start, words[start : start + MAX_WORDS], location)


def _united(packets: Iterable[Packet]) -> Iterator[Packet]:
    """Packets to one address that follow each other set their bits together, as masked writes would have done."""
    last: Packet | None = None
    for packet in packets:
        if last is not None and last.address == packet.address:
            last.words = [first | second for first, second in zip_longest(last.words, packet.words, fillvalue=0)]
            continue
        if last is not None:
            yield last
        last = packet
    if last is not None:
        yield last
