"""`memref` and `affine`: expressions and addresses as instructions, accesses with the order they demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import cast

from xdsl.dialects.builtin import AffineMapAttr, MemRefType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineConstraintKind,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSet,
    AffineSymExpr,
)

from tilewright.dialects import memref
from tilewright.dialects._llvm_memory import Ordering
from tilewright.dialects.affine.maps import DelinearizeIndexOp, LinearizeIndexOp
from tilewright.dialects.memref.access import AtomicKind, AtomicRMWOp, GenericAtomicRMWOp
from tilewright.gpu.emulator.builder import Handler, KernelBuilder, whole_memref
from tilewright.gpu.emulator.program import (
    I1,
    I64,
    Constant,
    MemRefParts,
    Operand,
    Space,
    Unsupported,
    index,
    kind_of,
    space_of,
)
from tilewright.ir.diagnostics import fail_op

_DIVISIONS = {
    AffineBinaryOpKind.FloorDiv: "floordivs",
    AffineBinaryOpKind.CeilDiv: "ceildivs",
    AffineBinaryOpKind.Mod: "modulo",
}
_COMPARISONS = {AffineConstraintKind.eq: "eq", AffineConstraintKind.ge: "sge", AffineConstraintKind.le: "sle"}


def expression(b: KernelBuilder, expr: AffineExpr, dims: int, operands: Sequence[SSAValue]) -> Operand:
    match expr:
        case AffineConstantExpr():
            return index(expr.value)
        case AffineDimExpr():
            return b[operands[expr.position]]
        case AffineSymExpr():
            return b[operands[dims + expr.position]]
        case AffineBinaryOpExpr():
            lhs, rhs = (expression(b, side, dims, operands) for side in (expr.lhs, expr.rhs))
            match expr.kind:
                case AffineBinaryOpKind.Add:
                    return b.plus(lhs, rhs)
                case AffineBinaryOpKind.Mul:
                    return b.times(lhs, rhs)
                case kind:
                    return b.emit(_DIVISIONS[kind], I64, lhs, rhs)
        case _:
            raise TypeError(expr)


def results(b: KernelBuilder, map: AffineMap, operands: Sequence[SSAValue]) -> list[Operand]:
    return [expression(b, result, map.num_dims, operands) for result in map.results]


def map_results(b: KernelBuilder, op: Operation, operands: Sequence[SSAValue]) -> list[Operand]:
    return results(b, cast(AffineMapAttr, op.properties["map"]).data, operands)


def best(b: KernelBuilder, name: str, map: AffineMap, operands: Sequence[SSAValue]) -> Operand:
    """The least or the greatest of a map's results."""
    return reduce(lambda x, y: b.emit(name, I64, x, y), results(b, map, operands))


def holds(b: KernelBuilder, condition: AffineSet, operands: Sequence[SSAValue]) -> Operand:
    """Whether all constraints of a set do."""
    answer: Operand = Constant(I1, True)
    for constraint in condition.constraints:
        lhs, rhs = (expression(b, side, condition.num_dims, operands) for side in (constraint.lhs, constraint.rhs))
        answer = b.emit("and", I1, answer, b.emit(_COMPARISONS[constraint.kind], I1, lhs, rhs))
    return answer


def _apply(b: KernelBuilder, op: Operation) -> None:
    (b[op.results[0]],) = map_results(b, op, op.operands)


def _extreme(name: str) -> Handler:
    def lower(b: KernelBuilder, op: Operation) -> None:
        b[op.results[0]] = best(b, name, cast(AffineMapAttr, op.properties["map"]).data, op.operands)

    return lower


def _linearize(b: KernelBuilder, op: Operation) -> None:
    assert isinstance(op, LinearizeIndexOp)
    basis = b.mixed(op.dynamic_basis, op.static_basis.get_values())
    total, *digits = [b[value] for value in op.multi_index]
    for digit, size in zip(digits, basis[len(basis) - len(digits) :], strict=True):
        total = b.plus(b.times(total, size), digit)
    b[op.linear_index] = total


