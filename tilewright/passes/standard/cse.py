"""Common subexpression elimination: an operation that computes what one before it computed gives way to it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.ir import Attribute, Block, Operation, Region, Use
from xdsl.rewriter import Rewriter

from tilewright.ir.dominance import dominator_preorder
from tilewright.ir.pass_manager import Pass
from tilewright.rewrite.effects import (
    Effect,
    Facts,
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
        self._scopes: list[list[list[Operation]]] = []

    def enter(self) -> None:
        self._scopes.append([])

    def leave(self) -> None:
        for alike in self._scopes.pop():
            alike.pop()

    def find(self, op: Operation, key: Hashable) -> Operation | None:
        # the newest first: it is in the innermost scope
        for known in reversed(self._by_key.get(key, ())):
            if all(x.is_structurally_equivalent(y) for x, y in zip(known.regions, op.regions, strict=True)):
                return known
        return None

    def add(self, op: Operation, key: Hashable) -> None:
        alike = self._by_key.setdefault(key, [])
        alike.append(op)
        self._scopes[-1].append(alike)


class _Keys:
    """Keys that are equal for operations that compute the same, but for what is in their regions."""

    def __init__(self) -> None:
        self._numbers: dict[Attribute, int] = {}
        self._known: dict[int, int] = {}
        """Numbers of attributes by identity: hashing one takes long, and no operation goes away meanwhile."""

    def of(self, op: Operation) -> Hashable:
        operands: Iterable[int] = map(id, op._operands)
        return (
            op.__class__,
            tuple(sorted(operands) if facts_of(op).commutative else operands),
            tuple([self._number(result.type) for result in op.results]),
            self._pairs(op.properties),
            self._pairs(op.attributes),
            tuple(map(id, op._successors)),
            len(op.regions),
        )

    def _pairs(self, attributes: Mapping[str, Attribute]) -> Hashable:
        return frozenset([(name, self._number(value)) for name, value in attributes.items()]) if attributes else None

    def _number(self, attribute: Attribute) -> int:
        """One that all attributes equal to this one have in common."""
        number = self._known.get(id(attribute))
        if number is None:
            number = self._known[id(attribute)] = self._numbers.setdefault(attribute, len(self._numbers))
        return number


def _may_change(facts: Facts) -> bool:
    """Whether operations of a kind can be repeated computations, or unused; most have effects."""
    computes = facts.dynamic or facts.free or facts.effect is Effect.READ
    return not facts.terminator and (facts.mortal or computes)


class _Eliminator:
    """Removes repeated computations, and operations that nothing uses."""

    def __init__(self) -> None:
        self._doomed: list[Operation] = []
        self._may_change: dict[type[Operation], bool] = {}
        self._keys = _Keys()
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
        op, may_change = block._first_op, self._may_change
        while op is not None:
            if op.regions:
                # values from outside cannot be used in there
                inner = _Known() if facts_of(op).isolated else known
                for region in op.regions:
                    self._visit_region(region, inner)
            is_visited = may_change.get(op.__class__)
            if is_visited is None:
                is_visited = may_change[op.__class__] = _may_change(facts_of(op))
            if is_visited:
                self._visit_op(op, known, ordered)
            op = op._next_op
        self._quiet_until.clear()

    def _visit_op(self, op: Operation, known: _Known, ordered: bool) -> None:
        if is_trivially_dead(op):
            self._doomed.append(op)
            return
        if op.regions and any(region.first_block is not region.last_block for region in op.regions):
            return
        reads = effects_of(op) is Effect.READ
        if not reads and not is_memory_effect_free(op):
            return
        key = self._keys.of(op)
        existing = known.find(op, key)
        # In another block, or behind a write, memory may hold something else.
        if existing is None or (reads and (existing.parent is not op.parent or self._is_written_between(existing, op))):
            known.add(op, key)
        else:
            self._replace(op, existing, known, ordered)

    def _replace(self, op: Operation, existing: Operation, known: _Known, ordered: bool) -> None:
        def is_open(use: Use) -> bool:
            """In a region without order, an operation that was already visited keeps what it uses."""
            return ordered or known.find(use.operation, self._keys.of(use.operation)) is None

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
