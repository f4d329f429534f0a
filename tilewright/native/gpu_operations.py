"""The operations of kernels, by name: those that every native code has, and what GPUs do in their own way."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from llvmlite import ir
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation

from tilewright.device.gpu_targets import AMD_MATRIX_CHIPS, Vendor
from tilewright.dialects import llvm, memref, vector
from tilewright.dialects._rocdl_matrices import MATRIX_OPERATIONS, MatrixOp
from tilewright.dialects.aie.data_layout import element_count
from tilewright.dialects.gpu.attributes import DimensionAttr, ShuffleMode
from tilewright.dialects.gpu.lanes import ShuffleOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.escapes import visible
from tilewright.native import aggregates, gpu_atomics, pointers
from tilewright.native.access import element_pointer
from tilewright.native.gpu_kernel import ENDLESS_BYTES, KernelLowering
from tilewright.native.gpu_machine import DIMENSIONS, as_index, call, i32, thread_count, thread_number
from tilewright.native.gpu_math import HANDLERS as MATH_HANDLERS
from tilewright.native.gpu_tensor_cores import HANDLERS as TENSOR_CORE_HANDLERS
from tilewright.native.integers import resize
from tilewright.native.lowering import Handler, Lowering
from tilewright.native.operations import OPERATIONS
from tilewright.native.pointers import alignment_of
from tilewright.native.types import BFloat
from tilewright.native.values import (
    I8,
    I32,
    POINTER,
    Untranslatable,
    bit_width,
    index,
    number_of,
    value_type,
    whole_buffer,
)

_OF_CPUS = {"aarch64", "arm", "bpf", "hexagon", "loongarch", "mips", "ppc", "riscv", "s390", "ve", "wasm", "x86"}
_OF_GPUS = {"amdgcn", "dx", "nvvm", "r600", "spv"}
FOREIGN_INTRINSICS = _OF_CPUS | _OF_GPUS
"""What names of intrinsics of one architecture begin with: LLVM ends the process over those of another."""
SOURCES: dict[ShuffleMode, Callable[[ir.IRBuilder, ir.Value, ir.Value, ir.Value], ir.Value]] = {
    ShuffleMode.IDX: lambda b, lane, first, offset: b.add(first, offset),
    ShuffleMode.XOR: lambda b, lane, first, offset: b.xor(lane, offset),
    ShuffleMode.UP: lambda b, lane, first, offset: b.sub(lane, offset),
    ShuffleMode.DOWN: lambda b, lane, first, offset: b.add(lane, offset),
}
"""Which lane is read from, by the first lane of the group that a lane is in."""
NO_HEAP = "allocate it in the host's code, or use memory of the block"
NVVM = {"tid": "thread", "ctaid": "block", "ntid": "threads", "nctaid": "blocks"}
ROCDL = {"workitem.id": "thread", "workgroup.id": "block", "workgroup.dim": "threads"}
"""Registers by their names, and as `GpuMachine` has them."""
INTRINSICS = {
    "rocdl.mbcnt.lo": "llvm.amdgcn.mbcnt.lo",
    "rocdl.mbcnt.hi": "llvm.amdgcn.mbcnt.hi",
    "rocdl.ds_bpermute": "llvm.amdgcn.ds.bpermute",
    "rocdl.readlane": "llvm.amdgcn.readlane.i32",
    "rocdl.readfirstlane": "llvm.amdgcn.readfirstlane.i32",
}
"""Instructions that only AMD's GPUs have."""


def computed(compute: Callable[[KernelLowering, Any], ir.Value]) -> Handler:
    """A handler of an operation with one result: an index, or what a register is."""

    def lower(kernel: KernelLowering, op: Operation) -> None:
        value, wanted = compute(kernel, op), value_type(op.results[0].type)
        kernel[op.results[0]] = value if value.type == wanted else as_index(kernel.builder, value)

    return lower


def _register(what: str, dimension: str = "") -> Handler:
    """A register in a dimension, or in that which the operation names."""
    return computed(lambda kernel, op: kernel.machine.register(kernel, what, dimension or _dimension(op)))


def _dimension(op: Operation) -> str:
    return str(cast(DimensionAttr, op.properties["dimension"]).data)


