"""Short loops of kernels are unrolled: what they index in a thread's own memory then gets registers.

The loops are found in the LLVM function, where those of `scf` and of branches look alike: a block whose phi counts from
one constant to another by a third, up to the block that goes back to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from llvmlite import ir
from llvmlite.ir import MDValue
from llvmlite.ir.instructions import ConditionalBranch, ICMPInstr, Instruction, PhiInstr, SelectInstr

from tilewright.native.flow import natural_loop
from tilewright.native.values import number_of

MOST_ROUNDS = 64
MOST_INSTRUCTIONS = 1 << 15
"""Code has to fit the GPU's cache for instructions, and LLVM's passes take time for each."""


@dataclass
class NaturalLoop:
    """Blocks that go round; `latch` is the last of them, `rounds` how often they do, if that is known."""

    latch: ir.Block
    blocks: set[ir.Block]
    rounds: int | None
    unrolled: bool = False

    def holds(self, other: NaturalLoop) -> bool:
        return other is not self and other.blocks <= self.blocks


def mark_short_loops(function: ir.Function) -> None:
    """Tell LLVM to unroll the loops of which it is known that they go round a few times, inner ones first."""
    # A loop has fewer blocks than those around it, so inner ones come first.
    loops = sorted(_loops(function), key=lambda loop: len(loop.blocks))
    for loop in loops:
        rounds = loop.rounds
        if any(loop.holds(inner) and inner.rounds is None for inner in loops):
            continue  # it waits for something: nothing is gained
        if rounds is None or rounds > MOST_ROUNDS or rounds * _size(loop, loops) > MOST_INSTRUCTIONS:
            continue
        loop.unrolled = True
        _mark(function.module, loop.latch)


def _size(loop: NaturalLoop, loops: list[NaturalLoop]) -> int:
    """The instructions of one round, with those of the loops in it unrolled if they shall be."""
    unrolled = [inner for inner in loops if loop.holds(inner) and inner.unrolled]
    return sum(
        prod(inner.rounds or 1 for inner in unrolled if block in inner.blocks) * len(block.instructions)
        for block in loop.blocks
    )


def _loops(function: ir.Function) -> list[NaturalLoop]:
    before: dict[ir.Block, list[ir.Block]] = {block: [] for block in function.blocks}
    for block in function.blocks:
        for target in _targets(block):
            before[target].append(block)
    edges = _back_edges(function.blocks[0])
    return [
        NaturalLoop(latch, natural_loop(header, latch, before.__getitem__), _rounds(header, latch))
        for latch, header in edges
    ]


def _back_edges(entry: ir.Block) -> list[tuple[ir.Block, ir.Block]]:
    """Branches to a block on the way to which they stand; none of them is conditional."""
    found: list[tuple[ir.Block, ir.Block]] = []
    seen, path = {entry}, [(entry, iter(_targets(entry)))]
    open_blocks = {entry}
    while path:
        block, rest = path[-1]
        following = next(rest, None)
        if following is None:
            open_blocks.remove(path.pop()[0])
        elif following in open_blocks:
            found.append((block, following))
        elif following not in seen:
            seen.add(following)
            open_blocks.add(following)
            path.append((following, iter(_targets(following))))
    return found


def _targets(block: ir.Block) -> list[ir.Block]:
    return [operand for operand in block.terminator.operands if isinstance(operand, ir.Block)]


def _rounds(header: ir.Block, latch: ir.Block) -> int | None:
    """How often the loop that begins here goes round, if that is known."""
    end = header.terminator
    if not isinstance(end, ConditionalBranch) or not isinstance(end.operands[0], ICMPInstr):
        return None
    compared = end.operands[0]
    phi, limit = compared.operands[0], number_of(compared.operands[1])
    if not isinstance(phi, PhiInstr) or phi.parent is not header or limit is None or compared.op not in ("slt", "ult"):
        return None
    before = [value for value, block in phi.incomings if block is not latch]
    first, step = number_of(before[0]) if len(before) == 1 else None, _step(phi, latch)
    if first is None or step is None or step <= 0:
        return None
    return max(0, -(-(limit - first) // step))


def _step(phi: PhiInstr, latch: ir.Block) -> int | None:
    again = [value for value, block in phi.incomings if block is latch]
    if len(again) != 1:
        return None
    # The selection that `loops._next_index` makes against overflow.
    following = again[0].operands[1] if isinstance(again[0], SelectInstr) else again[0]
    if not isinstance(following, Instruction) or following.opname != "add" or following.operands[0] is not phi:
        return None
    return number_of(following.operands[1])


class LoopId(MDValue):
    """What tells a loop apart from others: it names itself, then what is said about the loop."""

    def __init__(self, module: ir.Module, *hints: MDValue):
        super().__init__(module, hints, name=str(len(module.metadata)))

    def descr(self, buf: list[str]) -> None:
        nodes = ", ".join(node.get_reference() for node in (self, *self.operands))
        buf += (f"distinct !{{ {nodes} }}", "\n")


def _mark(module: ir.Module, latch: ir.Block) -> None:
    hint = module.add_metadata(["llvm.loop.unroll.full"])
    latch.terminator.set_metadata("llvm.loop", LoopId(module, hint))
