"""Regions of several blocks as LLVM blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from llvmlite import ir
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects import cf
from tilewright.dialects.cf import case_numbers
from tilewright.ir.diagnostics import fail_op
from tilewright.native.region_order import NEVER_REACHED, is_idle
from tilewright.native.values import Value

if TYPE_CHECKING:
    from tilewright.native.lowering import Lowering, Phis

B = TypeVar("B", Block, ir.Block)


def natural_loop(header: B, latch: B, before: Callable[[B], Iterable[B]]) -> set[B]:
    """The header of a loop, and the blocks from which its latch is reached without it."""
    found, open_blocks = {header, latch}, [latch]
    while open_blocks:
        current = open_blocks.pop()
        if current is not header:
            new = [block for block in before(current) if block not in found]
            open_blocks += new
            found.update(new)
    return found


class Graph:
    """The translation of one such region."""

    def __init__(self, lowering: Lowering, blocks: list[Block]):
        self.lowering, self.blocks = lowering, blocks
        self.order = {block: number for number, block in enumerate(blocks)}
        self.native = {block: lowering.new_block("block") for block in blocks}
        self.arguments: dict[Block, Phis] = {}
        self.exits: list[tuple[ir.Block, Operation, list[Value]]] = []

    def lower(self, arguments: Sequence[Value]) -> list[Value]:
        """The code from here on; gives what the terminators hand on that leave the region."""
        lowering, after = self.lowering, self.lowering.new_block("after")
        lowering.branch(self.native[self.blocks[0]])
        # Before any code: a branch may lead to a block that is translated later, or before.
        for block in self.blocks[1:]:
            lowering.at(self.native[block])
            self.arguments[block] = lowering.phis([argument.type for argument in block.args])
        for block in self.blocks:
            lowering.at(self.native[block])
            phis = self.arguments.get(block)
            passed = lowering.lower_block(block, arguments if phis is None else phis.values)
            self._leave(block, passed, after)
        lowering.at(after)
        # Nothing arrives behind a region that never ends.
        if not self.exits:
            lowering.builder.unreachable()
            lowering.at(lowering.new_block("never"))
            return []
        types = [operand.type for operand in self.exits[0][1].operands]
        return lowering.merge(types, [(block, values) for block, _, values in self.exits])

    def _leave(self, block: Block, passed: list[Value], after: ir.Block) -> None:
        lowering, last = self.lowering, block.last_op
        assert last is not None, "the verifier wants a terminator"
        if last.name in NEVER_REACHED:
            lowering.builder.unreachable()
            return
        if not last.successors:
            self.exits.append((lowering.branch(after), last, passed))
            return
        # Blocks are in an order in which only loops lead back.
        first = min(self.order[target] for target in last.successors)
        if is_idle(block):
            lowering.idle()
        elif first <= self.order[block]:
            lowering.go_round(op for inside in self.blocks[first : self.order[block] + 1] for op in inside.ops)
        match last:
            case cf.BranchOp():
                self._go(last.successor, last.arguments)
            case cf.ConditionalBranchOp():
                # Blocks of their own for both edges: they may lead to the same block with other values.
                yes, no = lowering.new_block("yes"), lowering.new_block("no")
                lowering.choose(lowering[last.cond], yes, no)
                lowering.at(yes)
                self._go(last.then_block, last.then_arguments)
                lowering.at(no)
                self._go(last.else_block, last.else_arguments)
            case cf.SwitchOp():
                self._switch(last)
            case _:
                fail_op(last, "has no native translation: it is no branch that is known here")

    def _switch(self, op: cf.SwitchOp) -> None:
        lowering = self.lowering
        flag, default = lowering[op.flag], lowering.new_block("default")
        lowering.spend()
        switch = lowering.builder.switch(flag, default)
        for number, target, operands in zip(case_numbers(op), op.case_blocks, op.case_operand, strict=True):
            case = lowering.new_block("case")
            switch.add_case(ir.Constant(flag.type, number), case)
            lowering.at(case)
            self._go(target, operands)
        lowering.at(default)
        self._go(op.default_block, op.default_operands)

    def _go(self, target: Block, operands: Sequence[SSAValue]) -> None:
        """An edge, with the values that it carries."""
        values = [self.lowering.get(operand) for operand in operands]
        here = self.lowering.branch(self.native[target])
        self.arguments[target].add(values, here)