def _all_threads(dimension: str) -> Handler:
    """The threads of the whole grid in a dimension, which is what AMD calls its size."""

    def compute(kernel: KernelLowering, op: Operation) -> ir.Value:
        blocks, threads = (kernel.machine.register(kernel, what, dimension) for what in ("blocks", "threads"))
        return kernel.builder.mul(blocks, threads)

    return computed(compute)


def _global_id(kernel: KernelLowering, op: Operation) -> ir.Value:
    # In 64 bits from the start: a grid can have more threads than 32 bits count.
    block, thread, size = (
        as_index(kernel.builder, kernel.machine.register(kernel, what, _dimension(op)))
        for what in ("block", "thread", "threads")
    )
    return kernel.builder.add(kernel.builder.mul(block, size), thread)


def _wave_count(kernel: KernelLowering, op: Operation) -> ir.Value:
    size = kernel.machine.wave_size
    return kernel.builder.udiv(kernel.builder.add(thread_count(kernel), i32(size - 1)), i32(size))


def _amd_instruction(kernel: KernelLowering, op: Operation) -> ir.Value:
    if kernel.machine.target.vendor is not Vendor.AMD:
        raise Untranslatable(f"{kernel.machine.chip} has no such instruction; use gpu.shuffle or gpu.lane_id")
    return call(kernel, INTRINSICS[op.name], I32, *(kernel[operand] for operand in op.operands))


def _matrices(kernel: KernelLowering, op: MatrixOp) -> ir.Value:
    """A matrix instruction of AMD's, by its intrinsic."""
    row, machine = op.instruction, kernel.machine
    if machine.chip not in row.chips:
        raise Untranslatable(f"{machine.chip} has no such instruction; {', '.join(row.chips)} have it")
    if machine.wave_size != row.wave_size:
        raise Untranslatable(f"it is for waves of {row.wave_size} lanes, not of {machine.wave_size}")
    values = [kernel[value] for value in op.args]
    if "bf16" in row.operand:
        # everything else has the bits of a bf16 as an integer
        short = ir.VectorType(BFloat(), row.each)
        values[:2] = [kernel.builder.bitcast(value, short) for value in values[:2]]
    name = f"llvm.amdgcn.{row.name}"
    if not row.repeats:
        # what does not stand there as a number LLVM ends the process over
        if not all(isinstance(value, ir.Constant) for value in values[3:]):
            raise Untranslatable("its last operands are modes, which have to be constants")
        return call(kernel, name, values[2].type, *values)
    a, b, c = values
    # intrinsics of RDNA are named after their types as well
    count, element = cast(Any, a.type).count, {"f16": "f16", "bf16": "i16", "i8": "i32"}[row.element]
    name = f"{name}.v{row.sums}{row.sum_type}.v{count}{element}"
    if row.element != "i8":
        return call(kernel, name, c.type, a, b, c)
    signs = [ir.Constant(ir.IntType(1), bool(sign)) for sign in (op.signA, op.signB, op.clamp)]
    return call(kernel, name, c.type, signs[0], a, signs[1], b, c, signs[2])


def _barrier(kernel: KernelLowering, op: Operation) -> None:
    kernel.machine.barrier(kernel)


def _private(lowering: Lowering, op: Operation) -> None:
    """Memory of the thread, as long as the kernel runs; it is not cleared."""
    type = cast(MemRefType, op.results[0].type)
    count = element_count(type)
    if count is None:
        fail_op(op, "has no translation for a GPU: how much memory it takes is not known before the program runs")
    base = lowering.variable(value_type(type.element_type), count)
    lowering[op.results[0]] = whole_buffer(base, index(ENDLESS_BYTES), type)


def _llvm_private(lowering: Lowering, op: llvm.AllocaOp) -> None:
    count = number_of(lowering[op.size])
    if count is None:
        raise Untranslatable("how much memory it takes is not known before the program runs")
    lowering[op.res] = lowering.variable(value_type(op.elem_type), count)


