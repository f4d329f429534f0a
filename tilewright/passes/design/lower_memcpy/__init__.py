"""Lowers token-gated copies: tokens become locks, copies become streams and DMA tasks on both sides.

`copies` reads what a program wants, `sites` puts tokens on tiles, `streams` finds channels, `schedule` writes tasks and
places the waits, and `deadlock` simulates the result before it is believed.

A core that waits for a token waits for its lock, and one that has done its part starts over, so that every run of a
sequence finds the cores as the first one did. A core that waits for a token somewhere goes on until it waits there
again. One that only gives tokens would not stop; the sequence tells it when to start.

That is for devices with counting locks. On the older ones copies stand in the device itself, become programs of the
DMAs and keep their tokens, as in mlir-aie. With `compat` it writes what the first version of this lowering wrote.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import Arch, DmaDirection, LockAction, TileId, WireBundle
from tilewright.dialects import scf
from tilewright.dialects._syntax import INDEX
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.core import CoreOp, EndOp
from tilewright.dialects.aie.dma import Channel, DmaStartOp, MemOp, NextBdOp
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.flows import FlowOp, Port, ShimDmaAllocationOp
from tilewright.dialects.aie.locks import LockOp, UseLockOp
from tilewright.dialects.aie.lookup import parent_of_type
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp, TileOp
from tilewright.dialects.aiex.access_pattern import AccessPattern
from tilewright.dialects.aiex.control import SetLockOp
from tilewright.dialects.aiex.memcpy import NpuDmaMemcpyNdOp, NpuDmaWaitOp
from tilewright.dialects.aiex.queue import NpuPushQueueOp
from tilewright.dialects.aiex.token_memcpy import CopyEnd, MemcpyOp
from tilewright.dialects.aiex.tokens import UseTokenOp
from tilewright.dialects.aiex.write_bd import NpuWriteBdOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.symbols import FreeNames
from tilewright.ir.traversal import all_operations
from tilewright.passes.design.lower_memcpy.copies import LockName, read_copy, tile_of_end
from tilewright.passes.design.lower_memcpy.deadlock import check_for_deadlock
from tilewright.passes.design.lower_memcpy.schedule import CopyScheduler, overlap_loops
from tilewright.passes.design.lower_memcpy.sites import TokenSites, check_sides, check_tokens, place_of
from tilewright.passes.design.lower_memcpy.streams import CopyStreams
from tilewright.rewrite.device_tiles import tiles_by_place
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.pass_bases import DevicePass, append_to, located, ops_of
from tilewright.rewrite.unrolling import iterations, loops_innermost_first, unroll

CHANNEL = 0
MOST_ARRIVALS = 2
# The first version of this lowering never used another channel, nor other descriptors.
INPUT_BD, OUTPUT_BD = 0, 1
FOREVER = (1 << 63) - 1
"""Iterations of a loop that is never left."""
ENDLESS = 1 << 31
"""Loops with more iterations are never left in practice, either."""
COUNTING = {
    LockAction.Acquire: LockAction.AcquireGreaterEqual,
    LockAction.AcquireGreaterEqual: LockAction.AcquireGreaterEqual,
    LockAction.Release: LockAction.Release,
}
"""A wait for a token is a wait for at least as much."""


@dataclass(frozen=True)
class LowerMemcpyPass(DevicePass):
    name = "aie-lower-memcpy"

    compat: bool = field(default=False, metadata={"help": "write the registers that the first version of this wrote"})

    def apply_to(self, device: DeviceOp) -> None:
        ops = all_operations(device)
        copies = ops_of(ops, MemcpyOp)
        if self.compat:
            lower_as_first_version(device, copies)
        elif device.model.arch is Arch.AIE1:
            program_copies(device, [copy for copy in copies if copy.parent is device.body])
        elif copies or ops_of(ops, UseTokenOp):
            for copy in copies:
                if parent_of_type(copy, RuntimeSequenceOp) is None:
                    remedy = (copy, "only one that is can be started, and started again")
                    fail_op(copy, "is not in a runtime sequence", remedy)
            lower_sequence_copies(device)


def lower_sequence_copies(device: DeviceOp) -> None:
    """Put tokens on tiles, find channels, and have sequences start and await the copies."""
    sequences = ops_of(device.body.ops, RuntimeSequenceOp)
    for loop in (loop for sequence in sequences for loop in loops_innermost_first(sequence)):
        # Loops around copies whose number of iterations is known are written out.
        if (times := iterations(loop)) and ops_of(all_operations(loop), MemcpyOp):
            unroll(loop, times)
    # Before copies are read: the first iterations of such loops are cloned.
    overlapping = {loop for sequence in sequences for loop in overlap_loops(sequence)}
    ops = [op for sequence in sequences for op in ops_of(all_operations(sequence), MemcpyOp)]
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
    cores = ops_of(device.body.ops, CoreOp)
    moving = [sequence for sequence in sequences if ops_of(all_operations(sequence), MemcpyOp)]
    starts = _start_over(device, cores, moving)
    for use, name in sites.uses.items():
        use_lock(use, locks[name])
    steps = [CopyScheduler(device, streams, locks, copies, overlapping).run(sequence) for sequence in moving]
    if len(moving) == 1 and steps[0] is not None:  # the host decides about the order of several
        check_for_deadlock(locks, starts, cores, steps[0])
    # Uses of tokens that are left are uses of nothing.
    for op in (*ops, *ops_of(all_operations(device), UseTokenOp), *sites.tokens.values()):
        Rewriter.erase_op(op)


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
            name = FreeNames.beside(device.body).like("start_{}_{}_lock".format(*core.place))
            lock = Emitter(InsertPoint.after(tile), core.location).insert(LockOp(core.tile, init=0, sym_name=name))
            start_with(moving[0], repeated, lock)
            locks.append(lock)
    return locks


def _make_locks(device: DeviceOp, sites: TokenSites) -> dict[LockName, LockOp]:
    """A lock for each token on each of its tiles, behind the tile; it starts with the token's value."""
    tiles, locks = tiles_by_place(device), dict[LockName, LockOp]()
    last: dict[object, Operation] = {}
    # Tiles whose locks other cores use come before everything else: those cores may stand before them.
    for tile in {tiles[name.place]: None for use, name in sites.uses.items() if name.place != place_of(use)}:
        tile.detach()
        Rewriter.insert_op(tile, InsertPoint.at_start(device.body))
    free = FreeNames.beside(device.body)
    for name in (names := sites.locks):
        token, tile = sites.tokens[name.token], tiles[name.place]
        lock = LockOp(tile.result, init=token.value.value.data, sym_name=free.like(_lock_name(name, names)))
        Emitter(InsertPoint.after(last.get(tile, tile)), token.location).insert(lock)
        locks[name] = last[tile] = lock
    return locks


