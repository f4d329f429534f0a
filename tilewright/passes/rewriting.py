"""Rewriting by patterns, as MLIR's greedy driver does it, with source locations kept.

`rewrite(op, *patterns)` applies patterns to everything nested in `op` until none matches. Patterns are xDSL's
`RewritePattern`; they receive a `LocatingRewriter`, which is xDSL's `PatternRewriter` except that an operation inserted
without a location takes the location of the operation that the pattern matched.

The order in which operations are visited decides the text that comes out, so it is MLIR's: a stack, filled from a walk
over the region, on which an operation that changed is pushed again together with its ancestors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.passes.branches import post_order
from tilewright.passes.effects import facts_of, is_trivially_dead

FoldResult: TypeAlias = "Sequence[SSAValue | Attribute] | None"
"""One replacement for each result; nothing at all when the operation was changed in place; None when it stays."""


class Simplify(StrEnum):
    """What the driver does to control flow between its rounds, named as in MLIR's `region-simplify` option."""

    DISABLED = "disabled"
    NORMAL = "normal"
    """Drop unreachable blocks, dead operations and dead block arguments."""
    AGGRESSIVE = "aggressive"
    """Merge identical blocks too, and drop block arguments that always receive the same value."""


@dataclass(frozen=True)
class Config:
    """How the driver works, besides applying patterns."""

    top_down: bool = True
    fold: bool = False
    """Fold operations into their operands or into constants; keep each constant once, at the start of its region."""
    remove_dead: bool = False
    simplify: Simplify = Simplify.DISABLED
    max_iterations: int | None = 10
    max_rewrites: int | None = None


GREEDY = Config(top_down=False, fold=True, remove_dead=True, simplify=Simplify.AGGRESSIVE)
"""What MLIR's greedy driver does besides, for passes that upstream runs on it with no options."""


def rewrite(op: Operation, *patterns: RewritePattern, config: Config | None = None) -> bool:
    """Apply `patterns`, the first that matches, to all that is nested in `op`. Returns whether anything changed."""
    return rewrite_with(op, lambda _: patterns, config or Config())


def rewrite_with(op: Operation, patterns: Callable[[Operation], Iterable[RewritePattern]], config: Config) -> bool:
    """`rewrite` where each operation has patterns of its own, in the order in which they are to be tried."""
    changed = [GreedyDriver(region, patterns, config).run() for region in op.regions]
    return any(changed)


class LocatingRewriter(PatternRewriter):
    """What patterns change the IR with: notes what to visit again, and hands on locations."""

    def __init__(self, matched: Operation, worklist: Worklist):
        super().__init__(matched)
        self.worklist = worklist
        self.location = matched.location

    def focus(self, op: Operation) -> None:
        """Begin matching `op`."""
        self.has_done_action = False
        self.insertion_point = InsertPoint(op.parent, op) if op.parent else self.insertion_point
        self.location = op.location
        self._current_operation = op

    def handle_operation_insertion(self, op: Operation) -> None:
        self._locate(op)
        self.worklist.push_with_ancestors(op)
        super().handle_operation_insertion(op)

    def handle_operation_modification(self, op: Operation) -> None:
        self.worklist.push_with_ancestors(op)
        super().handle_operation_modification(op)

    def handle_operation_removal(self, op: Operation) -> None:
        self.worklist.push_neglected_operands(op)
        self.worklist.remove(op)
        super().handle_operation_removal(op)

    def _locate(self, op: Operation) -> None:
        if isinstance(op.location, UnknownLoc):
            op.location = self.location
        for region in op.regions:
            for block in region.blocks:
                for nested in block.ops:
                    self._locate(nested)

    def replace(
        self,
        op: Operation,
        new_ops: Operation | Sequence[Operation],
        new_results: Sequence[SSAValue | None] | None = None,
        safe_erase: bool = True,
    ) -> None:
        ops = (new_ops,) if isinstance(new_ops, Operation) else new_ops
        self.insert(ops, InsertPoint.before(op))
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
        for region in reversed(op.regions):
            self._erase_contents(region)
        if safe_erase and any(result.first_use for result in op.results):
            raise ValueError(f"cannot erase '{op.name}': its results are in use")
        self.handle_operation_removal(op)
        Rewriter.erase_op(op, safe_erase=safe_erase)

    def _erase_contents(self, region: Region) -> None:
        for block in blocks_successors_first(region):
            while block.last_op is not None:
                self.erase(block.last_op, safe_erase=False)

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

    def set_operands(self, op: Operation, operands: Sequence[SSAValue]) -> None:
        op.operands = operands
        self.notify_op_modified(op)


def blocks_successors_first(region: Region) -> Iterable[Block]:
    """All blocks, those reachable from the first in post order."""
    first = region.first_block
    if first is None or first is region.last_block:
        return () if first is None else (first,)
    reachable = post_order(first)
    seen = set(reachable)
    return [*reachable, *(block for block in region.blocks if block not in seen)]


class Worklist:
    """A stack of the operations to visit, each at most once, all of them nested in one region."""

    def __init__(self, scope: Region):
        self._scope = scope
        self._stack: list[Operation | None] = []
        self._position: dict[Operation, int] = {}

    def push(self, op: Operation) -> None:
        if op not in self._position:
            self._position[op] = len(self._stack)
            self._stack.append(op)

    def push_with_ancestors(self, op: Operation) -> None:
        """Push `op`, then the operations around it, which are therefore visited before it; none if out of scope."""
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
            self._stack[position] = None

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
        if user is op or user is other:
            continue
        if other is not None:
            return True
        other = user
    return False