def _load(kernel: KernelLowering, op: memref.LoadOp) -> None:
    """A load that waits for others is done again each time."""
    if op not in kernel.waiting.loads:
        OPERATIONS[op.name](kernel, op)
        return
    pointer = element_pointer(kernel, op, op.memref, op.indices)
    kernel[op.res] = kernel.machine.atomic_load(kernel.builder, pointer, value_type(op.res.type), "monotonic", "")


def _vector_access(kernel: KernelLowering, op: vector.LoadOp | vector.StoreOp) -> None:
    # What the program promises about the address lets a lane load or store all elements at once.
    with kernel.promised(alignment_of(op)):
        OPERATIONS[op.name](kernel, op)


def _inline_assembly(kernel: KernelLowering, op: llvm.InlineAsmOp) -> None:
    machine = kernel.machine
    if not machine.ASSEMBLY_OPERANDS:
        raise Untranslatable(f"LLVM has no assembler here for {machine.chip}; use llvm.call_intrinsic")
    # LLVM ends the process over a constraint that it does not know.
    for constraint in filter(None, op.constraints.data.split(",")):
        if not re.fullmatch(machine.ASSEMBLY_OPERANDS, constraint):
            raise Untranslatable(f"{machine.chip} has no operands of kind '{visible(constraint)}'")
    values = [kernel[operand] for operand in op.operands_]
    result = ir.VoidType() if op.res is None else value_type(op.res.type)
    type = ir.FunctionType(result, [value.type for value in values])
    has_effects = op.has_side_effects is not None
    got = kernel.builder.asm(type, op.asm_string.data, op.constraints.data, values, side_effect=has_effects)
    if op.res is not None:
        kernel[op.res] = got


def _intrinsic(kernel: KernelLowering, op: llvm.CallIntrinsicOp) -> None:
    """A call of one of LLVM's intrinsics by its name."""
    name, machine = op.intrin.data, kernel.machine
    prefix, _, rest = name.partition(".")
    if prefix != "llvm" or (rest.split(".")[0] in FOREIGN_INTRINSICS - {machine.INTRINSICS}):
        raise Untranslatable(f"'{visible(name)}' is no intrinsic of {machine.chip}")
    # LLVM ends the process over these, too
    kind = rest.removeprefix("amdgcn.").split(".")[0]
    if machine.chip not in AMD_MATRIX_CHIPS.get(kind, {machine.chip}):
        raise Untranslatable(f"{machine.chip} has no matrix instructions of the kind '{visible(name)}'")
    result = value_type(op.results[0].type) if op.results else ir.VoidType()
    # The verifier of LLVM finds out whether it takes these operands.
    got = call(kernel, name, result, *(kernel[operand] for operand in op.operands))
    if op.results:
        kernel[op.results[0]] = got


def _dynamic_shared(kernel: KernelLowering, op: Operation) -> None:
    """The memory of the block that a launch asks for, behind that of the kernel's own buffers."""
    # Declared buffers are elsewhere: LLVM places them.
    own = kernel.shared_bytes if kernel.is_asked_for else 0
    place = kernel.builder.gep(kernel.dynamic_shared(), [i32(own)], source_etype=I8)
    base = kernel.builder.addrspacecast(place, POINTER)
    kernel[op.results[0]] = whole_buffer(base, index(ENDLESS_BYTES), cast(MemRefType, op.results[0].type))


def _shuffle(kernel: KernelLowering, op: ShuffleOp) -> None:
    """The value of another lane of the same group; its own if there is no such lane in the group."""
    builder, lane = kernel.builder, kernel.machine.lane(kernel)
    width = _clamped(builder, kernel[op.width], kernel.machine.wave_size)
    # Groups have a power of two of lanes: the upper bits of a lane's number are those of its group's first.
    first = builder.and_(lane, builder.sub(i32(0), width))
    source = SOURCES[op.mode.data](builder, lane, first, kernel[op.offset])
    valid = builder.icmp_unsigned("<", builder.sub(source, first), width)
    chosen = builder.select(valid, source, lane)
    kernel[op.shuffle_result] = _moved(kernel, kernel[op.value], chosen)
    kernel[op.valid] = valid