def _lock_name(name: LockName, names: Sequence[LockName]) -> str:
    """The token's name; with the tile's place where it has several, and the value it is for."""
    wanted = f"{name.token}_lock"
    if len({other.place for other in names if other.token == name.token}) > 1:
        wanted += f"_{name.place.column}_{name.place.row}"
    return wanted if name.value is None else f"{wanted}_{name.value}"


def program_copies(device: DeviceOp, copies: Sequence[MemcpyOp]) -> None:
    """Give each copy a flow, and a descriptor at both ends."""
    programs = {dma.tile: dma for dma in ops_of(device.body.ops, MemOp)}
    arrivals = Counter[SSAValue]()
    for op in copies:
        source, destination = op.ends
        if arrivals[destination.tile] == MOST_ARRIVALS:
            fail_op(op, f"is the third copy to its tile, whose DMA has {MOST_ARRIVALS} channels for that")
        Emitter.before(op).insert(_flow(source.tile, destination.tile, arrivals[destination.tile]))
        arrivals[destination.tile] += 1
    for op in copies:
        source, destination = op.ends
        for end, direction in ((source, DmaDirection.MM2S), (destination, DmaDirection.S2MM)):
            if end.tile not in programs:
                fail_op(op, "is between tiles of which one has no aie.mem", (end.tile, "this one"))
            _add_descriptor(programs[end.tile], op, end, direction)
        Rewriter.erase_op(op)


def _flow(source: SSAValue, destination: SSAValue, channel: int) -> FlowOp:
    return FlowOp(source, Port(WireBundle.DMA, CHANNEL), destination, Port(WireBundle.DMA, channel))


