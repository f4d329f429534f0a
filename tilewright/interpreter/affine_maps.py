"""`affine`: expressions of indices, and the accesses and conditions that use them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, AffineMapAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstraintKind, AffineMap

from tilewright.dialects import affine
from tilewright.dialects.affine.maps import DelinearizeIndexOp, LinearizeIndexOp
from tilewright.dialects.affine.meaning import AffineNumbers
from tilewright.dialects.aie.data_layout import INDEX_BITS
from tilewright.dialects.memref.types import memref_type
from tilewright.dialects.vector.types import shape_of
from tilewright.interpreter.memory import Frame, Handler, MemRef, Step, place, position
from tilewright.interpreter.numbers import integer_function, kind_of

if TYPE_CHECKING:
    from tilewright.interpreter.body import BodyBuilder


class PythonAffine(AffineNumbers[int]):
    """Indices that wrap around at 64 bits."""

    def __init__(self, dims: int, operands: Sequence[int]):
        self.dims, self.operands = dims, operands

    def constant(self, number: int) -> int:
        return number

    def operand(self, number: int) -> int:
        return self.operands[number]

    def compute(self, name: str, a: int, b: int) -> int:
        return _INDEX_FUNCTIONS[name](a, b)

    def modulo(self, a: int, b: int) -> int:
        rest = _INDEX_FUNCTIONS["arith.remsi"](a, b)
        return rest + b if rest < 0 else rest


_INDEX_FUNCTIONS = {
    f"arith.{name}": integer_function(f"arith.{name}", INDEX_BITS)
    for name in ("addi", "muli", "floordivsi", "ceildivsi", "remsi")
}


def results_of(map: AffineMap, operands: Sequence[int]) -> list[int]:
    numbers = PythonAffine(map.num_dims, operands)
    return [numbers.evaluate(result) for result in map.results]


def bound(
    b: BodyBuilder, map: AffineMap, operands: Sequence[SSAValue], best: Callable[..., int]
) -> Callable[[Frame], int]:
    """The least or the greatest of a map's results, for what a frame has."""
    slots = b.slots(operands)
    return lambda f: best(results_of(map, [f[slot] for slot in slots]))


def _extreme(best: Callable[..., int]) -> Handler:
    def build(b: BodyBuilder, op: Operation) -> Step:
        compute = bound(b, cast(AffineMapAttr, op.properties["map"]).data, op.operands, best)
        result = b.slot(op.results[0])

        def step(f: Frame) -> None:
            f[result] = compute(f)

        return step

    return build


_COMPARISONS: dict[AffineConstraintKind, Callable[[int, int], bool]] = {
    AffineConstraintKind.eq: int.__eq__,
    AffineConstraintKind.ge: int.__ge__,
    AffineConstraintKind.le: int.__le__,
}


def affine_condition(b: BodyBuilder, op: affine.IfOp) -> Callable[[Frame], bool]:
    condition, slots = op.condition.data, b.slots(op.operands)

    def holds(f: Frame) -> bool:
        numbers = PythonAffine(condition.num_dims, [f[slot] for slot in slots])
        return all(
            _COMPARISONS[constraint.kind](numbers.evaluate(constraint.lhs), numbers.evaluate(constraint.rhs))
            for constraint in condition.constraints
        )

    return holds


def _affine_place(
    b: BodyBuilder, op: Operation, buffer: SSAValue, indices: Sequence[SSAValue], value: SSAValue
) -> Callable[[Frame], tuple[MemRef, int]]:
    """The memref, and the byte of it, that a map of indices names."""
    map, source, slots = cast(AffineMapAttr, op.properties["map"]).data, b.slot(buffer), b.slots(indices)
    # A vector takes as many elements as it has, one element of a buffer of vectors too.
    size, count = kind_of(memref_type(buffer).element_type).size, prod(shape_of(value.type))

    def find(f: Frame) -> tuple[MemRef, int]:
        whole: MemRef = f[source]
        where = position(op, whole, results_of(map, [f[slot] for slot in slots]))
        return whole, place(op, whole, where, count, size)

    return find


def _affine_load(b: BodyBuilder, op: Operation) -> Step:
    buffer, *indices = op.operands
    find, result = _affine_place(b, op, buffer, indices, op.results[0]), b.slot(op.results[0])
    kind = kind_of(op.results[0].type)

    def step(f: Frame) -> None:
        whole, at = find(f)
        f[result] = kind.read(whole.buffer.view, at)

    return step


def _affine_store(b: BodyBuilder, op: Operation) -> Step:
    value, buffer, *indices = op.operands
    find, source, kind = _affine_place(b, op, buffer, indices, value), b.slot(value), kind_of(value.type)

    def step(f: Frame) -> None:
        whole, at = find(f)
        kind.write(whole.buffer.view, at, f[source])

    return step


def mixed(b: BodyBuilder, values: Sequence[SSAValue], static: Sequence[int]) -> Callable[[Frame], list[int]]:
    """Numbers of which some are written and the others values."""
    dynamic = iter(b.slots(values))
    parts = [(next(dynamic), 0) if number == DYNAMIC_INDEX else (None, number) for number in static]
    return lambda f: [number if slot is None else f[slot] for slot, number in parts]


def _linearize(b: BodyBuilder, op: LinearizeIndexOp) -> Step:
    basis, digits = mixed(b, op.dynamic_basis, op.static_basis.get_values()), b.slots(op.multi_index)
    result = b.slot(op.linear_index)

    def step(f: Frame) -> None:
        f[result] = PythonAffine(0, ()).linearize([f[digit] for digit in digits], basis(f))

    return step


def _delinearize(b: BodyBuilder, op: DelinearizeIndexOp) -> Step:
    basis, number = mixed(b, op.dynamic_basis, op.static_basis.get_values()), b.slot(op.linear_index)
    results = b.slots(op.results)

    def step(f: Frame) -> None:
        digits = PythonAffine(0, ()).delinearize(f[number], basis(f), len(results))
        for result, digit in zip(results, digits, strict=True):
            f[result] = digit

    return step


HANDLERS: dict[str, Handler] = {
    "affine.apply": _extreme(min),
    "affine.min": _extreme(min),
    "affine.max": _extreme(max),
    "affine.load": _affine_load,
    "affine.store": _affine_store,
    "affine.vector_load": _affine_load,
    "affine.vector_store": _affine_store,
    "affine.linearize_index": _linearize,
    "affine.delinearize_index": _delinearize,
}
