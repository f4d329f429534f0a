"""Whatever FIFOs connect, the locks of each count its buffers and no others, and all of each element arrives."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from helpers import first, lowered
from hypothesis import given, note, settings
from objectfifo_designs import Graph, graphs
from xdsl.ir import Block

from tilewright.device import DmaDirection
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.core import EndOp
from tilewright.dialects.aie.data_layout import element_count
from tilewright.dialects.aie.dma import Channel, DmaBody, DmaStartOp, NextBdOp
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.flows import FlowOp
from tilewright.dialects.aie.locks import LockOp, UseLockOp
from tilewright.dialects.aie.tiles import DeviceOp, TileOp
from tilewright.ir.diagnostics import DiagnosedError, file_position
from tilewright.passes.design.objectfifo_stateful_transform import ObjectFifoStatefulTransformPass


class Move(NamedTuple):
    """A descriptor: what it moves, and the locks it waits for and gives back."""

    buffer: BufferOp
    length: int
    waits_for: LockOp
    gives_back: LockOp
    amount: int


class Chain(NamedTuple):
    tile: TileOp
    channel: Channel
    moves: list[Move]
    repeats: int


def lower(text: str) -> DeviceOp:
    return first(DeviceOp, lowered(text, ObjectFifoStatefulTransformPass()))


def chains(device: DeviceOp) -> Iterator[Chain]:
    """The chains of all channels; each block belongs to one of them, and each goes round or ends."""
    for dma in device.body.ops:
        if not isinstance(dma, DmaBody):
            continue
        seen: list[Block] = []
        start = dma.body.blocks[0].last_op
        while isinstance(start, DmaStartOp):
            blocks = list(round_trip(start.dest))
            assert isinstance(dma.tile.owner, TileOp)
            yield Chain(dma.tile.owner, start.channel, list(map(move, blocks)), 1 + start.repeat_count.value.data)
            seen += [start.parent_block() or start.dest, *blocks]
            start = start.chain.last_op
        assert isinstance(start, EndOp)
        assert [*dict.fromkeys(seen)] == seen, "no block is in two chains"
        assert {*seen, start.parent_block()} == {*dma.body.blocks}, "no block is left over"


def round_trip(first: Block) -> Iterator[Block]:
    block = first
    while True:
        yield block
        end = block.last_op
        assert isinstance(end, NextBdOp)
        block = end.dest
        if block is first:
            return


def move(block: Block) -> Move:
    (bd,) = (op for op in block.ops if isinstance(op, DmaBdOp))
    acquire, release = (op for op in block.ops if isinstance(op, UseLockOp))
    assert acquire.is_acquire
    assert not release.is_acquire
    assert acquire.constant is not None
    assert acquire.constant == release.constant
    assert acquire.lock_op is not None
    assert release.lock_op is not None
    assert bd.buffer_op is not None
    return Move(bd.buffer_op, bd.constant_len or 0, acquire.lock_op, release.lock_op, acquire.constant)


def name(op: LockOp | BufferOp) -> str:
    assert op.sym_name is not None
    return op.sym_name.data


def check_locks(device: DeviceOp, found: list[Chain]) -> None:
    """A pair of locks guards one storage or branch: one channel fills it at most, and one empties it."""
    users: dict[tuple[str, DmaDirection], set[tuple[TileOp, Channel]]] = defaultdict(set)
    for chain in found:
        sends = chain.channel.direction is DmaDirection.MM2S
        for step in chain.moves:
            full, empty = (step.waits_for, step.gives_back) if sends else (step.gives_back, step.waits_for)
            assert name(full) == "cons".join(name(empty).rsplit("prod", 1)), "both belong to one pair"
            assert full.tile is empty.tile
            users[name(full), chain.channel.direction].add((chain.tile, chain.channel))
    assert all(len(channels) == 1 for channels in users.values())
    names = [name(op) for op in device.body.ops if isinstance(op, LockOp)]
    assert len(set(names)) == len(names)


def check_conservation(repeats: dict[str, int], found: list[Chain]) -> None:
    """All channels together fill all of a buffer once, and send all of it as often as the FIFO repeats it."""
    filled: dict[BufferOp, int] = defaultdict(int)
    emptied: dict[BufferOp, int] = defaultdict(int)
    for chain in found:
        moved = filled if chain.channel.direction is DmaDirection.S2MM else emptied
        for step in chain.moves:
            moved[step.buffer] += step.length * chain.repeats
    for buffer, length in filled.items():
        assert length == element_count(buffer.buffer.type)
    for buffer, length in emptied.items():
        assert length == (element_count(buffer.buffer.type) or 0) * repeats[owner(buffer)]


def check_tokens(device: DeviceOp, repeats: dict[str, int], found: list[Chain]) -> None:
    """Going round once, all empty buffers that a lock counts at first become full, and all full ones empty."""
    given_back: dict[LockOp, int] = defaultdict(int)
    for chain in found:
        for step in chain.moves:
            given_back[step.gives_back] += step.amount * chain.repeats
    buffers = Counter(owner(op) for op in device.body.ops if isinstance(op, BufferOp))
    for lock in (op for op in device.body.ops if isinstance(op, LockOp) and owner(op) in buffers):
        total = buffers[owner(lock)] * repeats[owner(lock)]
        assert lock.init is not None
        assert lock.init.value.data == (total if "_prod_lock_" in name(lock) else 0)
        assert given_back.get(lock, total) == total


def owner(op: LockOp | BufferOp) -> str:
    """The end of a FIFO that a buffer or lock belongs to."""
    return re.sub("_(buff|prod_lock|cons_lock)_[0-9]+$", "", name(op))


def repeats_of(graph: Graph) -> dict[str, int]:
    """How often the elements of each end are sent; those that come in through a link, as often as it sends them on."""
    repeats = defaultdict(lambda: 1, {fifo.name: fifo.repeats for fifo in graph.fifos})
    for link in graph.links:
        repeats |= {f"{fifo.name}_cons": link.outputs[0].repeats for fifo in link.inputs}
    return repeats


@settings(max_examples=40)
@given(graphs())
def test_every_element_arrives_once_or_the_error_has_a_place(graph: Graph) -> None:
    note(str(graph))
    try:
        device = lower(str(graph))
    except DiagnosedError as error:
        assert all(file_position(diagnostic.location) for diagnostic in error.diagnostics)
        return
    assert not any(op.name.startswith("aie.objectfifo") for op in device.walk())
    found = list(chains(device))
    channels = [(chain.tile, chain.channel) for chain in found]
    assert len(set(channels)) == len(channels)
    ends = [(flow.dest, flow.dest_port) for flow in device.body.ops if isinstance(flow, FlowOp)]
    assert len(set(ends)) == len(ends)
    check_locks(device, found)
    check_conservation(repeats_of(graph), found)
    check_tokens(device, repeats_of(graph), found)
