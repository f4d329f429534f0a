"""Integers that a program computes, once some of them are known: the rank, a turn of a loop, a place in a herd."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.dialects import arith
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.arith.meaning import MEANING, RESIZES
from tilewright.rewrite.folding.constants import int_width, scalar_int
from tilewright.rewrite.integers import compute, integers, signed


def outermost(value: SSAValue) -> SSAValue:
    """What a value is outside of the bodies that it was passed to."""
    while isinstance(value, BlockArgument):
        parent = value.block.parent_op()
        outer = parent.tied_operand(value) if isinstance(parent, Hierarchy) else None
        if outer is None:
            break
        value = outer
    return value


_AGREEMENTS = {"gpu.all_reduce", "gpu.shuffle", "gpu.subgroup_reduce"}
"""After these, lanes may have the same value whatever each of them had before."""


def sources(values: Sequence[SSAValue]) -> set[SSAValue]:
    """What values are computed from: arguments that nothing outside defines, and results without operands."""
    found: set[SSAValue] = set()
    pending, seen = list(values), set[SSAValue]()
    while pending:
        value = outermost(pending.pop())
        if value in seen:
            continue
        seen.add(value)
        owner = value.owner
        if not isinstance(owner, Operation) or owner.regions or owner.name in _AGREEMENTS or not owner.operands:
            found.add(value)
        else:
            pending += owner.operands
    return found


def evaluate(value: SSAValue, known: Mapping[SSAValue, int]) -> int | None:
    """What a value is, given others; None if it depends on more than those."""
    return _evaluated(value, known, {})


def _evaluated(value: SSAValue, known: Mapping[SSAValue, int], seen: dict[SSAValue, int | None]) -> int | None:
    value = outermost(value)
    if value in known:
        return known[value]
    if value not in seen:
        # noted before its operands are looked at, so that no expression is gone through twice
        seen[value] = scalar_int(value)
        op = value.owner
        if seen[value] is None and isinstance(op, Operation):
            seen[value] = _computed(op, [_evaluated(operand, known, seen) for operand in op.operands])
    return seen[value]


def _computed(op: Operation, operands: Sequence[int | None]) -> int | None:
    # the branch that is not taken need not be known
    if isinstance(op, arith.SelectOp) and operands[0] is not None:
        return operands[1 if operands[0] & 1 else 2]
    known = [operand for operand in operands if operand is not None]
    if not known or len(known) != len(operands) or len(op.results) != 1:
        return None
    width, result_width = int_width(op.operands[0].type), int_width(op.results[0].type)
    if width is None or result_width is None:
        return None
    found = _number(op, known, width)
    return None if found is None else signed(found, result_width)


def _number(op: Operation, operands: Sequence[int], width: int) -> int | None:
    """The result, which may have more bits than there is room for."""
    match op, operands:
        case arith.CmpiOp(), [left, right]:
            return integers(width).cmpi(op.predicate.value.data, left, right)
        case _, [number] if op.name in RESIZES:
            return integers(width).read(number, RESIZES[op.name])
        case _, [left, right] if op.name in MEANING:
            return compute(op.name, left, right, width)
        case _:
            return None
