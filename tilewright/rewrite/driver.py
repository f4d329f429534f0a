"""Rewriting by patterns, as MLIR's greedy driver does it, with source locations kept.

`rewrite(op, *patterns)` applies patterns to everything nested in `op` until none matches. Patterns are xDSL's
`RewritePattern`; they receive a `LocatingRewriter`, which is xDSL's `PatternRewriter` except that an operation inserted
without a location takes the location of the operation that the pattern matched.

The order in which operations are visited decides the text that comes out, so it is MLIR's: a stack, filled from a walk
over the region, on which an operation that changed is pushed again together with its ancestors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import count
from types import UnionType
from typing import TypeAlias

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import RewritePattern
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.rewrite.canonicalization import can_fold, fold, materialize, patterns_of
from tilewright.rewrite.effects import facts_of, is_trivially_dead
from tilewright.rewrite.folding.constants import constant_of
from tilewright.rewrite.locating_rewriter import LocatingRewriter, Worklist
from tilewright.rewrite.simplification import erase_unreachable_blocks, simplify_region

PatternsOf: TypeAlias = "Callable[[Operation], Sequence[RewritePattern]]"


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
    remove_unreachable: bool = False
    """Erase blocks that nothing leads to before patterns see them."""
    simplify: Simplify = Simplify.DISABLED
    closed: tuple[type[Operation], ...] = ()
    """Operations in which nothing is visited; what is dead in them goes all the same."""
    max_iterations: int | None = 10
    max_rewrites: int | None = None


GREEDY = Config(top_down=False, fold=True, remove_dead=True, remove_unreachable=True, simplify=Simplify.AGGRESSIVE)
"""What MLIR's greedy driver does besides, for passes that upstream runs on it with no options."""

CANONICALIZE = Config(fold=True, remove_dead=True, remove_unreachable=True, simplify=Simplify.NORMAL)
"""The defaults of MLIR's canonicalizer."""


def canonicalize(op: Operation, *, but: tuple[type[Operation], ...] = ()) -> None:
    """Bring all that is nested in `op` to canonical form, but not the insides of some operations."""
    rewrite_with(op, patterns_of, replace(CANONICALIZE, closed=but) if but else CANONICALIZE)


def rewrite(op: Operation, *patterns: RewritePattern, config: Config | None = None) -> bool:
    """Apply `patterns`, the first that matches, to all that is nested in `op`. Returns whether anything changed."""
    return rewrite_with(op, PatternSet(patterns).of, config or Config())


def rewrite_with(op: Operation, patterns: PatternsOf, config: Config) -> bool:
    """`rewrite` where each operation has patterns of its own, in the order in which they are to be tried."""
    # all regions are rewritten before any result is looked at
    changed = [GreedyDriver(region, patterns, config).run() for region in op.regions]
    return any(changed)


class PatternSet:
    """Patterns by the kinds of operations that they are for, so that others need not be asked."""

    def __init__(self, patterns: Sequence[RewritePattern]):
        self._patterns = [(pattern, _kinds_of(pattern)) for pattern in patterns]
        self._by_class: dict[type[Operation], list[RewritePattern]] = {}

    def of(self, op: Operation) -> list[RewritePattern]:
        found = self._by_class.get(type(op))
        if found is None:
            found = [pattern for pattern, kinds in self._patterns if isinstance(op, kinds)]
            self._by_class[type(op)] = found
        return found


def _kinds_of(pattern: RewritePattern) -> type[Operation] | tuple[type[Operation], ...] | UnionType:
    """The operations that a pattern is declared for with xDSL's decorator, which keeps them to itself; else all."""
    function = type(pattern).match_and_rewrite
    # found by name among what the decorator's closure holds: without it, a pattern is tried on all operations
    kept = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    return kept["expected_type"].cell_contents if "expected_type" in kept else Operation


