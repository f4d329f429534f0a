"""`llvm`: pointers, what is stored where they point, and globals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from llvmlite import ir
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, StringAttr
from xdsl.ir import Operation

from tilewright.dialects import llvm
from tilewright.dialects._llvm_memory import AtomicBinOp, AtomicCmpXchgOp, AtomicRMWOp, FenceOp, Ordering
from tilewright.dialects.arith.meaning import SAME_IN_LLVM
from tilewright.dialects.llvm import LLVMArrayType
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.shown import shown
from tilewright.ir.symbols import lookup_symbol
from tilewright.native.arithmetic import integer_binary
from tilewright.native.casts import resizing
from tilewright.native.integers import LlvmIntegers, resize
from tilewright.native.lanes import scalar_constant
from tilewright.native.lowering import Handler, Lowering, on_values, stack_room
from tilewright.native.traps import Untranslatable
from tilewright.native.values import I8, I32, I64, global_data, natural_alignment, value_type

DYNAMIC = -(1 << 31)
"""Where a list of written indices says that a value follows."""


def _element_pointer(lowering: Lowering, op: llvm.GEPOp) -> None:
    dynamic = iter(op.ssa_indices)
    indices: list[ir.Value] = []
    for number, written in enumerate(op.rawConstantIndices.get_values()):
        constant = ir.Constant(I64 if number == 0 else I32, written)  # members of a struct need 32 bits
        indices.append(lowering[next(dynamic)] if written == DYNAMIC else constant)
    lowering[op.result] = lowering.builder.gep(lowering[op.ptr], indices, source_etype=value_type(op.elem_type))


def _load(lowering: Lowering, op: Operation) -> None:
    pointer, type = lowering[op.operands[0]], value_type(op.results[0].type)
    if ordering := ordering_of(op):
        size = alignment_of(op) or natural_alignment(type)
        lowering[op.results[0]] = lowering.builder.load_atomic(pointer, ordering, size, typ=type)
    else:
        # Programs promise nothing about addresses unless they say so.
        lowering[op.results[0]] = lowering.builder.load(pointer, typ=type, align=alignment_of(op) or 1)


def _store(lowering: Lowering, op: Operation) -> None:
    value, pointer = (lowering[operand] for operand in op.operands)
    if ordering := ordering_of(op):
        size = alignment_of(op) or natural_alignment(value.type)
        lowering.builder.store_atomic(value, pointer, ordering, size)
    else:
        lowering.builder.store(value, pointer, align=alignment_of(op) or 1)


def ordering_of(op: Operation, name: str = "ordering") -> str:
    """LLVM's word for how an access is ordered; none if it is no atomic one."""
    found = op.properties.get(name)
    number = found.value.data if isinstance(found, IntegerAttr) else 0
    return Ordering(number).name if number else ""


def alignment_of(op: Operation) -> int | None:
    """The bytes that an address is promised to be a multiple of."""
    found = op.properties.get("alignment") or op.attributes.get("alignment")
    return found.value.data if isinstance(found, IntegerAttr) else None


def _update(lowering: Lowering, op: AtomicRMWOp) -> None:
    ordering = ordering_of(op) or Ordering.monotonic.name
    lowering[op.res] = lowering.builder.atomic_rmw(update_name(op), lowering[op.ptr], lowering[op.val], ordering)


def update_name(op: AtomicRMWOp) -> str:
    """LLVM's word for an update; MLIR puts a line before those that are words of C++."""
    return AtomicBinOp(op.bin_op.value.data).name.removeprefix("_")


def _compare_exchange(lowering: Lowering, op: AtomicCmpXchgOp) -> None:
    orderings = [ordering_of(op, f"{when}_ordering") or Ordering.monotonic.name for when in ("success", "failure")]
    pointer, expected, value = lowering[op.ptr], lowering[op.cmp], lowering[op.val]
    lowering[op.res] = lowering.builder.cmpxchg(pointer, expected, value, *orderings)


