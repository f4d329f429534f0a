"""The operations of kernels, by name: those that every native code has, and what GPUs do in their own way."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import cast

from llvmlite import ir
from xdsl.dialects.builtin import IntegerAttr, MemRefType
from xdsl.ir import Operation

from tilewright.device.gpu_targets import Vendor
from tilewright.dialects import llvm, memref, vector
from tilewright.dialects.aie.data_layout import element_count
from tilewright.dialects.gpu.attributes import DimensionAttr, ShuffleMode
from tilewright.dialects.gpu.lanes import ShuffleOp
from tilewright.dialects.memref.types import memref_type
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.escapes import visible
from tilewright.native import aggregates, gpu_atomics, pointers
from tilewright.native.access import element_pointer
from tilewright.native.gpu_kernel import ENDLESS_BYTES, KernelLowering, kernel_of
from tilewright.native.gpu_machine import DIMENSIONS, as_index, block_size, call, i32, thread_count, thread_number
from tilewright.native.gpu_math import HANDLERS as MATH_HANDLERS
from tilewright.native.lowering import Handler, Lowering
from tilewright.native.operations import OPERATIONS
from tilewright.native.values import I8, I32, POINTER, Untranslatable, index, number_of, value_type, whole_buffer
from tilewright.native.vector_memory import load_rows, store_rows

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


def _dimension(op: Operation) -> str:
    return str(cast(DimensionAttr, op.properties["dimension"]).data)


def _register(what: str) -> Handler:
    def lower(lowering: Lowering, op: Operation) -> None:
        kernel = kernel_of(lowering)
        if what == "threads":
            value = block_size(kernel, _dimension(op))
        else:
            value = kernel.machine.register(kernel, what, _dimension(op))
        known = number_of(value)
        lowering[op.results[0]] = as_index(lowering.builder, value) if known is None else index(known)

    return lower


def _global_id(lowering: Lowering, op: Operation) -> None:
    kernel, builder = kernel_of(lowering), lowering.builder
    block, thread = (
        as_index(builder, kernel.machine.register(kernel, what, _dimension(op))) for what in ("block", "thread")
    )
    size = as_index(builder, block_size(kernel, _dimension(op)))
    lowering[op.results[0]] = builder.add(builder.mul(block, size), thread)


def _lane_id(lowering: Lowering, op: Operation) -> None:
    kernel = kernel_of(lowering)
    lowering[op.results[0]] = as_index(lowering.builder, kernel.machine.lane(kernel))


def _wave_size(lowering: Lowering, op: Operation) -> None:
    lowering[op.results[0]] = index(kernel_of(lowering).machine.wave_size)


def _wave_id(lowering: Lowering, op: Operation) -> None:
    kernel, builder = kernel_of(lowering), lowering.builder
    size = i32(kernel.machine.wave_size)
    lowering[op.results[0]] = as_index(builder, builder.udiv(thread_number(kernel), size))


def _wave_count(lowering: Lowering, op: Operation) -> None:
    kernel, builder = kernel_of(lowering), lowering.builder
    size = kernel.machine.wave_size
    threads = builder.add(thread_count(kernel), i32(size - 1))
    lowering[op.results[0]] = as_index(builder, builder.udiv(threads, i32(size)))


def _barrier(lowering: Lowering, op: Operation) -> None:
    kernel = kernel_of(lowering)
    kernel.machine.barrier(kernel)


def _private(lowering: Lowering, op: Operation) -> None:
    """Memory of the thread, as long as the kernel runs; it is not cleared."""
    type = cast(MemRefType, op.results[0].type)
    count = element_count(type)
    if count is None:
        fail_op(op, "has no translation for a GPU: how much memory it takes is not known before the program runs")
    base = lowering.variable(value_type(type.element_type), count)
    lowering[op.results[0]] = whole_buffer(base, index(ENDLESS_BYTES), type)


def _no_heap(lowering: Lowering, op: Operation) -> None:
    fail_op(op, "allocates memory in a kernel", (op, "allocate it in the host's code, or use memory of the block"))


def _llvm_private(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, llvm.AllocaOp)
    count = number_of(lowering[op.size])
    if count is None:
        raise Untranslatable("how much memory it takes is not known before the program runs")
    lowering[op.res] = lowering.variable(value_type(op.elem_type), count)


def _load(lowering: Lowering, op: Operation) -> None:
    """A load that waits for others is done again each time."""
    assert isinstance(op, memref.LoadOp)
    kernel = kernel_of(lowering)
    if op not in kernel.waiting.loads:
        OPERATIONS[op.name](lowering, op)
        return
    pointer = element_pointer(lowering, op, lowering.memref(op.memref), memref_type(op.memref), op.indices)
    type = value_type(op.res.type)
    lowering[op.res] = kernel.machine.atomic_load(lowering.builder, pointer, type, "monotonic", "")


def _alignment(op: Operation) -> int | None:
    """What the program promises about an address."""
    found = op.properties.get("alignment") or op.attributes.get("alignment")
    return found.value.data if isinstance(found, IntegerAttr) else None


def _vector_load(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, vector.LoadOp)
    with kernel_of(lowering).promised(_alignment(op)):
        lowering[op.result] = load_rows(lowering, op, op.base, op.indices, op.result.type)


def _vector_store(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, vector.StoreOp)
    with kernel_of(lowering).promised(_alignment(op)):
        store_rows(lowering, op, op.vector, op.base, op.indices)


def _inline_assembly(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, llvm.InlineAsmOp)
    machine = kernel_of(lowering).machine
    if not machine.ASSEMBLY_OPERANDS:
        raise Untranslatable(f"LLVM has no assembler here for {machine.chip}; use llvm.call_intrinsic")
    for constraint in filter(None, op.constraints.data.split(",")):
        if not re.fullmatch(machine.ASSEMBLY_OPERANDS, constraint):
            raise Untranslatable(f"{machine.chip} has no operands of kind '{visible(constraint)}'")
    values = [lowering[operand] for operand in op.operands_]
    result = ir.VoidType() if op.res is None else value_type(op.res.type)
    type = ir.FunctionType(result, [value.type for value in values])
    got = lowering.builder.asm(
        type, op.asm_string.data, op.constraints.data, values, side_effect=op.has_side_effects is not None
    )
    if op.res is not None:
        lowering[op.res] = got


def _intrinsic(lowering: Lowering, op: Operation) -> None:
    """A call of one of LLVM's intrinsics by its name."""
    assert isinstance(op, llvm.CallIntrinsicOp)
    values = [lowering[operand] for operand in op.operands]
    result = value_type(op.results[0].type) if op.results else ir.VoidType()
    name, machine = op.intrin.data, kernel_of(lowering).machine
    prefix, _, rest = name.partition(".")
    if prefix != "llvm" or (rest.split(".")[0] in FOREIGN_INTRINSICS - {machine.INTRINSICS}):
        raise Untranslatable(f"'{visible(name)}' is no intrinsic of {machine.chip}")
    function = lowering.unit.module.globals.get(name) or ir.Function(
        lowering.unit.module, ir.FunctionType(result, [value.type for value in values]), name
    )
    got = lowering.builder.call(function, values)
    if op.results:
        lowering[op.results[0]] = got


