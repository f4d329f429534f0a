"""`memref`: elements, sizes, copies, and buffers of a program's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from llvmlite import ir
from xdsl.dialects.builtin import AnyFloat, IndexType, MemRefType
from xdsl.ir import Operation

from tilewright.dialects import memref
from tilewright.dialects.aie.data_layout import element_bytes, element_count
from tilewright.dialects.memref.access import AtomicKind, AtomicRMWOp, GenericAtomicRMWOp
from tilewright.dialects.memref.types import memref_type
from tilewright.ir.diagnostics import fail_op
from tilewright.native.access import (
    checked_pointer,
    element_pointer,
    load,
    store,
)
from tilewright.native.arithmetic import combine_floats, combine_integers
from tilewright.native.floats import suffix
from tilewright.native.loops import counted_loop
from tilewright.native.lowering import Handler, Lowering
from tilewright.native.ranges import Range
from tilewright.native.types import declared
from tilewright.native.values import (
    I1,
    I8,
    I64,
    POINTER,
    Value,
    index,
    number_of,
    whole_buffer,
)

LARGEST_BYTES = 1 << 20
"""More than the memory of a core and its neighbours."""
_NAMES = {
    AtomicKind.MAXS: "maxsi",
    AtomicKind.MAXU: "maxui",
    AtomicKind.MINS: "minsi",
    AtomicKind.MINU: "minui",
}
"""Where `arith` has another name for it."""


def _load(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, memref.LoadOp)
    pointer = element_pointer(lowering, op, lowering.memref(op.memref), memref_type(op.memref), op.indices)
    lowering[op.res] = load(lowering.builder, pointer, op.res.type)


def _store(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, memref.StoreOp)
    value = lowering[op.value]
    pointer = element_pointer(lowering, op, lowering.memref(op.memref), memref_type(op.memref), op.indices)
    store(lowering.builder, value, pointer)


def _dim(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, memref.DimOp)
    sizes, which = lowering.memref(op.source).sizes, lowering[op.index]
    known = number_of(which)
    if known is not None:
        if not 0 <= known < len(sizes):
            fail_op(op, f"asks for dimension {known} of a memref that has {len(sizes)}")
        lowering[op.result] = sizes[known]
        return
    found: ir.Value = index(0)
    for number, size in enumerate(sizes):
        found = lowering.builder.select(lowering.builder.icmp_signed("==", which, index(number)), size, found)
    lowering[op.result] = found


def _rank(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, memref.RankOp)
    lowering[op.rank] = index(len(lowering.memref(op.source).sizes))


def _allocate(lowering: Lowering, op: Operation) -> None:
    """A buffer that lives as long as the program, cleared each time that it is asked for."""
    type = cast(MemRefType, op.results[0].type)
    elements = element_count(type)
    if elements is None:
        fail_op(op, "has no native translation: the size of the buffer is not known before the program runs")
    size = elements * element_bytes(type)
    if size > LARGEST_BYTES:
        fail_op(op, f"has no native translation: {size} bytes are more than any core has")
    base = lowering.variable(I8, size)
    lowering.unit.apart.add(base)
    fill(lowering, base, size)
    lowering[op.results[0]] = whole_buffer(base, index(size), type)


def fill(lowering: Lowering, base: ir.Value, size: int) -> None:
    """Set bytes to zero."""
    name = f"llvm.memset.{suffix(POINTER)}.{suffix(I64)}"
    function = declared(lowering.unit.module, name, ir.VoidType(), [POINTER, I8, I64, I1])
    lowering.builder.call(function, [base, ir.Constant(I8, 0), index(size), ir.Constant(I1, 0)])


def _copy(lowering: Lowering, op: Operation) -> None:
    """Element by element; LLVM makes block copies of it where it can."""
    assert isinstance(op, memref.CopyOp)
    source, target = lowering.memref(op.source), lowering.memref(op.destination)
    type = memref_type(op.source)
    sizes = [number_of(size) for size in source.sizes]
    ranges = [None if size is None else Range(0, max(size - 1, 0)) for size in sizes]

    def copy(indices: list[ir.Value]) -> None:
        pointers = [checked_pointer(lowering, op, side, type, indices, ranges) for side in (source, target)]
        store(lowering.builder, load(lowering.builder, pointers[0], type.element_type), pointers[1])

    for_each_element(lowering, op, source.sizes, copy)


def for_each_element(
    lowering: Lowering, op: Operation, sizes: Sequence[ir.Value], body: Callable[[list[ir.Value]], None]
) -> None:
    """A nest of loops over all indices below `sizes`."""

    def nest(indices: list[ir.Value]) -> list[Value]:
        if len(indices) == len(sizes):
            body(indices)
        else:
            bounds = index(0), sizes[len(indices)], index(1)
            counted_loop(lowering, op, bounds, [], IndexType(), lambda i, _: nest([*indices, cast(ir.Value, i)]))
        return []

    nest([])


def _nothing(lowering: Lowering, op: Operation) -> None:
    """Says something about memory that does not change what a program does."""


def _atomic_rmw(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, AtomicRMWOp)
    builder, value = lowering.builder, lowering[op.value]
    pointer = element_pointer(lowering, op, lowering.memref(op.memref), memref_type(op.memref), op.indices)
    lowering[op.result] = old = load(builder, pointer, op.value.type)
    if op.update is not AtomicKind.ASSIGN:
        name = f"arith.{_NAMES.get(op.update, op.update)}"
        if isinstance(op.value.type, AnyFloat):
            value = combine_floats(builder, name, op.value.type, old, value)
        else:
            value = combine_integers(builder, name, old, value)
    store(builder, value, pointer)


def _generic_atomic_rmw(lowering: Lowering, op: Operation) -> None:
    """The region computes the new element from the old one."""
    assert isinstance(op, GenericAtomicRMWOp)
    buffer, *indices = op.operands
    pointer = element_pointer(lowering, op, lowering.memref(buffer), memref_type(buffer), indices)
    old = load(lowering.builder, pointer, op.results[0].type)
    (new,) = lowering.lower_region(op.regions[0], [old])
    store(lowering.builder, cast(ir.Value, new), pointer)
    lowering[op.results[0]] = cast(ir.Value, new)


HANDLERS: dict[str, Handler] = {
    "memref.load": _load,
    "memref.store": _store,
    "memref.dim": _dim,
    "memref.rank": _rank,
    "memref.alloca": _allocate,
    "memref.alloc": _allocate,
    "memref.dealloc": _nothing,
    "memref.prefetch": _nothing,
    "memref.copy": _copy,
    "memref.atomic_rmw": _atomic_rmw,
    "memref.generic_atomic_rmw": _generic_atomic_rmw,
}