def _add_descriptor(program: MemOp, op: MemcpyOp, end: CopyEnd, direction: DmaDirection) -> None:
    last = program.body.last_block
    assert last is not None, "a DMA's program ends with a block"
    descriptor = Block(
        [
            UseTokenOp(op.token_name, LockAction.Acquire, op.acquire_value),
            DmaBdOp(end.buffer, end.offset, end.length),
            UseTokenOp(op.token_name, LockAction.Release, op.release_value),
            NextBdOp(last),
        ]
    )
    start = Block([DmaStartOp(Channel(direction, CHANNEL), descriptor, last)])
    for block in (start, descriptor):
        for new in block.ops:
            new.location = op.location
    program.body.insert_block_before([start, descriptor], last)


def lower_as_first_version(device: DeviceOp, copies: Sequence[MemcpyOp]) -> None:
    """Copies as the first version of this lowering wrote them, for comparison word by word.

    It is right for one run of 32-bit elements: locks start at 0 and are tested for equality, channels and descriptors
    are always the same ones, lengths and offsets are not scaled.
    """
    for op in copies:
        if len(op.token_uses) > 1 or len(op.ends) > 2 or op.numbers or any(end.sizes for end in op.ends):
            fail_op(
                op,
                "has a form that the first version of this lowering did not know",
                (op, "leave out the option compat of this pass"),
            )
    locks = _first_version_locks(device, copies)
    for use in ops_of(all_operations(device), UseTokenOp):
        if (lock := locks.get(use.token_name.root_reference.data)) is not None:
            use_lock(use, lock)
    arrivals = Counter[TileId]()
    for op in copies:
        source, destination = (tile_of_end(op, end) for end in op.ends)
        append_to(device.body, _flow(source.result, destination.result, arrivals[destination.place]), op.location)
        arrivals[destination.place] += 1
    programmed = {dma.place for dma in ops_of(device.body.ops, MemOp)}
    for op in copies:
        _FirstVersion(device, op, locks[op.token_name.root_reference.data], programmed).lower()
        Rewriter.erase_op(op)


def _first_version_locks(device: DeviceOp, copies: Sequence[MemcpyOp]) -> dict[str, LockOp]:
    locks, numbers = dict[str, LockOp](), Counter[TileId]()
    for op in copies:
        name, (source, destination) = op.token_name.root_reference.data, (tile_of_end(op, end) for end in op.ends)
        tile = destination if source.is_shim else source
        if name not in locks:
            locks[name] = LockOp(tile.result, numbers[tile.place], 0, f"{name}_lock")
            numbers[tile.place] += 1
            Emitter(InsertPoint.after(tile), device.location).insert(locks[name])
    return locks


class _FirstVersion:
    """One copy: a descriptor on the tile, a transfer on the host's side."""

    def __init__(self, device: DeviceOp, op: MemcpyOp, lock: LockOp, programmed: set[TileId | None]):
        self.device, self.op, self.lock, self.build = device, op, lock, Emitter.before(op)
        self.source, self.destination = op.ends
        self.tiles = tile_of_end(op, self.source), tile_of_end(op, self.destination)
        self.is_programmed = all(tile.place in programmed for tile in self.tiles)

    def lower(self) -> None:
        source, destination = self.tiles
        if self.is_programmed:
            self._start_tile(source.is_shim, d0_stride=1, d2_size=0, waits=True)
            return
        # One end has to be the host's; the words are the first version's.
        if source.is_shim == destination.is_shim:
            text = "non-shim tile paired with shim endpoint" if source.is_shim else "shim tile endpoint"
            fail_op(self.op, f"expected {text}")
        self._start_tile(source.is_shim, d0_stride=0, d2_size=1, waits=destination.is_shim)
        self._start_host(source.is_shim)

    def _start_tile(self, is_input: bool, *, d0_stride: int, d2_size: int, waits: bool) -> None:
        end, tile = (self.destination, self.tiles[1]) if is_input else (self.source, self.tiles[0])
        place, bd_id = tile.place._asdict(), INPUT_BD if is_input else OUTPUT_BD
        lock = self.lock.number or 0
        taken = {"lock_acq_enable": 1, "lock_acq_val": self.op.acquire_value.value.data, "lock_acq_id": lock}
        self.build.insert(
            NpuWriteBdOp(
                **place,
                bd_id=bd_id,
                buffer_length=_constant(end.length),
                buffer_offset=_address(end) + _constant(end.offset),
                d0_size=_constant(end.length),
                d0_stride=d0_stride,
                d1_size=1,
                d2_size=d2_size,
                valid_bd=1,
                lock_rel_val=self.op.release_value.value.data,
                lock_rel_id=lock,
                **(taken if waits else {}),
            )
        )
        number, repeats = self.build.constants(bd_id, 0)
        direction = DmaDirection.S2MM if is_input else DmaDirection.MM2S
        push = NpuPushQueueOp(*tile.place, direction, CHANNEL, bd_id=number, repeat_count=repeats, issue_token=is_input)
        self.build.insert(push)

    def _start_host(self, is_input: bool) -> None:
        end, tile = (self.source, self.tiles[0]) if is_input else (self.destination, self.tiles[1])
        name = self._allocation(tile, DmaDirection.MM2S if is_input else DmaDirection.S2MM)
        pattern = AccessPattern.from_outermost(
            [1, 1, 1, _constant(end.length)], [0, 0, 0, 1], [0, 0, 0, _address(end) + _constant(end.offset)]
        )
        bd_id = INPUT_BD if is_input else OUTPUT_BD
        self.build.insert(NpuDmaMemcpyNdOp(end.buffer, pattern, name, bd_id, issue_token=not is_input))
        if not is_input:  # a copy to the host is done when the host has it
            self.build.insert(NpuDmaWaitOp.create(properties={"symbol": SymbolRefAttr(name)}))

    def _allocation(self, tile: TileOp, direction: DmaDirection) -> str:
        (column, row), token = tile.place, self.op.token_name.root_reference.data
        name = f"shim_dma_{token}_{column}_{row}_{CHANNEL}"
        if self.device.lookup(name) is None:
            build = Emitter(InsertPoint.after(tile), self.op.location)
            build.insert(ShimDmaAllocationOp(name, tile.result, direction, CHANNEL))
        return name


