"""What integers a program computes, once some of them are known: the rank, a turn of a loop, a place in a herd."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import arith
from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.passes.folding.constants import scalar_int, signed
from tilewright.passes.folding.predicates import compare

_WIDTH = 64
_MASK = (1 << _WIDTH) - 1


def _quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_OPERATIONS: Mapping[str, Callable[[int, int], int]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.andi": lambda a, b: a & b,
    "arith.ori": lambda a, b: a | b,
    "arith.xori": lambda a, b: a ^ b,
    "arith.shli": lambda a, b: a << b,
    "arith.shrui": lambda a, b: (a & _MASK) >> b,
    "arith.minsi": min,
    "arith.maxsi": max,
    "arith.minui": lambda a, b: min(a & _MASK, b & _MASK),
    "arith.maxui": lambda a, b: max(a & _MASK, b & _MASK),
    "arith.divsi": _quotient,
    "arith.divui": lambda a, b: (a & _MASK) // (b & _MASK),
    "arith.remsi": lambda a, b: a - b * _quotient(a, b),
    "arith.remui": lambda a, b: (a & _MASK) % (b & _MASK),
}
_DIVISIONS = {"arith.divsi", "arith.divui", "arith.remsi", "arith.remui"}
_SHIFTS = {"arith.shli", "arith.shrui"}
_CASTS = {"arith.extsi", "arith.extui", "arith.index_cast", "arith.index_castui", "arith.trunci"}


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
        seen[value] = scalar_int(value)
        op = value.owner
        if seen[value] is None and isinstance(op, Operation):
            seen[value] = _computed(op, [_evaluated(operand, known, seen) for operand in op.operands])
    return seen[value]


def _computed(op: Operation, operands: Sequence[int | None]) -> int | None:
    if isinstance(op, arith.SelectOp) and operands[0] is not None:
        return operands[1 if operands[0] & 1 else 2]
    present = [operand for operand in operands if operand is not None]
    return _result(op, present) if len(present) == len(operands) else None


def _result(op: Operation, operands: Sequence[int]) -> int | None:
    if op.name in _CASTS:
        return operands[0]
    if isinstance(op, arith.CmpiOp):
        return int(compare(op.predicate.value.data, operands[0] & _MASK, operands[1] & _MASK, _WIDTH))
    apply = _OPERATIONS.get(op.name)
    if apply is None or (op.name in _DIVISIONS and operands[1] == 0):
        return None
    if op.name in _SHIFTS and not 0 <= operands[1] < _WIDTH:
        return None
    return signed(apply(*operands) & _MASK, _WIDTH)
