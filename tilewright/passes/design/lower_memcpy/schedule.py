"""Copies of a sequence as DMA tasks, and when it waits for them.

It waits when channels, queues or descriptors are needed again, and at its end. A copy is done when its destinations
are. The tokens of a channel come in the order of its tasks and all look the same, so copies are awaited in the order in
which they were started on each channel.

Iterations of a loop overlap where they can: one starts its copies while those of the one before still run. The first
iteration is put before the loop, and what it started is handed on from iteration to iteration. So the loop must do
nothing but copies, few enough for two iterations to be under way at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import IndexType, IntegerType, i32, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator

from tilewright.device import TASK_QUEUE_DEPTH, DeviceModel, DmaDirection, LockAction, TileId
from tilewright.dialects import arith, scf
from tilewright.dialects.aie.attributes import PacketInfoAttr
from tilewright.dialects.aie.core import INDEX, EndOp
from tilewright.dialects.aie.dma import DmaBody
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.locks import LockOp, UseLockOp
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.guards import NpuAssertRangeOp
from tilewright.dialects.aiex.tasks import DmaAwaitTaskOp, DmaConfigureTaskOp, DmaFreeTaskOp, DmaStartTaskOp
from tilewright.dialects.aiex.token_memcpy import MemcpyOp
from tilewright.ir.traversal import all_operations
from tilewright.passes.design.lower_memcpy.copies import Channel, CopySide, LockName, TokenCopy, TokenLockUse
from tilewright.passes.design.lower_memcpy.streams import CopyStreams
from tilewright.rewrite.emitter import Emitter, Number, constant_op, known
from tilewright.rewrite.folding.regions import only_block, recreate, terminator
from tilewright.rewrite.pass_bases import located, ops_of
from tilewright.rewrite.unrolling import loops_innermost_first

Locks = Mapping[LockName, LockOp]
AT_ONCE = 2
"""Iterations that are under way at the same time."""


@dataclass(frozen=True)
class ScheduleStep:
    """What a sequence does next: start a copy, or wait until one is done."""

    copy: TokenCopy
    is_start: bool


Pool: TypeAlias = tuple[TileId, int, int]
"""Descriptors that the same channels reach: of a tile, from one number to another."""


class RunningCopy:
    """A copy that has been started. Its tasks are those of the source, then of the destinations."""

    def __init__(self, copy: TokenCopy, tasks: Sequence[SSAValue], pools: Iterable[Pool]):
        self.copy, self.tasks, self.pools = copy, tasks, set(pools)
        self.channels: set[Channel] = {side.channel for side in copy.sides}
        self.destinations: set[Channel] = {side.channel for side in copy.destinations}
        self.places: set[TileId] = {side.place for side in copy.sides}


class CopyScheduler:
    """Puts tasks and waits before the copies of a sequence, which do nothing themselves then."""

    def __init__(
        self,
        device: DeviceOp,
        streams: CopyStreams,
        locks: Locks,
        copies: Mapping[MemcpyOp, TokenCopy],
        overlapping: Container[Operation] = (),
    ):
        self.model: DeviceModel = device.model
        self.streams, self.locks, self.copies, self.overlapping = streams, locks, copies, overlapping
        self.programmed = _programmed_descriptors(device)
        self.pools: dict[Channel, Pool] = {}
        self.running: list[RunningCopy] = []
        self.steps: list[ScheduleStep] = []
        self.is_straight = True

    def run(self, sequence: RuntimeSequenceOp) -> list[ScheduleStep] | None:
        """Returns all that happens, in order; none if loops or branches decide about it."""
        for block in sequence.body.blocks:
            self._walk(block)
        return self.steps if self.is_straight else None

    def _walk(self, block: Block) -> None:
        """Start the copies of a block. At its end none of them runs any more."""
        outer, self.running = self.running, []
        for op in list(block.ops):
            if isinstance(op, MemcpyOp):
                self._start(self.copies[op])
            elif isinstance(op, scf.ForOp) and op in self.overlapping:
                self._hand_on(op)
            elif inner := [self.copies[nested] for nested in ops_of(all_operations(op), MemcpyOp)]:
                self.is_straight = False  # what happens is then only known at run time
                self._settle(op, {side.place for copy in inner for side in copy.sides})
                for nested in (nested for region in op.regions for nested in region.blocks):
                    self._walk(nested)
        for running in list(self.running):
            self._await(running, _end_of(block))
        self.running = outer

    def _hand_on(self, loop: scf.ForOp) -> None:
        """Have each iteration of a loop await what the one before it started, as all that runs has been before it."""
        before, body = self.running, only_block(loop.body)
        received = [body.insert_arg(INDEX, len(body.args)) for running in before for _ in running.tasks]
        operands = [*loop.operands, *(task for running in before for task in running.tasks)]
        new = Emitter.before(loop).insert(recreate(loop, operands=operands, result_types=[INDEX] * len(received)))
        Rewriter.erase_op(loop)
        self.running = []
        for op in ops_of(body.ops, MemcpyOp):
            self._start(self.copies[op])
        for running, tasks in zip(before, _shared_out(received, before), strict=True):
            self._wait(running.copy, tasks, _end_of(body))
        end = body.last_op
        assert end is not None, "a loop's body ends with a terminator"
        end.operands = [task for running in self.running for task in running.tasks]
        results = _shared_out(new.results, self.running)
        self.running = [RunningCopy(r.copy, tasks, r.pools) for r, tasks in zip(self.running, results, strict=True)]

    def _settle(self, op: Operation, places: set[TileId]) -> None:
        """Wait for what runs on tiles that a loop or a branch uses: what it awaits itself must be its own."""
        for running in list(self.running):
            # Awaiting one awaits all whose tokens come earlier, so it may be gone from the list.
            if running.places & places and running in self.running:
                self._await(running, InsertPoint.before(op))

    def _start(self, copy: TokenCopy) -> None:
        op = copy.op
        for side in copy.sides:
            self._make_room(side, InsertPoint.before(op))
        build, stream = Emitter.before(op), self.streams.of[copy]
        tasks = dict[CopySide, DmaConfigureTaskOp]()
        check_lengths(build, copy)
        for side in (*copy.destinations, copy.source):
            tasks[side] = configure_side(build, side, self.locks, stream.packet)
            build.insert(DmaStartTaskOp(tasks[side].result))
        results = [tasks[side].result for side in copy.sides]
        self.running.append(RunningCopy(copy, results, map(self._pool, copy.sides)))
        self.steps.append(ScheduleStep(copy, is_start=True))

    def _make_room(self, side: CopySide, at: InsertPoint) -> None:
        """Wait for a place in the queue, a descriptor of the tile, and other streams' data on their way here."""
        channel, pool = side.channel, self._pool(side)
        stream = self.streams.of[self.copies[side.op]]
        if side.direction is DmaDirection.S2MM:
            for running in [r for r in self.running if channel in r.destinations]:
                if self.streams.of[running.copy] is not stream and running in self.running:
                    self._await(running, at)
        while len(queued := [r for r in self.running if channel in r.channels]) >= TASK_QUEUE_DEPTH:
            self._await(queued[0], at)
        # those of the tile's own program are not for copies
        count = max(1, pool[-1] - pool[-2] - self.programmed.get(side.place, 0))
        while len(owners := [r for r in self.running if pool in r.pools]) >= count:
            self._await(owners[0], at)

    def _pool(self, side: CopySide) -> Pool:
        channel = side.channel
        if channel not in self.pools:
            reached = self.model.accessible_bds(*side.place, side.number)
            self.pools[channel] = side.place, reached[0], reached[-1] + 1
        return self.pools[channel]

    def _await(self, running: RunningCopy, at: InsertPoint) -> None:
        """Wait for a copy, and before it for all whose tokens come earlier."""
        for earlier in self.running[: self.running.index(running)]:
            if earlier in self.running and earlier.destinations & running.destinations:
                self._await(earlier, at)
        self._wait(running.copy, running.tasks, at)
        self.running.remove(running)

    def _wait(self, copy: TokenCopy, tasks: Sequence[SSAValue], at: InsertPoint) -> None:
        build = Emitter(at, copy.op.location)
        # The source's task gives no token: it is done when the destinations are.
        for task in tasks[1:]:
            build.insert(DmaAwaitTaskOp(task))
        for task in tasks:
            build.insert(DmaFreeTaskOp(task))
        self.steps.append(ScheduleStep(copy, is_start=False))


