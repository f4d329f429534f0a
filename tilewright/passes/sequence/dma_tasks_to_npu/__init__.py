"""Lowers DMA tasks: configuring one writes its descriptors, starting one pushes the first, awaiting one waits."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeAlias, TypeVar

from xdsl.context import Context
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from tilewright.device import DeviceModel, TileId
from tilewright.dialects import scf
from tilewright.dialects.aie.core import EndOp
from tilewright.dialects.aie.dma import NextBdOp
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.locks import UseLockOp
from tilewright.dialects.aie.lookup import device_model
from tilewright.dialects.aiex.instructions import NpuSyncOp
from tilewright.dialects.aiex.queue import MAX_QUEUE_REPEAT, NpuPushQueueOp
from tilewright.dialects.aiex.tasks import DmaAwaitTaskOp, DmaConfigureTaskOp, DmaFreeTaskOp, DmaStartTaskOp, TaskUser
from tilewright.dialects.arith import ConstantOp
from tilewright.ir.create import copy_operation
from tilewright.ir.diagnostics import fail, fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.ir.traversal import all_operations
from tilewright.passes.sequence.descriptor_writes import RepeatedDescriptor, wait_for_token
from tilewright.passes.sequence.dma_tasks_to_npu.task_descriptors import TaskDescriptor, check_alignment, number_of
from tilewright.passes.sequence.dma_transfer import KnownTransfers
from tilewright.passes.sequence.limit_checks import Guards, LimitChecks
from tilewright.rewrite.canonicalization import patterns_of
from tilewright.rewrite.driver import Config, Simplify, rewrite_with
from tilewright.rewrite.emitter import Emitter, Number, SharedConstants, known
from tilewright.rewrite.exact_arithmetic import Numbers
from tilewright.rewrite.folding.regions import terminator
from tilewright.rewrite.legalization import convert
from tilewright.rewrite.pass_bases import ops_of


def place_of(task: DmaConfigureTaskOp, user: Operation) -> TileId:
    """Where a task runs."""
    tile = task.tile_like
    if tile is None or not tile.is_placed or (place := tile.place) is None:
        notes = ((task, "Task configured here."),) if user is not task else ()
        fail_op(user, "Cannot lower a DMA task whose tile is not placed; run placement first.", *notes)
    return place


OpT = TypeVar("OpT", bound=Operation)
Pushes: TypeAlias = dict[DmaConfigureTaskOp, list[NpuPushQueueOp]]


class StartTaskToPushQueue(RewritePattern):
    def __init__(self, constants: SharedConstants | None, pushes: Pushes):
        """`pushes` are of the tasks of which all pushes are known to be; the others are none of its keys."""
        self.constants, self.pushes, self.made = constants, pushes, MadeForTasks[NpuPushQueueOp](constants)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DmaStartTaskOp, rewriter: PatternRewriter) -> None:
        task = op.configuration if op.bd_id is None else find_configuration(op.task)
        if task is None:
            fail_op(op, "does not reference a valid configure_task operation.")
        push = self.made.get(op, task, partial(self.push, op, task, rewriter))
        if task in self.pushes:
            self.pushes[task].append(push)
        rewriter.replace(op, push)

    def push(self, op: DmaStartTaskOp, task: DmaConfigureTaskOp, rewriter: PatternRewriter) -> NpuPushQueueOp:
        place, emit = place_of(task, op), Emitter(rewriter, constants=self.constants)
        bd_id = op.bd_id if op.bd_id is not None else emit.number(first_number(op, task))
        repeat = task.repeat_count.value.data if task.repeat_count_val is None else task.repeat_count_val
        return NpuPushQueueOp(
            *place,
            task.dma_direction,
            task.channel.value.data,
            bd_id=bd_id,
            repeat_count=emit.number(repeat),
            issue_token=task.issues_token,
        )


class MadeForTasks(Generic[OpT]):
    """Operations that stand for uses of tasks, by all that they depend on: long sequences repeat few of them."""

    def __init__(self, constants: SharedConstants | None):
        self._shares_constants = constants is not None
        self._made: dict[tuple[object, ...], tuple[OpT, object]] = {}

    def get(self, use: TaskUser, task: DmaConfigureTaskOp, make: Callable[[], OpT]) -> OpT:
        """What `make` gives, or the same as it gave for a use of a task like this one."""
        bd = lone_descriptor(task)
        # the block is where constants are
        key = None if bd is None or len(use._operands) != 1 else form_of(task, bd, id(use.parent))
        if bd is None or key is None or not self._shares_constants:
            return make()
        found = self._made.get(key)
        if found is not None:
            return copy_operation(found[0])
        made = make()
        self._made[key] = made, kept_for(task, bd)
        return made


def lone_descriptor(task: DmaConfigureTaskOp) -> DmaBdOp | None:
    """The descriptor of a task that consists of nothing else, as most do."""
    region = task.regions[0]
    block = region._first_block
    if block is None or block is not region._last_block:
        return None
    bd = block._first_op
    if not isinstance(bd, DmaBdOp) or not isinstance(bd._next_op, EndOp) or bd._next_op is not block._last_op:
        return None
    return bd


def form_of(task: DmaConfigureTaskOp, bd: DmaBdOp, *more: object) -> tuple[object, ...] | None:
    """All that becomes of a task with a lone descriptor depends on, but for its offset; None where that is open."""
    if len(task._operands) != 1 or len(bd._operands) != 1:  # its tile, and its buffer
        return None
    properties, of_task = dict(bd.properties), task.properties
    properties.pop("static_offset", None)
    # by identity: numbers and names are one object each, and hashing them takes long
    values = *of_task.values(), *properties.values()
    return *more, *of_task, *properties, id(task._operands[0]), id(bd._operands[0]), *map(id, values)


def kept_for(task: DmaConfigureTaskOp, bd: DmaBdOp) -> object:
    """What a form names by identity, kept lest something else comes to lie in its place."""
    return task._operands, bd._operands, [*task.properties.values(), *bd.properties.values()]


def first_number(op: DmaStartTaskOp, task: DmaConfigureTaskOp) -> Number:
    """The number of the descriptor that a task starts with."""
    first = task.first_descriptor
    if first is None or (first.bd_id is None and not task.bd_ids):
        remedy = "Run the `aie-assign-runtime-buffer-descriptor-ids` pass first or manually assign an ID."
        fail_op(op, "First buffer descriptor in chain has not been assigned an ID", (op, remedy))
    return number_of(task, first)


class AwaitTaskToSync(RewritePattern):
    def __init__(self, constants: SharedConstants | None):
        self.constants, self.made = constants, MadeForTasks[NpuSyncOp](constants)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DmaAwaitTaskOp, rewriter: PatternRewriter) -> None:
        task = op.configuration or find_configuration(op.task)
        if task is None:
            fail_op(op, "does not reference a valid configure_task operation.")
        rewriter.replace(op, self.made.get(op, task, partial(self.sync, op, task, rewriter)))

    def sync(self, op: DmaAwaitTaskOp, task: DmaConfigureTaskOp, rewriter: PatternRewriter) -> NpuSyncOp:
        if not task.issues_token:
            remedy = "Consider adding attribute `issue_token=true` here."
            fail_op(op, "Cannot wait on a BD that is not configured to issue a token.", (task, remedy))
        place, emit = place_of(task, op), Emitter(rewriter, constants=self.constants)
        return wait_for_token(emit, place, task.dma_direction, task.channel.value.data)


def find_configuration(task: SSAValue) -> DmaConfigureTaskOp | None:
    """Some task that a value may be. All that come together in a branch or loop are for the same channel."""
    pending, seen = [task], set[SSAValue]()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, OpResult) and isinstance(value.op, DmaConfigureTaskOp):
            return value.op
        pending += _carried_values(value)
    return None


def _carried_values(value: SSAValue) -> Sequence[SSAValue]:
    """The values that a branch or loop may hand on as this one."""
    if isinstance(value, BlockArgument):
        return _received_values(value)
    assert isinstance(value, OpResult)
    match value.op:
        case scf.IfOp() as op:
            return [terminator(region).operands[value.index] for region in (op.true_region, op.false_region)]
        case scf.ForOp() as op:
            return [op.iter_args[value.index], terminator(op.body).operands[value.index]]
        # Its condition comes first, then what it hands on.
        case scf.WhileOp() as op:
            return [terminator(op.before_region).operands[1 + value.index]]
        case _:
            return ()


def _received_values(argument: BlockArgument) -> Sequence[SSAValue]:
    match argument.block.parent_op():
        case scf.ForOp() as op if argument.index > 0:
            carried = argument.index - 1
            return [op.iter_args[carried], terminator(op.body).operands[carried]]
        case scf.WhileOp() as op if argument.block is op.before_region.block:
            return [op.arguments[argument.index], terminator(op.after_region).operands[argument.index]]
        case scf.WhileOp() as op:
            return [terminator(op.before_region).operands[1 + argument.index]]
        case _:
            return ()


LOCK_COUNTS = {Guards.UPSTREAM: (0, 2), Guards.FULL: (0, 1, 2)}
"""How many locks a descriptor may use: mlir-aie has none that only waits, or only tells."""


class ConfigureTaskToWriteBd(RewritePattern):
    def __init__(self, model: DeviceModel, guards: Guards, constants: SharedConstants | None, pushes: Pushes):
        self.model, self.guards, self.constants, self.pushes = model, guards, constants, pushes
        self.known_transfers: KnownTransfers = {}
        self.repeated: dict[tuple[object, ...] | None, tuple[RepeatedDescriptor, object]] = {}

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DmaConfigureTaskOp, rewriter: PatternRewriter) -> None:
        bd = lone_descriptor(op)
        form = None if bd is None else form_of(op, bd, bool(self.pushes.get(op)))
        if bd is not None and op.result.first_use is None and (found := self.repeated.get(form)) is not None:
            self.write_again(op, bd, found[0], rewriter)
        elif (repeated := self.write_all(op, rewriter)) is not None and bd is not None and form is not None:
            self.repeated[form] = repeated, kept_for(op, bd)
        rewriter.erase(op)

    def write_again(
        self, op: DmaConfigureTaskOp, bd: DmaBdOp, repeated: RepeatedDescriptor, rewriter: PatternRewriter
    ) -> None:
        """Write the descriptor of a task that differs only in its offset from one before."""
        offset = 0 if bd.static_offset is None else bd.static_offset.value.data
        offset_bytes = offset * repeated.element_bytes
        check_alignment(bd, offset_bytes, self.model)
        emit = Emitter(rewriter, constants=self.constants)
        repeated.write(emit, bd, self.guards, [offset], buffer_offset=offset_bytes)
        repeat_pushes(self.pushes.get(op, ()), repeated.repeats)

    def write_all(self, op: DmaConfigureTaskOp, rewriter: PatternRewriter) -> RepeatedDescriptor | None:
        """Write all descriptors of a task. Gives what a task like it can have written again."""
        place = place_of(op, op)
        users = [use.operation for use in op.result.uses]
        if users:
            fail_op(op, "Cannot lower while op still has uses.", *((user, "Used here.") for user in users))
        if len(op.bd_ids) > 1 and self.guards is Guards.UPSTREAM:
            fail_op(
                op,
                "is a chain of descriptors that are numbered at run time",
                (op, "the option guards=full of this pass has it lowered"),
            )
        # The body goes away with the task, and what descriptors are computed from is in it.
        hoist_computations(op, rewriter)
        descriptors = checked_descriptors(op, LOCK_COUNTS[self.guards])
        following, emit = link_descriptors(op, descriptors), Emitter(rewriter, constants=self.constants)
        # A chain would be repeated as a whole.
        pushes = self.pushes.get(op, []) if len(descriptors) == 1 else []
        descriptor: TaskDescriptor | None = None
        for bd in descriptors:
            descriptor = TaskDescriptor(op, bd, place, emit, self.guards, self.known_transfers, can_repeat=bool(pushes))
            repeat_pushes(pushes, descriptor.write(following.get(bd)))
        return descriptor.repeated if descriptor is not None and len(descriptors) == 1 else None


def repeat_pushes(pushes: Sequence[NpuPushQueueOp], runs: Number) -> None:
    """Have each push do as many runs for each that it asked for."""
    for push in pushes if known(runs) != 1 else ():
        _repeat_push(push, runs)


def _repeat_push(push: NpuPushQueueOp, runs: Number) -> None:
    emit = Emitter.before(push)
    numbers = Numbers(emit)
    LimitChecks(push, numbers, Guards.FULL).within(push.repeat_count, 0, MAX_QUEUE_REPEAT, "repeat count")
    times = numbers.multiply(numbers.add(push.repeat_count, 1), runs)
    push.operands = [emit.number(numbers.subtract(times, 1)), push.bd_id]


def pushes_by_task(device: Operation) -> Pushes:
    """Room for the pushes of each task that branches and loops do not hand on."""
    tasks = ops_of(all_operations(device), DmaConfigureTaskOp)
    return {task: [] for task in tasks if all(isinstance(use.operation, TASK_USES) for use in task.result.uses)}


TASK_USES = (DmaStartTaskOp, DmaAwaitTaskOp, DmaFreeTaskOp)
CARRIES_TASKS = (scf.ForOp, scf.IfOp, scf.WhileOp)


@dataclass(frozen=True)
class DmaTasksToNpuPass(Pass):
    name = "aie-dma-tasks-to-npu"
    anchor = "aie.device"

    guards: Guards = field(default=Guards.UPSTREAM, metadata={"help": "which limits of the hardware are checked"})

    def apply(self, ctx: Context, op: Operation) -> None:
        is_full = self.guards is Guards.FULL
        constants, pushes = (SharedConstants(), pushes_by_task(op)) if is_full else (None, {})
        starts = StartTaskToPushQueue(constants, pushes)
        convert(op, {DmaStartTaskOp: starts, DmaAwaitTaskOp: AwaitTaskToSync(constants)})
        # Branches and loops may still hand on tasks that are not awaited any more.
        if self.guards is Guards.UPSTREAM or ops_of(all_operations(op), *CARRIES_TASKS):
            rewrite_with(
                op,
                lambda nested: patterns_of(nested) if isinstance(nested, CARRIES_TASKS) else (),
                Config(remove_dead=True, simplify=Simplify.AGGRESSIVE),
            )
        # Last, since a configuration can go only when no start or wait refers to it.
        configure = ConfigureTaskToWriteBd(device_model(op), self.guards, constants, pushes)
        convert(op, {DmaConfigureTaskOp: configure}, add_error=False)


ALLOWED = {DmaBdOp, UseLockOp, ConstantOp, NextBdOp, EndOp}
IN_THIS_TASK = "Error encountered while lowering this BD configuration."
ASSIGN_FIRST = (
    "Run the `--aie-assign-runtime-sequence-bd-ids` pass first or manually assign an ID to this buffer descriptor."
)


def hoist_computations(task: DmaConfigureTaskOp, rewriter: PatternRewriter) -> None:
    """Compute what descriptors depend on before the task, whose body goes away."""

    def hoist(value: SSAValue) -> None:
        op = value.owner
        if not isinstance(op, Operation) or op.parent_op() is not task or not op.name.startswith("arith."):
            return
        for operand in op.operands:
            hoist(operand)
        op.detach()
        rewriter.insert(op, InsertPoint.before(task))

    # Constants are read, not moved: they go into the words.
    for descriptor in task.descriptors:
        for operand in descriptor.operands:
            if not isinstance(operand.owner, ConstantOp):
                hoist(operand)


def checked_descriptors(task: DmaConfigureTaskOp, lock_counts: Container[int] = (0, 2)) -> list[DmaBdOp]:
    """The descriptors of a task, one for each block. An entry block that only jumps has none."""
    entry = task.body.first_block
    blocks = [b for b in task.body.blocks if not (b is entry and b.first_op is b.last_op) and b.last_op is not None]
    return [_checked_descriptor(task, block, lock_counts) for block in blocks]


def _checked_descriptor(task: DmaConfigureTaskOp, block: Block, lock_counts: Container[int]) -> DmaBdOp:
    end = block.last_op
    assert end is not None
    inside = all_operations(block)
    for op in inside:
        if type(op) not in ALLOWED:
            note = "No lowering to NPU instructions available for this operation."
            fail_op(task, "Unsupported operation within BD block.", (op, note))
    descriptors = ops_of(inside, DmaBdOp)
    if not descriptors:
        text = "Block ending in this terminator does not contain a required aie.dma_bd operation."
        fail(end, text, (task, IN_THIS_TASK))
    if len(descriptors) > 1:
        text = "This block contains multiple aie.dma_bd operations. Exactly one         is required."
        fail_op(end, text, *((extra, "Extra aie.dma_bd operation here.") for extra in descriptors[1:]))
    (bd,) = descriptors
    if not task.bd_ids and bd.bd_id is None:
        fail_op(bd, "Cannot lower buffer descriptor without assigned ID.", (bd, ASSIGN_FIRST), (task, IN_THIS_TASK))
    locks = ops_of(inside, UseLockOp)
    if len(locks) not in lock_counts:
        fail_op(
            locks[0],
            f"BD blocks must have either 0 or 2 lock operations (acquire and release). Found {len(locks)} "
            "lock operations.",
        )
    return bd


def link_descriptors(task: DmaConfigureTaskOp, descriptors: Iterable[DmaBdOp]) -> dict[DmaBdOp, Number]:
    """The number of the descriptor that follows each, for those that one follows."""
    following: dict[DmaBdOp, Number] = {}
    runtime_ids = task.runtime_ids
    for bd in descriptors:
        end = bd.parent.last_op if bd.parent is not None else None
        if isinstance(end, NextBdOp):
            # One of them would have to be ignored.
            if bd.next_bd_id is not None:
                note = "Potentially conflicting next buffer descriptor ID specified here."
                fail_op(bd, "Cannot specify both next_bd_id attribute and aie.next_bd operation.", (end, note))
            successor = next((op for op in end.dest.ops if isinstance(op, DmaBdOp)), None)
            if successor is not None and successor in runtime_ids:
                following[bd] = runtime_ids[successor]
            elif successor is not None and successor.bd_id is not None:
                following[bd] = successor.bd_id.value.data
        elif bd.next_bd_id is not None:
            following[bd] = bd.next_bd_id.value.data
    return following
