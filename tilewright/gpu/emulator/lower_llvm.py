"""The llvm dialect in kernels: pointers, aggregates, and accesses that say how they are ordered."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, MemRefType, StringAttr, UnrealizedConversionCastOp
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects import llvm
from tilewright.dialects._llvm_memory import AtomicBinOp, AtomicCmpXchgOp, AtomicRMWOp, Ordering
from tilewright.dialects.aie.data_layout import type_bytes
from tilewright.dialects.llvm import LLVMArrayType, LLVMPointerType, LLVMStructType
from tilewright.dialects.memref.types import is_ranked
from tilewright.gpu.emulator.builder import Handler, ProgramBuilder, leaf_type, memref_of_parts
from tilewright.gpu.emulator.lower_memory import Order, element_pointer
from tilewright.gpu.emulator.program import (
    I1,
    I64,
    Constant,
    Kind,
    MemRefParts,
    Operand,
    Space,
    Struct,
    Unsupported,
    Value,
    index,
    kind_of,
    leaf_positions,
)

UPDATES = {
    AtomicBinOp.xchg: "xchg",
    AtomicBinOp.add: "add",
    AtomicBinOp.sub: "sub",
    AtomicBinOp._and: "and",
    AtomicBinOp.nand: "nand",
    AtomicBinOp._or: "or",
    AtomicBinOp._xor: "xor",
    AtomicBinOp.max: "maxs",
    AtomicBinOp.min: "mins",
    AtomicBinOp.umax: "maxu",
    AtomicBinOp.umin: "minu",
    AtomicBinOp.fadd: "fadd",
    AtomicBinOp.fsub: "fsub",
    AtomicBinOp.fmax: "fmax",
    AtomicBinOp.fmin: "fmin",
}
# 0 is the generic space: the address tells which it is
_SPACES = {0: None, 1: Space.GLOBAL, 3: Space.LDS, 5: Space.PRIVATE, 7: Space.CLUSTER}
DYNAMIC = -(2**31)
"""Among the constant indices of a getelementptr: this one is a value."""


def order_of(op: Operation, name: str = "ordering") -> Order:
    ordering, scope = op.properties.get(name), op.properties.get("syncscope")
    return Order(
        Ordering(ordering.value.data) if isinstance(ordering, IntegerAttr) else Ordering.not_atomic,
        scope.data if isinstance(scope, StringAttr) else "",
    )


def _about(pointer: SSAValue, kind: Kind, order: Order) -> dict[str, Any]:
    """What an access through a pointer has to know; how far its buffer reaches is not known."""
    type, space = pointer.type, None
    if isinstance(type, LLVMPointerType) and isinstance(type.addr_space, IntegerAttr):
        space = _SPACES.get(type.addr_space.value.data)
    # elements of a vector are neighbours
    pattern = {"pattern": np.arange(prod(kind.shape)).reshape(kind.shape)} if kind.shape else {}
    return {"space": space, "kind": kind.element, "limit": None, "order": order, **pattern}


def bytes_of(type: Attribute) -> int:
    match type:
        case LLVMPointerType():
            return I64.bytes
        case LLVMArrayType():
            return type.size.data * bytes_of(type.type)
        case LLVMStructType():
            raise Unsupported("elements of structs have no addresses here")
        case _:
            return type_bytes(type)


def _load(b: ProgramBuilder, op: llvm.LoadOp) -> Operand:
    kind = kind_of(op.results[0].type)
    return b.emit("load", kind, b[op.ptr], index(0), **_about(op.ptr, kind, order_of(op)))


def _store(b: ProgramBuilder, op: llvm.StoreOp) -> None:
    value = b[op.value]
    b.effect("store", value, b[op.ptr], index(0), **_about(op.ptr, value.kind, order_of(op)))


def _atomic_rmw(b: ProgramBuilder, op: AtomicRMWOp) -> Operand:
    kind, value = AtomicBinOp(op.bin_op.value.data), b[op.val]
    if kind not in UPDATES:
        raise Unsupported(f"there is no update {kind.name}")
    about = _about(op.ptr, value.kind, order_of(op))
    return b.emit("atomic", value.kind, value, b[op.ptr], index(0), update=UPDATES[kind], **about)


def _cmpxchg(b: ProgramBuilder, op: AtomicCmpXchgOp) -> Struct:
    expected, value = b[op.cmp], b[op.val]
    # the order of a failure is never stronger than that of a success
    about = _about(op.ptr, value.kind, order_of(op, "success_ordering"))
    old = b.emit("cmpxchg", value.kind, value, b[op.ptr], index(0), expected, update="cmpxchg", **about)
    return Struct({(0,): old, (1,): b.emit("eq", I1, old, expected)})


def _gep(b: ProgramBuilder, op: llvm.GEPOp) -> Operand:
    # constants stand in the operation, with marks for those that are values
    dynamic = iter(op.ssa_indices)
    indices: list[Operand] = [
        b[next(dynamic)] if number == DYNAMIC else index(number) for number in op.rawConstantIndices.get_values()
    ]
    pointer, type = b[op.ptr], op.elem_type
    for depth, number in enumerate(indices):
        # the first index steps over whole elements, each further one into what was found
        if depth:
            if not isinstance(type, LLVMArrayType):
                raise Unsupported("elements of structs have no addresses here")
            type = type.type
        pointer = element_pointer(b, pointer, number, bytes_of(type))
    return pointer


def _alloca(b: ProgramBuilder, op: llvm.AllocaOp) -> Operand:
    count = b[op.size]
    if not isinstance(count, Constant):
        raise Unsupported("how large it is must be known")
    return b.private_buffer(kind_of(op.elem_type), count.value, op.location)


def _integer_cast(b: ProgramBuilder, op: Operation) -> Operand:
    """A pointer as an integer, or the other way."""
    value, kind = b[op.operands[0]], kind_of(op.results[0].type)
    return value if value.kind == kind else b.emit("resize", kind, value, signed=False)


def _anything(b: ProgramBuilder, op: Operation) -> Value:
    """Zero, which poison and undefined values may be as well."""
    type = op.results[0].type
    if isinstance(type, LLVMStructType | LLVMArrayType):
        return Struct({place: _zero(kind_of(leaf_type(type, place))) for place in leaf_positions(type)})
    return _zero(kind_of(type))


def _zero(kind: Kind) -> Constant:
    return Constant(kind, kind.dtype.type(0).item())


def _struct(b: ProgramBuilder, op: Operation) -> Struct:
    found = b.values[op.operands[0]]
    if not isinstance(found, Struct):
        raise Unsupported("its first operand is no aggregate")
    return found


def _insert_value(b: ProgramBuilder, op: llvm.InsertValueOp) -> Struct:
    value, place = b.values[op.value], tuple(op.position.get_values())
    inner = value.leaves if isinstance(value, Struct) else {(): b[op.value]}
    return Struct(_struct(b, op).leaves | {(*place, *rest): leaf for rest, leaf in inner.items()})


def _extract_value(b: ProgramBuilder, op: llvm.ExtractValueOp) -> Value:
    place, leaves = tuple(op.position.get_values()), _struct(b, op).leaves
    if place in leaves:
        return leaves[place]
    return Struct({full[len(place) :]: leaf for full, leaf in leaves.items() if full[: len(place)] == place})


def _conversion(b: ProgramBuilder, op: UnrealizedConversionCastOp) -> None:
    """A descriptor as a memref, a memref as a descriptor, or the same number under another name."""
    for source, result in zip(op.inputs, op.outputs, strict=True):
        value, type = b.values[source], result.type
        if isinstance(value, Struct) and is_ranked(type):
            b[result] = memref_of_descriptor(value, type)
        elif isinstance(value, MemRefParts) and isinstance(type, LLVMStructType):
            b[result] = descriptor_of(value)
        else:
            b[result] = value


def memref_of_descriptor(value: Struct, type: MemRefType) -> MemRefParts:
    rank = range(type.get_num_dims())
    # the first of the two pointers is for `free` alone
    places = [(1,), (2,), *((3, d) for d in rank), *((4, d) for d in rank)]
    return memref_of_parts(type, [value.leaves[place] for place in places])


def descriptor_of(value: MemRefParts) -> Struct:
    leaves: dict[tuple[int, ...], Operand] = {(0,): value.pointer, (1,): value.pointer, (2,): value.offset}
    leaves |= {(3, d): size for d, size in enumerate(value.sizes)}
    return Struct(leaves | {(4, d): stride for d, stride in enumerate(value.strides)})


HANDLERS: dict[str, Handler] = {
    "llvm.load": _load,
    "llvm.store": _store,
    "llvm.atomicrmw": _atomic_rmw,
    "llvm.cmpxchg": _cmpxchg,
    "llvm.fence": lambda b, op: b.effect("fence", order=order_of(op)),
    "llvm.getelementptr": _gep,
    "llvm.alloca": _alloca,
    "llvm.inttoptr": _integer_cast,
    "llvm.ptrtoint": _integer_cast,
    "llvm.addrspacecast": lambda b, op: b[op.operands[0]],
    "llvm.mlir.poison": _anything,
    "llvm.mlir.undef": _anything,
    "llvm.mlir.zero": _anything,
    "llvm.insertvalue": _insert_value,
    "llvm.extractvalue": _extract_value,
    "builtin.unrealized_conversion_cast": _conversion,
}
