"""`llvm`: pointers, what is stored where they point, and globals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from llvmlite import ir
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute, Operation

from tilewright.dialects import llvm
from tilewright.dialects._llvm_memory import AtomicBinOp, AtomicCmpXchgOp, AtomicRMWOp, FenceOp, Ordering
from tilewright.dialects.arith.meaning import SAME_IN_LLVM
from tilewright.dialects.llvm import LLVMArrayType
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.shown import shown
from tilewright.ir.symbols import lookup_symbol
from tilewright.native.arithmetic import checked_integers
from tilewright.native.integers import compare, resize
from tilewright.native.lanes import scalar_constant
from tilewright.native.lowering import Handler, Lowering, stack_room
from tilewright.native.values import I8, I64, POINTER, Untranslatable, value_type

DYNAMIC = -(1 << 31)
"""Where a list of written indices says that a value follows."""
UPDATES = {
    AtomicBinOp._and: "and",
    AtomicBinOp._or: "or",
    AtomicBinOp._xor: "xor",
}
"""What LLVM calls updates that MLIR spells otherwise."""


def _int_to_pointer(lowering: Lowering, op: Operation) -> None:
    lowering[op.results[0]] = lowering.builder.inttoptr(lowering[op.operands[0]], POINTER)


def _pointer_to_int(lowering: Lowering, op: Operation) -> None:
    lowering[op.results[0]] = lowering.builder.ptrtoint(lowering[op.operands[0]], value_type(op.results[0].type))


def _element_pointer(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, llvm.GEPOp)
    dynamic = iter(op.ssa_indices)
    indices: list[ir.Value] = []
    for number, written in enumerate(op.rawConstantIndices.get_values()):
        constant = ir.Constant(I64 if number == 0 else ir.IntType(32), written)  # members of a struct need 32 bits
        indices.append(lowering[next(dynamic)] if written == DYNAMIC else constant)
    lowering[op.result] = lowering.builder.gep(lowering[op.ptr], indices, source_etype=value_type(op.elem_type))


def _load(lowering: Lowering, op: Operation) -> None:
    pointer, type = lowering[op.operands[0]], value_type(op.results[0].type)
    ordering = _ordering(op.properties.get("ordering"))
    if ordering is None:
        lowering[op.results[0]] = lowering.builder.load(pointer, typ=type, align=_alignment(op, 1))
    else:
        size = _alignment(op, _natural(type))
        lowering[op.results[0]] = lowering.builder.load_atomic(pointer, ordering, size, typ=type)


def _store(lowering: Lowering, op: Operation) -> None:
    value, pointer = (lowering[operand] for operand in op.operands)
    ordering = _ordering(op.properties.get("ordering"))
    if ordering is None:
        lowering.builder.store(value, pointer, align=_alignment(op, 1))
    else:
        lowering.builder.store_atomic(value, pointer, ordering, _alignment(op, _natural(value.type)))


def _ordering(attribute: Attribute | None) -> str | None:
    """LLVM's word for how an access is ordered; None if it is no atomic one."""
    number = attribute.value.data if isinstance(attribute, IntegerAttr) else 0
    return Ordering(number).name if number else None


def _alignment(op: Operation, default: int) -> int:
    found = op.properties.get("alignment")
    return found.value.data if isinstance(found, IntegerAttr) and found.value.data else default


def _natural(type: ir.Type) -> int:
    return type.width // 8 if isinstance(type, ir.IntType) else 4 if isinstance(type, ir.FloatType) else 8


def _update(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, AtomicRMWOp)
    kind = AtomicBinOp(op.bin_op.value.data)
    ordering = _ordering(op.ordering) or Ordering.monotonic.name
    pointer, value = lowering[op.ptr], lowering[op.val]
    lowering[op.res] = lowering.builder.atomic_rmw(UPDATES.get(kind, kind.name), pointer, value, ordering)


def _compare_exchange(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, AtomicCmpXchgOp)
    success, failure = (
        _ordering(found) or Ordering.monotonic.name for found in (op.success_ordering, op.failure_ordering)
    )
    pointer, expected, value = lowering[op.ptr], lowering[op.cmp], lowering[op.val]
    lowering[op.res] = lowering.builder.cmpxchg(pointer, expected, value, success, failure)


def _fence(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, FenceOp)
    lowering.builder.fence(_ordering(op.ordering) or Ordering.seq_cst.name)


def _allocate(lowering: Lowering, op: Operation) -> None:
    """Memory of the function's frame, where the program asks for it: each time anew."""
    assert isinstance(op, llvm.AllocaOp)
    count = resize(lowering.builder, lowering[op.size], I64, unsigned=True)
    lowering[op.res] = stack_room(lowering.builder, value_type(op.elem_type), count)


def _address_of(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, llvm.AddressOfOp)
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
    variable = ir.GlobalVariable(lowering.unit.module, initial.type, name)
    variable.type = POINTER  # llvmlite would give it a type that says what it points to
    variable.initializer, variable.linkage = initial, "internal"
    variable.global_constant = op.constant is not None
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


def _binary(name: str) -> Handler:
    def lower(lowering: Lowering, op: Operation) -> None:
        lowering[op.results[0]] = checked_integers(lowering, name, *(lowering[operand] for operand in op.operands))

    return lower


def _resizing(unsigned: bool) -> Handler:
    def lower(lowering: Lowering, op: Operation) -> None:
        type = value_type(op.results[0].type)
        lowering[op.results[0]] = resize(lowering.builder, lowering[op.operands[0]], type, unsigned)

    return lower


def _compare(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, llvm.ICmpOp)
    if isinstance(lowering[op.lhs].type, ir.PointerType):
        raise Untranslatable("only integers are compared; use llvm.ptrtoint")
    lowering[op.res] = compare(lowering.builder, op.predicate.value.data, lowering[op.lhs], lowering[op.rhs])


def _select(lowering: Lowering, op: Operation) -> None:
    condition, yes, no = (lowering[operand] for operand in op.operands)
    lowering[op.results[0]] = lowering.builder.select(condition, yes, no)


HANDLERS: dict[str, Handler] = {
    "llvm.inttoptr": _int_to_pointer,
    "llvm.ptrtoint": _pointer_to_int,
    "llvm.getelementptr": _element_pointer,
    "llvm.load": _load,
    "llvm.store": _store,
    "llvm.atomicrmw": _update,
    "llvm.cmpxchg": _compare_exchange,
    "llvm.fence": _fence,
    "llvm.alloca": _allocate,
    "llvm.mlir.addressof": _address_of,
    "llvm.icmp": _compare,
    "llvm.select": _select,
    "llvm.trunc": _resizing(unsigned=True),
    "llvm.zext": _resizing(unsigned=True),
    "llvm.sext": _resizing(unsigned=False),
    **{f"llvm.{name}": _binary(same) for name, same in SAME_IN_LLVM.items()},
}
