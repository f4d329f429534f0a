"""The registry of folders and canonicalization patterns: MLIR's, dialect by dialect.

Each dialect in `DIALECTS` has a module in `tilewright.rewrite.folding` with tables by operation name: `FOLDERS`,
functions that say what an operation is equal to, and `PATTERNS`, functions or patterns that rewrite it. To add one, add
a row there. No pattern of xDSL's own is run; its folders are, for dialects that have no module (`complex`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, TypeAlias, cast

from xdsl.dialects import ub
from xdsl.dialects.builtin import Signedness, UnregisteredOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.traits import HasFolder

from tilewright.dialects import index
from tilewright.rewrite.effects import facts_of
from tilewright.rewrite.emitter import constant_op
from tilewright.rewrite.folding.constants import (
    I1,
    INDEX,
    as_dense,
    as_integer_type,
    as_scalar,
)

Folder: TypeAlias = Callable[[Any], "Sequence[SSAValue | Attribute] | None"]
"""Gives one replacement for each result, none at all if it changed the operation in place, None if it did nothing."""
PatternFunction: TypeAlias = Callable[[Any, PatternRewriter], None]

DIALECTS = {"affine", "aie", "aiex", "air", "airrt", "arith", "cf", "index", "memref", "scf", "vector"}

IDEMPOTENT = {"arith.andi", "arith.ori"}
"""`f(x, x)` is `x`."""


class FunctionPattern(RewritePattern):
    """A function as a pattern, called by its name."""

    def __init__(self, function: PatternFunction):
        self.function = function
        self.name = function.__name__

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        self.function(op, rewriter)


class _Rules:
    """What there is to do for one kind of operation."""

    __slots__ = ("folder", "patterns")

    def __init__(self, op: type[Operation]):
        dialect = op.name.partition(".")[0]
        self.folder: Folder | None = None
        self.patterns: Sequence[RewritePattern] = ()
        if issubclass(op, UnregisteredOp):
            return
        if dialect in DIALECTS:
            # by name, when the first operation of a dialect is met: most programs use few of them
            module = import_module(f"tilewright.rewrite.folding.{dialect}")
            self.folder = getattr(module, "FOLDERS", {}).get(op.name)
            found: Sequence[RewritePattern | PatternFunction] = getattr(module, "PATTERNS", {}).get(op.name, ())
            self.patterns = [rule if isinstance(rule, RewritePattern) else FunctionPattern(rule) for rule in found]
        elif op.has_trait(HasFolder):
            self.folder = _own_folder


def _own_folder(op: Operation) -> Sequence[SSAValue | Attribute] | None:
    folder = op.get_trait(HasFolder)
    return (folder.fold(op) if folder is not None else None) or None


_rules: dict[type[Operation], _Rules] = {}


def _rules_of(op: Operation) -> _Rules:
    cls = type(op)
    found = _rules.get(cls)
    if found is None:
        found = _Rules(cls)
        # each unregistered operation has a class of its own: remembering them would leak
        if not isinstance(op, UnregisteredOp):
            _rules[cls] = found
    return found


def patterns_of(op: Operation) -> Sequence[RewritePattern]:
    """The canonicalization patterns for `op`, in the order to try them."""
    return _rules_of(op).patterns


def can_fold(op: Operation) -> bool:
    """Whether there are operations of its kind that fold."""
    return _rules_of(op).folder is not None or facts_of(op).commutative or op.name in IDEMPOTENT


def fold(op: Operation) -> Sequence[SSAValue | Attribute] | None:
    """What `op` folds to: one replacement for each result, nothing if it was changed in place, None if it stays."""
    folder = _rules_of(op).folder
    folded = folder(op) if folder is not None else None
    # as MLIR's fold does for commutative operations after their own folder
    if not folded and facts_of(op).commutative and _constants_to_the_right(op):
        return ()
    if not folded and op.name in IDEMPOTENT and op.operands[0] is op.operands[1]:
        return (op.operands[0],)
    return folded


def _constants_to_the_right(op: Operation) -> bool:
    operands = list(op.operands)
    # a stable sort: variables keep their order, and so do constants
    ordered = sorted(operands, key=lambda v: isinstance(v.owner, Operation) and facts_of(v.owner).constant)
    if ordered == operands:
        return False
    op.operands = ordered
    return True


def materialize(op: Operation, value: Attribute, type: Attribute) -> Operation | None:
    """A constant operation for `value`, from the dialect of `op`; None if `value` is no constant of that type."""
    if value.name == "ub.poison":
        return ub.PoisonOp.create(result_types=[type], properties={"value": value})
    if (as_scalar(value) is None and as_dense(value) is None) or cast(Any, value).type != type:
        return None
    # index folds to its own constants: MLIR materializes in the dialect of the folded operation
    if op.name.startswith("index."):
        if type not in (INDEX, I1):
            return None
        constant = index.ConstantOp if type == INDEX else index.BoolConstantOp
        return constant.create(result_types=[type], properties={"value": value})
    integer = as_integer_type(type)
    # arith has no constants of si32 or ui32
    if integer is not None and integer.signedness.data is not Signedness.SIGNLESS:
        return None
    return constant_op(value)
