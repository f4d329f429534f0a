"""Conversions: what becomes of each kind of operation, none of which may be left."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import NamedTuple

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import RewritePattern

from tilewright.ir.create import create_operation, erase_operation, insert_operation
from tilewright.ir.diagnostics import CompileError, DiagnosedError, Diagnostic, Severity
from tilewright.ir.traversal import all_operations
from tilewright.rewrite.locating_rewriter import LocatingRewriter, Worklist


class Repeatable(RewritePattern):
    """A pattern that makes the same of operations that are alike in all but their locations, and tells nothing else.

    Long sequences repeat few operations: what became of the first of them is made again for the others.
    """


class Selective(RewritePattern):
    """A pattern that leaves most operations of its kinds as they are."""

    @abstractmethod
    def concerns(self, op: Operation) -> bool:
        """Whether it does anything about an operation of its kinds."""


def convert(op: Operation, patterns: Mapping[type[Operation], RewritePattern], *, add_error: bool = True) -> None:
    """Apply to everything nested in `op`, and to what comes of it, the pattern for its kind; each once, from the first.

    What a pattern reports is followed by the error that MLIR's own driver adds, unless told.
    """
    for region in op.regions:
        worklist = _Conversion(region, patterns)
        for nested in all_operations(region):
            if nested.__class__ in patterns:
                worklist.push_with_ancestors(nested)
        worklist.reverse()  # a stack: the first operation is on top now
        memory = Memory(worklist)
        rewriter: LocatingRewriter | None = None
        while (current := worklist.pop()) is not None:
            pattern = patterns[current.__class__]
            attempt = memory.attempt(current) if isinstance(pattern, Repeatable) else None
            if attempt is not None and memory.repeat(attempt):
                continue
            rewriter = rewriter or LocatingRewriter(current, worklist)
            rewriter.focus(current)
            try:
                pattern.match_and_rewrite(current, rewriter)
            except DiagnosedError as error:
                if not add_error:
                    raise
                text = f"failed to legalize operation '{current.name}' that was explicitly marked illegal"
                illegal = Diagnostic(Severity.ERROR, text, current.location)
                raise CompileError([*error.diagnostics, illegal]) from error
            if attempt is not None:
                memory.remember(attempt)


class _Conversion(Worklist):
    """The operations of some kinds that are still to be converted."""

    def __init__(self, scope: Region, patterns: Mapping[type[Operation], RewritePattern]):
        super().__init__(scope)
        self._patterns = patterns

    def push_with_ancestors(self, op: Operation) -> None:
        # without them: an ancestor was converted before what is in it, and is not looked at again
        pattern = self._patterns.get(op.__class__)
        if pattern is not None and (not isinstance(pattern, Selective) or pattern.concerns(op)):
            self.push(op)

    def push_neglected_operands(self, op: Operation) -> None:
        """What is unused stays."""


class Attempt(NamedTuple):
    """An operation that is about to be converted, and where it stands."""

    op: Operation
    key: tuple[object, ...]
    block: Block
    before: Operation
    after: Operation | None
    location: LocationAttr


class MadeOperation(NamedTuple):
    """An operation that a pattern made; operands that are numbers are results of those made before it."""

    kind: type[Operation]
    operands: tuple[SSAValue | int, ...]
    properties: dict[str, Attribute]
    attributes: dict[str, Attribute]
    types: tuple[Attribute, ...]


class Memory:
    """What operations have become, by all that this depends on: the block that they are in, operands and properties."""

    def __init__(self, worklist: Worklist):
        self._worklist = worklist
        self._made: dict[tuple[object, ...], tuple[list[MadeOperation], object]] = {}

    def attempt(self, op: Operation) -> Attempt | None:
        """None of what could not be repeated."""
        block, before = op.parent, op._prev_op
        # shared constants are made at the start of a block: there they could not be told from what takes its place
        if block is None or before is None or op.regions or op.results or op.attributes:
            return None
        # by identity: numbers and names are one object each, and hashing them takes long
        key = (op.__class__, id(block), *map(id, op._operands), *op.properties, *map(id, op.properties.values()))
        return Attempt(op, key, block, before, op._next_op, op.location)

    def repeat(self, attempt: Attempt) -> bool:
        """Do what was done to an operation like this one; False if there was none."""
        found = self._made.get(attempt.key)
        if found is None:
            return False
        op, made = attempt.op, list[Operation]()
        for kind, operands, properties, attributes, types in found[0]:
            values = [made[value].results[0] if isinstance(value, int) else value for value in operands]
            new = create_operation(kind, values, types, dict(properties), dict(attributes), (), (), attempt.location)
            insert_operation(new, op)
            self._worklist.push_with_ancestors(new)
            made.append(new)
        erase_operation(op)
        return True

    def remember(self, attempt: Attempt) -> None:
        """Keep what was made in the place of an operation, if that can be made again."""
        op = attempt.op
        if op.parent is not None or attempt.before.parent is not attempt.block:
            return
        numbers, made = dict[SSAValue, int](), list[MadeOperation]()
        new = attempt.before._next_op
        while new is not attempt.after:
            if new is None or new.regions or new._successors or new.location is not attempt.location:
                return
            if len(new.results) > 1:
                return
            operands = tuple(numbers.get(value, value) for value in new._operands)
            types = tuple(result.type for result in new.results)
            for result in new.results:
                numbers[result] = len(made)
            made.append(MadeOperation(type(new), operands, dict(new.properties), dict(new.attributes), types))
            new = new._next_op
        # what the key names by identity is kept, lest something else comes to lie in its place
        self._made[attempt.key] = made, (attempt.block, op._operands, list(op.properties.values()))
