"""When a sequence waits for its copies: when their channels, queues or descriptors are needed again, and at its end.

A copy is done when its destinations are. The tokens of a channel come in the order of its tasks and all look the same,
so copies are awaited in the order in which they were started on each channel.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator

from tilewright.device import TASK_QUEUE_DEPTH, DeviceModel, DmaDirection, TileId
from tilewright.dialects import scf
from tilewright.dialects.aie.core import INDEX
from tilewright.dialects.aie.dma import DmaBody
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.tasks import DmaAwaitTaskOp, DmaConfigureTaskOp, DmaFreeTaskOp, DmaStartTaskOp
from tilewright.dialects.aiex.token_memcpy import MemcpyOp
from tilewright.passes.design.lower_memcpy.copies import Channel, Copy, Side
from tilewright.passes.design.lower_memcpy.streams import Streams
from tilewright.passes.design.lower_memcpy.tasks import Locks, check_lengths, configure_side
from tilewright.rewrite.folding.regions import only_block, recreate
from tilewright.rewrite.insertion import building, building_before


@dataclass(frozen=True)
class Step:
    """What a sequence does next: start a copy, or wait until one is done."""

    copy: Copy
    is_start: bool


Pool: TypeAlias = tuple[TileId, int, int]
"""Descriptors that the same channels reach: of a tile, from one number to another."""


class Running:
    """A copy that has been started. Its tasks are those of the source, then of the destinations."""

    def __init__(self, copy: Copy, tasks: Sequence[SSAValue], pools: Iterable[Pool]):
        self.copy, self.tasks, self.pools = copy, tasks, set(pools)
        self.channels: set[Channel] = {side.channel for side in copy.sides}
        self.destinations: set[Channel] = {side.channel for side in copy.destinations}
        self.places: set[TileId] = {side.place for side in copy.sides}


class Scheduler:
    """Puts tasks and waits before the copies of a sequence, which do nothing themselves then."""

    def __init__(
        self,
        device: DeviceOp,
        streams: Streams,
        locks: Locks,
        copies: Mapping[MemcpyOp, Copy],
        overlapping: Container[Operation] = (),
    ):
        self.model: DeviceModel = device.model
        self.streams, self.locks, self.copies, self.overlapping = streams, locks, copies, overlapping
        self.programmed = _programmed_descriptors(device)
        self.pools: dict[Channel, Pool] = {}
        self.running: list[Running] = []
        self.steps: list[Step] = []
        self.is_straight = True

    def run(self, sequence: RuntimeSequenceOp) -> list[Step] | None:
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
            elif inner := [self.copies[nested] for nested in _nested_copies(op)]:
                self.is_straight = False
                self._settle(op, {side.place for copy in inner for side in copy.sides})
                for region in op.regions:
                    for nested in region.blocks:
                        self._walk(nested)
        for running in list(self.running):
            self._await(running, _end_of(block))
        self.running = outer

    def _hand_on(self, loop: scf.ForOp) -> None:
        """Have each iteration of a loop await what the one before it started, as all that runs has been before it."""
        before, body = self.running, only_block(loop.body)
        received = [body.insert_arg(INDEX, len(body.args)) for running in before for _ in running.tasks]
        operands = [*loop.operands, *(task for running in before for task in running.tasks)]
        new = building_before(loop).insert(recreate(loop, operands=operands, result_types=[INDEX] * len(received)))
        Rewriter.erase_op(loop)
        self.running = []
        for op in list(body.ops):
            if isinstance(op, MemcpyOp):
                self._start(self.copies[op])
        for running, tasks in zip(before, _shared_out(received, before), strict=True):
            self._wait(running.copy, tasks, _end_of(body))
        end = body.last_op
        assert end is not None, "a loop's body ends with a terminator"
        end.operands = [task for running in self.running for task in running.tasks]
        results = _shared_out(new.results, self.running)
        self.running = [Running(r.copy, tasks, r.pools) for r, tasks in zip(self.running, results, strict=True)]

    def _settle(self, op: Operation, places: set[TileId]) -> None:
        """Wait for what runs on tiles that a loop or a branch uses: what it awaits itself must be its own."""
        for running in list(self.running):
            if running.places & places and running in self.running:
                self._await(running, InsertPoint.before(op))

    def _start(self, copy: Copy) -> None:
        op = copy.op
        for side in copy.sides:
            self._make_room(side, InsertPoint.before(op))
        build, stream = building_before(op), self.streams.of[copy]
        tasks = dict[Side, DmaConfigureTaskOp]()
        check_lengths(build, copy)
        for side in (*copy.destinations, copy.source):
            tasks[side] = configure_side(build, side, self.locks, stream.packet)
            build.insert(DmaStartTaskOp(tasks[side].result))
        pools = map(self._pool, copy.sides)
        self.running.append(Running(copy, [tasks[side].result for side in copy.sides], pools))
        self.steps.append(Step(copy, is_start=True))

    def _make_room(self, side: Side, at: InsertPoint) -> None:
        """Wait until the queue has a place and the tile a descriptor, and nobody else's data are on their way here."""
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

    def _pool(self, side: Side) -> Pool:
        channel = side.channel
        if channel not in self.pools:
            reached = self.model.accessible_bds(*side.place, side.number)
            self.pools[channel] = side.place, reached[0], reached[-1] + 1
        return self.pools[channel]

    def _await(self, running: Running, at: InsertPoint) -> None:
        """Wait for a copy, and before it for all whose tokens come earlier."""
        for earlier in self.running[: self.running.index(running)]:
            if earlier in self.running and earlier.destinations & running.destinations:
                self._await(earlier, at)
        self._wait(running.copy, running.tasks, at)
        self.running.remove(running)

    def _wait(self, copy: Copy, tasks: Sequence[SSAValue], at: InsertPoint) -> None:
        build = building(at, copy.op.location)
        for task in tasks[1:]:
            build.insert(DmaAwaitTaskOp(task))
        for task in tasks:
            build.insert(DmaFreeTaskOp(task))
        self.steps.append(Step(copy, is_start=False))


def _shared_out(values: Sequence[SSAValue], among: Sequence[Running]) -> list[Sequence[SSAValue]]:
    """As many of the values for each as it has tasks, in order."""
    remaining = iter(values)
    return [[next(remaining) for _ in running.tasks] for running in among]


def _nested_copies(op: Operation) -> Iterator[MemcpyOp]:
    return (nested for nested in op.walk() if isinstance(nested, MemcpyOp))


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