def _dynamic_shared(lowering: Lowering, op: Operation) -> None:
    """The memory of the block that a launch asks for, behind that of the kernel's own buffers."""
    kernel = kernel_of(lowering)
    own = kernel.shared_bytes if kernel.is_asked_for else 0
    place = lowering.builder.gep(kernel.dynamic_shared(), [i32(own)], source_etype=I8)
    base = lowering.builder.addrspacecast(place, POINTER)
    lowering[op.results[0]] = whole_buffer(base, index(ENDLESS_BYTES), cast(MemRefType, op.results[0].type))


def _shuffle(lowering: Lowering, op: Operation) -> None:
    """The value of another lane of the same group; its own if there is no such lane in the group."""
    assert isinstance(op, ShuffleOp)
    kernel, builder = kernel_of(lowering), lowering.builder
    machine, lane = kernel.machine, kernel.machine.lane(kernel)
    written, offset = lowering[op.width], lowering[op.offset]
    width = _clamped(builder, written, machine.wave_size)
    first = builder.and_(lane, builder.sub(i32(0), width))
    source = SOURCES[op.mode.data](builder, lane, first, offset)
    valid = builder.icmp_unsigned("<", builder.sub(source, first), width)
    chosen = builder.select(valid, source, lane)
    lowering[op.shuffle_result] = _moved(kernel, lowering[op.value], chosen)
    lowering[op.valid] = valid


def _clamped(builder: ir.IRBuilder, width: ir.Value, wave_size: int) -> ir.Value:
    """A group has no more lanes than the wave."""
    known = number_of(width)
    if known is not None:
        return i32(min(known, wave_size))
    fits = builder.icmp_unsigned("<=", width, i32(wave_size))
    return builder.select(fits, width, i32(wave_size))


def _moved(kernel: KernelLowering, value: ir.Value, source: ir.Value) -> ir.Value:
    """A value of any size in pieces of 32 bits."""
    builder, bits = kernel.builder, _bits(value.type)
    whole = builder.bitcast(value, ir.IntType(bits)) if not isinstance(value.type, ir.IntType) else value
    if bits <= I32.width:
        word = builder.zext(whole, I32) if bits < I32.width else whole
        got = kernel.machine.read_lane(kernel, word, source)
        got = builder.trunc(got, ir.IntType(bits)) if bits < I32.width else got
    elif bits % I32.width:
        raise Untranslatable(f"lanes exchange multiples of 32 bits, not {bits}")
    else:
        got = _moved_words(kernel, whole, bits, source)
    return got if got.type == value.type else builder.bitcast(got, value.type)


