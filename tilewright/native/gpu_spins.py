"""Where a kernel waits for somebody else: loads that must be done again each time, and lanes that wait for one.

A loop that writes nothing and loads from a place that stays the same is over when another thread, block or GPU has
written there. Programs for waves that go in step let one lane wait and go on with all; where lanes do not go in step
they have to meet again behind such a wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.dialects.gpu.kernels import GPUFuncOp
from tilewright.native.flow import reverse_postorder, writes

LOADS = frozenset(("memref.load", "llvm.load", "vector.load", "affine.load"))

MEETING = frozenset(("gpu.shuffle", "gpu.barrier"))
"""Where all lanes of a wave come together anyway."""


@dataclass
class Waiting:
    """The loads that wait, and behind which operations and at the head of which blocks all lanes have to meet."""

    loads: set[Operation] = field(default_factory=set[Operation])
    joins: set[Operation] = field(default_factory=set[Operation])
    meetings: set[Block] = field(default_factory=set[Block])


def find_waiting(function: GPUFuncOp) -> Waiting:
    """All that is waited for in a kernel and in functions that are put in place of calls."""
    waiting = Waiting()
    for region in _regions(function):
        _find_in_blocks(region, waiting)
    for op in function.walk():
        if isinstance(op, scf.WhileOp):
            _collect(list(op.walk()), (), waiting)
    for op in _top_level(function.body):
        if isinstance(op, scf.IfOp) and any(isinstance(inner, scf.WhileOp) and _waits(inner) for inner in op.walk()):
            waiting.joins.add(op)
    return waiting


def _regions(op: Operation) -> Iterator[Region]:
    for inner in op.walk():
        yield from inner.regions


def _waits(loop: Operation) -> bool:
    """Whether a loop is over when something from outside of it has changed: it writes nothing but what it polls."""
    names = {inner.name for inner in loop.walk()}
    polls = {"memref.atomic_rmw", "llvm.atomicrmw", "llvm.cmpxchg"}
    return bool(names & (LOADS | polls)) and not any(
        name.endswith(".store") or name in ("func.call", "memref.copy") for name in names
    )


def _collect(ops: Sequence[Operation], blocks: Sequence[Block], waiting: Waiting) -> None:
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


def _find_in_blocks(region: Region, waiting: Waiting) -> None:
    """Loops of branches: from a block that is gone back to, to the one that goes there."""
    if len(region.blocks) < 2:
        return
    blocks = reverse_postorder(region)
    order = {block: number for number, block in enumerate(blocks)}
    behind = _postdominators(blocks, order)
    always = _chain(blocks[0], behind)
    for block in blocks:
        for target in _successors(block):
            if order[target] <= order[block]:
                _visit_loop(_natural_loop(target, block, blocks), waiting, behind, always)


def _successors(block: Block) -> Sequence[Block]:
    return block.last_op.successors if block.last_op is not None else ()


def _natural_loop(header: Block, latch: Block, blocks: Sequence[Block]) -> list[Block]:
    """The header, and the blocks from which the latch is reached without it."""
    found, open_blocks = {header, latch}, [latch]
    while open_blocks:
        current = open_blocks.pop()
        before = [block for block in blocks if current in _successors(block)] if current is not header else []
        open_blocks += [block for block in before if block not in found]
        found.update(before)
    return [header, *(found - {header})]


def _visit_loop(
    loop: Sequence[Block], waiting: Waiting, behind: dict[Block, Block | None], always: Sequence[Block]
) -> None:
    ops = [inner for block in loop for op in block.ops for inner in op.walk()]
    known = set(waiting.loads)
    _collect(ops, loop, waiting)
    if waiting.loads == known or loop[0] in always or any(op.name in MEETING for op in ops):
        return
    meeting = next((block for block in _chain(loop[0], behind) if block in always), None)
    if meeting is not None:
        waiting.meetings.add(meeting)


def _chain(block: Block, behind: dict[Block, Block | None]) -> list[Block]:
    """A block and all that are passed after it whatever happens."""
    found: list[Block] = []
    current: Block | None = block
    while current is not None and current not in found:
        found.append(current)
        current = behind.get(current)
    return found


def _postdominators(blocks: Sequence[Block], order: dict[Block, int]) -> dict[Block, Block | None]:
    """The next block after each that is passed whatever happens; by iteration over sets, blocks are few."""
    everything = set(blocks)
    after = {block: set(everything) for block in blocks}
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            sets = [after[target] for target in _successors(block) if target in order]
            found = {block} | _common(sets)
            if found != after[block]:
                after[block], changed = found, True
    return {block: _nearest(block, after) for block in blocks}


def _common(sets: Sequence[set[Block]]) -> set[Block]:
    """What is in all of them; nothing if there are none."""
    found = set(sets[0]) if sets else set[Block]()
    for other in sets[1:]:
        found &= other
    return found


def _nearest(block: Block, after: dict[Block, set[Block]]) -> Block | None:
    others = after[block] - {block}
    return next((found for found in others if after[found] - {found} == others - {found}), None)


def _top_level(region: Region) -> Iterator[Operation]:
    """Operations that all lanes come to: those of the function, and of counted loops in it."""
    for block in region.blocks:
        for op in block.ops:
            yield op
            if isinstance(op, scf.ForOp):
                yield from _top_level(op.body)