def _delinearize(b: KernelBuilder, op: Operation) -> None:
    """Digits from the last to the first; the first has no limit."""
    assert isinstance(op, DelinearizeIndexOp)
    rest, digits = b[op.linear_index], list[Operand]()
    basis = b.mixed(op.dynamic_basis, op.static_basis.get_values())
    for size in reversed(basis[len(basis) - len(op.results) + 1 :]):
        digits.insert(0, b.emit("modulo", I64, rest, size))
        rest = b.emit("floordivs", I64, rest, size)
    b.values.update(zip(op.results, [rest, *digits], strict=True))


@dataclass(frozen=True)
class Order:
    """How an access is ordered with others, and for whom."""

    ordering: Ordering = Ordering.not_atomic
    scope: str = ""
    """As LLVM names it; empty for everyone in the system."""

    @property
    def releases(self) -> bool:
        return self.ordering in (Ordering.release, Ordering.acq_rel, Ordering.seq_cst)

    @property
    def acquires(self) -> bool:
        return self.ordering in (Ordering.acquire, Ordering.acq_rel, Ordering.seq_cst)

    @property
    def is_atomic(self) -> bool:
        return self.ordering is not Ordering.not_atomic


PLAIN = Order()
MEMREF_ATOMIC = Order(Ordering.acq_rel)
"""What MLIR lowers `memref.atomic_rmw` to."""

UPDATES = {
    AtomicKind.ADDF: "fadd",
    AtomicKind.ADDI: "add",
    AtomicKind.ANDI: "and",
    AtomicKind.ASSIGN: "xchg",
    AtomicKind.MAXIMUMF: "fmax",
    AtomicKind.MAXNUMF: "fmax",
    AtomicKind.MAXS: "maxs",
    AtomicKind.MAXU: "maxu",
    AtomicKind.MINIMUMF: "fmin",
    AtomicKind.MINNUMF: "fmin",
    AtomicKind.MINS: "mins",
    AtomicKind.MINU: "minu",
    AtomicKind.MULF: "fmul",
    AtomicKind.MULI: "mul",
    AtomicKind.ORI: "or",
    AtomicKind.XORI: "xor",
}


def position(b: KernelBuilder, buffer: MemRefParts, indices: Sequence[Operand]) -> Operand:
    """Which element from the pointer on an element of the memref is."""
    return b.place(buffer.offset, *zip(indices, buffer.strides, strict=True))


def extent(buffer: MemRefParts) -> int | None:
    """Elements from the pointer to the end of the memref, where all its parts are known."""
    parts = [buffer.offset, *buffer.sizes, *buffer.strides]
    if not all(isinstance(part, Constant) for part in parts):
        return None
    offset, *rest = (cast(Constant, part).value for part in parts)
    sizes, strides = rest[: len(buffer.sizes)], rest[len(buffer.sizes) :]
    return offset + 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))


def load_value(b: KernelBuilder, buffer: MemRefParts, indices: Sequence[Operand], order: Order = PLAIN) -> Operand:
    """An element of a buffer."""
    result = b.register(buffer.kind)
    place = position(b, buffer, indices)
    b.effect(
        "load",
        buffer.pointer,
        place,
        outs=[result],
        space=buffer.space,
        kind=buffer.kind,
        limit=extent(buffer),
        order=order,
    )
    return result


def store_to(
    b: KernelBuilder, value: Operand, buffer: MemRefParts, indices: Sequence[Operand], order: Order = PLAIN
) -> None:
    place = position(b, buffer, indices)
    b.effect(
        "store", value, buffer.pointer, place, space=buffer.space, kind=buffer.kind, limit=extent(buffer), order=order
    )


def _load(b: KernelBuilder, op: Operation) -> None:
    assert isinstance(op, memref.LoadOp)
    b[op.res] = load_value(b, b.memref(op.memref), [b[value] for value in op.indices])


def _store(b: KernelBuilder, op: Operation) -> None:
    assert isinstance(op, memref.StoreOp)
    store_to(b, b[op.value], b.memref(op.memref), [b[value] for value in op.indices])


