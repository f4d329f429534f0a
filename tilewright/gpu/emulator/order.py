"""The order that blocks run in when lanes are in several of them, and registers that hold one value for all lanes.

The first block in the order that has lanes waiting goes first. Blocks of a loop stand together, every block behind
those that lead to it, and lanes go back to the head of a loop from one block only, the last one. So all lanes of a loop
are in the same iteration, and what branched off has arrived before a common block runs.

What depends on the iteration alone is therefore uniform inside of the loop. Where lanes part at a branch, what they
bring to the blocks where they meet again differs; where they leave a loop in different iterations, so does everything
that they take out of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tilewright.gpu.emulator.program import (
    Block,
    Branch,
    Computed,
    Constant,
    Edge,
    Goto,
    Instruction,
    KernelProgram,
    Loop,
    Operand,
    Register,
    Return,
    Space,
    postorder,
)


def arrange(program: KernelProgram, apart: bool = False) -> None:
    """Fill in the blocks in order, and the loops; `apart` lets others have a turn before every access to memory."""
    _merge_chains(program.entry)
    if apart:
        _split_accesses(program.entry)
    _share_latches(program)
    reachable = _reachable(program.entry)[::-1]
    before = _predecessors(reachable)
    program.reducible = _find_loops(program, before, _immediate_dominators(reachable, before))
    program.blocks = _laid_out(program, reachable)
    for number, block in enumerate(program.blocks):
        block.number = number


def _predecessors(blocks: Iterable[Block]) -> dict[Block, list[Block]]:
    found: dict[Block, list[Block]] = {block: [] for block in blocks}
    for block in found:
        for next in block.successors:
            found[next].append(block)
    return found


def _reachable(entry: Block) -> list[Block]:
    """In postorder."""
    return postorder(entry, lambda block: block.successors)


def _merge_chains(entry: Block) -> None:
    """A block that only one other leads to, and always, is part of that one."""
    blocks = _reachable(entry)
    before = _predecessors(blocks)
    for block in reversed(blocks):
        while isinstance(block.end, Goto) and block.end.barrier is None and block.end.edge.target is not block:
            next = block.end.edge.target
            if len(before[next]) != 1 or next is entry or next.parameters:
                break
            block.instructions += next.instructions
            block.operations += next.operations
            block.end = next.end
            # nothing leads to it any more, but the walk still comes by
            next.instructions, next.end = [], Goto(Edge(next))
            for after in block.successors:
                before[after] = [block if other is next else other for other in before[after]]


def _split_accesses(entry: Block) -> None:
    """One access to memory that others see per block, at its beginning."""
    for block in _reachable(entry):
        shared = [i.name in SHARED and i.extra.get("space") is not Space.PRIVATE for i in block.instructions]
        # from the back, so that numbers of earlier ones stay good
        for cut in reversed([number for number, is_shared in enumerate(shared) if is_shared]):
            rest = Block([], block.instructions[cut:], block.end)
            block.instructions = block.instructions[:cut]
            block.end = Goto(Edge(rest), turn=True)


SHARED = {"load", "store", "atomic", "cmpxchg", "fence", "tensor_copy", "tensor_store", "wgmma"}


def _immediate_dominators(order: list[Block], before: dict[Block, list[Block]]) -> dict[Block, Block]:
    """By the first block that all ways to a block have in common last; `order` is a reverse postorder."""
    place = {block: number for number, block in enumerate(order)}
    found = {order[0]: order[0]}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            known = [other for other in before[block] if other in found]
            common = known[0]
            for other in known[1:]:
                common = _meet(common, other, found, place)
            if found.get(block) is not common:
                found[block], changed = common, True
    return found


def _meet(one: Block, other: Block, dominators: dict[Block, Block], place: dict[Block, int]) -> Block:
    while one is not other:
        while place[one] > place[other]:
            one = dominators[one]
        while place[other] > place[one]:
            other = dominators[other]
    return one


def _dominates(block: Block, other: Block, dominators: dict[Block, Block]) -> bool:
    while other is not block and dominators[other] is not other:
        other = dominators[other]
    return other is block


def _back_edges(entry: Block) -> list[tuple[Block, Block]]:
    """Edges to blocks that are still open in a walk in depth: those that do not come before in postorder."""
    place = {block: number for number, block in enumerate(_reachable(entry))}
    return [(block, next) for block in place for next in block.successors if place[next] >= place[block]]


def _share_latches(program: KernelProgram) -> None:
    """Let all edges back to a head go through one block."""
    edges = _back_edges(program.entry)
    for head in dict.fromkeys(target for _, target in edges):
        back = dict.fromkeys(block for block, target in edges if target is head)
        # a turn for others is given on the way back, where a branch or a barrier has no place for it
        if len(back) == 1 and all(isinstance(block.end, Goto) and block.end.barrier is None for block in back):
            continue
        latch = Block([_copy(program, register) for register in head.parameters])
        latch.end = Goto(Edge(head, list(latch.parameters)))
        for block in back:
            for edge in block.end.edges:
                if edge.target is head:
                    edge.target = latch


def _copy(program: KernelProgram, register: Register) -> Register:
    made = Register(register.kind, len(program.registers), name=register.name)
    program.registers.append(made)
    return made


def _find_loops(program: KernelProgram, before: dict[Block, list[Block]], dominators: dict[Block, Block]) -> bool:
    """Fill in the loops, outer before inner; whether each has a head that all ways into it go through."""
    reducible = True
    for tail, head in _back_edges(program.entry):
        if not _dominates(head, tail, dominators):
            reducible = False
            continue
        # backwards from the tail: only the head leads in, so the walk cannot leave
        inside, work = {head}, [tail]
        while work:
            block = work.pop()
            if block not in inside:
                inside.add(block)
                work += before[block]
        program.loops.append(Loop(head, inside))
    # a loop that contains another is larger
    program.loops.sort(key=lambda loop: -len(loop.blocks))
    for loop in program.loops:
        loop.parent = program.innermost.get(loop.header)
        if loop.parent is not None:
            loop.parent.children.append(loop)
        program.innermost.update(dict.fromkeys(loop.blocks, loop))
    return reducible


def _laid_out(program: KernelProgram, order: list[Block]) -> list[Block]:
    """Blocks so that each comes behind those that lead to it, and those of a loop stand together."""
    place = {block: number for number, block in enumerate(order)}

    def expand(loop: Loop | None) -> list[Block]:
        children = loop.children if loop is not None else [top for top in program.loops if top.parent is None]
        inner = {block: child for child in children for block in child.blocks}
        blocks, head = (set(order), None) if loop is None else (loop.blocks, loop.header)
        laid = list[Block]()
        for block in _sorted(blocks, inner, head, place):
            laid += expand(inner[block]) if block in inner else [block]
        return laid

    return expand(None)


def _sorted(blocks: set[Block], inner: dict[Block, Loop], head: Block | None, place: dict[Block, int]) -> list[Block]:
    """A reverse postorder of a level whose inner loops count as one block each."""

    def item(block: Block) -> Block:
        return inner[block].header if block in inner else block

    def following(block: Block) -> list[Block]:
        inside = inner[block].blocks if block in inner else {block}
        found = {item(next) for one in inside for next in one.successors if next in blocks and next not in inside}
        return sorted(found - {head}, key=lambda next: place[next])

    start = head if head is not None else min(blocks, key=lambda block: place[block])
    return postorder(item(start), following)[::-1]


UNIFORM_INPUTS = (
    *(f"{name}_{d}" for name in ("block_dim", "grid_dim", "cluster_dim", "cluster_dim_blocks") for d in "xyz"),
    *("num_subgroups", "static_lds_bytes", "dynamic_lds_bytes"),
)
PER_LANE = {
    "atomic",
    "cmpxchg",
    "shuffle",
    "readlane",
    "ballot",
    "vote",
    "wavereduce",
    "mbcnt",
    "wgmma",
    "mma",
    "matrices",
    "mapa",
}
"""Instructions whose results differ between lanes or waves, whatever they are given."""


def find_uniform(program: KernelProgram) -> None:
    """Fill in `uniform` and `merges` of all registers."""
    for register in program.registers:
        register.uniform, register.merges = program.reducible, not program.reducible
    # without heads of loops nothing says that lanes are in the same iteration
    if not program.reducible:
        return
    for name, register in program.inputs.items():
        register.uniform = name in UNIFORM_INPUTS
    # a branch whose condition is not uniform parts lanes, which makes more registers differ, and so on
    parting = _Parting(program)
    while _pass(program) or parting.update():
        pass
    for block in program.blocks:
        for register in block.parameters:
            register.merges = not register.uniform


def is_uniform(operand: Computed) -> bool:
    return isinstance(operand, Constant) or operand.uniform


def _pass(program: KernelProgram) -> bool:
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
    # the same address is another place in each block of a group, or in each lane
    if instruction.name == "load" and instruction.extra["space"] is not Space.GLOBAL:
        return False
    return all(map(is_uniform, instruction.ins))


class _Parting:
    """What branches do whose lanes part."""

    def __init__(self, program: KernelProgram):
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
        heads = {loop.header for loop in around}
        arrivals, work = dict[Block, int](), list(block.successors)
        while work:
            next = work.pop()
            arrivals[next] = arrivals.get(next, 0) + 1
            # behind `end` all are together again, and a head is where the next iteration begins
            if arrivals[next] == 1 and next is not end and next not in heads:
                work += next.successors
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


def _taken_out(program: KernelProgram, loop: Loop) -> Iterator[Register]:
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


def _postdominators(program: KernelProgram) -> dict[Block, Block]:
    """The first block that all ways from a block go through; none for those that may never end."""
    # dominators of the program turned round, which begins with a block that all ends lead to
    bottom, backward = Block(), _predecessors(program.blocks)
    backward[bottom] = [block for block in program.blocks if isinstance(block.end, Return)]
    order = postorder(bottom, backward.__getitem__)[::-1]
    ended = set(order)
    onward = {block: [next for next in block.successors or [bottom] if next in ended] for block in order}
    found = _immediate_dominators(order, onward)
    return {block: end for block, end in found.items() if end is not bottom}
