"""`affine`: expressions of indices, and the loops, conditions and accesses that use them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import cast

from llvmlite import ir
from xdsl.dialects.builtin import AffineMapAttr, IndexType, MemRefType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstraintKind, AffineMap

from tilewright.dialects import affine
from tilewright.dialects.affine.maps import DelinearizeIndexOp, LinearizeIndexOp
from tilewright.dialects.affine.meaning import AffineNumbers
from tilewright.native.access import checked_pointer, load, plus, store, times
from tilewright.native.arithmetic import checked_integers, combine_integers
from tilewright.native.loops import counted_loop, two_ways
from tilewright.native.lowering import Handler, Lowering
from tilewright.native.values import I1, index
from tilewright.native.vectors import count_of
from tilewright.native.views import mixed


class LlvmAffine(AffineNumbers[ir.Value]):
    """Affine expressions of values as instructions, where a lowering stands."""

    def __init__(self, lowering: Lowering, dims: int, operands: Sequence[SSAValue]):
        self.lowering, self.dims, self.operands = lowering, dims, operands

    def constant(self, number: int) -> ir.Value:
        return index(number)

    def operand(self, number: int) -> ir.Value:
        return self.lowering[self.operands[number]]

    def compute(self, name: str, a: ir.Value, b: ir.Value) -> ir.Value:
        # Sums and products of constants are computed now: accesses to known places need no check.
        if name in _FOLDED:
            return _FOLDED[name](self.lowering.builder, a, b)
        return checked_integers(self.lowering, name, a, b)

    def modulo(self, a: ir.Value, b: ir.Value) -> ir.Value:
        builder, rest = self.lowering.builder, checked_integers(self.lowering, "arith.remsi", a, b)
        return builder.select(builder.icmp_signed("<", rest, index(0)), builder.add(rest, b), rest)


_FOLDED = {"arith.addi": plus, "arith.muli": times}


def results(lowering: Lowering, map: AffineMap, operands: Sequence[SSAValue]) -> list[ir.Value]:
    return [LlvmAffine(lowering, map.num_dims, operands).evaluate(result) for result in map.results]


def _extreme(name: str) -> Handler:
    def lower(lowering: Lowering, op: Operation) -> None:
        map = cast(AffineMapAttr, op.properties["map"]).data
        lowering[op.results[0]] = _best(lowering, name, map, op.operands)

    return lower


def _best(lowering: Lowering, name: str, map: AffineMap, operands: Sequence[SSAValue]) -> ir.Value:
    """The least or the greatest of a map's results."""
    return reduce(lambda x, y: combine_integers(lowering.builder, name, x, y), results(lowering, map, operands))


def _for(lowering: Lowering, op: affine.ForOp) -> None:
    # Several bounds of a loop hold together: the greatest below, the least above.
    low = _best(lowering, "arith.maxsi", op.lowerBoundMap.data, op.lowerBoundOperands)
    high = _best(lowering, "arith.minsi", op.upperBoundMap.data, op.upperBoundOperands)
    values = counted_loop(
        lowering,
        op,
        (low, high, index(op.step.value.data)),
        [(value.type, lowering.get(value)) for value in op.inits],
        IndexType(),
        lambda variable, carried: lowering.lower_region(op.body, [variable, *carried]),
    )
    lowering.values.update(zip(op.results, values, strict=True))


def _if(lowering: Lowering, op: affine.IfOp) -> None:
    condition, builder = op.condition.data, lowering.builder
    numbers = LlvmAffine(lowering, condition.num_dims, op.operands)
    holds: ir.Value = ir.Constant(I1, 1)
    for constraint in condition.constraints:
        lhs, rhs = numbers.evaluate(constraint.lhs), numbers.evaluate(constraint.rhs)
        holds = builder.and_(holds, builder.icmp_signed(_COMPARISONS[constraint.kind], lhs, rhs))
    two_ways(lowering, op, holds)


_COMPARISONS = {
    AffineConstraintKind.eq: "==",
    AffineConstraintKind.ge: ">=",
    AffineConstraintKind.le: "<=",
}


def _pointer(lowering: Lowering, op: Operation, buffer: SSAValue, indices: Sequence[SSAValue], count: int) -> ir.Value:
    map, memref = cast(AffineMapAttr, op.properties["map"]).data, lowering.memref(buffer)
    where = results(lowering, map, indices)
    ranges = [lowering.unit.ranges.of_expression(result, map, list(indices)) for result in map.results]
    return checked_pointer(lowering, op, memref, cast(MemRefType, buffer.type), where, ranges, count)


def _load(lowering: Lowering, op: Operation) -> None:
    buffer, *indices = op.operands
    pointer = _pointer(lowering, op, buffer, indices, count_of(op.results[0].type))
    lowering[op.results[0]] = load(lowering.builder, pointer, op.results[0].type)


def _store(lowering: Lowering, op: Operation) -> None:
    value, buffer, *indices = op.operands
    native = lowering[value]
    store(lowering.builder, native, _pointer(lowering, op, buffer, indices, count_of(value.type)))


def _linearize(lowering: Lowering, op: LinearizeIndexOp) -> None:
    basis = mixed(lowering, op, op.dynamic_basis, op.static_basis.get_values())
    digits = [lowering[value] for value in op.multi_index]
    lowering[op.linear_index] = LlvmAffine(lowering, 0, ()).linearize(digits, basis)


def _delinearize(lowering: Lowering, op: DelinearizeIndexOp) -> None:
    basis = mixed(lowering, op, op.dynamic_basis, op.static_basis.get_values())
    digits = LlvmAffine(lowering, 0, ()).delinearize(lowering[op.linear_index], basis, len(op.results))
    lowering.values.update(zip(op.results, digits, strict=True))


HANDLERS: dict[str, Handler] = {
    "affine.apply": _extreme("arith.minsi"),  # of its one result
    "affine.min": _extreme("arith.minsi"),
    "affine.max": _extreme("arith.maxsi"),
    "affine.for": _for,
    "affine.if": _if,
    "affine.load": _load,
    "affine.store": _store,
    "affine.vector_load": _load,
    "affine.vector_store": _store,
    "affine.linearize_index": _linearize,
    "affine.delinearize_index": _delinearize,
}
