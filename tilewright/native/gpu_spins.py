"""Spin loops of kernels on what others write: loads that must be done again each time, and lanes that wait for one.

A loop that writes nothing and goes on by what it loads from a place that stays the same is over when another thread,
block or GPU has written there. Programs for waves that go in step let one lane wait and go on with all; where lanes do
not go in step they have to meet again behind such a wait.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import Pure

from tilewright.dialects import cf, scf
from tilewright.dialects.gpu.kernels import GPUFuncOp
from tilewright.native.flow import natural_loop
from tilewright.native.region_order import reverse_postorder, successors, writes

LOADS = frozenset(("memref.load", "llvm.load", "vector.load", "affine.load"))

MEETING = frozenset(("gpu.shuffle", "gpu.barrier"))
"""Where all lanes of a wave come together anyway."""
DIVERGENT = frozenset(
    (
        *("gpu.thread_id", "gpu.lane_id", "gpu.global_id", "gpu.subgroup_id", "gpu.shuffle"),
        *("nvvm.read.ptx.sreg.laneid", "rocdl.mbcnt.lo", "rocdl.mbcnt.hi"),
    )
)
"""Operations without effects whose results differ from lane to lane."""
DIVERGENT_REGISTERS = "nvvm.read.ptx.sreg.tid.", "rocdl.workitem.id."


@dataclass
class SpinWaits:
    """The loads that wait, and behind which operations and at the head of which blocks all lanes have to meet."""

    loads: set[Operation] = field(default_factory=set[Operation])
    joins: set[Operation] = field(default_factory=set[Operation])
    meetings: set[Block] = field(default_factory=set[Block])


def find_waiting(function: GPUFuncOp) -> SpinWaits:
    """All that is waited for in a kernel and in functions that are put in place of calls."""
    waiting = SpinWaits()
    for op in function.walk():
        for region in op.regions:
            _find_in_blocks(region, waiting)
        if isinstance(op, scf.WhileOp):
            _collect(list(op.walk()), (), waiting)
    waiting.joins.update(op for op in _top_level(function.body) if isinstance(op, scf.IfOp) and _some_wait(op))
    return waiting


def _some_wait(op: scf.IfOp) -> bool:
    """Whether in a branch that not all lanes may take something is waited for."""
    return any(isinstance(inner, scf.WhileOp) and _waits(inner) for inner in op.walk()) and not is_uniform(op.cond)


def _waits(loop: Operation) -> bool:
    """Whether a loop is over when something from outside of it has changed: it writes nothing but what it polls."""
    # By names: operations that poll are of several dialects.
    names = {inner.name for inner in loop.walk()}
    polls = {"memref.atomic_rmw", "llvm.atomicrmw", "llvm.cmpxchg"}
    return bool(names & (LOADS | polls)) and not any(
        name.endswith(".store") or name in ("func.call", "memref.copy") for name in names
    )


def _collect(ops: Sequence[Operation], blocks: Collection[Block], waiting: SpinWaits) -> None:
    """Note the loads of a loop that wait; `blocks` are those of the loop itself, if it is one of branches."""
    if any(writes(op) for op in ops):
        return
    inside = {*blocks, *(block for op in ops for region in op.regions for block in region.blocks)}
    for op in ops:
        if op.name in LOADS and all(_block_of(operand) not in inside for operand in op.operands):
            waiting.loads.add(op)


def _block_of(value: SSAValue) -> Block | None:
    """Where a value is defined."""
    return value.owner.parent_block() if isinstance(value.owner, Operation) else value.owner


def _find_in_blocks(region: Region, waiting: SpinWaits) -> None:
    """Loops of branches: from a block that is gone back to, to the one that goes there."""
    if len(region.blocks) < 2:
        return
    blocks = reverse_postorder(region)
    order = {block: number for number, block in enumerate(blocks)}
    after = _postdominators(blocks, order)
    behind = {block: _nearest(block, after) for block in blocks}
    always = _chain(blocks[0], behind)
    before = {block: [other for other in blocks if block in successors(other)] for block in blocks}
    for block in blocks:
        for target in successors(block):
            if order[target] <= order[block]:
                loop = natural_loop(target, block, before.__getitem__)
                if _collect_all(loop, waiting) and not _all_come(target, blocks, after):
                    meeting = next((found for found in _chain(target, behind) if found in always), None)
                    waiting.meetings.update([] if meeting is None else [meeting])


def _collect_all(loop: Collection[Block], waiting: SpinWaits) -> bool:
    """Note the loads of a loop that wait; whether there are some that only some lanes may wait for."""
    if not _ends_by_memory(loop):
        return False
    ops = [inner for block in loop for op in block.ops for inner in op.walk()]
    known = len(waiting.loads)
    _collect(ops, loop, waiting)
    return len(waiting.loads) > known and not any(op.name in MEETING for op in ops)


def _ends_by_memory(loop: Collection[Block]) -> bool:
    """Whether something that is read decides about a branch of a loop: one that only counts waits for nothing."""
    ends = [block.last_op for block in loop if len(successors(block)) > 1]
    return not all(isinstance(end, cf.ConditionalBranchOp) and _is_counted(end.cond, loop, set()) for end in ends)


def _is_counted(value: SSAValue, loop: Collection[Block], assumed: set[SSAValue]) -> bool:
    """Whether a value follows from what is known before a loop; `assumed` are those being looked at."""
    owner = value.owner
    home = owner if isinstance(owner, Block) else owner.parent_block()
    if value in assumed or home not in loop:
        return True
    assumed.add(value)
    if isinstance(owner, Block):
        number = owner.args.index(value)
        carried = [found for block in loop for found in _carried(block.last_op, owner, number)]
        return all(found is not None and _is_counted(found, loop, assumed) for found in carried)
    pure = owner.has_trait(Pure) and not owner.regions
    return pure and all(_is_counted(operand, loop, assumed) for operand in owner.operands)


def _all_come(header: Block, blocks: Sequence[Block], after: dict[Block, set[Block]]) -> bool:
    """Whether all lanes come to a loop, or none: the branches that decide it are the same for all."""
    open_blocks, seen = [header], set[Block]()
    while open_blocks:
        current = open_blocks.pop()
        for block in blocks:
            # A branch decides about a block if one way surely leads there and not all do.
            decides = current not in after[block] - {block} and any(current in after[s] for s in successors(block))
            if not decides or block in seen or block is current:
                continue
            seen.add(block)
            end = block.last_op
            if isinstance(end, cf.ConditionalBranchOp) and not is_uniform(end.cond):
                return False
            open_blocks.append(block)
    return True


def _chain(block: Block, behind: dict[Block, Block | None]) -> list[Block]:
    """A block and all that are passed after it whatever happens."""
    found: list[Block] = []
    current: Block | None = block
    while current is not None and current not in found:
        found.append(current)
        current = behind.get(current)
    return found


def _postdominators(blocks: Sequence[Block], order: dict[Block, int]) -> dict[Block, set[Block]]:
    """The blocks that are passed after each, itself included, whatever happens; blocks are few."""
    # Begins with too many and takes away until nothing changes: the greatest solution, as loops need it.
    after = {block: set(blocks) for block in blocks}
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            sets = [after[target] for target in successors(block) if target in order]
            found = {block} | (set[Block].intersection(*sets) if sets else set[Block]())
            if found != after[block]:
                after[block], changed = found, True
    return after


def _nearest(block: Block, after: dict[Block, set[Block]]) -> Block | None:
    others = after[block] - {block}
    return next((found for found in others if after[found] - {found} == others - {found}), None)


def _top_level(region: Region) -> Iterator[Operation]:
    """Operations that all lanes come to: those of the function, and of counted loops in it."""
    for block in region.blocks:
        for op in block.ops:
            yield op
            # Counted loops take as many turns in all lanes.
            if isinstance(op, scf.ForOp):
                yield from _top_level(op.body)


def is_uniform(value: SSAValue, assumed: set[SSAValue] | None = None) -> bool:
    """Whether a value is computed from what is the same for a whole block; `assumed` are those being looked at."""
    assumed = set() if assumed is None else assumed
    if value in assumed:
        return True
    assumed.add(value)
    owner = value.owner
    if isinstance(owner, Block):
        return _is_uniform_argument(value, owner, assumed)
    if owner.name in DIVERGENT or owner.name.startswith(DIVERGENT_REGISTERS) or owner.regions:
        return False
    return owner.has_trait(Pure) and all(is_uniform(operand, assumed) for operand in owner.operands)


def _is_uniform_argument(value: SSAValue, block: Block, assumed: set[SSAValue]) -> bool:
    """What a kernel is given is the same for all; what branches carry is if they and all that they carry are."""
    region = block.parent_region()
    if region is None or block is region.first_block:
        parent = block.parent_op()
        return parent is not None and parent.name in ("gpu.func", "func.func")
    number = block.args.index(value)
    # Values that are being looked at are assumed to be uniform: what a loop carries round may depend on itself.
    carried = [found for other in region.blocks for found in _carried(other.last_op, block, number)]
    return all(found is not None and is_uniform(found, assumed) for found in carried)


def _carried(end: Operation | None, target: Block, number: int) -> list[SSAValue | None]:
    """What a branch hands on as an argument of a block; None if that is not known or depends on the lane."""
    match end:
        case cf.BranchOp() if end.successor is target:
            return [end.arguments[number]]
        case cf.ConditionalBranchOp():
            edges = (end.then_block, end.then_arguments), (end.else_block, end.else_arguments)
            return [values[number] for block, values in edges if block is target]
        case Operation() if target in end.successors:
            return [None]
        case _:
            return []