def _clamped(builder: ir.IRBuilder, width: ir.Value, wave_size: int) -> ir.Value:
    """A group has no more lanes than the wave."""
    known = number_of(width)
    if known is not None:
        return i32(min(known, wave_size))
    fits = builder.icmp_unsigned("<=", width, i32(wave_size))
    return builder.select(fits, width, i32(wave_size))


def _moved(kernel: KernelLowering, value: ir.Value, source: ir.Value) -> ir.Value:
    """A value of any size in pieces of 32 bits."""
    builder, bits = kernel.builder, bit_width(value.type)
    whole = value if isinstance(value.type, ir.IntType) else builder.bitcast(value, ir.IntType(bits))
    if bits <= I32.width:
        word = resize(builder, whole, I32, unsigned=True)
        got = resize(builder, kernel.machine.read_lane(kernel, word, source), whole.type, unsigned=True)
    elif bits % I32.width:
        raise Untranslatable(f"lanes exchange multiples of 32 bits, not {bits}")
    else:
        got = _moved_words(kernel, whole, source)
    return got if got.type == value.type else builder.bitcast(got, value.type)


def _moved_words(kernel: KernelLowering, whole: ir.Value, source: ir.Value) -> ir.Value:
    builder, wide = kernel.builder, whole.type
    total: ir.Value = ir.Constant(wide, 0)
    for shift in range(0, wide.width, I32.width):
        word = builder.trunc(builder.lshr(whole, ir.Constant(wide, shift)), I32)
        got = builder.zext(kernel.machine.read_lane(kernel, word, source), wide)
        total = builder.or_(total, builder.shl(got, ir.Constant(wide, shift)))
    return total


GPU_OPERATIONS: Mapping[str, Handler] = {
    **OPERATIONS,
    **aggregates.HANDLERS,
    **pointers.HANDLERS,
    **MATH_HANDLERS,
    **gpu_atomics.HANDLERS,
    **TENSOR_CORE_HANDLERS,
    "gpu.thread_id": _register("thread"),
    "gpu.block_id": _register("block"),
    "gpu.block_dim": _register("threads"),
    "gpu.grid_dim": _register("blocks"),
    "gpu.global_id": computed(_global_id),
    "gpu.lane_id": computed(lambda kernel, op: kernel.machine.lane(kernel)),
    "gpu.subgroup_size": computed(lambda kernel, op: i32(kernel.machine.wave_size)),
    "gpu.subgroup_id": computed(
        lambda kernel, op: kernel.builder.udiv(thread_number(kernel), i32(kernel.machine.wave_size))
    ),
    "gpu.num_subgroups": computed(_wave_count),
    "gpu.barrier": _barrier,
    "gpu.dynamic_shared_memory": _dynamic_shared,
    "memref.alloca": _private,
    "memref.alloc": lambda kernel, op: fail_op(op, "allocates memory in a kernel", (op, NO_HEAP)),
    "memref.load": _load,
    "vector.load": _vector_access,
    "vector.store": _vector_access,
    "llvm.alloca": _llvm_private,
    "llvm.inline_asm": _inline_assembly,
    "llvm.call_intrinsic": _intrinsic,
    "gpu.shuffle": _shuffle,
    **{f"nvvm.read.ptx.sreg.{name}.{d}": _register(what, d) for name, what in NVVM.items() for d in DIMENSIONS},
    **{f"rocdl.{name}.{d}": _register(what, d) for name, what in ROCDL.items() for d in DIMENSIONS},
    **{f"rocdl.grid.dim.{d}": _all_threads(d) for d in DIMENSIONS},
    **dict.fromkeys(INTRINSICS, computed(_amd_instruction)),
    **{operation.name: computed(_matrices) for operation in MATRIX_OPERATIONS},
    "nvvm.read.ptx.sreg.laneid": computed(lambda kernel, op: kernel.machine.lane(kernel)),
    "nvvm.read.ptx.sreg.warpsize": computed(lambda kernel, op: i32(kernel.machine.wave_size)),
    "rocdl.wavefrontsize": computed(lambda kernel, op: i32(kernel.machine.wave_size)),
    "nvvm.barrier0": _barrier,
    "rocdl.barrier": _barrier,
    "rocdl.s.barrier": _barrier,
}
