"""Copies between cores that stand in the device itself: descriptors in the programs of both DMAs.

Tokens stay; a later pass gives them locks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.device import DmaDirection, LockAction, WireBundle
from tilewright.dialects.aie.dma import Channel, DmaStartOp, MemOp, NextBdOp
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.flows import FlowOp, Port
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.token_memcpy import CopyEnd, MemcpyOp
from tilewright.dialects.aiex.tokens import UseTokenOp
from tilewright.ir.diagnostics import fail_op
from tilewright.rewrite.emitter import Emitter

CHANNEL = 0
MOST_ARRIVALS = 2


def program_copies(device: DeviceOp, copies: Sequence[MemcpyOp]) -> None:
    """Give each copy a flow, and a descriptor at both ends."""
    programs = {op.tile: op for op in device.body.ops if isinstance(op, MemOp)}
    arrivals = Counter[SSAValue]()
    for op in copies:
        source, destination = op.ends
        if arrivals[destination.tile] == MOST_ARRIVALS:
            fail_op(op, f"is the third copy to its tile, whose DMA has {MOST_ARRIVALS} channels for that")
        ports = (Port(WireBundle.DMA, number) for number in (CHANNEL, arrivals[destination.tile]))
        Emitter.before(op).insert(FlowOp(source.tile, next(ports), destination.tile, next(ports)))
        arrivals[destination.tile] += 1
    for op in copies:
        source, destination = op.ends
        for end, direction in ((source, DmaDirection.MM2S), (destination, DmaDirection.S2MM)):
            if end.tile not in programs:
                fail_op(op, "is between tiles of which one has no aie.mem", (end.tile, "this one"))
            _add_descriptor(programs[end.tile], op, end, direction)
        Rewriter.erase_op(op)


def _add_descriptor(program: MemOp, op: MemcpyOp, end: CopyEnd, direction: DmaDirection) -> None:
    last = program.body.last_block
    assert last is not None, "a DMA's program ends with a block"
    descriptor = Block(_descriptor(op, end, last))
    start = Block([DmaStartOp(Channel(direction, CHANNEL), descriptor, last)])
    for block in (start, descriptor):
        for new in block.ops:
            new.location = op.location
    program.body.insert_block_before([start, descriptor], last)


def _descriptor(op: MemcpyOp, end: CopyEnd, last: Block) -> Iterator[Operation]:
    name = op.token_name
    yield UseTokenOp(name, LockAction.Acquire, op.acquire_value)
    yield DmaBdOp(end.buffer, end.offset, end.length)
    yield UseTokenOp(name, LockAction.Release, op.release_value)
    yield NextBdOp(last)
