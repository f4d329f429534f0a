"""Lowers token-gated copies: tokens become locks, copies become streams and DMA tasks on both sides.

`copies` reads what a program wants, `sites` puts tokens on tiles, `streams` finds channels, `schedule` writes tasks and
places the waits, `cores` has cores use locks, and `deadlock` simulates the result before it is believed.

That is for devices with counting locks. On the older ones copies stand in the device itself, become programs of the
DMAs and keep their tokens, as in mlir-aie. `compat` writes what the first version of this lowering wrote.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, count

from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import Arch, DmaDirection, LockAction, WireBundle
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.dma import Channel, DmaStartOp, MemOp, NextBdOp
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.flows import FlowOp, Port
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.lookup import parent_of_type
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp, TileOp
from tilewright.dialects.aiex.token_memcpy import CopyEnd, MemcpyOp
from tilewright.dialects.aiex.tokens import UseTokenOp
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.design.lower_memcpy.compat import lower_as_first_version
from tilewright.passes.design.lower_memcpy.copies import LockName, read_copy
from tilewright.passes.design.lower_memcpy.cores import always_waits, ends, repeat_forever, start_with, use_locks
from tilewright.passes.design.lower_memcpy.deadlock import check_for_deadlock
from tilewright.passes.design.lower_memcpy.schedule import CopyScheduler, overlap_loops
from tilewright.passes.design.lower_memcpy.sites import TokenSites, check_sides, check_tokens, place_of
from tilewright.passes.design.lower_memcpy.streams import CopyStreams
from tilewright.rewrite.device_tiles import tiles_by_place
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.pass_bases import DevicePass
from tilewright.rewrite.unrolling import iterations, loops_innermost_first, unroll

CHANNEL = 0
MOST_ARRIVALS = 2


@dataclass(frozen=True)
class LowerMemcpyPass(DevicePass):
    name = "aie-lower-memcpy"

    compat: bool = field(default=False, metadata={"help": "write the registers that the first version of this wrote"})

    def apply_to(self, device: DeviceOp) -> None:
        copies = [copy for copy in device.walk() if isinstance(copy, MemcpyOp)]
        if self.compat:
            lower_as_first_version(device, copies)
        elif device.model.arch is Arch.AIE1:
            program_copies(device, [copy for copy in copies if copy.parent is device.body])
        else:
            _check_in_sequences(copies)
            lower_sequence_copies(device)


def _check_in_sequences(copies: Sequence[MemcpyOp]) -> None:
    for copy in copies:
        if parent_of_type(copy, RuntimeSequenceOp) is None:
            fail_op(copy, "is not in a runtime sequence", (copy, "only one that is can be started, and started again"))


def lower_sequence_copies(device: DeviceOp) -> None:
    """Put tokens on tiles, find channels, and have sequences start and await the copies."""
    sequences = [op for op in device.body.ops if isinstance(op, RuntimeSequenceOp)]
    for sequence in sequences:
        _unroll(sequence)
    # Before copies are read: the first iterations of such loops are cloned.
    overlapping = {loop for sequence in sequences for loop in overlap_loops(sequence)}
    ops = [op for sequence in sequences for op in sequence.walk() if isinstance(op, MemcpyOp)]
    copies = {op: read_copy(op) for op in ops}
    sites = TokenSites(device, list(copies.values()))
    if not copies and not any(sites.demands.values()):
        return
    check_tokens(sites)
    sites.settle()
    check_sides(list(copies.values()))
    locks = _make_locks(device, sites)
    streams = CopyStreams(device, list(copies.values()))
    streams.connect()
    cores = [op for op in device.body.ops if isinstance(op, CoreOp)]
    moving = [sequence for sequence in sequences if any(isinstance(op, MemcpyOp) for op in sequence.walk())]
    starts = _start_over(device, cores, moving)
    use_locks(sites.uses, locks)
    steps = [CopyScheduler(device, streams, locks, copies, overlapping).run(sequence) for sequence in moving]
    if len(moving) == 1 and steps[0] is not None:  # the host decides about the order of several
        check_for_deadlock(locks, starts, cores, steps[0])
    for op in ops:
        Rewriter.erase_op(op)
    _erase_tokens(device, sites)


def _start_over(device: DeviceOp, cores: Sequence[CoreOp], moving: Sequence[RuntimeSequenceOp]) -> list[LockOp]:
    """Have cores that end do the same for each run of a sequence. Returns locks with which sequences start some."""
    locks = list[LockOp]()
    for core in (core for core in cores if ends(core)):
        waits = always_waits(core.body.block)
        # Which of several sequences would have to start it cannot be told.
        if not waits and len(moving) != 1:
            continue
        repeated = repeat_forever(core)
        if not waits and (tile := core.tile_like) is not None and core.place is not None:
            name = _free_name(device, "start_{}_{}_lock".format(*core.place))
            lock = Emitter(InsertPoint.after(tile), core.location).insert(LockOp(core.tile, init=0, sym_name=name))
            start_with(moving[0], repeated, lock)
            locks.append(lock)
    return locks


def _unroll(sequence: RuntimeSequenceOp) -> None:
    """Write out the loops around copies whose number of iterations is known."""
    for loop in list(loops_innermost_first(sequence)):
        times = iterations(loop)
        if times and any(isinstance(op, MemcpyOp) for op in loop.walk()):
            unroll(loop, times)


def _make_locks(device: DeviceOp, sites: TokenSites) -> dict[LockName, LockOp]:
    """A lock for each token on each of its tiles, behind the tile; it starts with the token's value."""
    tiles, locks = tiles_by_place(device), dict[LockName, LockOp]()
    last: dict[object, Operation] = {}
    _declare_first(device, [tiles[name.place] for use, name in sites.uses.items() if name.place != place_of(use)])
    for name in (names := sites.locks):
        token, tile = sites.tokens[name.token], tiles[name.place]
        lock = LockOp(tile.result, init=token.value.value.data, sym_name=_lock_name(device, name, names))
        Emitter(InsertPoint.after(last.get(tile, tile)), token.location).insert(lock)
        locks[name] = last[tile] = lock
    return locks


