"""Pointers that are made of numbers: whether they point to global memory, which LLVM cannot tell by itself."""

from __future__ import annotations

from llvmlite import ir
from xdsl.dialects.builtin import IntegerAttr, MemRefType, NoneAttr
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.air.types import SymmetricHeapAttr
from tilewright.dialects.gpu.attributes import AddressSpace, AddressSpaceAttr
from tilewright.native.gpu_kernel import KernelLowering
from tilewright.native.gpu_machine import GLOBAL_POINTER
from tilewright.native.lowering import Handler, Lowering
from tilewright.native.pointers import HANDLERS as POINTER_HANDLERS
from tilewright.native.values import I64, POINTER

ADDRESS = "memref.extract_aligned_pointer_as_index"
SHARED_NUMBERS = (3, 5)
"""Memory of a block and of a thread, as AMD numbers them."""
ARITHMETIC = frozenset(("arith.addi", "arith.subi", "arith.index_cast", "arith.index_castui", "llvm.add", "llvm.sub"))
"""What is done to addresses that stay in the memory that they are of."""


def is_global(number: SSAValue) -> bool:
    """Whether an address is computed from that of a buffer in global memory, and from no other one."""
    found: list[Operation] = []
    open_values, seen = [number], set[SSAValue]()
    while open_values:
        value = open_values.pop()
        owner = value.owner
        if value in seen or not isinstance(owner, Operation):
            continue
        seen.add(value)
        if owner.name == ADDRESS:
            found.append(owner)
        elif owner.name in ARITHMETIC:
            open_values += owner.operands
    return bool(found) and all(_is_in_global_memory(op.operands[0]) for op in found)


def _is_in_global_memory(buffer: SSAValue) -> bool:
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


def _int_to_pointer(lowering: Lowering, op: Operation) -> None:
    assert isinstance(lowering, KernelLowering)
    builder, number, known = lowering.builder, lowering[op.operands[0]], is_global(op.operands[0])
    if known and lowering.machine.casts_numbers:
        pointer = builder.addrspacecast(builder.inttoptr(number, GLOBAL_POINTER), POINTER)
    else:
        pointer = builder.inttoptr(number, POINTER)
    if known:
        lowering.global_pointers.add(pointer)
    lowering[op.results[0]] = pointer


def _element_pointer(lowering: Lowering, op: Operation) -> None:
    assert isinstance(lowering, KernelLowering)
    POINTER_HANDLERS[op.name](lowering, op)
    if lowering[op.operands[0]] in lowering.global_pointers:
        lowering.global_pointers.add(lowering[op.results[0]])


def sharpened(lowering: KernelLowering, pointer: ir.Value) -> ir.Value:
    """A pointer that is known to be one to global memory, as such: just where it is used, since LLVM 22 fails on casts
    there and back."""
    known = pointer in lowering.global_pointers
    return lowering.builder.addrspacecast(pointer, GLOBAL_POINTER) if known else pointer


def _address(lowering: Lowering, op: Operation) -> None:
    lowering[op.results[0]] = lowering.builder.ptrtoint(lowering.memref(op.operands[0]).base, I64)


HANDLERS: dict[str, Handler] = {
    "llvm.inttoptr": _int_to_pointer,
    "llvm.getelementptr": _element_pointer,
    ADDRESS: _address,
}