class GreedyDriver:
    """Rewrites one region until nothing changes."""

    def __init__(self, region: Region, patterns: Callable[[Operation], Iterable[RewritePattern]], config: Config):
        from tilewright.passes import folding

        self._region = region
        self._patterns = patterns
        self._config = config
        self._folding = folding
        self._worklist = Worklist(region)
        self._rewrites = 0

    def run(self) -> bool:
        from tilewright.passes.region_simplification import erase_unreachable_blocks, simplify_region

        config, changed = self._config, False
        first = next((op for block in self._region.blocks for op in block.ops), None)
        if first is None:
            return False
        self._rewriter = LocatingRewriter(first, self._worklist)
        iteration = 0
        while config.max_iterations is None or iteration < config.max_iterations:
            iteration += 1
            erase_unreachable_blocks(self._region)
            self._fill()
            progress = self._drain()
            if config.simplify is not Simplify.DISABLED:
                progress |= simplify_region(self._region, merge_blocks=config.simplify is Simplify.AGGRESSIVE)
            if not progress:
                break
            changed = True
        return changed

    def _fill(self) -> None:
        self._worklist.clear()
        pool = ConstantPool(self._rewriter) if self._config.fold else None
        self._visit(self._region, pool)
        if self._config.top_down:
            self._worklist.reverse()

    def _visit(self, region: Region, pool: ConstantPool | None) -> None:
        top_down = self._config.top_down
        for block in tuple(region.blocks):
            op = block.first_op
            while op is not None:
                following = op.next_op
                if not top_down:
                    for nested in op.regions:
                        self._visit(nested, pool)
                if pool is None or not facts_of(op).constant or pool.keep(op):
                    self._worklist.push_with_ancestors(op)
                if top_down:
                    for nested in op.regions:
                        self._visit(nested, pool)
                op = following

    def _drain(self) -> bool:
        """Visit what is on the worklist, and what joins it meanwhile. Returns whether anything changed."""
        config, rewriter, patterns = self._config, self._rewriter, self._patterns
        changed = False
        rewrites = 0
        while config.max_rewrites is None or rewrites < config.max_rewrites:
            op = self._worklist.pop()
            if op is None:
                break
            if config.remove_dead and is_trivially_dead(op):
                rewriter.erase(op)
                changed = True
                continue
            if config.fold and not facts_of(op).constant and self._fold(op):
                changed = True
                continue
            for pattern in patterns(op):
                rewriter.focus(op)
                pattern.match_and_rewrite(op, rewriter)
                if rewriter.has_done_action:
                    changed = True
                    rewrites += 1
                    break
        return changed

    def _fold(self, op: Operation) -> bool:
        folded = self._folding.fold(op)
        if folded is None:
            return False
        self._rewriter.focus(op)
        if not folded:
            self._rewriter.notify_op_modified(op)
            return True
        values: list[SSAValue] = []
        for result, new in zip(op.results, folded, strict=True):
            if isinstance(new, Attribute):
                constant = self._folding.materialize(op, new, result.type)
                if constant is None:
                    return False
                new = self._rewriter.insert(constant).results[0]
            values.append(new)
        self._rewriter.replace(op, (), values)
        return True


class ConstantPool:
    """Keeps one operation for each constant of a region, in a row at the start of the region's first block."""

    def __init__(self, rewriter: LocatingRewriter):
        from tilewright.passes import folding

        self._rewriter = rewriter
        self._value_of = folding.constant_of
        self._constants: dict[Region, dict[tuple[str, Attribute, Attribute], Operation]] = {}
        self._owned: set[Operation] = set()

    def keep(self, op: Operation) -> bool:
        """Bring the constant `op` to its place; False if it went away because its value was already there."""
        result = op.results[0]
        value = self._value_of(result)
        block = op.parent
        if value is None or block is None:
            return True
        region = materialization_region(block)
        constants = self._constants.setdefault(region, {})
        key = (op.name, value, result.type)
        existing = constants.get(key)
        if existing is not None:
            self._rewriter.replace(op, (), existing.results)
            return False
        entry = region.blocks.first
        if entry is not None and not (block is entry and (op.prev_op is None or op.prev_op in self._owned)):
            op.detach()
            Rewriter.insert_op(op, InsertPoint.at_start(entry))
        constants[key] = op
        self._owned.add(op)
        return True


MATERIALIZES_CONSTANTS = frozenset({"aie.core", "aie.runtime_sequence", "aie.mem", "aie.memtile_dma", "aie.shim_dma"})
"""Not isolated from above, yet their constants stay inside: cores and sequences are taken out of the device later."""


def materialization_region(block: Block) -> Region:
    """The region at whose start the constants used in `block` belong."""
    while True:
        region = block.parent
        assert region is not None and region.parent is not None, "constants live in operations"
        parent = region.parent
        if facts_of(parent).isolated or parent.parent is None or parent.name in MATERIALIZES_CONSTANTS:
            return region
        block = parent.parent


def constant(where: PatternRewriter | Block, value: int | float, type: Attribute) -> SSAValue:
    """A constant of an integer, index or float type, made where the rewriter stands or at the start of a block."""
    from tilewright.passes.folding.constants import make_constant, number_attr

    op = make_constant(number_attr(value, type))
    if isinstance(where, Block):
        Rewriter.insert_op(op, InsertPoint.at_start(where))
    else:
        where.insert(op)
    return op.results[0]
