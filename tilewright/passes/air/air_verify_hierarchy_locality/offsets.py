"""What an offset is made of, seen from one point of a hierarchy: multiples of its ids, and what inner loops add."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)

from tilewright.dialects import affine, scf
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.rewrite.folding.constants import scalar_int
from tilewright.rewrite.folding.regions import is_inside

_NOTHING: Mapping[BlockArgument, int] = {}


@dataclass(frozen=True)
class Offset:
    """Factors of the ids, and by how much the rest varies while the ids stay the same."""

    factors: Mapping[BlockArgument, int] = field(default_factory=lambda: _NOTHING)
    span: int = 0

    def __add__(self, other: Offset) -> Offset:
        factors = dict(self.factors)
        for value, factor in other.factors.items():
            factors[value] = factors.get(value, 0) + factor
        return Offset(factors, self.span + other.span)

    def __mul__(self, factor: int) -> Offset:
        return Offset({value: known * factor for value, known in self.factors.items()}, self.span * abs(factor))


CONSTANT = Offset()
_Step: TypeAlias = "Callable[[Operation, OffsetReader], Offset | None]"


@dataclass(frozen=True)
class OffsetReader:
    """Reads offsets inside of one hierarchy."""

    around: Hierarchy
    ids: Sequence[BlockArgument]
    """The ids that take more than one value."""

    def read(self, value: SSAValue | int) -> Offset | None:
        """None if it is not known what the offset depends on."""
        if isinstance(value, int) or scalar_int(value) is not None:
            return CONSTANT
        if isinstance(value, BlockArgument):
            return self._argument(value)
        owner = value.owner
        assert isinstance(owner, Operation)
        step = _STEPS.get(owner.name)
        return None if step is None else step(owner, self)

    def _argument(self, value: BlockArgument) -> Offset | None:
        if value in self.ids:
            return Offset({value: 1})
        passed = passed_value(value)
        if passed is not None:
            return self.read(passed)
        holder = value.owner.parent_op()
        if holder is self.around:
            return CONSTANT if extent_of(value) == 1 else None
        if holder is None or not is_inside(holder, self.around.regions[0]):
            return None
        extent = extent_of(value)
        return None if extent is None else Offset(span=max(0, extent - 1))


def passed_value(value: SSAValue) -> SSAValue | None:
    """What is passed to a hierarchy as this argument of its body."""
    holder = value.owner.parent_op() if isinstance(value, BlockArgument) and isinstance(value.owner, Block) else None
    if not isinstance(holder, Hierarchy) or value not in holder.kernel_arguments:
        return None
    return holder.tied_operand(cast(BlockArgument, value))


def extent_of(value: BlockArgument) -> int | None:
    """How many values an id or the counter of a loop takes."""
    holder = value.owner.parent_op()
    if isinstance(holder, Hierarchy):
        return scalar_int(holder.extents[value.index]) if value in holder.ids else None
    if isinstance(holder, scf.ForOp) and value.index == 0:
        return _trips(holder.lb, holder.ub, holder.step)
    if isinstance(holder, scf.ParallelOp):
        number = value.index
        return _trips(holder.lowerBound[number], holder.upperBound[number], holder.step[number])
    return None


def _trips(*bounds: SSAValue) -> int | None:
    lower, upper, step = map(scalar_int, bounds)
    if lower is None or upper is None or step is None or step <= 0 or upper <= lower:
        return None
    return -(-(upper - lower) // step)


def _sum(op: Operation, reader: OffsetReader) -> Offset | None:
    lhs, rhs = (reader.read(value) for value in op.operands)
    return None if lhs is None or rhs is None else lhs + rhs


def _difference(op: Operation, reader: OffsetReader) -> Offset | None:
    lhs, rhs = (reader.read(value) for value in op.operands)
    return None if lhs is None or rhs is None else lhs + rhs * -1


def _product(op: Operation, reader: OffsetReader) -> Offset | None:
    for this, other in (op.operands, reversed(op.operands)):
        number = scalar_int(other)
        if number is not None:
            read = reader.read(this)
            return None if read is None else read * number
    return None


def _cast(op: Operation, reader: OffsetReader) -> Offset | None:
    return reader.read(op.operands[0])


def _apply(op: Operation, reader: OffsetReader) -> Offset | None:
    map = cast(affine.ApplyOp, op).map.data
    operands = [reader.read(value) for value in op.operands]
    known = [operand for operand in operands if operand is not None]
    return _evaluate(map.results[0], known, map.num_dims) if len(known) == len(operands) else None


def _evaluate(expression: AffineExpr, operands: Sequence[Offset], dims: int) -> Offset | None:
    if isinstance(expression, AffineConstantExpr):
        return CONSTANT
    if isinstance(expression, AffineDimExpr):
        return operands[expression.position]
    if isinstance(expression, AffineSymExpr):
        return operands[dims + expression.position]
    assert isinstance(expression, AffineBinaryOpExpr)
    lhs, rhs = (_evaluate(part, operands, dims) for part in (expression.lhs, expression.rhs))
    if lhs is None or rhs is None:
        return None
    if expression.kind is AffineBinaryOpKind.Add:
        return lhs + rhs
    number = expression.rhs.value if isinstance(expression.rhs, AffineConstantExpr) else None
    if expression.kind is AffineBinaryOpKind.Mul:
        left = expression.lhs.value if isinstance(expression.lhs, AffineConstantExpr) else None
        return lhs * number if number is not None else None if left is None else rhs * left
    if number is None or number <= 0 or lhs.factors:
        return None
    is_rest = expression.kind is AffineBinaryOpKind.Mod
    return Offset(span=min(lhs.span, number - 1) if is_rest else lhs.span // number)


_STEPS: dict[str, _Step] = {
    "affine.apply": _apply,
    "arith.addi": _sum,
    "arith.index_cast": _cast,
    "arith.muli": _product,
    "arith.subi": _difference,
}

INDEX_ARITHMETIC = frozenset(
    {"affine.apply"}
    | {f"arith.{name}" for name in ("addi", "subi", "muli", "divsi", "divui", "remsi", "remui", "index_cast")}
)


def depends_on(value: SSAValue, ids: Sequence[BlockArgument]) -> bool:
    """Whether a value is computed from one of the ids, however that is."""
    pending, seen = [value], set[SSAValue]()
    while pending:
        found = pending.pop()
        if found in seen:
            continue
        seen.add(found)
        if found in ids:
            return True
        passed = passed_value(found)
        if passed is not None:
            pending.append(passed)
        elif isinstance(found.owner, Operation) and found.owner.name in INDEX_ARITHMETIC:
            pending += found.owner.operands
    return False