def _moved_words(kernel: KernelLowering, whole: ir.Value, bits: int, source: ir.Value) -> ir.Value:
    builder, wide = kernel.builder, ir.IntType(bits)
    total: ir.Value = ir.Constant(wide, 0)
    for shift in range(0, bits, I32.width):
        word = builder.trunc(builder.lshr(whole, ir.Constant(wide, shift)), I32)
        got = builder.zext(kernel.machine.read_lane(kernel, word, source), wide)
        total = builder.or_(total, builder.shl(got, ir.Constant(wide, shift)))
    return total


def _bits(type: ir.Type) -> int:
    if isinstance(type, ir.VectorType):
        return type.count * _bits(type.element)
    if isinstance(type, ir.IntType):
        return type.width
    return {"half": 16, "float": 32, "double": 64}[str(type)]


def _vendor_register(what: str, dimension: str) -> Handler:
    def lower(lowering: Lowering, op: Operation) -> None:
        lowering[op.results[0]] = _read(kernel_of(lowering), what, dimension)

    return lower


def _read(kernel: KernelLowering, what: str, dimension: str) -> ir.Value:
    return block_size(kernel, dimension) if what == "threads" else kernel.machine.register(kernel, what, dimension)


def _all_threads(dimension: str) -> Handler:
    """The threads of the whole grid in a dimension, which is what AMD calls its size."""

    def lower(lowering: Lowering, op: Operation) -> None:
        blocks, threads = (_read(kernel_of(lowering), what, dimension) for what in ("blocks", "threads"))
        lowering[op.results[0]] = lowering.builder.mul(blocks, threads)

    return lower


def _lane(lowering: Lowering, op: Operation) -> None:
    kernel = kernel_of(lowering)
    lowering[op.results[0]] = kernel.machine.lane(kernel)


def _vendor_wave_size(lowering: Lowering, op: Operation) -> None:
    lowering[op.results[0]] = i32(kernel_of(lowering).machine.wave_size)


def _amd_instruction(lowering: Lowering, op: Operation) -> None:
    kernel = kernel_of(lowering)
    if kernel.machine.target.vendor is not Vendor.AMD:
        raise Untranslatable(f"{kernel.machine.chip} has no such instruction; use gpu.shuffle or gpu.lane_id")
    values = [lowering[operand] for operand in op.operands]
    lowering[op.results[0]] = call(kernel, INTRINSICS[op.name], I32, *values)


GPU_OPERATIONS: Mapping[str, Handler] = {
    **OPERATIONS,
    **aggregates.HANDLERS,
    **pointers.HANDLERS,
    **MATH_HANDLERS,
    **gpu_atomics.HANDLERS,
    "gpu.thread_id": _register("thread"),
    "gpu.block_id": _register("block"),
    "gpu.block_dim": _register("threads"),
    "gpu.grid_dim": _register("blocks"),
    "gpu.global_id": _global_id,
    "gpu.lane_id": _lane_id,
    "gpu.subgroup_size": _wave_size,
    "gpu.subgroup_id": _wave_id,
    "gpu.num_subgroups": _wave_count,
    "gpu.barrier": _barrier,
    "gpu.dynamic_shared_memory": _dynamic_shared,
    "memref.alloca": _private,
    "memref.alloc": _no_heap,
    "memref.load": _load,
    "vector.load": _vector_load,
    "vector.store": _vector_store,
    "llvm.alloca": _llvm_private,
    "llvm.inline_asm": _inline_assembly,
    "llvm.call_intrinsic": _intrinsic,
    "gpu.shuffle": _shuffle,
    **{f"nvvm.read.ptx.sreg.{name}.{d}": _vendor_register(what, d) for name, what in NVVM.items() for d in DIMENSIONS},
    **{f"rocdl.{name}.{d}": _vendor_register(what, d) for name, what in ROCDL.items() for d in DIMENSIONS},
    **{f"rocdl.grid.dim.{d}": _all_threads(d) for d in DIMENSIONS},
    **dict.fromkeys(INTRINSICS, _amd_instruction),
    "nvvm.read.ptx.sreg.laneid": _lane,
    "nvvm.read.ptx.sreg.warpsize": _vendor_wave_size,
    "rocdl.wavefrontsize": _vendor_wave_size,
    "nvvm.barrier0": _barrier,
    "rocdl.barrier": _barrier,
    "rocdl.s.barrier": _barrier,
}
