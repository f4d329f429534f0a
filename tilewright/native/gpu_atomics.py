"""Atomic accesses of kernels, with their order and the scope that it holds in."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from llvmlite import ir
from xdsl.dialects.builtin import IntegerAttr, MemRefType, NoneAttr, StringAttr
from xdsl.ir import Operation, SSAValue

from tilewright.dialects._llvm_memory import AtomicCmpXchgOp, AtomicRMWOp, FenceOp, Ordering
from tilewright.dialects.air.types import SymmetricHeapAttr
from tilewright.dialects.gpu.attributes import AddressSpace, AddressSpaceAttr
from tilewright.dialects.memref.access import AtomicKind, GenericAtomicRMWOp
from tilewright.dialects.memref.access import AtomicRMWOp as MemrefUpdateOp
from tilewright.native.access import element_pointer
from tilewright.native.arithmetic import combine
from tilewright.native.gpu_kernel import KernelLowering
from tilewright.native.gpu_machine import GLOBAL_POINTER
from tilewright.native.host_buffers import aligned_pointer
from tilewright.native.lowering import Handler
from tilewright.native.pointers import HANDLERS as POINTER_HANDLERS
from tilewright.native.pointers import alignment_of, ordering_of, update_name
from tilewright.native.traps import Untranslatable
from tilewright.native.values import I32, I64, POINTER, bit_width, size_of, value_type

ADDRESS = "memref.extract_aligned_pointer_as_index"
SHARED_NUMBERS = (3, 5)
"""Memory of a block and of a thread, as AMD numbers them."""
ARITHMETIC = frozenset(("arith.addi", "arith.subi", "arith.index_cast", "arith.index_castui", "llvm.add", "llvm.sub"))
"""What is done to addresses that stay in the memory that they are of."""
SYSTEM = ""
"""The widest scope: other GPUs and the host too."""
WAVE = "wavefront"
"""The scope of the lanes of a wave, as AMD has it: they go in step, so that a fence is also a place to meet."""
KINDS = {
    AtomicKind.ASSIGN: "xchg",
    AtomicKind.ADDI: "add",
    AtomicKind.ADDF: "fadd",
    AtomicKind.ANDI: "and",
    AtomicKind.ORI: "or",
    AtomicKind.MAXS: "max",
    AtomicKind.MAXU: "umax",
    AtomicKind.MINS: "min",
    AtomicKind.MINU: "umin",
}
"""What LLVM calls the updates of memrefs; others are made of a loop."""
WORDS = {I32.width: I32, I64.width: I64}
WIDEST_BYTES = 8
"""Of atomic accesses, on every GPU."""


def is_global(number: SSAValue) -> bool:
    """Whether an address is computed from that of a buffer in global memory, and from no other one."""
    found: list[Operation] = []
    open_values, seen = [number], set[SSAValue]()
    while open_values:
        value = open_values.pop()
        owner = value.owner
        # Arguments of kernels are no addresses of which anything is known.
        if value in seen or not isinstance(owner, Operation):
            continue
        seen.add(value)
        if owner.name == ADDRESS:
            found.append(owner)
        elif owner.name in ARITHMETIC:
            open_values += owner.operands
    return bool(found) and all(_is_in_global_memory(op.operands[0]) for op in found)


def _is_in_global_memory(buffer: SSAValue) -> bool:
    # Its type says another memory than the one that it came from.
    if isinstance(buffer.owner, Operation) and buffer.owner.name == "memref.memory_space_cast":
        return False
    type = buffer.type
    assert isinstance(type, MemRefType), "only buffers have addresses"
    match type.memory_space:
        case NoneAttr() | SymmetricHeapAttr():
            return True
        case IntegerAttr() as number:
            return number.value.data not in SHARED_NUMBERS
        case AddressSpaceAttr() as space:
            return space.data is AddressSpace.GLOBAL
        case _:
            return False


def _int_to_pointer(lowering: KernelLowering, op: Operation) -> None:
    builder, number, known = lowering.builder, lowering[op.operands[0]], is_global(op.operands[0])
    type = value_type(op.results[0].type)
    if type != POINTER:
        lowering[op.results[0]] = builder.inttoptr(number, type)
        return
    # Accesses to memory that is known to be global are shorter and need no test where they go.
    if known and lowering.machine.casts_numbers:
        pointer = builder.addrspacecast(builder.inttoptr(number, GLOBAL_POINTER), POINTER)
    else:
        pointer = builder.inttoptr(number, POINTER)
    if known:
        lowering.global_pointers.add(pointer)
    lowering[op.results[0]] = pointer


def _element_pointer(lowering: KernelLowering, op: Operation) -> None:
    POINTER_HANDLERS[op.name](lowering, op)
    if lowering[op.operands[0]] in lowering.global_pointers:
        lowering.global_pointers.add(lowering[op.results[0]])


def sharpened(lowering: KernelLowering, pointer: ir.Value) -> ir.Value:
    """A pointer that is known to be one to global memory, as such: just where it is used, since LLVM 22 fails on casts
    there and back."""
    known = pointer in lowering.global_pointers
    return lowering.builder.addrspacecast(pointer, GLOBAL_POINTER) if known else pointer


def _scope(op: Operation) -> str:
    found = op.properties.get("syncscope")
    return found.data if isinstance(found, StringAttr) else SYSTEM


def _check_width(type: ir.Type) -> None:
    """LLVM ends the process over atomic accesses that a GPU does not have."""
    if size_of(type) > WIDEST_BYTES:
        raise Untranslatable(f"atomic accesses have up to {WIDEST_BYTES} bytes, {type} has {size_of(type)}")


def _access_ordering(lowering: KernelLowering, op: Operation) -> str:
    """How a load or a store is ordered; what others wait for, or change at any time, is atomic in any case."""
    changes = op in lowering.waiting.loads or "volatile_" in op.properties
    return ordering_of(op) or (Ordering.monotonic.name if changes else "")


def _load(lowering: KernelLowering, op: Operation) -> None:
    type, pointer = value_type(op.results[0].type), sharpened(lowering, lowering[op.operands[0]])
    if ordering := _access_ordering(lowering, op):
        _check_width(type)
        lowering[op.results[0]] = lowering.machine.atomic_load(lowering.builder, pointer, type, ordering, _scope(op))
    else:
        lowering[op.results[0]] = lowering.builder.load(pointer, typ=type, align=alignment_of(op))


def _store(lowering: KernelLowering, op: Operation) -> None:
    value, pointer = lowering[op.operands[0]], sharpened(lowering, lowering[op.operands[1]])
    if ordering := _access_ordering(lowering, op):
        _check_width(value.type)
        lowering.machine.atomic_store(lowering.builder, value, pointer, ordering, _scope(op))
    else:
        lowering.builder.store(value, pointer, align=alignment_of(op))


def _update(lowering: KernelLowering, op: AtomicRMWOp) -> None:
    pointer, value = lowering[op.ptr], lowering[op.val]
    _check_width(value.type)
    order = ordering_of(op), _scope(op)
    lowering[op.res] = lowering.machine.update(lowering.builder, update_name(op), pointer, value, *order)


def _exchange(lowering: KernelLowering, op: AtomicCmpXchgOp) -> None:
    operands = lowering[op.ptr], lowering[op.cmp], lowering[op.val]
    orderings = ordering_of(op, "success_ordering"), ordering_of(op, "failure_ordering")
    _check_width(operands[2].type)
    lowering[op.res] = lowering.machine.exchange(lowering.builder, operands, orderings, _scope(op))


def _fence(lowering: KernelLowering, op: FenceOp) -> None:
    """One of a wave makes its lanes wait for each other, which on some machines takes more than an order."""
    if _scope(op) == WAVE:
        lowering.machine.wave_fence(lowering, ordering_of(op))
    else:
        lowering.machine.fence(lowering.builder, ordering_of(op), _scope(op))


def _memref_update(lowering: KernelLowering, op: MemrefUpdateOp) -> None:
    """In the order of both sides, in the widest scope: as MLIR lowers it."""
    builder, value = lowering.builder, lowering[op.value]
    pointer = element_pointer(lowering, op, op.memref, op.indices)
    # One instruction where LLVM has it; a loop of compare and exchange for the rest.
    if (kind := KINDS.get(op.update)) is not None:
        _check_width(value.type)
        lowering[op.result] = lowering.machine.update(builder, kind, pointer, value, Ordering.acq_rel.name, SYSTEM)
        return

    def changed(old: ir.Value) -> ir.Value:
        return combine(builder, f"arith.{op.update}", op.value.type, old, value)

    lowering[op.result] = _in_a_loop(lowering, pointer, value.type, changed)[0]


def _generic_update(lowering: KernelLowering, op: GenericAtomicRMWOp) -> None:
    buffer, *indices = op.operands
    pointer = element_pointer(lowering, op, buffer, indices)

    def changed(old: ir.Value) -> ir.Value:
        (new,) = lowering.lower_region(op.regions[0], [old])
        return cast(ir.Value, new)

    lowering[op.results[0]] = _in_a_loop(lowering, pointer, value_type(op.results[0].type), changed)[1]


def _in_a_loop(
    lowering: KernelLowering, pointer: ir.Value, type: ir.Type, change: Callable[[ir.Value], ir.Value]
) -> tuple[ir.Value, ir.Value]:
    """Compute and try to exchange until no other thread came in between; gives the old and the new value."""
    machine, builder, word = lowering.machine, lowering.builder, WORDS.get(bit_width(type))
    if word is None:
        raise Untranslatable(f"values of {bit_width(type)} bits are not updated atomically, only those of 32 and 64")
    # Any value does to begin with: a wrong one costs a turn of the loop.
    first = machine.atomic_load(builder, pointer, word, Ordering.monotonic.name, SYSTEM)
    loop, done = lowering.new_block("again"), lowering.new_block("updated")
    before = lowering.branch(loop)
    lowering.at(loop)
    seen = builder.phi(word)
    seen.add_incoming(first, before)
    old = seen if word == type else builder.bitcast(seen, type)
    new = change(old)
    bits = new if word == type else builder.bitcast(new, word)
    orderings = Ordering.acq_rel.name, Ordering.monotonic.name
    got = machine.exchange(builder, (pointer, seen, bits), orderings, SYSTEM)
    seen.add_incoming(builder.extract_value(got, 0), builder.block)
    builder.cbranch(builder.extract_value(got, 1), done, loop)
    lowering.at(done)
    return old, new


HANDLERS: dict[str, Handler] = {
    "llvm.inttoptr": _int_to_pointer,
    "llvm.getelementptr": _element_pointer,
    ADDRESS: aligned_pointer,
    "memref.atomic_rmw": _memref_update,
    "memref.generic_atomic_rmw": _generic_update,
    "llvm.load": _load,
    "llvm.store": _store,
    "llvm.atomicrmw": _update,
    "llvm.cmpxchg": _exchange,
    "llvm.fence": _fence,
}
