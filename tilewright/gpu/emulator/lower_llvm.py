"""The llvm dialect in kernels: pointers, aggregates, and accesses that say how they are ordered."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import IntegerAttr, MemRefType, StringAttr, UnrealizedConversionCastOp
from xdsl.ir import Attribute, Operation

from tilewright.dialects import llvm
from tilewright.dialects._llvm_memory import AtomicCmpXchgOp, AtomicKind, AtomicRMWOp, FenceOp, Ordering
from tilewright.dialects.aie.data_layout import type_bytes
from tilewright.dialects.llvm import LLVMArrayType, LLVMPointerType, LLVMStructType
from tilewright.dialects.memref.types import is_ranked
from tilewright.gpu.emulator.builder import Handler, KernelBuilder, memref_of_parts
from tilewright.gpu.emulator.lower_memory import Order, element_pointer, update
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
    index,
    kind_of,
    leaf_positions,
)

UPDATES = {
    AtomicKind.xchg: "xchg",
    AtomicKind.add: "add",
    AtomicKind.sub: "sub",
    AtomicKind._and: "and",
    AtomicKind.nand: "nand",
    AtomicKind._or: "or",
    AtomicKind._xor: "xor",
    AtomicKind.max: "maxs",
    AtomicKind.min: "mins",
    AtomicKind.umax: "maxu",
    AtomicKind.umin: "minu",
    AtomicKind.fadd: "fadd",
    AtomicKind.fsub: "fsub",
    AtomicKind.fmax: "fmax",
    AtomicKind.fmin: "fmin",
}
_SPACES = {0: None, 1: Space.GLOBAL, 3: Space.LDS, 5: Space.PRIVATE}
DYNAMIC = -(2**31)
"""Among the constant indices of a getelementptr: this one is a value."""


def order_of(op: Operation, name: str = "ordering") -> Order:
    ordering, scope = op.properties.get(name), op.properties.get("syncscope")
    return Order(
        Ordering(ordering.value.data) if isinstance(ordering, IntegerAttr) else Ordering.not_atomic,
        scope.data if isinstance(scope, StringAttr) else "",
    )


def at(pointer: Operand, type: Attribute, kind: Kind) -> MemRefParts:
    """What a pointer points to, as a memref of one element."""
    space = None
    if isinstance(type, LLVMPointerType) and isinstance(type.addr_space, IntegerAttr):
        space = _SPACES.get(type.addr_space.value.data)
    return MemRefParts(kind.element, space, pointer, index(0), (), ())


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


def _load(b: KernelBuilder, op: Operation) -> None:
    assert isinstance(op, llvm.LoadOp)
    kind = kind_of(op.results[0].type)
    result, buffer = b.register(kind), at(b[op.ptr], op.ptr.type, kind)
    b.effect(
        "load",
        buffer.pointer,
        index(0),
        outs=[result],
        space=buffer.space,
        kind=kind.element,
        limit=None,
        order=order_of(op),
    )
    b[op.results[0]] = result


def _store(b: KernelBuilder, op: Operation) -> None:
    assert isinstance(op, llvm.StoreOp)
    value = b[op.value]
    buffer = at(b[op.ptr], op.ptr.type, value.kind)
    b.effect(
        "store", value, buffer.pointer, index(0), space=buffer.space, kind=buffer.kind, limit=None, order=order_of(op)
    )


def _atomic_rmw(b: KernelBuilder, op: Operation) -> None:
    assert isinstance(op, AtomicRMWOp)
    kind = AtomicKind(op.bin_op.value.data)
    if kind not in UPDATES:
        raise Unsupported(f"there is no update {kind.name}")
    value = b[op.val]
    buffer = at(b[op.ptr], op.ptr.type, value.kind)
    b[op.res] = update(b, value, buffer, (), UPDATES[kind], order_of(op))


def _cmpxchg(b: KernelBuilder, op: Operation) -> None:
    assert isinstance(op, AtomicCmpXchgOp)
    expected, value = b[op.cmp], b[op.val]
    old, buffer = b.register(value.kind), at(b[op.ptr], op.ptr.type, value.kind)
    b.effect(
        "cmpxchg",
        *(value, buffer.pointer, index(0), expected),
        outs=[old],
        space=buffer.space,
        kind=buffer.kind,
        limit=None,
        order=order_of(op, "success_ordering"),
        update="cmpxchg",
    )
    b[op.res] = Struct({(0,): old, (1,): b.emit("eq", I1, old, expected)})


def _fence(b: KernelBuilder, op: Operation) -> None:
    assert isinstance(op, FenceOp)
    b.effect("fence", order=order_of(op))


def _gep(b: KernelBuilder, op: Operation) -> None:
    assert isinstance(op, llvm.GEPOp)
    dynamic = iter(op.ssa_indices)
    indices: list[Operand] = [
        b[next(dynamic)] if number == DYNAMIC else index(number) for number in op.rawConstantIndices.get_values()
    ]
    pointer, type = b[op.ptr], op.elem_type
    for depth, number in enumerate(indices):
        if depth:
            if not isinstance(type, LLVMArrayType):
                raise Unsupported("elements of structs have no addresses here")
            type = type.type
        pointer = element_pointer(b, pointer, number, bytes_of(type))
    b[op.result] = pointer


def _alloca(b: KernelBuilder, op: Operation) -> None:
    assert isinstance(op, llvm.AllocaOp)
    count = b[op.size]
    if not isinstance(count, Constant):
        raise Unsupported("how large it is must be known")
    b[op.results[0]] = b.private_buffer(kind_of(op.elem_type), count.value, op.location)


def _same(b: KernelBuilder, op: Operation) -> None:
    b[op.results[0]] = b[op.operands[0]]


def _integer_cast(b: KernelBuilder, op: Operation) -> None:
    """A pointer as an integer, or the other way."""
    value, kind = b[op.operands[0]], kind_of(op.results[0].type)
    b[op.results[0]] = value if value.kind == kind else b.emit("resize", kind, value, signed=False)


def _anything(b: KernelBuilder, op: Operation) -> None:
    """Zero, which poison and undefined values may be as well."""
    type = op.results[0].type
    if isinstance(type, LLVMStructType | LLVMArrayType):
        b[op.results[0]] = Struct({place: Constant(I64, 0) for place in leaf_positions(type)})
    else:
        kind = kind_of(type)
        b[op.results[0]] = Constant(kind, kind.dtype.type(0).item())


def _struct(b: KernelBuilder, op: Operation) -> Struct:
    found = b.values[op.operands[0]]
    if not isinstance(found, Struct):
        raise Unsupported("its first operand is no aggregate")
    return found


def _insert_value(b: KernelBuilder, op: Operation) -> None:
    assert isinstance(op, llvm.InsertValueOp)
    value, place = b.values[op.value], tuple(op.position.get_values())
    leaves = dict(_struct(b, op).leaves)
    inner = value.leaves if isinstance(value, Struct) else {(): b[op.value]}
    leaves |= {(*place, *rest): leaf for rest, leaf in inner.items()}
    b[op.results[0]] = Struct(leaves)


def _extract_value(b: KernelBuilder, op: Operation) -> None:
    assert isinstance(op, llvm.ExtractValueOp)
    place, leaves = tuple(op.position.get_values()), _struct(b, op).leaves
    if place in leaves:
        b[op.results[0]] = leaves[place]
        return
    inner = {full[len(place) :]: leaf for full, leaf in leaves.items() if full[: len(place)] == place}
    b[op.results[0]] = Struct(inner)


def _conversion(b: KernelBuilder, op: Operation) -> None:
    """A descriptor as a memref, a memref as a descriptor, or the same number under another name."""
    assert isinstance(op, UnrealizedConversionCastOp)
    for source, result in zip(op.inputs, op.outputs, strict=True):
        value, type = b.values[source], result.type
        if isinstance(value, Struct) and is_ranked(type):
            b[result] = memref_of_descriptor(value, type)
        elif isinstance(value, MemRefParts) and isinstance(type, LLVMStructType):
            b[result] = descriptor_of(value)
        else:
            b[result] = value


def memref_of_descriptor(value: Struct, type: MemRefType) -> MemRefParts:
    rank = type.get_num_dims()
    places = [(1,), (2,), *((3, d) for d in range(rank)), *((4, d) for d in range(rank))]
    return memref_of_parts(type, [value.leaves[place] for place in places])


def descriptor_of(value: MemRefParts) -> Struct:
    leaves: dict[tuple[int, ...], Operand] = {(0,): value.pointer, (1,): value.pointer, (2,): value.offset}
    leaves |= {(3, d): size for d, size in enumerate(value.sizes)}
    leaves |= {(4, d): stride for d, stride in enumerate(value.strides)}
    return Struct(leaves)


def _icmp(b: KernelBuilder, op: Operation) -> None:
    assert isinstance(op, llvm.ICmpOp)
    names = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
    b[op.results[0]] = b.emit(names[cast(IntegerAttr, op.predicate).value.data], I1, *b.operands(op))


HANDLERS: dict[str, Handler] = {
    "llvm.load": _load,
    "llvm.store": _store,
    "llvm.atomicrmw": _atomic_rmw,
    "llvm.cmpxchg": _cmpxchg,
    "llvm.fence": _fence,
    "llvm.getelementptr": _gep,
    "llvm.alloca": _alloca,
    "llvm.inttoptr": _integer_cast,
    "llvm.ptrtoint": _integer_cast,
    "llvm.addrspacecast": _same,
    "llvm.mlir.poison": _anything,
    "llvm.mlir.undef": _anything,
    "llvm.mlir.zero": _anything,
    "llvm.insertvalue": _insert_value,
    "llvm.extractvalue": _extract_value,
    "llvm.icmp": _icmp,
    "builtin.unrealized_conversion_cast": _conversion,
}