def _shared_out(values: Sequence[SSAValue], among: Sequence[RunningCopy]) -> list[Sequence[SSAValue]]:
    """As many of the values for each as it has tasks, in order."""
    remaining = iter(values)
    return [[next(remaining) for _ in running.tasks] for running in among]


def _end_of(block: Block) -> InsertPoint:
    last = block.last_op
    return InsertPoint.before(last) if last is not None and last.has_trait(IsTerminator) else InsertPoint.at_end(block)


def _programmed_descriptors(device: DeviceOp) -> dict[TileId, int]:
    """How many descriptors the own programs of tiles' DMAs have."""
    return {
        op.place: sum(isinstance(bd, DmaBdOp) for bd in op.walk())
        for op in device.body.ops
        if isinstance(op, DmaBody) and op.place is not None
    }


def configure_side(build: Emitter, side: CopySide, locks: Locks, packet: PacketInfoAttr | None) -> DmaConfigureTaskOp:
    """Write down what the DMA of a tile does for a copy. Destinations tell when they are done."""
    sizes = [_wide(build, size) for size in side.end.sizes]
    strides = [_wide(build, stride) for stride in side.end.strides]
    offset, length, repeats = _count(build, side.end.offset), _count(build, side.end.length), None
    if side.repeats_outermost:
        length, repeats = _product(build, sizes[1:]), _less_one(build, sizes[0])
    bd = DmaBdOp(side.end.buffer, offset, length, list(zip(sizes, strides, strict=True)))
    task = DmaConfigureTaskOp(
        side.tile.result,
        side.direction,
        side.number,
        Region(Block([*_locked(bd, side, locks), EndOp()])),
        issue_token=side.direction is DmaDirection.S2MM,
        repeat_count=repeats if isinstance(repeats, int) else 0,
        repeat_count_val=repeats if isinstance(repeats, SSAValue) else None,
        packet=packet if side.direction is DmaDirection.MM2S else None,
    )
    return build.insert(located(task, side.op.location))


