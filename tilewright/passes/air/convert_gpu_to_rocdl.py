"""Lowers kernels and what they ask of an AMD GPU to the llvm and rocdl dialects; upstream MLIR's pass.

Operations of other dialects stay as they are. Where their types differ from those of the llvm dialect there are casts,
which the conversion of those operations makes superfluous.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import prod
from typing import Any, TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DenseArrayBase,
    Float32Type,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    StringAttr,
    UnitAttr,
    UnrealizedConversionCastOp,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.dialects import arith, llvm, rocdl
from tilewright.dialects._syntax import INDEX
from tilewright.dialects.air.types import SymmetricHeapAttr
from tilewright.dialects.gpu.attributes import AddressSpace, AddressSpaceAttr, ShuffleMode
from tilewright.dialects.gpu.ids import (
    BlockDimOp,
    BlockIdOp,
    DimensionOp,
    GlobalIdOp,
    GridDimOp,
    LaneIdOp,
    SubgroupSizeOp,
    ThreadIdOp,
)
from tilewright.dialects.gpu.kernels import KERNEL, GPUFuncOp, ReturnOp
from tilewright.dialects.gpu.lanes import BarrierOp, ShuffleOp
from tilewright.dialects.memref.types import is_ranked
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.passes.air.runtime_calls import descriptor_type, inserted, llvm_constant, wrap_pointer
from tilewright.rewrite.emitter import Emitter

_ADDRESS_SPACES = {AddressSpace.GLOBAL: 1, AddressSpace.WORKGROUP: 3, AddressSpace.PRIVATE: 5}
SHARED_SPACE = 3
NO_RESULT = llvm.LLVMVoidType()
Query: TypeAlias = "Callable[[Emitter, Any], list[SSAValue]]"
_REGISTERS = {
    ThreadIdOp: "rocdl.workitem.id",
    BlockIdOp: "rocdl.workgroup.id",
    BlockDimOp: "rocdl.workgroup.dim",
    GridDimOp: "rocdl.grid.dim",
}
_READS = {op.name: op for op in rocdl.OPERATIONS}  # the classes of registers have no names of their own
ALL_LANES = -1
DWORD_SHIFT = 2


class KernelRuntime(StrEnum):
    """What starts the kernels; it decides how they print, which is not lowered here."""

    UNKNOWN = "unknown"
    HIP = "HIP"
    OPENCL = "OpenCL"


@dataclass(frozen=True)
class ConvertGpuToRocdlPass(Pass):
    name = "convert-gpu-to-rocdl"
    anchor = "gpu.module"

    chipset: str = field(default="gfx000", metadata={"help": "the GPU to compile for"})
    runtime: KernelRuntime = field(default=KernelRuntime.UNKNOWN, metadata={"help": "what starts the kernels"})

    def apply(self, ctx: Context, op: Operation) -> None:
        for inner in [found for found in op.walk() if found.name.startswith("gpu.") and found is not op]:
            if not isinstance(inner, GPUFuncOp | ReturnOp):
                _lower(inner)
        for function in [found for found in op.walk() if isinstance(found, GPUFuncOp)]:
            lower_function(function, "rocdl.kernel")


def _lower(op: Operation) -> None:
    if not is_known(op):
        fail_op(op, "has no counterpart on AMD GPUs that this pass knows", (op, "lower it to shuffles and barriers"))
    Rewriter.replace_op(op, (), QUERIES[type(op)](Emitter.before(op), op))


def lower_function(op: GPUFuncOp, kernel_attribute: str) -> None:
    """Put a function of the llvm dialect in place of one of the gpu dialect."""
    if op.function_type.outputs.data and op.is_kernel:
        fail_op(op, "is a kernel with results")
    # the calling convention of MLIR's memrefs: a buffer is passed as its descriptor, field by field
    inputs = [part for type in op.function_type.inputs.data for part in _parts(op, type)]
    outputs = list(op.function_type.outputs.data)
    if len(outputs) > 1 or any(isinstance(type, MemRefType | IndexType) for type in outputs):
        fail_op(op, "hands on several values, an index or a buffer", (op, "inline it, or write its result to memory"))
    type = llvm.LLVMFunctionType(inputs, outputs[0] if outputs else NO_RESULT)
    function = llvm.FuncOp(op.symbol, type, llvm.LinkageAttr("external"), extra_attrs=_attributes(op, kernel_attribute))
    _move_body(op, Emitter.before(op).insert(function), inputs)
    Rewriter.erase_op(op)


def _attributes(op: GPUFuncOp, kernel_attribute: str) -> dict[str, Attribute]:
    """What the compiler of the device is told."""
    hidden = {"sym_name", "workgroup_attributions"}
    attributes = {name: value for name, value in op.attributes.items() if name not in hidden}
    if KERNEL in attributes:
        attributes[kernel_attribute] = UnitAttr()
    if op.known_block_size is not None:
        sizes = cast("DenseArrayBase[IntegerType]", op.known_block_size)
        threads = prod(sizes.get_values())
        attributes["gpu.known_block_size"] = sizes
        # as upstream: from as many threads to as many, since the size is exact
        attributes["rocdl.flat_work_group_size"] = StringAttr(f"{threads},{threads}")
        attributes["rocdl.reqd_work_group_size"] = sizes
    return attributes


def _parts(op: Operation, type: Attribute) -> list[Attribute]:
    """The types that an argument is passed as: a buffer is two pointers, its offset, sizes and strides."""
    if isinstance(type, IndexType):
        return [i64]
    if not is_ranked(type):
        return [type]
    pointer = _pointer_type(op, type)
    return [pointer, pointer, i64, *[i64] * (2 * type.get_num_dims())]


def _pointer_type(op: Operation, type: MemRefType) -> llvm.LLVMPointerType:
    match type.memory_space:
        case NoneAttr() | SymmetricHeapAttr():
            return llvm.LLVMPointerType()
        case IntegerAttr() as number:
            return _pointer_to(number.value.data)
        case AddressSpaceAttr() as space if space.data in _ADDRESS_SPACES:
            return _pointer_to(_ADDRESS_SPACES[space.data])
        case space:
            fail_op(op, f"has a buffer in memory {space}, which the device does not have")


def _pointer_to(space: int) -> llvm.LLVMPointerType:
    return llvm.LLVMPointerType(IntAttr(space)) if space else llvm.LLVMPointerType()


def _move_body(op: GPUFuncOp, function: llvm.FuncOp, inputs: Sequence[Attribute]) -> None:
    first = op.body.blocks[0]
    entry = Block(arg_types=inputs)
    emitter = Emitter.at_end(entry, op.location)
    passed: Iterator[SSAValue] = iter(entry.args)
    count = len(op.function_type.inputs)
    for argument in first.args[:count]:
        argument.replace_all_uses_with(_assembled(op, emitter, argument, passed))
    for number, buffer in enumerate(op.workgroup_buffers):
        buffer.replace_all_uses_with(_shared_buffer(function, emitter, buffer, number))
    for buffer in op.private_buffers:
        buffer.replace_all_uses_with(_private_buffer(op, emitter, buffer))
    for moved in list(first.ops):
        moved.detach()
        entry.add_op(moved)
    function.body.add_block(entry)
    for block in list(op.body.blocks)[1:]:
        op.body.detach_block(block)
        function.body.add_block(block)
    for end in [found for found in function.body.walk() if isinstance(found, ReturnOp)]:
        Emitter.before(end).insert(llvm.ReturnOp(end.operands[0] if end.operands else None))
        Rewriter.erase_op(end)


def _assembled(op: GPUFuncOp, emitter: Emitter, argument: BlockArgument, passed: Iterator[SSAValue]) -> SSAValue:
    """An argument of the kernel from the parts that it is passed as."""
    type = argument.type
    parts = [next(passed) for _ in _parts(op, type)]
    if isinstance(type, IndexType):
        return _cast(emitter, parts[0], INDEX)
    if not is_ranked(type):
        return parts[0]
    rank = type.get_num_dims()
    positions = [[0], [1], [2], *([3, i] for i in range(rank)), *([4, i] for i in range(rank))]
    descriptor = emitter.value(llvm.PoisonOp.create(result_types=[descriptor_type(parts[0].type, rank)]))
    for part, position in zip(parts, positions, strict=True):
        descriptor = inserted(emitter, descriptor, part, position)
    return _cast(emitter, descriptor, type)


def _cast(emitter: Emitter, value: SSAValue, type: Attribute) -> SSAValue:
    return emitter.value(UnrealizedConversionCastOp(operands=[[value]], result_types=[[type]]))


def _shared_buffer(function: llvm.FuncOp, emitter: Emitter, buffer: BlockArgument, number: int) -> SSAValue:
    """Memory of a block: a global of the module."""
    type = cast(MemRefType, buffer.type)
    name = f"__wg_{function.sym_name.data}_{number}"
    array = llvm.LLVMArrayType(prod(type.get_shape()), type.element_type)
    Emitter.before(function).insert(llvm.GlobalOp(array, name, "internal", addr_space=SHARED_SPACE))
    return wrap_pointer(emitter, emitter.value(llvm.AddressOfOp(name, _pointer_to(SHARED_SPACE))), type)


def _private_buffer(op: GPUFuncOp, emitter: Emitter, buffer: BlockArgument) -> SSAValue:
    """Memory of a thread: on its stack."""
    type = cast(MemRefType, buffer.type)
    memory = llvm.AllocaOp.create(
        operands=[llvm_constant(emitter, prod(type.get_shape()))],
        result_types=[_pointer_type(op, type)],
        properties={"elem_type": type.element_type},
    )
    return wrap_pointer(emitter, emitter.value(memory), type)


def _register(emitter: Emitter, name: str) -> SSAValue:
    """A register of 32 bits as an index."""
    return _as_index(emitter, emitter.value(_READS[name].create(result_types=[i32])))


def _as_index(emitter: Emitter, value: SSAValue) -> SSAValue:
    return _cast(emitter, emitter.value(llvm.SExtOp.create(operands=(value,), result_types=[i64])), INDEX)


def _dimension(name: str) -> Query:
    return lambda emitter, op: [_register(emitter, f"{name}.{op.properties['dimension'].data}")]


def _global_id(emitter: Emitter, op: DimensionOp) -> list[SSAValue]:
    (block,) = _dimension(_REGISTERS[BlockIdOp])(emitter, op)
    (size,) = _dimension(_REGISTERS[BlockDimOp])(emitter, op)
    (thread,) = _dimension(_REGISTERS[ThreadIdOp])(emitter, op)
    return [emitter.add(emitter.product(block, size), thread)]


def _lane(emitter: Emitter) -> SSAValue:
    """The lanes below this one, counted in both halves of the wave."""
    all_lanes, zero = (llvm_constant(emitter, number, i32) for number in (ALL_LANES, 0))
    # a mask of 64 lanes does not fit into a register: the count goes through two halves
    low = emitter.value(rocdl.MbcntLoOp.create(operands=(all_lanes, zero), result_types=[i32]))
    return emitter.value(rocdl.MbcntHiOp.create(operands=(all_lanes, low), result_types=[i32]))


def _barrier(emitter: Emitter, op: Operation) -> list[SSAValue]:
    emitter.insert(rocdl.BarrierOp.create())
    return []


def _shuffle(emitter: Emitter, op: ShuffleOp) -> list[SSAValue]:
    """The value of another lane of the group of `width` lanes that this one is in; its own if there is none."""
    lane = _lane(emitter)
    # the first lane of the next group: `width` is a power of two, and `-width` its mask
    following = emitter.add(lane, op.width)
    end = emitter.value(arith.AndIOp(following, emitter.value(arith.SubiOp(emitter.constant(0), op.width))))
    source = _source_lane(emitter, op, lane)
    valid = emitter.compare("slt", source, end)
    chosen = emitter.value(arith.SelectOp(valid, source, lane))
    # ds_bpermute takes the lane times four: it was made for addresses of local memory
    address = emitter.value(arith.ShLIOp(chosen, emitter.constant(DWORD_SHIFT)))
    is_float = isinstance(op.value.type, Float32Type)
    bits = emitter.value(arith.BitcastOp(op.value, i32)) if is_float else op.value
    got = emitter.value(rocdl.DsBpermuteOp.create(operands=(address, bits), result_types=[i32]))
    return [emitter.value(arith.BitcastOp(got, op.value.type)) if is_float else got, valid]


def _source_lane(emitter: Emitter, op: ShuffleOp, lane: SSAValue) -> SSAValue:
    match op.mode.data:
        case ShuffleMode.IDX:
            return op.offset
        case ShuffleMode.XOR:
            return emitter.value(arith.XOrIOp(lane, op.offset))
        case ShuffleMode.UP:
            return emitter.value(arith.SubiOp(lane, op.offset))
        case ShuffleMode.DOWN:
            return emitter.value(arith.AddiOp(lane, op.offset))


def is_known(op: Operation) -> bool:
    """Whether an operation can be lowered here; lanes exchange 32 bits at a time."""
    if isinstance(op, ShuffleOp):
        return op.value.type == i32 or isinstance(op.value.type, Float32Type)
    return type(op) in QUERIES


QUERIES: dict[type[Operation], Query] = {
    **{kind: _dimension(name) for kind, name in _REGISTERS.items()},
    GlobalIdOp: _global_id,
    LaneIdOp: lambda emitter, op: [_as_index(emitter, _lane(emitter))],
    SubgroupSizeOp: lambda emitter, op: [_register(emitter, "rocdl.wavefrontsize")],
    BarrierOp: _barrier,
    ShuffleOp: _shuffle,
}
