"""Accesses of cores to FIFOs: checked, then lowered to uses of locks and choices between buffers.

For each end that a core uses there are two counters. One says which buffer is the oldest that the core may hold; it
advances with each release, and an access chooses the buffer by it. The other, where locks are semaphores, says how many
buffers the core holds, so that an acquire waits only for those that are missing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import lcm
from typing import NamedTuple, TypeAlias

from xdsl.dialects.builtin import DenseArrayBase, IntAttr, IntegerAttr, MemRefType, StridedLayoutAttr, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.device import LockAction, ObjectFifoPort
from tilewright.dialects import arith, memref, scf
from tilewright.dialects._syntax import INDEX
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.locks import UseLockOp
from tilewright.dialects.aie.lookup import ancestors, parent_of_type
from tilewright.dialects.aie.objectfifo_pools import ObjectFifoRole
from tilewright.dialects.aie.objectfifo_uses import (
    ObjectFifoAcquireOp,
    ObjectFifoReleaseOp,
    ObjectFifoSubviewAccessOp,
)
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.design.objectfifo_stateful_transform.carried_counters import CounterThreading, Values
from tilewright.passes.design.objectfifo_stateful_transform.device_fifos import (
    Access,
    SharedMemory,
    placed,
    shared_memory,
)
from tilewright.passes.design.objectfifo_stateful_transform.ends import FifoEnd, FifoEnds
from tilewright.passes.design.objectfifo_stateful_transform.storage import pair_of
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.pass_bases import ops_of

Use: TypeAlias = ObjectFifoAcquireOp | ObjectFifoReleaseOp
Key: TypeAlias = tuple[FifoEnd, ObjectFifoPort]


@dataclass(eq=False)
class CoreEnd:
    """What a core has before it: objects that take turns, and the locks around them."""

    does: ObjectFifoRole
    objects: Sequence[SSAValue]
    depth: int
    """How many objects take turns."""
    repeats: int = 1
    """How often what is acquired counts in the locks."""
    acquired: Sequence[SSAValue] = ()
    """Semaphores to wait for."""
    released: Sequence[SSAValue] = ()
    turns: Sequence[SSAValue] = ()
    """Locks of two states, one for each object."""
    missing: tuple[str, Operation, str] | None = None
    """Why there are no objects: what is wrong, and a note."""
    part: MemRefType | None = None
    """What the core sees of an object, if it is not all of it."""


STREAM_VERBS = {ObjectFifoAcquireOp: "acquire from", ObjectFifoReleaseOp: "release from"}
UNROLL_HINT = "aie.unroll_hint"
"""On a loop: after how many iterations the FIFOs in it are back at their first buffers."""


class CoreAccesses:
    """The accesses of all cores to FIFOs, each with the end that it means."""

    def __init__(self, ends: FifoEnds):
        self.ends = ends
        self.by_core = {core: accesses for core, accesses in ends.design.accesses.items() if accesses}
        self.keys: dict[Use, Key] = {}
        for core, accesses in self.by_core.items():
            for op in accesses:
                if not isinstance(op, ObjectFifoSubviewAccessOp):
                    fifo = ends.design.fifos[op.fifo_name.root_reference.data]
                    self.keys[op] = ends.used_by(fifo, op.end, core.tile), op.end

    @property
    def core_ends(self) -> dict[Use, CoreEnd]:
        """Each access with what it is to; those to one end have the same."""
        made = {key: self._core_end(*key) for key in dict.fromkeys(self.keys.values())}
        return {op: made[key] for op, key in self.keys.items()}

    def _core_end(self, end: FifoEnd, port: ObjectFifoPort) -> CoreEnd:
        produces, storage = port is ObjectFifoPort.Produce, end.storage
        role = ObjectFifoRole.fills if produces else ObjectFifoRole.drains
        if storage is None:
            text, note = "cannot use an objectFifo without elements", f"the depth of @{end.name} is 0"
            return CoreEnd(role, [], end.ring, missing=(text, end.fifo, note))
        found = CoreEnd(role, [buffer.buffer for buffer in storage.buffers], end.ring, end.repeat_count or 1)
        if not self.ends.design.model.architecture.semaphore_locks:
            found.turns = [lock.result for lock in storage.locks]
        elif storage.locks:
            empty, full = ([lock.result] for lock in pair_of(storage.locks))
            found.acquired, found.released = (empty, full) if produces else (full, empty)
        return found

    def check(self, *, balance: bool = True) -> None:
        for core, accesses in self.by_core.items():
            for op in accesses:
                self._check(op, core)
            for loop, uses in _uses_by_loop(accesses).items() if balance else ():
                self._check_balance(loop, uses)

    def _check(self, op: Access, core: CoreOp) -> None:
        if isinstance(op, ObjectFifoSubviewAccessOp):
            self._check_objects(op, self.keys[_acquire_of(op)][0])
            return
        end, _ = self.keys[op]
        if end.link is not None and core.tile is end.link.tile:
            fail_op(op, "currently cannot access objectFifo used in ObjectFifoLinkOp", (end.link.op, "linked here"))
        if isinstance(op, ObjectFifoAcquireOp) and not op.opens_window:
            self._check_objects(op, end)
        if end.stream_port is not None:
            fail_op(
                op, f"cannot {STREAM_VERBS[type(op)]} objectfifo stream port", (end.fifo, "the core uses a stream here")
            )

    def _check_objects(self, op: Access, end: FifoEnd) -> None:
        text = "currently cannot access objectFifo used in ObjectFifoLinkOp if"
        if end.link is None:
            return
        if end.link.branches:
            fail_op(op, f"{text} it is a distribute or join link", (end.link.op, "linked here"))
        others = [placed(tile) for tile in end.fifo.consumers] if end.is_producer else []
        if any(shared_memory(self.ends.design, end.tile, other) is SharedMemory.NONE for other in others):
            fail_op(op, f"{text} the tiles don't share memory", (end.link.op, "linked here"))

    def _check_balance(self, loop: scf.ForOp, uses: list[Use]) -> None:
        """A loop that hands on more than it takes runs out, however often it runs.

        What an inner loop takes depends on how often that runs: a FIFO used there too is left alone.
        """
        taken, released = defaultdict[Key, list[Use]](list), defaultdict[Key, list[Use]](list)
        elsewhere: set[Key] = set()
        for op in uses:
            if parent_of_type(op, scf.ForOp) is not loop:
                elsewhere.add(self.keys[op])
            else:
                (taken if isinstance(op, ObjectFifoAcquireOp) else released)[self.keys[op]].append(op)
        for key, releases in released.items():
            surplus = sum(op.count for op in releases) - sum(op.count for op in taken[key])
            if key not in elsewhere and surplus > 0:
                fail_op(
                    (taken[key] or releases)[0],
                    "cannot release more elements than are already acquired",
                    (loop, f"each iteration releases {surplus} more elements of @{key[0].name} than it acquires"),
                )


def _acquire_of(op: ObjectFifoSubviewAccessOp) -> ObjectFifoAcquireOp:
    acquire = op.subview.owner
    assert isinstance(acquire, ObjectFifoAcquireOp), "the verifier requires it"
    return acquire


def _uses_by_loop(accesses: list[Access]) -> dict[scf.ForOp, list[Use]]:
    """For each loop, innermost first, the uses of FIFOs anywhere in it."""
    found: dict[scf.ForOp, list[Use]] = {}
    for op in ops_of(accesses, ObjectFifoAcquireOp, ObjectFifoReleaseOp):
        for loop in ops_of(ancestors(op), scf.ForOp):
            found.setdefault(loop, []).append(op)
    return found


class CounterKind(Enum):
    OLDEST = "oldest"
    """The number of the oldest buffer that the core may hold."""
    HELD = "held"
    """How many buffers the core holds."""


class Counter(NamedTuple):
    end: CoreEnd
    what: CounterKind


class CoreLowering:
    """Lowers the accesses of one core."""

    def __init__(self, core: CoreOp, accesses: Sequence[Access], ends: Mapping[Use, CoreEnd], uses_semaphores: bool):
        self.core, self.accesses, self.ends = core, accesses, ends
        self.uses_semaphores = uses_semaphores
        self.counters = self._counters()

    def run(self) -> None:
        # The core holds nothing at first, and every ring begins at its first buffer.
        zero = Emitter.at_start(self.core.body.blocks[0], self.core.location).constant(0)
        changes: dict[Operation, set[Counter]] = {op: self._changes(op) for op in self.accesses}
        threading = CounterThreading(self.counters, changes, self._visit)
        threading.go_through(self.core.body, dict.fromkeys(self.counters, zero))
        for op in reversed(self.accesses):  # accesses to elements before the acquires they use
            _erase(op)

    def _counters(self) -> list[Counter]:
        """First where each end stands that is acquired, then what is held: the order of loop-carried values."""
        acquires = [self.ends[op] for op in self.accesses if isinstance(op, ObjectFifoAcquireOp)]
        releases = [self.ends[op] for op in self.accesses if isinstance(op, ObjectFifoReleaseOp)]
        counters = [Counter(end, CounterKind.OLDEST) for end in acquires]
        if self.uses_semaphores:
            counters += [Counter(end, CounterKind.HELD) for end in (*acquires, *releases)]
        return list(dict.fromkeys(counters))

    def _changes(self, op: Access) -> set[Counter]:
        match op:
            case ObjectFifoAcquireOp():
                changed = [Counter(self.ends[op], CounterKind.HELD)]
            case ObjectFifoReleaseOp():
                changed = [Counter(self.ends[op], what) for what in CounterKind]
            case ObjectFifoSubviewAccessOp():
                changed = []
        return {counter for counter in changed if counter in self.counters}

    def _visit(self, op: Operation, values: Values[Counter]) -> None:
        match op:
            case ObjectFifoAcquireOp():
                self._acquire(op, self._end(op), values)
            case ObjectFifoReleaseOp():
                self._release(op, self._end(op), values)
            case ObjectFifoSubviewAccessOp():
                end = self.ends[_acquire_of(op)]
                self._hand_out(Emitter.before(op), end, values, {op.index.value.data: op.output})
            case _:
                pass

    def _end(self, op: Use) -> CoreEnd:
        end = self.ends[op]
        if end.missing is not None:
            text, at, note = end.missing
            fail_op(op, text, (at, note))
        return end

    def _acquire(self, op: ObjectFifoAcquireOp, end: CoreEnd, values: Values[Counter]) -> None:
        build, held = Emitter.before(op), Counter(end, CounterKind.HELD)
        if not self.uses_semaphores:
            self._use_each(op, end, values[Counter(end, CounterKind.OLDEST)], LockAction.Acquire)
        else:
            wanted, zero = build.constants(op.count, 0)
            # fewer than are held: wait for none
            missing = build.value(arith.MaxSIOp(build.value(arith.SubiOp(wanted, values[held])), zero))
            amount = missing
            # The producer's locks count an element once for each time that it is sent.
            if end.acquired and end.repeats > 1:
                amount = build.multiply(missing, end.repeats)
            for lock in end.acquired:
                build.insert(UseLockOp(lock, LockAction.AcquireGreaterEqual, amount))
            values[held] = build.add(values[held], missing)
        if not op.opens_window:
            self._hand_out(build, end, values, dict(enumerate(op.results)))

    def _release(self, op: ObjectFifoReleaseOp, end: CoreEnd, values: Values[Counter]) -> None:
        oldest, held = (Counter(end, what) for what in CounterKind)
        build = Emitter.before(op)
        if not self.uses_semaphores:
            if oldest not in values:
                fail_op(op, "objectFifo release has no corresponding acquire on this tile")
            self._use_each(op, end, values[oldest], LockAction.Release)
        else:
            amount = build.constant(op.count * end.repeats)
            for lock in end.released:
                build.insert(UseLockOp(lock, LockAction.Release, amount))
            count = amount if end.repeats == 1 else build.constant(op.count)
            values[held] = build.value(arith.SubiOp(values[held], count))
        if oldest in values:
            values[oldest] = _advance(build, values[oldest], op.count, end.depth)

    def _use_each(self, op: Use, end: CoreEnd, oldest: SSAValue, action: LockAction) -> None:
        """Use the lock of each buffer from the oldest on, where a lock is for one buffer."""
        if not end.turns:
            return
        # what the lock's state means: waited for, or left behind
        is_full = (end.does is ObjectFifoRole.fills) == (action is LockAction.Release)
        build = Emitter.before(op)
        chosen = build.value(arith.IndexCastOp(oldest, INDEX))
        for number in range(op.count * end.repeats):
            lock = build.value(_choose(chosen, end.turns, number, op))
            build.insert(UseLockOp(lock, action, build.constant(int(is_full))))

    def _hand_out(self, build: Emitter, end: CoreEnd, values: Values[Counter], results: Mapping[int, SSAValue]) -> None:
        """Let results be the objects that come behind the oldest by their number."""
        oldest, objects = Counter(end, CounterKind.OLDEST), end.objects
        if end.part is not None:
            objects = [build.value(_part(object, end.part)) for object in objects]
        chosen = build.value(arith.IndexCastOp(values[oldest], INDEX))
        for number, result in results.items():
            owner = result.owner
            assert isinstance(owner, Operation)
            result.replace_all_uses_with(build.value(_choose(chosen, objects, number, owner)))


def _part(object: SSAValue, type: MemRefType) -> Operation:
    """The run of elements that a type says the place of."""
    layout = type.layout
    assert isinstance(layout, StridedLayoutAttr) and isinstance(layout.offset, IntAttr)
    return memref.SubviewOp(object, [], [], [], [layout.offset.data], type.get_shape(), [1], type)


def _advance(build: Emitter, oldest: SSAValue, count: int, ring: int) -> SSAValue:
    """Go `count` buffers further round a ring."""
    size, step = build.constants(ring, count)
    sum = build.add(oldest, step)
    is_round = build.compare("sge", sum, size)
    # by one it can only be back at the first
    wrapped = build.constant(0) if count == 1 else build.value(arith.SubiOp(sum, size))
    return build.value(arith.SelectOp(is_round, wrapped, sum))


def _choose(number: SSAValue, choices: Sequence[SSAValue], offset: int, at: Operation) -> Operation:
    """The one of several values that comes `offset` behind the one with a number that is known at run time."""
    turned = [choices[(offset + case) % len(choices)] for case in range(len(choices))]
    # the default comes first; it is never taken
    yields = [scf.YieldOp.create(operands=[value], location=at.location) for value in (turned[0], *turned)]
    return scf.IndexSwitchOp.create(
        operands=[number],
        result_types=[choices[0].type],
        properties={"cases": DenseArrayBase.from_list(i64, range(len(choices)))},
        regions=[Region(Block([end])) for end in yields],
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


def add_unroll_hints(ends: Mapping[Use, CoreEnd]) -> None:
    """A loop goes round all FIFOs that it uses itself, at once: their depths' least common multiple."""
    factors: dict[scf.ForOp, int] = {}
    for op, end in ends.items():
        loop = parent_of_type(op, scf.ForOp)
        if loop is not None:
            factors[loop] = lcm(factors.get(loop, 1), end.depth)
    for loop, factor in factors.items():
        loop.attributes[UNROLL_HINT] = IntegerAttr(factor, i64)