def check_lengths(build: Emitter, copy: TokenCopy) -> None:
    """Have lengths that are not known compared when they are."""
    source = copy.source
    for side in copy.destinations:
        is_same = source.end.length is side.end.length and source.element_bytes == side.element_bytes
        if None in (source.length_bytes, side.length_bytes) and not is_same:
            sent, received = (_bytes(build, end) for end in (source, side))
            excess = build.value(arith.SubiOp(sent, received))
            build.insert(NpuAssertRangeOp(excess, 0, 0, "length of the source less that of the destination, in bytes,"))


def _bytes(build: Emitter, side: CopySide) -> SSAValue:
    length = _value(build, _wide(build, side.end.length), i64)
    return build.product(length, build.i64(side.element_bytes))


def _locked(bd: DmaBdOp, side: CopySide, locks: Locks) -> Iterator[Operation]:
    yield from _use(side.acquired, LockAction.AcquireGreaterEqual, locks)  # tokens are counted, never compared
    yield bd
    yield from _use(side.released, LockAction.Release, locks)


def _use(uses: Sequence[TokenLockUse], action: LockAction, locks: Locks) -> Iterator[Operation]:
    for name, amount in uses:
        constant = constant_op(amount)
        yield constant
        yield UseLockOp(locks[name].result, action, constant.result)


