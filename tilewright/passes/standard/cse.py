"""Common subexpression elimination: an operation that computes what one before it computed gives way to it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.ir import Block, Operation, Region, Use
from xdsl.rewriter import Rewriter

from tilewright.ir.dominance import dominator_preorder
from tilewright.ir.pass_manager import Pass
from tilewright.rewrite.effects import (
    Effect,
    effects_of,
    facts_of,
    is_memory_effect_free,
    is_trivially_dead,
    is_unused,
    nested_effects,
)


@dataclass(frozen=True)
class CsePass(Pass):
    name = "cse"
    anchor = None

    def apply(self, ctx: Context, op: Operation) -> None:
        _Eliminator().run(op)


class _Known:
    """Operations by what they compute, in scopes: what one scope learns is forgotten when it ends."""

    def __init__(self) -> None:
        self._by_key: dict[Hashable, list[Operation]] = {}
        self._scopes: list[list[Hashable]] = []

    def enter(self) -> None:
        self._scopes.append([])

    def leave(self) -> None:
        for key in self._scopes.pop():
            self._by_key[key].pop()

    def find(self, op: Operation, key: Hashable) -> Operation | None:
        # the newest first: it is in the innermost scope
        for known in reversed(self._by_key.get(key, ())):
            if all(x.is_structurally_equivalent(y) for x, y in zip(known.regions, op.regions, strict=True)):
                return known
        return None

    def add(self, op: Operation, key: Hashable) -> None:
        self._by_key.setdefault(key, []).append(op)
        self._scopes[-1].append(key)


def _key(op: Operation) -> Hashable:
    """Equal for operations that compute the same, but for what is in their regions."""
    operands: Iterable[int] = map(id, op.operands)
    return (
        type(op),
        tuple(sorted(operands) if facts_of(op).commutative else operands),
        tuple(result.type for result in op.results),
        frozenset(op.properties.items()),
        frozenset(op.attributes.items()),
        tuple(map(id, op.successors)),
        len(op.regions),
    )


class _Eliminator:
    """Removes repeated computations, and operations that nothing uses."""

    def __init__(self) -> None:
        self._doomed: list[Operation] = []
        self._quiet_until: dict[Operation, tuple[Operation, bool]] = {}

    def run(self, op: Operation) -> None:
        known = _Known()
        for region in op.regions:
            self._visit_region(region, known)
        # not earlier: the walk over the blocks goes on from where they stand
        for doomed in self._doomed:
            Rewriter.erase_op(doomed)

    def _visit_region(self, region: Region, known: _Known) -> None:
        first = region.first_block
        # modules are graph regions: a use may come before its definition
        ordered = not isinstance(region.parent, ModuleOp)
        if first is None:
            return
        if first is region.last_block:
            known.enter()
            self._visit_block(first, known, ordered)
            known.leave()
        elif ordered:
            self._visit_blocks(region, known)

    def _visit_blocks(self, region: Region, known: _Known) -> None:
        """Visit blocks so that what a block learns holds in the blocks that it dominates, and in no other."""
        tree, _ = dominator_preorder(region)
        open_scopes = 0
        for block, depth in tree:
            while open_scopes > depth:
                known.leave()
                open_scopes -= 1
            known.enter()
            open_scopes += 1
            self._visit_block(block, known, True)
        for _ in range(open_scopes):
            known.leave()

    def _visit_block(self, block: Block, known: _Known, ordered: bool) -> None:
        for op in block.ops:
            # values from outside cannot be used in there
            inner = _Known() if facts_of(op).isolated else known
            for region in op.regions:
                self._visit_region(region, inner)
            self._visit_op(op, known, ordered)
        self._quiet_until.clear()

    def _visit_op(self, op: Operation, known: _Known, ordered: bool) -> None:
        if facts_of(op).terminator:
            return
        if is_trivially_dead(op):
            self._doomed.append(op)
            return
        if any(region.first_block is not region.last_block for region in op.regions):
            return
        reads = effects_of(op) is Effect.READ
        if not reads and not is_memory_effect_free(op):
            return
        key = _key(op)
        existing = known.find(op, key)
        # In another block, or behind a write, memory may hold something else.
        if existing is None or (reads and (existing.parent is not op.parent or self._is_written_between(existing, op))):
            known.add(op, key)
        else:
            self._replace(op, existing, known, ordered)

    def _replace(self, op: Operation, existing: Operation, known: _Known, ordered: bool) -> None:
        def is_open(use: Use) -> bool:
            """In a region without order, an operation that was already visited keeps what it uses."""
            return ordered or known.find(use.operation, _key(use.operation)) is None

        for old, new in zip(op.results, existing.results, strict=True):
            old.replace_uses_with_if(new, is_open)
        if ordered or is_unused(op):
            self._doomed.append(op)
        # better the place of the twin than none
        if isinstance(existing.location, UnknownLoc):
            existing.location = op.location

    def _is_written_between(self, first: Operation, last: Operation) -> bool:
        """Whether memory may change between two reads of the same block."""
        position, written = self._quiet_until.get(first, (first, False))
        while not written and position is not last:
            written = bool(nested_effects(position) & (Effect.WRITE | Effect.UNKNOWN))
            following = position.next_op
            if written or following is None:
                break
            position = following
        self._quiet_until[first] = (position, written)
        return written
