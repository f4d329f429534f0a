"""Elements that are read, combined with something and written back.

Nothing else touches a core's memory between two of its waits, so there is no more to being atomic here.
"""

from __future__ import annotations

from typing import cast

from llvmlite import ir
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Operation

from tilewright.dialects.memref.access import AtomicKind, AtomicRMWOp, GenericAtomicRMWOp
from tilewright.dialects.memref.types import memref_type
from tilewright.native.access import element_pointer, load, store
from tilewright.native.arithmetic import combine_floats, combine_integers
from tilewright.native.lowering import Handler, Lowering

_NAMES = {
    AtomicKind.MAXS: "maxsi",
    AtomicKind.MAXU: "maxui",
    AtomicKind.MINS: "minsi",
    AtomicKind.MINU: "minui",
}
"""Where `arith` has another name for it."""


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
    "memref.atomic_rmw": _atomic_rmw,
    "memref.generic_atomic_rmw": _generic_atomic_rmw,
}