def _declare_first(device: DeviceOp, tiles: Sequence[TileOp]) -> None:
    """Put tiles before everything else: cores before them are to use their locks."""
    for tile in dict.fromkeys(tiles):
        tile.detach()
        Rewriter.insert_op(tile, InsertPoint.at_start(device.body))


def _lock_name(device: DeviceOp, name: LockName, names: Sequence[LockName]) -> str:
    """The token's name; with the tile's place where it has several, and the value it is for."""
    wanted = f"{name.token}_lock"
    if len({other.place for other in names if other.token == name.token}) > 1:
        wanted += f"_{name.place.column}_{name.place.row}"
    if name.value is not None:
        wanted += f"_{name.value}"
    return _free_name(device, wanted)


def _free_name(device: DeviceOp, wanted: str) -> str:
    numbered = (f"{wanted}_{number}" for number in count())
    return next(free for free in chain([wanted], numbered) if device.lookup(free) is None)


def _erase_tokens(device: DeviceOp, sites: TokenSites) -> None:
    for use in [op for op in device.walk() if isinstance(op, UseTokenOp)]:
        Rewriter.erase_op(use)  # of nothing
    for token in sites.tokens.values():
        Rewriter.erase_op(token)


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
    descriptor = Block(_descriptor_ops(op, end, last))
    start = Block([DmaStartOp(Channel(direction, CHANNEL), descriptor, last)])
    for block in (start, descriptor):
        for new in block.ops:
            new.location = op.location
    program.body.insert_block_before([start, descriptor], last)


def _descriptor_ops(op: MemcpyOp, end: CopyEnd, last: Block) -> Iterator[Operation]:
    name = op.token_name
    yield UseTokenOp(name, LockAction.Acquire, op.acquire_value)
    yield DmaBdOp(end.buffer, end.offset, end.length)
    yield UseTokenOp(name, LockAction.Release, op.release_value)
    yield NextBdOp(last)
