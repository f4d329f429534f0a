"""Lowers what cores do with FIFOs to uses of locks and choices between buffers.

For each end that a core uses there are two counters. One says which buffer is the oldest that the core may hold; it
advances with each release, and an access chooses the buffer by it. The other, where locks are semaphores, says how many
buffers the core holds, so that an acquire waits only for those that are missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from xdsl.dialects.builtin import DenseArrayBase, IndexType, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.device import LockAction, ObjectFifoPort
from tilewright.dialects import arith, scf
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.locks import UseLockOp
from tilewright.dialects.aie.objectfifo_uses import (
    ObjectFifoAcquireOp,
    ObjectFifoReleaseOp,
    ObjectFifoSubviewAccessOp,
)
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.design.objectfifo_stateful_transform.access_checks import CoreAccesses, Use
from tilewright.passes.design.objectfifo_stateful_transform.block_arguments import Values
from tilewright.passes.design.objectfifo_stateful_transform.design import Access
from tilewright.passes.design.objectfifo_stateful_transform.ends import End
from tilewright.passes.design.objectfifo_stateful_transform.locks import pair_of
from tilewright.passes.design.objectfifo_stateful_transform.storage import Storage
from tilewright.passes.design.objectfifo_stateful_transform.threading import Threading
from tilewright.rewrite.emitter import Emitter

INDEX = IndexType()
SIGNED_AT_LEAST = 5  # arith.cmpi sge


class What(Enum):
    OLDEST = "oldest"
    """The number of the oldest buffer that the core may hold."""
    HELD = "held"
    """How many buffers the core holds."""


class Counter(NamedTuple):
    end: End
    port: ObjectFifoPort
    what: What


class CoreLowering:
    """Lowers the accesses of one core."""

    def __init__(self, core: CoreOp, accesses: Sequence[Access], ends: CoreAccesses, uses_semaphores: bool):
        self.core, self.accesses, self.keys = core, accesses, ends.keys
        self.uses_semaphores = uses_semaphores
        self.counters = self._counters()
        self.known = set(self.counters)

    def run(self) -> None:
        entry = self.core.body.blocks[0]
        zero = Emitter.at_start(entry, self.core.location).constant(0)
        changes: dict[Operation, set[Counter]] = {op: self._changes(op) for op in self.accesses}
        threading = Threading(self.counters, changes, self._visit)
        threading.go_through(self.core.body, dict.fromkeys(self.counters, zero))
        for op in reversed(self.accesses):
            _erase(op)

    def _counters(self) -> list[Counter]:
        """First where each end stands that is acquired, then what is held: the order of loop-carried values."""
        acquires = [self.keys[op] for op in self.accesses if isinstance(op, ObjectFifoAcquireOp)]
        releases = [self.keys[op] for op in self.accesses if isinstance(op, ObjectFifoReleaseOp)]
        counters = [Counter(*key, What.OLDEST) for key in acquires]
        if self.uses_semaphores:
            counters += [Counter(*key, What.HELD) for key in (*acquires, *releases)]
        return list(dict.fromkeys(counters))

    def _changes(self, op: Access) -> set[Counter]:
        match op:
            case ObjectFifoAcquireOp():
                changed = [Counter(*self.keys[op], What.HELD)]
            case ObjectFifoReleaseOp():
                changed = [Counter(*self.keys[op], what) for what in What]
            case ObjectFifoSubviewAccessOp():
                changed = []
        return {counter for counter in changed if counter in self.known}

    def _visit(self, op: Operation, values: Values[Counter]) -> None:
        match op:
            case ObjectFifoAcquireOp():
                self._acquire(op, values)
            case ObjectFifoReleaseOp():
                self._release(op, values)
            case ObjectFifoSubviewAccessOp():
                self._access(op, values)
            case _:
                pass

    def _acquire(self, op: ObjectFifoAcquireOp, values: Values[Counter]) -> None:
        end, port = self.keys[op]
        if not self.uses_semaphores:
            self._use_each(op, values[Counter(end, port, What.OLDEST)], LockAction.Acquire)
            return
        build, held = Emitter.before(op), Counter(end, port, What.HELD)
        wanted, zero = (build.constant(number) for number in (op.count, 0))
        lacking = build.value(arith.SubiOp(wanted, values[held]))
        missing = build.value(arith.MaxSIOp(lacking, zero))
        locks = _storage(op, end).locks
        if locks:
            amount = missing
            if end.repeat_count is not None and end.repeat_count > 1:
                repeats = build.constant(end.repeat_count)
                amount = build.value(arith.MuliOp(missing, repeats))
            lock = pair_of(locks).empty if port is ObjectFifoPort.Produce else pair_of(locks).full
            build.insert(UseLockOp(lock.result, LockAction.AcquireGreaterEqual, amount))
        values[held] = build.value(arith.AddiOp(values[held], missing))

    def _release(self, op: ObjectFifoReleaseOp, values: Values[Counter]) -> None:
        end, port = self.keys[op]
        oldest, held = (Counter(end, port, what) for what in What)
        build, locks = Emitter.before(op), _storage(op, end).locks
        if not self.uses_semaphores:
            if oldest not in values:
                fail_op(op, "objectFifo release has no corresponding acquire on this tile")
            self._use_each(op, values[oldest], LockAction.Release)
        else:
            repeats = end.repeat_count or 1
            amount = build.constant(op.count * repeats)
            if locks:
                lock = pair_of(locks).full if port is ObjectFifoPort.Produce else pair_of(locks).empty
                build.insert(UseLockOp(lock.result, LockAction.Release, amount))
            count = amount if repeats == 1 else build.constant(op.count)
            values[held] = build.value(arith.SubiOp(values[held], count))
        if oldest in values:
            values[oldest] = _advance(build, values[oldest], op.count, end.ring)

    def _use_each(self, op: Use, oldest: SSAValue, action: LockAction) -> None:
        """Use the lock of each buffer from the oldest on, where a lock is for one buffer."""
        end, port = self.keys[op]
        locks = [lock.result for lock in _storage(op, end).locks]
        if not locks:
            return
        is_full = (port is ObjectFifoPort.Produce) == (action is LockAction.Release)
        build = Emitter.before(op)
        chosen = build.value(arith.IndexCastOp(oldest, INDEX))
        for number in range(op.count * (end.repeat_count or 1)):
            lock = build.value(_choose(chosen, locks, number, op))
            value = build.constant(int(is_full))
            build.insert(UseLockOp(lock, action, value))

    def _access(self, op: ObjectFifoSubviewAccessOp, values: Values[Counter]) -> None:
        acquire = op.subview.owner
        assert isinstance(acquire, ObjectFifoAcquireOp), "the verifier requires it"
        end, port = self.keys[acquire]
        buffers = [buffer.buffer for buffer in _storage(op, end).buffers]
        build = Emitter.before(op)
        oldest = build.value(arith.IndexCastOp(values[Counter(end, port, What.OLDEST)], INDEX))
        chosen = build.value(_choose(oldest, buffers, op.index.value.data, op))
        op.output.replace_all_uses_with(chosen)


def _storage(op: Access, end: End) -> Storage:
    storage = end.storage
    if storage is None:
        fail_op(op, "cannot use an objectFifo without elements", (end.fifo, f"the depth of @{end.name} is 0"))
    return storage


def _advance(build: Emitter, oldest: SSAValue, count: int, ring: int) -> SSAValue:
    """Go `count` buffers further round a ring."""
    size, step = (build.constant(number) for number in (ring, count))
    sum = build.value(arith.AddiOp(oldest, step))
    is_round = build.value(arith.CmpiOp(sum, size, SIGNED_AT_LEAST))
    if count == 1:  # then it can only be back at the first one
        wrapped: SSAValue = build.constant(0)
    else:
        wrapped = build.value(arith.SubiOp(sum, size))
    return build.value(arith.SelectOp(is_round, wrapped, sum))


def _choose(number: SSAValue, choices: Sequence[SSAValue], offset: int, at: Operation) -> Operation:
    """The one of several values that comes `offset` behind the one with a number that is known at run time."""
    turned = [choices[(offset + case) % len(choices)] for case in range(len(choices))]
    regions = [Region(Block([scf.YieldOp.create(operands=[value])])) for value in (turned[0], *turned)]
    for region in regions:
        for op in region.block.ops:
            op.location = at.location
    cases = DenseArrayBase.from_list(i64, range(len(choices)))
    return scf.IndexSwitchOp.create(
        operands=[number], result_types=[choices[0].type], properties={"cases": cases}, regions=regions
    )


def _erase(op: Access) -> None:
    for result in op.results:
        user = next((use.operation for use in result.uses), None)
        if user is not None:
            fail_op(
                user,
                "cannot use the elements of an objectFifo that another operation acquires",
                (op, "only aie.objectfifo.subview.access can use what is acquired here"),
            )
    Rewriter.erase_op(op)
