"""Branches between the blocks of a region."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects import cf
from tilewright.dialects.cf import case_numbers
from tilewright.interpreter.memory import RUN, Frame
from tilewright.interpreter.numbers import width_of
from tilewright.ir.diagnostics import fail_op
from tilewright.native.context_layout import IDLE
from tilewright.native.region_order import is_idle
from tilewright.rewrite.integers import signed

if TYPE_CHECKING:
    from tilewright.interpreter.body import BodyBuilder, Leave, Process


def branches(b: BodyBuilder, blocks: Sequence[Block]) -> list[Leave | None]:
    """How each block of a region is left; None for those from which it goes out."""
    order = {block: number for number, block in enumerate(blocks)}
    return [_leave(b, block, order, blocks) for block in blocks]


def _leave(b: BodyBuilder, block: Block, order: dict[Block, int], blocks: Sequence[Block]) -> Leave | None:
    last = block.last_op
    if last is None or not last.successors:
        return None
    choose = _branch(b, last, order)
    # Blocks are in an order in which only loops lead back.
    first = min(order[target] for target in last.successors)
    again = None
    if first <= order[block]:
        again = b.go_round([op for inside in blocks[first : order[block] + 1] for op in inside.ops])
    does_nothing = is_idle(block)

    def leave(f: Frame) -> Process:
        if does_nothing:
            yield IDLE
        elif again is not None:
            yield from again(f)
        return choose(f)

    return leave


def _branch(b: BodyBuilder, op: Operation, order: dict[Block, int]) -> Callable[[Frame], tuple[int, list[Any]]]:
    def edge(target: Block, operands: Sequence[SSAValue]) -> Callable[[Frame], tuple[int, list[Any]]]:
        number, slots = order[target], b.slots(operands)
        return lambda f: (number, [f[slot] for slot in slots])

    match op:
        case cf.BranchOp():
            return edge(op.successor, op.arguments)
        case cf.ConditionalBranchOp():
            condition = b.slot(op.cond)
            yes, no = edge(op.then_block, op.then_arguments), edge(op.else_block, op.else_arguments)
            return lambda f: yes(f) if f[RUN].choose(f[condition]) else no(f)
        case cf.SwitchOp():
            flag, default = b.slot(op.flag), edge(op.default_block, op.default_operands)
            targets = zip(case_numbers(op), op.case_blocks, op.case_operand, strict=True)
            width = width_of(op.flag.type)
            cases = {signed(number, width): edge(target, operands) for number, target, operands in targets}
            return lambda f: cases.get(f[flag], default)(f)
        case _:
            fail_op(op, "has no native translation: it is no branch that is known here")