def _count(build: Emitter, number: Number) -> Number:
    """An offset or a length, as descriptors take them."""
    is_integer = isinstance(number, SSAValue) and not isinstance(number.type, IndexType)
    return number if is_integer and known(number) is None else _wide(build, number)


def _wide(build: Emitter, number: Number) -> Number:
    """A size or a stride, in 64 bits."""
    if (value := known(number)) is not None:
        return value
    assert isinstance(number, SSAValue)
    if isinstance(number.type, IndexType):
        return build.value(arith.IndexCastOp(number, i64))
    return number if number.type == i64 else build.value(arith.ExtSIOp(number, i64))


def _product(build: Emitter, numbers: Sequence[Number]) -> Number:
    result: Number = 1
    for number in numbers:
        if isinstance(result, int) and isinstance(number, int):
            result *= number
        elif number != 1:
            factors = _value(build, result, i64), _value(build, number, i64)
            result = number if result == 1 else build.product(*factors)
    return result


def _less_one(build: Emitter, number: Number) -> Number:
    if isinstance(number, int):
        return number - 1
    return build.subtract(build.value(arith.TruncIOp(number, i32)), 1)


def _value(build: Emitter, number: Number, type: IntegerType) -> SSAValue:
    return build.constant(number, type) if isinstance(number, int) else number


def overlap_loops(sequence: RuntimeSequenceOp) -> set[scf.ForOp]:
    """Put the first iteration before each loop for which that is possible. Returns these loops."""
    loops = [loop for loop in loops_innermost_first(sequence) if _can_overlap(loop)]
    for loop in loops:
        _peel(loop)
    return set(loops)


def _can_overlap(loop: scf.ForOp) -> bool:
    ops = [op for op in only_block(loop.body).ops if op is not terminator(loop.body)]
    copies = ops_of(ops, MemcpyOp)
    others = [op for op in ops if not isinstance(op, MemcpyOp)]
    # Arithmetic can be cloned with the first iteration; what anything else does is not known here.
    if not copies or loop.results or any(op.regions or not op.name.startswith("arith.") for op in others):
        return False
    return _fits_queues(copies) and _has_one_sender_each(copies)


def _fits_queues(copies: Sequence[MemcpyOp]) -> bool:
    """Whether the queues hold what two iterations start, even if all of a tile goes through one channel."""
    tasks = Counter[tuple[SSAValue, DmaDirection]]()
    for op in copies:
        source, *destinations = op.ends
        tasks[source.tile, DmaDirection.MM2S] += 1
        tasks.update((end.tile, DmaDirection.S2MM) for end in destinations)
    return max(tasks.values()) * AT_ONCE <= TASK_QUEUE_DEPTH


def _has_one_sender_each(copies: Sequence[MemcpyOp]) -> bool:
    """Whether each tile gets all its data along one route, so that they come in order whatever channels there are."""
    routes: dict[SSAValue, tuple[SSAValue, ...]] = {}
    for op in copies:
        route = tuple(end.tile for end in op.ends)
        if any(routes.setdefault(tile, route) != route for tile in route[1:]):
            return False
    return True


def _peel(loop: scf.ForOp) -> None:
    """`if any iteration { the first one; the loop over the others }`"""
    build = Emitter.before(loop)
    has_any = build.compare("ult" if "unsignedCmp" in loop.properties else "slt", loop.lb, loop.ub)
    block, end = Block(), terminator(loop.body)
    branch = build.insert(scf.IfOp(has_any, [], Region(block)))
    inside = Emitter.at_end(block, loop.location)
    copies: dict[SSAValue, SSAValue] = {only_block(loop.body).args[0]: loop.lb}
    for op in only_block(loop.body).ops:
        if op is not end:
            inside.insert(op.clone(copies))
    second = inside.add(loop.lb, loop.step)
    inside.insert(scf.YieldOp())
    loop.detach()
    Rewriter.insert_op(loop, InsertPoint.before(terminator(branch.true_region)))
    loop.operands = [second, loop.ub, loop.step]
