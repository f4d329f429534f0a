"""Has the descriptors of tasks in loops and branches chosen at run time, from a pool of free ones for each tile.

A task takes the numbers of its descriptors from the pool when it is configured and gives them back when it is freed.
Where a loop or a branch hands on a task, the numbers go along with it, as values of their own beside it. With
`free-awaited`, a task that is awaited once and never freed gives them back when it is awaited, as it does where loops
are unrolled: upstream keeps them until the sequence ends, so that a loop of so many turns runs out of them. With
`recycle`, a task that nothing ends gives them back too where the loop around it waits by itself, with `npu.sync`: they
are taken again after all others, when what used them is over if the program waits as it should.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import i32
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import DeviceModel, TileId
from tilewright.dialects import scf
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.instructions import NpuSyncOp
from tilewright.dialects.aiex.memcpy import NpuDmaWaitOp
from tilewright.dialects.aiex.tasks import (
    DmaAwaitTaskOp,
    DmaBdPoolPopOp,
    DmaBdPoolPushOp,
    DmaConfigureTaskOp,
    DmaFreeTaskOp,
    DmaStartTaskOp,
    PoolPart,
)
from tilewright.ir.diagnostics import emit_warning, fail_op, location_of, op_text
from tilewright.ir.pass_manager import Pass
from tilewright.ir.traversal import all_operations
from tilewright.passes.sequence.assign_runtime_sequence_bd_ids import (
    CONTROL_FLOW,
    channel_of,
    lower_first,
    used_descriptors,
)
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.regions import is_defined_in, only_block, recreate, terminator
from tilewright.rewrite.pass_bases import ops_of


@dataclass(frozen=True)
class LowerDynamicBdPoolPass(Pass):
    name = "aie-lower-dynamic-bd-pool"
    anchor = "aie.device"

    allow_while: bool = field(default=False, metadata={"help": "accept scf.while, too"})
    avoid_used: bool = field(default=False, metadata={"help": "leave out what else the tile uses"})
    free_awaited: bool = field(default=False, metadata={"help": "free tasks that are awaited and never freed"})
    recycle: bool = field(
        default=False,
        metadata={"help": "reuse descriptors of tasks that nothing ends in loops that wait otherwise"},
    )

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, DeviceOp)
        for sequence in ops_of(all_operations(op), RuntimeSequenceOp):
            inside = all_operations(sequence)
            # It has been lowered before, and its tasks have numbers from the pool.
            if ops_of(inside, DmaBdPoolPopOp):
                continue
            if ops_of(inside, *CONTROL_FLOW):
                if not self.allow_while:
                    _refuse_while(inside)
                if self.free_awaited:
                    free_awaited_tasks(inside)
                used = used_descriptors(op) if self.avoid_used else dict[TileId, set[int]]()
                _PooledSequence(op.model, used, recycles=self.recycle).lower(sequence)


def _refuse_while(ops: Sequence[Operation]) -> None:
    for op in ops:
        if isinstance(op, scf.WhileOp):
            fail_op(
                op,
                "scf.while in a runtime sequence is not supported by the dynamic BD pool path; only scf.for and scf.if "
                "are supported",
                (op, "the option allow-while of this pass lifts this restriction"),
            )


def free_awaited_tasks(ops: Sequence[Operation]) -> None:
    """Add `aiex.dma_free_task` after each wait that ends the last use of its task.

    A task that is freed anywhere, that may be awaited twice, or that may be started after a wait is left alone.
    """
    order = {op: number for number, op in enumerate(ops)}
    ended_once: dict[SSAValue, bool] = {}
    awaits = ops_of(ops, DmaAwaitTaskOp)
    # All are found before one is freed: a free is a use, and has no place in the order.
    last = [op for op in awaits if all(_ends_once(value, order, ended_once) for value in _may_come_from(op.task))]
    for op in last:
        Emitter(InsertPoint.after(op), op.location).insert(DmaFreeTaskOp(op.task))


def _may_come_from(task: SSAValue) -> set[SSAValue]:
    """The value of a task, and all that loops and branches may hand on as it."""
    found, pending = set[SSAValue](), [task]
    while pending:
        value = pending.pop()
        if value not in found:
            found.add(value)
            pending += _handed_on_as(value)
    return found


def _handed_on_as(value: SSAValue) -> Sequence[SSAValue]:
    """Operands that a result or an argument of a loop or a branch stands for."""
    if isinstance(value, OpResult):
        op, position = value.op, value.index
        match op:
            case scf.ForOp():
                return op.iter_args[position], terminator(op.body).operands[position]
            case scf.IfOp():
                return [terminator(region).operands[position] for region in op.regions if region.blocks]
            case scf.WhileOp():
                return [terminator(op.before_region).operands[position + 1]]
            case _:
                return ()
    assert isinstance(value, BlockArgument)
    op, position = value.block.parent_op(), value.index
    match op:
        case scf.ForOp() if position:
            return op.iter_args[position - 1], terminator(op.body).operands[position - 1]
        case scf.WhileOp() if value.block is only_block(op.before_region):
            return op.arguments[position], terminator(op.after_region).operands[position]
        case scf.WhileOp():
            return [terminator(op.before_region).operands[position + 1]]
        case _:
            return ()


def _ends_once(value: SSAValue, order: Mapping[Operation, int], known: dict[SSAValue, bool]) -> bool:
    """Whether a task is awaited, freed or handed on at most once for each value that is made, and not started after."""
    if value not in known:
        ends = [use.operation for use in value.uses if not isinstance(use.operation, DmaStartTaskOp)]
        starts = [use.operation for use in value.uses if isinstance(use.operation, DmaStartTaskOp)]
        # What is used outside of the sequence is no task of its own.
        first_end = min((order.get(end, -1) for end in ends), default=len(order))
        known[value] = (
            first_end >= 0
            and all(_loop_around(end) is _loop_of(value) for end in ends)
            and all(_exclude(a, b) for a, b in combinations(ends, 2))
            and all(order.get(start, first_end) < first_end for start in starts)
        )
    return known[value]


def _loop_around(op: Operation) -> Region | None:
    """The region of the innermost loop that an operation is in; that of the sequence, if it is in none."""
    loops = scf.ForOp | scf.WhileOp | RuntimeSequenceOp
    return next((region for region in _regions_around(op) if isinstance(region.parent, loops)), None)


def _loop_of(value: SSAValue) -> Region | None:
    if isinstance(value, OpResult):
        return _loop_around(value.op)
    first = value.owner.first_op if isinstance(value.owner, Block) else None
    return None if first is None else _loop_around(first)


def _exclude(first: Operation, second: Operation) -> bool:
    """Whether two operations are in the two branches of one `scf.if`, so that only one of them is executed."""
    branches = {region.parent: region for region in _regions_around(first)}
    return any(
        isinstance(region.parent, scf.IfOp) and branches.get(region.parent, region) is not region
        for region in _regions_around(second)
    )


def _regions_around(op: Operation) -> Iterator[Region]:
    region = op.parent_region()
    while region is not None:
        yield region
        region = region.parent.parent_region() if region.parent is not None else None


_Positions: TypeAlias = "dict[int, PooledTask]"
"""Tasks by their position in a list of values that a loop or a branch hands on."""


@dataclass(eq=False)
class PooledTask:
    """A task that takes its descriptors from the pool, or one of several such tasks that are handed on as one value."""

    ids: Sequence[SSAValue]
    """The numbers of its descriptors, at hand wherever the task is."""
    example: DmaConfigureTaskOp
    """The task, or one that it may be; the others are for the same channel and have as many descriptors."""
    unlike: DmaConfigureTaskOp | None = None
    """Another that it may be, if there is one which is not started as `example` is."""
    users: list[PooledTask] = field(default_factory=list["PooledTask"])

    def may_be(self, other: PooledTask) -> None:
        """Whatever the other task may be, this one may be, too."""
        other.users.append(self)
        pending: list[tuple[PooledTask, PooledTask]] = [(other, self)]
        while pending:
            source, task = pending.pop()
            if task.unlike is None:
                origins = (origin for origin in (source.example, source.unlike) if origin is not None)
                task.unlike = next((o for o in origins if _start_of(o) != _start_of(task.example)), None)
                # Those that may be this task may be that other one, too.
                if task.unlike is not None:
                    pending += ((task, user) for user in task.users)


def handed_on(task: PooledTask, ids: Sequence[SSAValue]) -> PooledTask:
    """The same task as another value, whose numbers are other values as well."""
    result = PooledTask(ids, task.example)
    result.may_be(task)
    return result


def check_alike(op: Operation, verb: str, where: str, first: PooledTask, second: PooledTask) -> None:
    """Tasks that are handed on as one value must need descriptors of the same pool, and the same number of them."""
    notes = (first.example, "one of them is configured here"), (second.example, "another is configured here")
    if channel_of(first.example) != channel_of(second.example):
        fail_op(
            op,
            f"{verb} on different physical channels (tile/direction/channel) {where}; a pooled buffer descriptor id "
            "and its completion sync belong to one channel",
            *notes,
        )
    if len(first.ids) != len(second.ids):
        fail_op(
            op,
            f"{verb} of {len(first.ids)} and of {len(second.ids)} buffer descriptors {where}; give them equally many, "
            "or free each before the next is configured",
            *notes,
        )


def check_descriptors(task: DmaConfigureTaskOp) -> None:
    blocks = [ops_of(block.ops, DmaBdOp) for block in task.body.blocks]
    extra = next((bds[1] for bds in blocks if len(bds) > 1), None)
    if extra is not None or not any(blocks):
        note = (extra, "give this one a block of its own, and link it with aie.next_bd")
        fail_op(
            task,
            "dynamic BD pool lowering supports single-BD tasks only; a multi-BD chain under a runtime-bound loop needs "
            "runtime next_bd chaining (not yet implemented)",
            *([note] if extra is not None else ()),
        )
    for bd in (bd for bds in blocks for bd in bds):
        if bd.bd_id is not None:
            fail_op(
                bd,
                "pins a buffer descriptor ID inside a runtime-bound sequence that draws IDs from the dynamic pool; a "
                "pinned ID would collide with a runtime-allocated one. Allocate every BD in this sequence from the "
                "pool (drop the bd_id), or make the sequence straight-line so the static allocator assigns all IDs.",
            )


def first_index(task: DmaConfigureTaskOp) -> int:
    """Which of the descriptors the chain starts with."""
    first = task.first_descriptor
    return next((index for index, bd in enumerate(task.descriptors) if bd is first), 0)


def _start_of(task: DmaConfigureTaskOp) -> tuple[bool, int, SSAValue | None, int]:
    return task.issues_token, task.repeat_count.value.data, task.repeat_count_val, first_index(task)


def _is_waited_for_otherwise(task: DmaConfigureTaskOp) -> bool:
    """Whether a task is only started, in a loop that waits for something without naming a task."""
    if any(not isinstance(use.operation, DmaStartTaskOp) for use in task.result.uses):
        return False
    around = (region.parent for region in _regions_around(task))
    loops = [op for op in around if isinstance(op, scf.ForOp | scf.WhileOp)]
    return any(isinstance(op, NpuSyncOp | NpuDmaWaitOp) for loop in loops[-1:] for op in loop.walk())


class _PooledSequence:
    """One walk over a sequence in the order of execution, so that a task is known before it is handed on."""

    def __init__(self, model: DeviceModel, used: Mapping[TileId, set[int]], *, recycles: bool):
        self.model, self.used, self.recycles = model, used, recycles
        self.tasks: dict[SSAValue, PooledTask] = {}
        self.freed: list[dict[SSAValue, DmaFreeTaskOp]] = []
        """What is free for certain: by block, from the outermost to the one that is being walked."""
        self.loops: list[Region] = []
        self.pools: dict[tuple[TileId, int], PoolPart] = {}
        self.starts: list[tuple[DmaStartTaskOp, PooledTask]] = []

    def lower(self, sequence: RuntimeSequenceOp) -> None:
        self.walk(sequence.body)
        # Only now: what a task may be grows until the last loop is closed.
        for start, task in self.starts:
            if task.unlike is not None:
                fail_op(
                    start,
                    "starts a task that may be one of several, which differ in their repeat count, in whether they "
                    "issue a token, or in where their chain begins",
                    (task.example, "it may be this one"),
                    (task.unlike, "or this one"),
                )

    def walk(self, region: Region) -> None:
        for block in region.blocks:
            self.freed.append({})
            for op in list(block.ops):
                self.visit(op)
            self.freed.pop()

    def walk_loop(self, region: Region) -> None:
        self.loops.append(region)
        self.walk(region)
        self.loops.pop()

    def visit(self, op: Operation) -> None:
        match op:
            case DmaConfigureTaskOp():
                self.draw(op)
            case DmaStartTaskOp():
                self.start(op)
            case DmaFreeTaskOp():
                self.free(op)
            case scf.ForOp():
                self.visit_for(op)
            case scf.IfOp():
                self.visit_if(op)
            case scf.WhileOp():
                self.visit_while(op)
            case _:
                for region in op.regions:
                    self.walk(region)

    def draw(self, op: DmaConfigureTaskOp) -> None:
        """Take a number for each descriptor."""
        if op.bd_ids:
            return
        place, _, _ = channel_of(op)
        check_descriptors(op)
        build, pool = Emitter.before(op), self.pool_of(op)
        # Before the task, which takes them as operands.
        ids = [build.insert(DmaBdPoolPopOp(place, pool)).bd_id for _ in op.descriptors]
        op.set_bd_ids(ids)
        self.tasks[op.result] = PooledTask(ids, op)
        if self.recycles and _is_waited_for_otherwise(op):
            # when all of the task's starts are done, which are in this block or in ones inside
            block = op.parent_block()
            assert block is not None and block.last_op is not None, "a block of a loop has a terminator"
            end = block.last_op
            for id in ids:
                Emitter.before(end).insert(DmaBdPoolPushOp(place, id, pool, is_last=True))

    def pool_of(self, task: DmaConfigureTaskOp) -> PoolPart:
        """The descriptors that a task's channel reaches, and its tile does not use otherwise."""
        place, _, channel = channel_of(task)
        if (place, channel) not in self.pools:
            reached = self.model.accessible_bds(*place, channel)
            used = self.used.get(place, set[int]()).intersection(reached)
            first = max(used) + 1 if used else reached[0]
            behind, before = range(first, reached[-1] + 1), [id for id in range(reached[0], first) if id not in used]
            reaches_all = len(reached) == self.model.num_bds(*place)
            part = PoolPart(None if reaches_all else channel, first if used else None)
            # Those behind what is used come first: programs that need no more have always had these.
            self.pools[place, channel] = replace(part, first=None, ids=[*behind, *before]) if before else part
        return self.pools[place, channel]

    def start(self, op: DmaStartTaskOp) -> None:
        """Say which descriptor is the first, where the task is not configured in plain sight."""
        task = self.tasks.get(op.task)
        # A task in plain sight tells its first descriptor itself when it is lowered.
        if task is None or op.configuration is not None or op.bd_id is not None:
            return
        op.operands = [op.task, task.ids[first_index(task.example)]]
        self.starts.append((op, task))

    def free(self, op: DmaFreeTaskOp) -> None:
        """Give the numbers back, such that the next task gets them in the same order."""
        task = self.tasks.get(op.task)
        if task is None:
            fail_op(
                op,
                "does not resolve to a task allocated from the runtime pool; cannot return its buffer descriptor ID",
                *lower_first(op.task),
            )
        self.check_freed_once(op)
        build = Emitter.before(op)
        place, _, _ = channel_of(task.example)
        # The pool is a stack: what is pushed last is taken first.
        for id in reversed(task.ids):
            build.insert(DmaBdPoolPushOp(place, id, self.pool_of(task.example)))
        Rewriter.erase_op(op)

    def check_freed_once(self, op: DmaFreeTaskOp) -> None:
        before = next((frees[op.task] for frees in self.freed if op.task in frees), None)
        if before is not None:
            fail_op(
                op,
                "frees a task that is free already; its buffer descriptor would be given to two other tasks",
                (before, "it is freed here"),
            )
        self.freed[-1][op.task] = op
        if self.loops and op.parent_region() is self.loops[-1] and not is_defined_in(op.task, self.loops[-1]):
            emit_warning(op, op_text(op, "frees in every iteration a task from outside of the loop")).note(
                op, "free it after the loop, or have the loop carry the task that is to be freed next"
            )

    def visit_for(self, op: scf.ForOp) -> None:
        inits, body = self.tasks_in(op.iter_args), only_block(op.body)
        received = self.receive(body, body.args[1:], inits)
        self.walk_loop(op.body)
        self.close_loop(op, terminator(op.body), received)
        self.replace(op, inits, received)

    def visit_while(self, op: scf.WhileOp) -> None:
        inits, before, after = self.tasks_in(op.arguments), only_block(op.before_region), only_block(op.after_region)
        received = self.receive(before, before.args, inits)
        self.walk_loop(op.before_region)
        condition = terminator(op.before_region)
        passed = self.tasks_in(condition.operands[1:])
        _append_ids(condition, passed)
        self.receive(after, after.args, passed)
        self.walk_loop(op.after_region)
        self.close_loop(op, terminator(op.after_region), received)
        self.replace(op, inits, passed)

    def visit_if(self, op: scf.IfOp) -> None:
        for region in op.regions:
            self.walk(region)
        if not op.results:
            return
        ends = [terminator(region) for region in op.regions]
        then, otherwise = (self.tasks_in(end.operands) for end in ends)
        if then.keys() != otherwise.keys():
            fail_op(
                op,
                "yields a pool-allocated task on only one branch of an scf.if; both branches must yield the task (and "
                "its buffer descriptor id) so it can be freed after the if",
            )
        for position, task in then.items():
            check_alike(op, "yields tasks", "from its two branches at the same result", task, otherwise[position])
        for end, tasks in zip(ends, (then, otherwise), strict=True):
            _append_ids(end, tasks)
        # Either branch may have given the task, so it must be started as both would be.
        for position, result in self.replace(op, {}, then).items():
            result.may_be(otherwise[position])

    def tasks_in(self, values: Sequence[SSAValue]) -> _Positions:
        return {position: self.tasks[value] for position, value in enumerate(values) if value in self.tasks}

    def receive(self, block: Block, arguments: Sequence[SSAValue], tasks: _Positions) -> _Positions:
        """Add arguments for the numbers of tasks that a block gets. Returns the tasks as they are known in it."""
        received: _Positions = {}
        for position, task in tasks.items():
            argument = arguments[position]
            ids = [block.insert_arg(i32, len(block.args), location_of(argument)) for _ in task.ids]
            for id in ids:
                id.name_hint = f"{argument.name_hint or 'task'}_bd"
            received[position] = self.tasks[argument] = handed_on(task, ids)
        return received

    def close_loop(self, op: Operation, end: Operation, received: _Positions) -> None:
        """Hand the tasks of one iteration on to the next."""
        yielded = self.tasks_in(end.operands)
        for position, task in received.items():
            if position not in yielded:
                fail_op(op, "carries a pool-allocated task, but yields something else in its place", (end, "here"))
            check_alike(op, "carries tasks", "in the same value", task, yielded[position])
            task.may_be(yielded[position])
        _append_ids(end, {position: yielded[position] for position in received})

    def replace(self, op: Operation, operands: _Positions, results: _Positions) -> _Positions:
        """Have an operation take and give the numbers of tasks besides the tasks. Returns the tasks that it gives."""
        if not operands and not results:
            return {}
        ids = [id for task in operands.values() for id in task.ids]
        types = [*(result.type for result in op.results), *(i32 for task in results.values() for _ in task.ids)]
        new = Emitter.before(op).insert(recreate(op, operands=[*op.operands, *ids], result_types=types))
        added = iter(new.results[len(op.results) :])
        given = {k: handed_on(task, [next(added) for _ in task.ids]) for k, task in results.items()}
        self.tasks.update((new.results[position], task) for position, task in given.items())
        for old, result in zip(op.results, new.results, strict=False):
            old.replace_all_uses_with(result)
        Rewriter.erase_op(op)
        return given


def _append_ids(end: Operation, tasks: _Positions) -> None:
    end.operands = [*end.operands, *(id for task in tasks.values() for id in task.ids)]