def _affine_load(b: KernelBuilder, op: Operation) -> None:
    buffer, *indices = op.operands
    b[op.results[0]] = load_value(b, b.memref(buffer), map_results(b, op, indices))


def _affine_store(b: KernelBuilder, op: Operation) -> None:
    value, buffer, *indices = op.operands
    store_to(b, b[value], b.memref(buffer), map_results(b, op, indices))


def update(
    b: KernelBuilder, value: Operand, buffer: MemRefParts, indices: Sequence[Operand], name: str, order: Order
) -> Operand:
    """Change an element as one step; gives what it was."""
    place, old = position(b, buffer, indices), b.register(value.kind)
    b.effect(
        "atomic",
        *(value, buffer.pointer, place),
        outs=[old],
        space=buffer.space,
        kind=buffer.kind,
        limit=extent(buffer),
        order=order,
        update=name,
    )
    return old


def _atomic_rmw(b: KernelBuilder, op: Operation) -> None:
    assert isinstance(op, AtomicRMWOp)
    buffer, indices = b.memref(op.memref), [b[value] for value in op.indices]
    b[op.result] = update(b, b[op.value], buffer, indices, UPDATES[op.update], MEMREF_ATOMIC)


def _generic_atomic_rmw(b: KernelBuilder, op: Operation) -> None:
    assert isinstance(op, GenericAtomicRMWOp)
    raise Unsupported("an update by a region is not atomic here: write memref.atomic_rmw or llvm.cmpxchg")


def _dim(b: KernelBuilder, op: Operation) -> None:
    assert isinstance(op, memref.DimOp)
    sizes, which = b.memref(op.source).sizes, b[op.index]
    if not isinstance(which, Constant):
        raise Unsupported("which dimension it asks for is not known")
    if not 0 <= which.value < len(sizes):
        fail_op(op, f"asks for dimension {which.value} of a memref that has {len(sizes)}")
    b[op.result] = sizes[which.value]


def _rank(b: KernelBuilder, op: Operation) -> None:
    assert isinstance(op, memref.RankOp)
    b[op.rank] = index(len(b.memref(op.source).sizes))


def _alloca(b: KernelBuilder, op: Operation) -> None:
    """A buffer of every thread, wherever in the kernel it stands."""
    type = cast(MemRefType, op.results[0].type)
    if not type.has_static_shape():
        raise Unsupported("how large it is must be known")
    if space_of(type) is Space.LDS:
        raise Unsupported("memory of a block is an attribution of the kernel, not allocated in it")
    elements = reduce(lambda x, y: x * y, type.get_shape(), 1)
    pointer = b.private_buffer(kind_of(type.element_type), elements, op.location, op.results[0].name_hint)
    b[op.results[0]] = whole_memref(type, pointer, Space.PRIVATE)


def _pointer_as_index(b: KernelBuilder, op: Operation) -> None:
    b[op.results[0]] = b.memref(op.operands[0]).pointer


def _nothing(b: KernelBuilder, op: Operation) -> None:
    """Says something about memory that does not change what a kernel does."""


def element_pointer(b: KernelBuilder, pointer: Operand, number: Operand, size: int) -> Operand:
    """An address some elements further on."""
    if isinstance(number, Constant) or number.kind == I64:
        return b.plus(pointer, b.times(number, index(size)))
    return b.plus(pointer, b.times(b.emit("resize", I64, number, signed=True), index(size)))


HANDLERS: dict[str, Handler] = {
    "affine.apply": _apply,
    "affine.min": _extreme("mins"),
    "affine.max": _extreme("maxs"),
    "affine.linearize_index": _linearize,
    "affine.delinearize_index": _delinearize,
    "memref.load": _load,
    "memref.store": _store,
    "affine.load": _affine_load,
    "affine.store": _affine_store,
    "memref.atomic_rmw": _atomic_rmw,
    "memref.generic_atomic_rmw": _generic_atomic_rmw,
    "memref.dim": _dim,
    "memref.rank": _rank,
    "memref.alloca": _alloca,
    "memref.extract_aligned_pointer_as_index": _pointer_as_index,
    "memref.prefetch": _nothing,
}