class GreedyDriver:
    """Rewrites one region until nothing changes."""

    def __init__(self, region: Region, patterns: PatternsOf, config: Config):
        self._region = region
        self._patterns = patterns
        self._config = config
        self._is_visited: dict[type[Operation], bool] = {}
        self._is_filled: dict[type[Operation], tuple[bool, bool]] = {}
        self._worklist = Worklist(region, self._needs_visit)

    def run(self) -> bool:
        config, changed = self._config, False
        first = next((op for block in self._region.blocks for op in block.ops), None)
        if first is None:
            return False
        self._rewriter = LocatingRewriter(first, self._worklist)
        for _ in count() if config.max_iterations is None else range(config.max_iterations):
            if config.remove_unreachable:
                erase_unreachable_blocks(self._region)
            self._fill()
            progress = self._drain()
            if config.simplify is not Simplify.DISABLED:
                progress |= simplify_region(self._region, merge_blocks=config.simplify is Simplify.AGGRESSIVE)
            if not progress:
                break
            changed = True
        return changed

    def _needs_visit(self, op: Operation) -> bool:
        """Whether there is anything to do for operations of this kind: for most, there is not."""
        needed = self._is_visited.get(type(op))
        if needed is None:
            config, facts = self._config, facts_of(op)
            needed = (
                (config.remove_dead and facts.mortal)
                or (config.fold and not facts.constant and can_fold(op))
                or bool(self._patterns(op))
            )
            self._is_visited[type(op)] = needed
        return needed

    def _fill(self) -> None:
        self._worklist.clear()
        self._visit(self._region, ConstantPool(self._rewriter) if self._config.fold else None)
        # a stack: what was pushed last is visited first
        if self._config.top_down:
            self._worklist.reverse()

    def _kind(self, op: Operation) -> tuple[bool, bool]:
        """Whether operations of this kind are constants, and whether there is anything to do for them."""
        found = self._is_filled[op.__class__] = facts_of(op).constant, self._needs_visit(op)
        return found

    def _visit(self, region: Region, pool: ConstantPool | None) -> None:
        top_down, worklist, closed = self._config.top_down, self._worklist, self._config.closed
        kinds, push = self._is_filled, worklist.push
        has_ancestors = top_down  # they were pushed on the way down
        block = region._first_block
        while block is not None:
            op = block._first_op
            while op is not None:
                following = op._next_op  # asked for now: the pool may move a constant away
                inside = op.regions
                if inside and closed and isinstance(op, closed):
                    inside = ()
                if inside and not top_down:
                    for nested in inside:
                        self._visit(nested, pool)
                is_constant, is_wanted = kinds.get(op.__class__) or self._kind(op)
                if pool is None or not is_constant or pool.keep(op):
                    if not has_ancestors:
                        worklist.push_with_ancestors(op)
                        has_ancestors = True
                    elif is_wanted:
                        push(op)
                if inside and top_down:
                    for nested in inside:
                        self._visit(nested, pool)
                op = following
            block = block._next_block

    def _drain(self) -> bool:
        """Visit what is on the worklist, and what joins it meanwhile. Returns whether anything changed."""
        config, rewriter, patterns = self._config, self._rewriter, self._patterns
        folds, remove_dead, most, pop = config.fold, config.remove_dead, config.max_rewrites, self._worklist.pop
        changed = False
        rewrites = 0
        while most is None or rewrites < most:
            op = pop()
            if op is None:
                break
            if op.parent is None:  # a pattern took it away without saying so
                continue
            facts = facts_of(op)
            if remove_dead and facts.mortal and is_trivially_dead(op):
                rewriter.erase(op)
                changed = True
                continue
            if folds and not facts.constant and self._fold(op):
                changed = True
                continue
            for pattern in patterns(op):
                rewriter.focus(op)
                pattern.match_and_rewrite(op, rewriter)
                if rewriter.has_done_action:
                    changed = True
                    rewrites += 1
                    # the operation may be gone; if not, it is on the worklist again
                    break
        return changed

    def _fold(self, op: Operation) -> bool:
        folded = fold(op)
        if folded is None:
            return False
        self._rewriter.focus(op)
        if not folded:
            self._rewriter.notify_op_modified(op)
            return True
        values: list[SSAValue] = []
        constants: list[Operation] = []
        for result, new in zip(op.results, folded, strict=True):
            if isinstance(new, Attribute):
                constant = materialize(op, new, result.type)
                if constant is None:
                    return False
                constants.append(constant)
                new = constant.results[0]
            values.append(new)
        self._rewriter.replace(op, constants, values)
        return True


class ConstantPool:
    """Keeps one operation for each constant of a region, in a row at the start of the region's first block."""

    def __init__(self, rewriter: LocatingRewriter):
        self._rewriter = rewriter
        self._constants: dict[Region, dict[tuple[str, Attribute, Attribute], Operation]] = {}
        self._owned: set[Operation] = set()

    def keep(self, op: Operation) -> bool:
        """Bring the constant `op` to its place; False if it went away because its value was already there."""
        result = op.results[0]
        value = constant_of(result)
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
            # as MLIR's folder hoists constants: in front of all others, so that the last one found comes first
            op.detach()
            Rewriter.insert_op(op, InsertPoint.at_start(entry))
        # the name is part of the key: index.constant and arith.constant of one value stay apart
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
