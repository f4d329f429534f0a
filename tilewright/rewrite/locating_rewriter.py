"""The rewriter that patterns get, and the list of operations that it keeps for the driver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from xdsl.builder import InsertOpInvT
from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.ir.create import erase_operation, insert_operation
from tilewright.rewrite.control_flow import post_order
from tilewright.rewrite.effects import children


class LocatingRewriter(PatternRewriter):
    """What patterns change the IR with: notes what to visit again, and hands on locations."""

    def __init__(self, matched: Operation, worklist: Worklist):
        super().__init__(matched)
        self.worklist = worklist
        self.location = matched.location

    def focus(self, op: Operation) -> None:
        """Begin matching `op`."""
        self.has_done_action = False
        if op.parent is not None:
            self.insertion_point = InsertPoint(op.parent, op)
        self.location = op.location
        self._current_operation = op

    def insert(self, op: InsertOpInvT, insertion_point: InsertPoint | None = None) -> InsertOpInvT:
        """Insert operations; by far the most are single new ones without regions, before another."""
        point = self.insertion_point if insertion_point is None else insertion_point
        # goes round xDSL's general insert, which looks for lists, regions and implicit builders
        before = point.insert_before
        if before is None or not isinstance(op, Operation) or op.regions or op.parent is not None:
            return super().insert(op, point)
        self._insert_before(op, before)
        return op

    def _insert_before(self, op: Operation, before: Operation) -> None:
        self.has_done_action = True
        insert_operation(op, before)
        self.handle_operation_insertion(op)

    def handle_operation_insertion(self, op: Operation) -> None:
        self._locate(op)
        self.worklist.push_with_ancestors(op)
        if self.operation_insertion_handler:
            super().handle_operation_insertion(op)

    def handle_operation_modification(self, op: Operation) -> None:
        self.worklist.push_with_ancestors(op)
        super().handle_operation_modification(op)

    def handle_operation_removal(self, op: Operation) -> None:
        # MLIR revisits operands that lose a user: they may be dead or foldable now
        self.worklist.push_neglected_operands(op)
        self.worklist.remove(op)
        if self.operation_removal_handler:
            super().handle_operation_removal(op)

    def _locate(self, op: Operation) -> None:
        if isinstance(op.location, UnknownLoc):
            op.location = self.location
        if op.regions:
            for nested in children(op):
                self._locate(nested)

    def replace(
        self,
        op: Operation,
        new_ops: Operation | Sequence[Operation],
        new_results: Sequence[SSAValue | None] | None = None,
        safe_erase: bool = True,
    ) -> None:
        ops = (new_ops,) if isinstance(new_ops, Operation) else new_ops
        for new in ops:
            if new.regions or new.parent is not None:
                self.insert(new, InsertPoint.before(op))
            else:
                self._insert_before(new, op)
        if new_results is None:
            new_results = ops[-1].results if ops else ()
        if len(op.results) != len(new_results):
            raise ValueError(f"expected {len(op.results)} new results, but got {len(new_results)}")
        self.handle_operation_replacement(op, new_results)
        for old, new in zip(op.results, new_results, strict=True):
            self.replace_all_uses_with(old, new, safe_erase=safe_erase)
        self.erase(op, safe_erase=safe_erase)

    def replace_all_uses_with(self, from_value: SSAValue, to_value: SSAValue | None, safe_erase: bool = True) -> None:
        if to_value is None:
            super().replace_all_uses_with(from_value, to_value, safe_erase)
        elif from_value is not to_value:
            self.replace_uses_with_if(from_value, to_value, lambda _: True)

    def erase(self, op: Operation, safe_erase: bool = True) -> None:
        """Erase `op` and, one by one from the last, what is nested in it: their operands may now be unused."""
        self.has_done_action = True
        if op.regions:
            for block in [b for region in reversed(op.regions) for b in blocks_successors_first(region)]:
                while block.last_op is not None:
                    self.erase(block.last_op, safe_erase=False)
        is_used = any(result.first_use for result in op.results)
        if safe_erase and is_used:
            raise ValueError(f"cannot erase '{op.name}': its results are in use")
        self.handle_operation_removal(op)
        if is_used or op.parent is None:
            Rewriter.erase_op(op, safe_erase=safe_erase)
        else:
            erase_operation(op)

    def erase_block(self, block: Block) -> None:
        """Erase a block that nothing branches to, and all that is in it."""
        self.has_done_action = True
        while block.last_op is not None:
            self.erase(block.last_op, safe_erase=False)
        if block.parent is not None:
            block.parent.detach_block(block)
        block.erase(safe_erase=False)

    def inline_block(self, block: Block, insertion_point: InsertPoint, arg_values: Sequence[SSAValue] = ()) -> None:
        self.has_done_action = True
        for argument, value in zip(block.args, arg_values, strict=bool(arg_values)):
            self.replace_all_uses_with(argument, value)
        while block.first_op is not None:
            self.move(block.first_op, insertion_point)
        if block.parent is not None:
            block.parent.detach_block(block)
        block.erase()

    def move(self, op: Operation, insertion_point: InsertPoint) -> None:
        """Take `op` from where it is to `insertion_point`."""
        op.detach()
        self.insert(op, insertion_point)


def blocks_successors_first(region: Region) -> Iterable[Block]:
    """All blocks, those reachable from the first in post order."""
    first = region.first_block
    if first is None or first is region.last_block:
        return () if first is None else (first,)
    reachable = post_order(first)
    seen = set(reachable)
    return [*reachable, *(block for block in region.blocks if block not in seen)]


class Worklist:
    """A stack of the operations to visit, each at most once, all of them nested in one region.

    If `wants` is given, those stay out which it does not want.
    """

    def __init__(self, scope: Region, wants: Callable[[Operation], bool] | None = None):
        self._scope = scope
        self._wants = wants
        self._stack: list[Operation | None] = []
        self._position: dict[Operation, int] = {}

    def push(self, op: Operation) -> None:
        if op not in self._position and (self._wants is None or self._wants(op)):
            self._position[op] = len(self._stack)
            self._stack.append(op)

    def push_with_ancestors(self, op: Operation) -> None:
        """Push `op`, then the operations around it, which are therefore visited before it; none if out of scope."""
        # an ancestor may fold once its body has changed
        chain: list[Operation] = []
        current: Operation | None = op
        while current is not None:
            chain.append(current)
            region = current.parent_region()
            if region is self._scope:
                for found in chain:
                    self.push(found)
                return
            current = region.parent if region is not None else None

    def push_neglected_operands(self, op: Operation) -> None:
        """Push what defines the operands of `op` where, without `op`, at most one user of them is left."""
        for operand in op.operands:
            if isinstance(operand, OpResult) and not _has_two_users_besides(operand, op):
                self.push_with_ancestors(operand.op)

    def pop(self) -> Operation | None:
        """The operation to visit next; None when there is none left."""
        while self._stack:
            op = self._stack.pop()
            if op is not None:
                del self._position[op]
                return op
        return None

    def remove(self, op: Operation) -> None:
        position = self._position.pop(op, None)
        if position is not None:
            self._stack[position] = None  # a gap: taking it out would move all that are above

    def reverse(self) -> None:
        self._stack = [op for op in reversed(self._stack) if op is not None]
        self._position = {op: position for position, op in enumerate(self._stack) if op is not None}

    def clear(self) -> None:
        self._stack.clear()
        self._position.clear()


def _has_two_users_besides(value: SSAValue, op: Operation) -> bool:
    other: Operation | None = None
    for use in value.uses:
        user = use.operation
        # an operation may use a value several times: users count, not uses
        if user is op or user is other:
            continue
        if other is not None:
            return True
        other = user
    return False
