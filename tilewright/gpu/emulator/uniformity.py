"""Registers that hold one value for all lanes that are active together, and which lanes elsewhere still need.

All lanes of a loop are in the same iteration (see `order`), so what depends on the iteration alone is uniform inside of
the loop. Where lanes part at a branch, what they bring to the blocks where they meet again differs; where they leave a
loop in different iterations, so does everything that they take out of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.gpu.emulator.order import immediate_dominators, predecessors
from tilewright.gpu.emulator.program import Block, Branch, Instruction, Loop, Program, Return
from tilewright.gpu.emulator.values import Constant, Operand, Register, Space

UNIFORM_INPUTS = (
    *(f"{name}_{dimension}" for name in ("block_dim", "grid_dim") for dimension in "xyz"),
    *("num_subgroups", "static_lds_bytes", "dynamic_lds_bytes"),
)
PER_LANE = {"atomic", "cmpxchg", "shuffle", "readlane", "ballot", "vote", "wavereduce", "mbcnt"}
"""Instructions whose results differ between lanes or waves, whatever they are given."""


def find_uniform(program: Program) -> None:
    """Fill in `uniform` and `merges` of all registers."""
    for register in program.registers:
        register.uniform, register.merges = program.reducible, not program.reducible
    if not program.reducible:
        return
    for name, register in program.inputs.items():
        register.uniform = name in UNIFORM_INPUTS
    parting = _Parting(program)
    while _pass(program) or parting.update():
        pass
    for block in program.blocks:
        for register in block.parameters:
            register.merges = not register.uniform


def is_uniform(operand: Operand) -> bool:
    return isinstance(operand, Constant) or operand.uniform


def _pass(program: Program) -> bool:
    """One look at everything; whether anything turned out not to be uniform."""
    changed = False
    for block in program.blocks:
        for instruction in block.instructions:
            if not _gives_uniform(instruction):
                changed |= _differ(instruction.outs)
        for edge in block.end.edges:
            for register, argument in zip(edge.target.parameters, edge.arguments, strict=True):
                if not is_uniform(argument):
                    changed |= _differ([register])
    return changed


def _differ(registers: list[Register]) -> bool:
    changed = [register for register in registers if register.uniform]
    for register in changed:
        register.uniform = False
    return bool(changed)


def _gives_uniform(instruction: Instruction) -> bool:
    if instruction.name in PER_LANE:
        return False
    if instruction.name == "load" and instruction.extra["space"] is not Space.GLOBAL:
        return False
    return all(map(is_uniform, instruction.ins))


class _Parting:
    """What branches do whose lanes part."""

    def __init__(self, program: Program):
        self.program = program
        self.after = _postdominators(program)
        self.taken_out = {loop.header: list(_taken_out(program, loop)) for loop in program.loops}
        self.done = set[Block]()

    def update(self) -> bool:
        """Look at branches that were found to part lanes since the last time."""
        changed = False
        for block in self.program.blocks:
            if block in self.done or not isinstance(block.end, Branch) or is_uniform(block.end.condition):
                continue
            self.done.add(block)
            changed = True
            self._meetings(block)
            self._loops_left(block)
        return changed

    def _meetings(self, block: Block) -> None:
        """Parameters of blocks where lanes from here may meet."""
        end, around = self.after.get(block), self._loops_around(block)
        seen, work = set[Block](), list(block.successors)
        arrivals = dict[Block, int]()
        while work:
            next = work.pop()
            arrivals[next] = arrivals.get(next, 0) + 1
            if next in seen:
                continue
            seen.add(next)
            if next is not end and not any(next is loop.header for loop in around):
                work += next.successors
        heads = {loop.header for loop in around}
        innermost = self.program.innermost.get(block)
        for next, count in arrivals.items():
            outside = innermost is not None and next not in innermost.blocks
            if (count > 1 or next is end or outside) and next not in heads:
                _differ(next.parameters)

    def _loops_left(self, block: Block) -> None:
        """What lanes take out of loops that they leave in different iterations."""
        end = self.after.get(block)
        for loop in self._loops_around(block):
            if end is None or end not in loop.blocks:
                for register in self.taken_out[loop.header]:
                    register.uniform, register.merges = False, True

    def _loops_around(self, block: Block) -> list[Loop]:
        found, loop = list[Loop](), self.program.innermost.get(block)
        while loop is not None:
            found.append(loop)
            loop = loop.parent
        return found


def _taken_out(program: Program, loop: Loop) -> Iterator[Register]:
    """Registers that are written in a loop and read behind it."""
    written = {register for block in loop.blocks for register in definitions(block)}
    for block in program.blocks:
        if block not in loop.blocks:
            for operand in uses(block):
                if isinstance(operand, Register) and operand in written:
                    yield operand


def definitions(block: Block) -> Iterator[Register]:
    yield from block.parameters
    for instruction in block.instructions:
        yield from instruction.outs


def uses(block: Block) -> Iterator[Operand]:
    for instruction in block.instructions:
        yield from instruction.ins
    if isinstance(block.end, Branch):
        yield block.end.condition
    for edge in block.end.edges:
        yield from edge.arguments


def _postdominators(program: Program) -> dict[Block, Block]:
    """The first block that all ways from a block go through; none for those that may never end."""
    bottom = Block()
    before: dict[Block, list[Block]] = {bottom: []}
    forward = predecessors(program.blocks)
    for block in program.blocks:
        before[block] = list(block.successors) if not isinstance(block.end, Return) else [bottom]
    order, seen, stack = list[Block](), {bottom}, list[tuple[Block, Iterator[Block]]]()
    ends = [block for block in program.blocks if isinstance(block.end, Return)]
    stack.append((bottom, iter(ends)))
    while stack:
        block, rest = stack[-1]
        for next in rest:
            if next not in seen:
                seen.add(next)
                stack.append((next, iter(forward[next])))
                break
        else:
            order.append(block)
            stack.pop()
    order.reverse()
    known = {block: [next for next in before[block] if next in seen] for block in order}
    found = immediate_dominators(order, known)
    return {block: end for block, end in found.items() if end is not bottom}
