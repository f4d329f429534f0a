"""Decision which operations of a C++ function are written where their result is used, as a person would write it.

What computes without effect can move to its only use. Reading a variable can too, as long as nothing assigns to the
variable in between.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, Operation, SSAValue

from tilewright.codegen.cpp_text import UNARY, binary_operator
from tilewright.dialects.emitc import calls, control, operators, variables
from tilewright.dialects.emitc.expression import ExpressionOp
from tilewright.dialects.emitc.functions import FuncOp
from tilewright.dialects.emitc.types import is_integer, is_integral, width_of

INT_BITS = 32
BITWISE = (operators.BitwiseAndOp, operators.BitwiseOrOp, operators.BitwiseXorOp)
LOOPS = (control.ForOp, control.DoOp)
LEAVE_UNLESS = "if (!{}) break;"
"""The statement in a loop that has its condition."""


class Inlining:
    """The decision for one function."""

    def __init__(self, function: FuncOp):
        self.inlined: set[Operation] = set()
        self._order: dict[Operation, int] = {}
        self._written: dict[Operation, int] = {}
        """The operation at whose place the text of an operation ends up, by its number."""
        ops = list(_operations(function.body.block))
        self._order = {op: number for number, op in enumerate(ops)}
        self._ends = dict(self._loop_ends(ops))
        self._assigned = self._assignments(ops)
        for op in reversed(ops):  # a use is decided before what it uses, which may move along with it
            self._decide(op)

    def _decide(self, op: Operation) -> None:
        self._written[op] = self._order[op]
        if not _is_expression(op) or op.results[0].first_use is None:
            return
        users = [use.operation for use in op.results[0].uses]
        last = max(self._last_place(op, user) for user in users)
        match op:
            case variables.ConstantOp():
                may_move = True
            case variables.LoadOp():
                may_move = self._is_unchanged(op, last)
            case _:
                may_move = self._may_move(op, users)
        if may_move:
            self.inlined.add(op)
            self._written[op] = last

    def _last_place(self, op: Operation, user: Operation) -> int:
        """Where a use is evaluated for the last time: a use in a loop that begins after `op`, at the loop's end."""
        last = self._written[user]
        if isinstance(user, control.ForOp) and op.results[0] is not user.lower_bound:
            last = self._ends[user]
        around = user.parent_op()
        while around is not None and around in self._order and around.parent is not None:
            if isinstance(around, LOOPS) and self._order[around] > self._order[op]:
                last = max(last, self._ends[around])
            around = around.parent_op()
        return last

    def _may_move(self, op: Operation, users: list[Operation]) -> bool:
        if len(users) > 1 or users[0].parent is not op.parent or _narrows(op) or _would_warn(op, users[0]):
            return False
        if isinstance(users[0], control.ForOp) and op.results[0] is not users[0].lower_bound:
            return False  # these are evaluated again for each iteration
        if isinstance(users[0], calls.VerbatimOp) and users[0].value.data == LEAVE_UNLESS:
            return True
        return isinstance(op, operators.CastOp) or op.results[0].name_hint is None

    def _is_unchanged(self, op: variables.LoadOp, last: int) -> bool:
        """Whether nothing is assigned to the variable between the place of the load and that of its last use."""
        return not any(self._order[op] < place < last for place in self._assigned.get(op.operand, ()))

    def _assignments(self, ops: list[Operation]) -> dict[SSAValue, list[int]]:
        found: dict[SSAValue, list[int]] = {}
        for op in ops:
            if isinstance(op, variables.AssignOp):
                found.setdefault(op.var, []).append(self._order[op])
        return found

    def _loop_ends(self, ops: list[Operation]) -> Iterator[tuple[Operation, int]]:
        for op in ops:
            if isinstance(op, LOOPS):
                yield op, max(self._order[nested] for nested in op.walk() if nested in self._order)


def _operations(block: Block) -> Iterator[Operation]:
    """The operations in a block and in the blocks inside it, in the order of the text; expressions count as one."""
    for op in block.ops:
        yield op
        if not isinstance(op, ExpressionOp):
            for region in op.regions:
                for nested in region.blocks:
                    yield from _operations(nested)


def _is_expression(op: Operation) -> bool:
    kinds = (operators.CastOp, operators.ConditionalOp, variables.ConstantOp, variables.LoadOp, ExpressionOp)
    return isinstance(op, kinds) or binary_operator(op) is not None or type(op) in UNARY


def _narrows(op: Operation) -> bool:
    """Whether assigning the result to a variable cuts it: C++ computes with small integers as with `int`."""
    type = op.results[0].type
    return is_integer(type) and 1 < width_of(type) < INT_BITS and not isinstance(op, operators.CastOp)


def _would_warn(op: Operation, user: Operation) -> bool:
    """Whether compilers could tell the outcome of a comparison from the text of its operand, and warn of it."""
    if isinstance(user, operators.CmpOp):
        if not any(_is_constant(operand) for operand in user.operands):
            return False
    elif not (isinstance(user, calls.VerbatimOp) and user.value.data.startswith("if (")):
        return False
    return not _is_constant(op.results[0]) and _tells_bits(op)


def _is_constant(value: SSAValue) -> bool:
    while isinstance(value.owner, operators.CastOp):
        value = value.owner.source
    return isinstance(value.owner, variables.ConstantOp)


def _tells_bits(op: Operation | Block) -> bool:
    """Whether the text of an operation says of some bits what they are, as that of a cast to a wider type does."""
    if not isinstance(op, operators.CastOp):
        return isinstance(op, BITWISE)
    source, target = op.source.type, op.dest.type
    if not is_integral(source) or not is_integral(target):
        return False
    return width_of(source) < width_of(target) or _tells_bits(op.source.owner)
