"""`memref` and `affine`: expressions and addresses as instructions, accesses with the order they demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import AffineMapAttr, MemRefType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstraintKind, AffineMap, AffineSet

from tilewright.dialects import memref
from tilewright.dialects._llvm_memory import Ordering
from tilewright.dialects.affine.maps import DelinearizeIndexOp, LinearizeIndexOp
from tilewright.dialects.affine.meaning import AffineNumbers
from tilewright.dialects.air.types import is_symmetric
from tilewright.dialects.memref.access import AtomicKind, AtomicRMWOp
from tilewright.gpu.emulator.builder import Handler, ProgramBuilder, whole_memref
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

BEHIND = "accesses an element that is outside of its buffer on the symmetric heap"
_COMPARISONS = {AffineConstraintKind.eq: "eq", AffineConstraintKind.ge: "sge", AffineConstraintKind.le: "sle"}


class EmulatorAffine(AffineNumbers[Operand]):
    """Affine expressions of values as instructions of the emulator."""

    def __init__(self, b: ProgramBuilder, dims: int, operands: Sequence[SSAValue]):
        self.b, self.dims, self.operands = b, dims, operands

    def constant(self, number: int) -> Operand:
        return index(number)

    def operand(self, number: int) -> Operand:
        return self.b[self.operands[number]]

    def compute(self, name: str, a: Operand, b: Operand) -> Operand:
        # Sums and products of constants are computed now: most addresses are such.
        folded = {"arith.addi": self.b.plus, "arith.muli": self.b.times}.get(name)
        return self.b.emit(name, I64, a, b) if folded is None else folded(a, b)

    def modulo(self, a: Operand, b: Operand) -> Operand:
        return self.b.emit("modulo", I64, a, b)


def results(b: ProgramBuilder, map: AffineMap, operands: Sequence[SSAValue]) -> list[Operand]:
    return [EmulatorAffine(b, map.num_dims, operands).evaluate(result) for result in map.results]


def map_results(b: ProgramBuilder, op: Operation, operands: Sequence[SSAValue]) -> list[Operand]:
    return results(b, cast(AffineMapAttr, op.properties["map"]).data, operands)


def extreme(b: ProgramBuilder, name: str, values: Sequence[Operand]) -> Operand:
    """The least or the greatest of some numbers."""
    return reduce(lambda x, y: b.emit(name, I64, x, y), values)


def holds(b: ProgramBuilder, condition: AffineSet, operands: Sequence[SSAValue]) -> Operand:
    """Whether all constraints of a set do."""
    answer: Operand = Constant(I1, True)
    numbers = EmulatorAffine(b, condition.num_dims, operands)
    for constraint in condition.constraints:
        lhs, rhs = numbers.evaluate(constraint.lhs), numbers.evaluate(constraint.rhs)
        answer = b.emit("arith.andi", I1, answer, b.emit(_COMPARISONS[constraint.kind], I1, lhs, rhs))
    return answer


def _linearize(b: ProgramBuilder, op: LinearizeIndexOp) -> Operand:
    basis = b.mixed(op.dynamic_basis, op.static_basis.get_values())
    return EmulatorAffine(b, 0, ()).linearize([b[value] for value in op.multi_index], basis)


def _delinearize(b: ProgramBuilder, op: DelinearizeIndexOp) -> None:
    basis = b.mixed(op.dynamic_basis, op.static_basis.get_values())
    digits = EmulatorAffine(b, 0, ()).delinearize(b[op.linear_index], basis, len(op.results))
    b.values.update(zip(op.results, digits, strict=True))


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


def position(b: ProgramBuilder, buffer: MemRefParts, indices: Sequence[Operand]) -> Operand:
    """Which element from the pointer on an element of the memref is."""
    return b.place(buffer.offset, *zip(indices, buffer.strides, strict=True))


def extent(buffer: MemRefParts) -> int | None:
    """Elements from the pointer to the end of the memref, where all its parts are known."""
    # a check at the access then needs no numbers but the place
    parts = [buffer.offset, *buffer.sizes, *buffer.strides]
    if not all(isinstance(part, Constant) for part in parts):
        return None
    offset, *rest = (cast(Constant, part).value for part in parts)
    sizes, strides = rest[: len(buffer.sizes)], rest[len(buffer.sizes) :]
    return offset + 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))


def about(buffer: MemRefParts, order: Order = PLAIN) -> dict[str, Any]:
    """What an access to a buffer has to know besides its operands."""
    return {"space": buffer.space, "kind": buffer.kind, "limit": extent(buffer), "order": order}


def load_value(b: ProgramBuilder, buffer: MemRefParts, indices: Sequence[Operand]) -> Operand:
    """An element of a buffer."""
    return b.emit("load", buffer.kind, buffer.pointer, position(b, buffer, indices), **about(buffer))


def store_to(b: ProgramBuilder, value: Operand, buffer: MemRefParts, indices: Sequence[Operand]) -> None:
    b.effect("store", value, buffer.pointer, position(b, buffer, indices), **about(buffer))


def within(b: ProgramBuilder, buffer: SSAValue, indices: Sequence[Operand]) -> Sequence[Operand]:
    """The indices of an access; those into the symmetric heap are checked where only a run knows the size."""
    # the heap is one range, so that nothing else would tell where a buffer in it ends
    for number, size in zip(indices, b.memref(buffer).sizes if is_symmetric(buffer.type) else (), strict=False):
        if not isinstance(size, Constant):
            b.effect("check", b.emit("ult", I1, number, size), text=BEHIND)
    return indices


def _load(b: ProgramBuilder, op: memref.LoadOp) -> Operand:
    return load_value(b, b.memref(op.memref), within(b, op.memref, [b[value] for value in op.indices]))


def _store(b: ProgramBuilder, op: memref.StoreOp) -> None:
    store_to(b, b[op.value], b.memref(op.memref), within(b, op.memref, [b[value] for value in op.indices]))


def _affine_load(b: ProgramBuilder, op: Operation) -> Operand:
    buffer, *indices = op.operands
    return load_value(b, b.memref(buffer), within(b, buffer, map_results(b, op, indices)))


def _affine_store(b: ProgramBuilder, op: Operation) -> None:
    value, buffer, *indices = op.operands
    store_to(b, b[value], b.memref(buffer), within(b, buffer, map_results(b, op, indices)))


def _atomic_rmw(b: ProgramBuilder, op: AtomicRMWOp) -> Operand:
    value, buffer = b[op.value], b.memref(op.memref)
    place = position(b, buffer, within(b, op.memref, [b[number] for number in op.indices]))
    name = UPDATES[op.update]
    return b.emit("atomic", value.kind, value, buffer.pointer, place, update=name, **about(buffer, MEMREF_ATOMIC))


def _generic_atomic_rmw(b: ProgramBuilder, op: Operation) -> None:
    # MLIR lowers it to a loop around cmpxchg, which the region would have to be inlined into
    raise Unsupported("an update by a region is not atomic here: write memref.atomic_rmw or llvm.cmpxchg")


def _dim(b: ProgramBuilder, op: memref.DimOp) -> Operand:
    sizes, which = b.memref(op.source).sizes, b[op.index]
    if not isinstance(which, Constant):
        raise Unsupported("which dimension it asks for is not known")
    if not 0 <= which.value < len(sizes):
        fail_op(op, f"asks for dimension {which.value} of a memref that has {len(sizes)}")
    return sizes[int(which.value)]


def _alloca(b: ProgramBuilder, op: Operation) -> MemRefParts:
    """A buffer of every thread, wherever in the kernel it stands."""
    type = cast(MemRefType, op.results[0].type)
    if not type.has_static_shape():
        raise Unsupported("how large it is must be known")
    if space_of(type) is Space.LDS:
        raise Unsupported("memory of a block is an attribution of the kernel, not allocated in it")
    # one buffer, however often a loop comes by
    size, name = prod(type.get_shape()), op.results[0].name_hint
    return whole_memref(type, b.private_buffer(kind_of(type.element_type), size, op.location, name), Space.PRIVATE)


def element_pointer(b: ProgramBuilder, pointer: Operand, number: Operand, size: int) -> Operand:
    """An address some elements further on."""
    # getelementptr takes indices of any width as signed
    if not isinstance(number, Constant) and number.kind != I64:
        number = b.emit("resize", I64, number, signed=True)
    return b.plus(pointer, b.times(number, index(size)))


HANDLERS: dict[str, Handler] = {
    "affine.apply": lambda b, op: map_results(b, op, op.operands)[0],
    "affine.min": lambda b, op: extreme(b, "arith.minsi", map_results(b, op, op.operands)),
    "affine.max": lambda b, op: extreme(b, "arith.maxsi", map_results(b, op, op.operands)),
    "affine.linearize_index": _linearize,
    "affine.delinearize_index": _delinearize,
    "memref.load": _load,
    "memref.store": _store,
    "affine.load": _affine_load,
    "affine.store": _affine_store,
    "memref.atomic_rmw": _atomic_rmw,
    "memref.generic_atomic_rmw": _generic_atomic_rmw,
    "memref.dim": _dim,
    "memref.rank": lambda b, op: index(len(b.memref(op.operands[0]).sizes)),
    "memref.alloca": _alloca,
    "memref.extract_aligned_pointer_as_index": lambda b, op: b.memref(op.operands[0]).pointer,
    "memref.prefetch": lambda b, op: None,
}
