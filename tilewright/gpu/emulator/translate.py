"""A kernel's function to its flat program."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import BlockArgument

from tilewright.dialects.gpu.kernels import GPUFuncOp
from tilewright.gpu.emulator import (
    lower_affine,
    lower_flow,
    lower_lanes,
    lower_llvm,
    lower_memory,
    lower_numbers,
    lower_vectors,
    lower_views,
)
from tilewright.gpu.emulator.builder import Builder, Handler, memref_of_parts, strided, whole_memref
from tilewright.gpu.emulator.program import Program
from tilewright.gpu.emulator.values import (
    I64,
    Operand,
    Register,
    Space,
    Unsupported,
    index,
    kind_of,
)
from tilewright.ir.diagnostics import fail


@cache
def handlers() -> Mapping[str, Handler]:
    """All operations that the emulator runs, by name."""
    modules = (
        *(lower_numbers, lower_memory, lower_views, lower_llvm, lower_lanes, lower_flow, lower_affine),
        lower_vectors,
    )
    return {name: handler for module in modules for name, handler in module.HANDLERS.items()}


def translate(kernel: GPUFuncOp, wave_size: int) -> Program:
    """The program of a kernel for waves of that size."""
    b = Builder(handlers(), wave_size)
    arguments = list[Register | None]()
    inputs = len(kernel.function_type.inputs)
    for number, argument in enumerate(kernel.body.blocks[0].args[:inputs]):
        arguments += _parameter(b, kernel, argument, argument.name_hint or f"arg{number}")
    for argument in kernel.workgroup_buffers:
        type = cast(MemRefType, argument.type)
        made = b.shared_buffer(kind_of(type.element_type), _elements(kernel, type), argument.name_hint)
        b[argument] = whole_memref(type, made.pointer, Space.LDS)
    for argument in kernel.private_buffers:
        type = cast(MemRefType, argument.type)
        elements = _elements(kernel, type)
        pointer = b.private_buffer(kind_of(type.element_type), elements, kernel.location, argument.name_hint)
        b[argument] = whole_memref(type, pointer, Space.PRIVATE)
    values = [b.values[argument] for argument in kernel.body.blocks[0].args]
    entry = b.block
    lower_flow.lower_region(b, kernel.body, values, lower_flow.leave_kernel(b))
    return Program(
        kernel.symbol,
        kernel.location,
        entry,
        b.registers,
        arguments,
        b.inputs,
        b.private,
        b.lds_bytes,
        b.lds_names,
    )


def _parameter(b: Builder, kernel: GPUFuncOp, argument: BlockArgument, name: str) -> list[Register | None]:
    """Registers for the flattened parameters of an argument."""
    type = argument.type
    try:
        if not isinstance(type, MemRefType):
            register = b.register(kind_of(type), name)
            b[argument] = register
            return [register]
        buffer = cast(MemRefType, type)
        form = strided(buffer)
    except Unsupported as error:
        fail(kernel, f"argument {name} of kernel @{kernel.symbol} cannot be passed to the emulator: {error}")
    parts, registers = list[Operand](), list[Register | None]()
    for known in (None, form.offset, *buffer.get_shape(), *form.strides):
        if known is None or known == DYNAMIC_INDEX:
            made = b.register(I64, name)
            parts.append(made)
            registers.append(made)
        else:
            parts.append(index(known))
            registers.append(None)
    b[argument] = memref_of_parts(buffer, parts)
    return [None, *registers]


def _elements(kernel: GPUFuncOp, type: MemRefType) -> int:
    if not type.has_static_shape():
        fail(kernel, f"a buffer of kernel @{kernel.symbol} has type {type}, whose size is not known")
    total = 1
    for size in type.get_shape():
        total *= size
    return total
