"""Computing the results of operations whose operands are constants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

from xdsl.dialects import ub
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.rewrite.folding.constants import Number, constant_of, fold_elements

Folded: TypeAlias = "Sequence[SSAValue | Attribute] | None"
"""What an operation folds to: a replacement for each result, none if it was changed in place; None if it stays."""
IN_PLACE: Folded = ()
Rule: TypeAlias = "Callable[[Any, Attribute | None], Folded]"
"""What an operation folds to, given it and the constant on its right."""


def is_poison(attribute: Attribute | None) -> bool:
    return isinstance(attribute, ub.PoisonAttr)


def folder_with(rules: Sequence[Rule], otherwise: Callable[[Operation], Folded]) -> Callable[[Operation], Folded]:
    """A folder of `lhs op rhs` that tries `rules`, in order, before anything else."""

    def folder(op: Operation) -> Folded:
        rhs = constant_of(op.operands[1])
        for rule in rules:
            folded = rule(op, rhs)
            if folded is not None:
                return folded
        return otherwise(op)

    return folder


def fold_unary(op: Operation, compute: Callable[[Any], Number | None]) -> Folded:
    """Compute the result of `op`, an integer as bits, from its constant operand."""
    return _fold_constants(op, lambda numbers: compute(numbers[0]))


def fold_binary(op: Operation, compute: Callable[[Any, Any], Number | None]) -> Folded:
    """Compute the result of `op`, an integer as bits, from its constant operands."""
    return _fold_constants(op, lambda numbers: compute(numbers[0], numbers[1]))


def _fold_constants(op: Operation, compute: Callable[[Sequence[Any]], Number | None]) -> Folded:
    attributes = [constant_of(operand) for operand in op.operands]
    for attribute in attributes:
        if is_poison(attribute):
            return (cast(Attribute, attribute),)
    if any(attribute is None for attribute in attributes):
        return None
    folded = fold_elements(attributes, op.results[0].type, compute)
    return None if folded is None else (folded,)
