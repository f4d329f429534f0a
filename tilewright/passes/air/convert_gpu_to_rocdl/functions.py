"""A kernel as a function of the llvm dialect, its buffers passed as descriptors in parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    StringAttr,
    UnitAttr,
    UnrealizedConversionCastOp,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects import llvm
from tilewright.dialects._strides import strided_form
from tilewright.dialects.air.types import SymmetricHeapAttr
from tilewright.dialects.gpu.attributes import AddressSpace, AddressSpaceAttr
from tilewright.dialects.gpu.kernels import KERNEL, GPUFuncOp, ReturnOp
from tilewright.dialects.memref.types import is_ranked
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.air.descriptors import descriptor_type, inserted, wrap_pointer
from tilewright.passes.air.emitter import INDEX, Emitter

_ADDRESS_SPACES = {AddressSpace.GLOBAL: 1, AddressSpace.WORKGROUP: 3, AddressSpace.PRIVATE: 5}
SHARED_SPACE = 3
NO_RESULT = llvm.LLVMVoidType()


def lower_function(op: GPUFuncOp, kernel_attribute: str) -> None:
    """Put a function of the llvm dialect in place of one of the gpu dialect."""
    if op.function_type.outputs.data and op.is_kernel:
        fail_op(op, "is a kernel with results")
    inputs = [part for type in op.function_type.inputs.data for part in _parts(op, type)]
    outputs = list(op.function_type.outputs.data)
    if len(outputs) > 1 or any(isinstance(type, MemRefType | IndexType) for type in outputs):
        fail_op(op, "hands on several values, an index or a buffer", (op, "inline it, or write its result to memory"))
    type = llvm.LLVMFunctionType(inputs, outputs[0] if outputs else NO_RESULT)
    function = llvm.FuncOp(op.symbol, type, llvm.LinkageAttr("external"), extra_attrs=_attributes(op, kernel_attribute))
    function.location = op.location
    Rewriter.insert_op(function, InsertPoint.before(op))
    _move_body(op, function, inputs)
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
    while first.first_op is not None:
        moved = first.first_op
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
    descriptor = emitter.value("llvm.mlir.poison", (), descriptor_type(parts[0].type, rank))
    for part, position in zip(parts, positions, strict=True):
        descriptor = inserted(emitter, descriptor, part, position)
    return _cast(emitter, descriptor, type)


def _cast(emitter: Emitter, value: SSAValue, type: Attribute) -> SSAValue:
    return emitter.insert(UnrealizedConversionCastOp(operands=[[value]], result_types=[[type]])).results[0]


def _shared_buffer(function: llvm.FuncOp, emitter: Emitter, buffer: BlockArgument, number: int) -> SSAValue:
    """Memory of a block: a global of the module."""
    type = cast(MemRefType, buffer.type)
    name = f"__wg_{function.sym_name.data}_{number}"
    array = llvm.LLVMArrayType(prod(type.get_shape()), type.element_type)
    memory = llvm.GlobalOp(array, name, "internal", addr_space=SHARED_SPACE)
    memory.location = function.location
    Rewriter.insert_op(memory, InsertPoint.before(function))
    pointer = emitter.insert(llvm.AddressOfOp(name, _pointer_to(SHARED_SPACE))).results[0]
    return _wrapped(emitter, pointer, type)


def _private_buffer(op: GPUFuncOp, emitter: Emitter, buffer: BlockArgument) -> SSAValue:
    """Memory of a thread: on its stack."""
    type = cast(MemRefType, buffer.type)
    count = emitter.value("llvm.mlir.constant", (), i64, {"value": IntegerAttr(prod(type.get_shape()), i64)})
    properties = {"elem_type": type.element_type}
    pointer = emitter.value("llvm.alloca", (count,), _pointer_type(op, type), properties)
    return _wrapped(emitter, pointer, type)


def _wrapped(emitter: Emitter, pointer: SSAValue, type: MemRefType) -> SSAValue:
    form = strided_form(type)
    assert form is not None
    return wrap_pointer(emitter, pointer, type, form)