def _constant(number: object) -> int:
    assert isinstance(number, int), "the form has been checked"
    return number


def _address(end: CopyEnd) -> int:
    buffer = end.buffer.owner
    return (buffer.address_bytes or 0) if isinstance(buffer, BufferOp) else 0


def use_lock(use: UseTokenOp, lock: LockOp) -> None:
    """Have a core wait for a lock or change it, instead of a token."""
    build = Emitter.before(use)
    build.insert(UseLockOp(lock.result, COUNTING[use.lock_action], build.constant(use.value.value.data)))
    Rewriter.erase_op(use)


def ends(core: CoreOp) -> bool:
    """Whether a core that uses tokens is done at some time; unless it has several blocks, which are not looked into."""
    if len(core.body.blocks) != 1 or not ops_of(all_operations(core), UseTokenOp):
        return False
    return all((iterations(loop) or 0) < ENDLESS for loop in ops_of(all_operations(core.body), scf.ForOp))


def always_waits(block: Block) -> bool:
    """Whether no way leads through a block without waiting for a token."""
    return any(_waits(op) for op in block.ops)


def _waits(op: Operation) -> bool:
    match op:
        case UseTokenOp():
            return op.lock_action is not LockAction.Release and op.value.value.data > 0
        case scf.ForOp():
            return (iterations(op) or 0) > 0 and always_waits(op.body.block)
        case scf.IfOp():
            # without an else there is a way around
            return len(op.regions) == 2 and all(r.blocks and always_waits(r.block) for r in op.regions)
        case _:
            return False


def repeat_forever(core: CoreOp) -> Block:
    """Have a core do all of it again and again. Returns what it repeats."""
    *ops, end = core.body.block.ops
    assert isinstance(end, EndOp), "a core ends with a terminator"
    for op in ops:
        op.detach()
    repeated = Block([*ops, located(scf.YieldOp(), core.location)], arg_types=[INDEX])
    build = Emitter(InsertPoint.before(end), core.location)
    lower, upper, step = (build.index(number) for number in (0, FOREVER, 1))
    build.insert(scf.ForOp(lower, upper, step, [], Region(repeated)))
    return repeated


def start_with(sequence: RuntimeSequenceOp, repeated: Block, lock: LockOp) -> None:
    """Have a core wait for a lock before it repeats what it does, and each run of a sequence set it."""
    build = Emitter.at_start(repeated, lock.location)
    build.insert(UseLockOp(lock.result, LockAction.AcquireGreaterEqual, build.constant(1)))
    Emitter.at_start(sequence.body.block, lock.location).insert(SetLockOp(lock.result, 1))