def _fence(lowering: Lowering, op: FenceOp) -> None:
    lowering.builder.fence(ordering_of(op) or Ordering.seq_cst.name)


def _allocate(lowering: Lowering, op: llvm.AllocaOp) -> None:
    """Memory of the function's frame, where the program asks for it: each time anew."""
    # Not in the entry block as other variables are: in a loop each turn has its own.
    count = resize(lowering.builder, lowering[op.size], I64, unsigned=True)
    lowering[op.res] = stack_room(lowering.builder, value_type(op.elem_type), count)


def _address_of(lowering: Lowering, op: llvm.AddressOfOp) -> None:
    found = lookup_symbol(op, op.global_name)
    if not isinstance(found, llvm.GlobalOp):
        fail_op(op, f"refers to @{op.global_name.string_value()}, which is no llvm.mlir.global")
    lowering[op.result] = global_variable(lowering, found)


def global_variable(lowering: Lowering, op: llvm.GlobalOp) -> ir.Value:
    """The variable of this program that a global is."""
    name = f"global.{op.sym_name.data}"
    known = lowering.unit.module.globals.get(name)
    if known is not None:
        return known
    initial = _initial(op)
    variable = global_data(lowering.unit.module, initial.type, name)
    variable.initializer, variable.global_constant = initial, op.constant is not None
    return variable


def _initial(op: llvm.GlobalOp) -> ir.Constant:
    if op.body.blocks:
        fail_op(op, "has no native translation: its value is computed", (op, "give it a constant, or store to it"))
    match op.value:
        case None:
            return ir.Constant(value_type(op.global_type), None)
        case StringAttr() | BytesAttr():
            data = bytearray(op.value.data if isinstance(op.value, BytesAttr) else op.value.data.encode())
            return ir.Constant(ir.ArrayType(I8, len(data)), data)
        case IntegerAttr() | FloatAttr() if op.value.type == op.global_type:
            return scalar_constant(op.global_type, op.value.value.data)
        case DenseIntOrFPElementsAttr() if isinstance(op.global_type, LLVMArrayType):
            numbers = cast(Sequence[float], op.value.get_values())
            if len(numbers) != op.global_type.size.data:
                fail_op(op, f"has {len(numbers)} numbers for a {shown(op.global_type)}")
            return ir.Constant(
                value_type(op.global_type), [scalar_constant(op.global_type.type, number) for number in numbers]
            )
        case _:
            fail_op(
                op, "has no native translation: its value is no number of its type, no string and no list of numbers"
            )


def _compare(lowering: Lowering, op: llvm.ICmpOp) -> None:
    lhs, rhs = lowering[op.lhs], lowering[op.rhs]
    if isinstance(lhs.type, ir.PointerType):
        raise Untranslatable("only integers are compared; use llvm.ptrtoint")
    lowering[op.res] = LlvmIntegers(lowering.builder).cmpi(op.predicate.value.data, lhs, rhs)


HANDLERS: dict[str, Handler] = {
    "llvm.inttoptr": on_values(lambda b, type, x: b.inttoptr(x[0], value_type(type))),
    "llvm.addrspacecast": on_values(lambda b, type, x: b.addrspacecast(x[0], value_type(type))),
    "llvm.ptrtoint": on_values(lambda b, type, x: b.ptrtoint(x[0], value_type(type))),
    "llvm.getelementptr": _element_pointer,
    "llvm.load": _load,
    "llvm.store": _store,
    "llvm.atomicrmw": _update,
    "llvm.cmpxchg": _compare_exchange,
    "llvm.fence": _fence,
    "llvm.alloca": _allocate,
    "llvm.mlir.addressof": _address_of,
    "llvm.icmp": _compare,
    "llvm.select": on_values(lambda b, type, x: b.select(x[0], x[1], x[2])),
    "llvm.trunc": resizing(unsigned=True),
    "llvm.zext": resizing(unsigned=True),
    "llvm.sext": resizing(unsigned=False),
    **{f"llvm.{name}": integer_binary(same) for name, same in SAME_IN_LLVM.items()},
}
