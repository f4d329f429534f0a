"""A kernel ready to run: its function as a flat program, and that as Python functions, compiled once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import BlockArgument

from tilewright.dialects.gpu.kernels import GPUFuncOp
from tilewright.gpu.emulator import (
    lower_flow,
    lower_lanes,
    lower_llvm,
    lower_memory,
    lower_numbers,
    lower_views,
)
from tilewright.gpu.emulator.builder import Handler, ProgramBuilder, whole_memref
from tilewright.gpu.emulator.hangs import Spin, find_spins
from tilewright.gpu.emulator.order import arrange, find_uniform
from tilewright.gpu.emulator.program import (
    Block,
    Instruction,
    KernelProgram,
    Register,
    Space,
    Unsupported,
    kind_of,
)
from tilewright.gpu.emulator.write import Writer
from tilewright.ir.diagnostics import fail


@dataclass(eq=False)
class Plan:
    """What a kernel's waves need to run."""

    program: KernelProgram
    source: str
    """The generated code, for those who look."""
    functions: list[Callable[..., Any]]
    sites: list[Instruction]
    """Accesses and operations across lanes, by the numbers that the code knows them by."""
    spins: dict[int, Spin]
    """Loops that wait, by the number of the block that goes back."""
    arrays: list[Register]
    """Registers that hold arrays over lanes."""
    writers: list[Instruction] = field(default_factory=list[Instruction])
    """Everything that writes to memory that others see."""

    @property
    def name(self) -> str:
        return self.program.name


def make_plan(kernel: GPUFuncOp, wave_size: int, careful: bool = False) -> Plan:
    """Compile a kernel; `careful` code leaves every access to the group's access model."""
    program = _translate(kernel, wave_size)
    arrange(program, careful)
    find_uniform(program)
    # after `arrange`: it looks at loops, and marks their ways back
    spins = find_spins(program)
    _keep_for_reports(program, spins)
    writer = Writer(program, careful)
    try:
        source = writer.source()
    except Unsupported as error:
        fail(kernel, f"kernel @{program.name} cannot be run by the emulator: {error}")
    # the file's name is what a traceback of generated code shows
    names = writer.names
    exec(compile(source, f"<kernel @{program.name}>", "exec"), names)
    return Plan(
        program,
        source,
        [names[f"b{block.number}"] for block in program.blocks],
        writer.sites,
        {block.number: spin for block, spin in spins.items()},
        [register for register in program.registers if not register.uniform],
        [i for block in program.blocks for i in block.instructions if i.name in ("store", "atomic", "cmpxchg")],
    )


def _keep_for_reports(program: KernelProgram, spins: dict[Block, Spin]) -> None:
    """Let registers survive that a report of a wait shows."""
    for spin in spins.values():
        for instruction in [*spin.reads, *([spin.comparison] if spin.comparison is not None else [])]:
            for operand in (*instruction.ins, *instruction.outs):
                if isinstance(operand, Register):
                    program.kept.add(operand)


@cache
def _handlers() -> Mapping[str, Handler]:
    """All operations that the emulator runs, by name."""
    modules = lower_numbers, lower_memory, lower_views, lower_llvm, lower_lanes, lower_flow
    return {name: handler for module in modules for name, handler in module.HANDLERS.items()}


def _translate(kernel: GPUFuncOp, wave_size: int) -> KernelProgram:
    """The program of a kernel for waves of that size."""
    b = ProgramBuilder(_handlers(), wave_size)
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
    # a block that no edge leaves ends in `Return`
    lower_flow.lower_region(b, kernel.body, values, lambda _: None)
    return KernelProgram(
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


def _parameter(b: ProgramBuilder, kernel: GPUFuncOp, argument: BlockArgument, name: str) -> list[Register | None]:
    """Registers for the flattened parameters of an argument."""
    type = argument.type
    try:
        if not isinstance(type, MemRefType):
            register = b[argument] = b.register(kind_of(type), name)
            return [register]
        buffer = b.fresh_memref(cast(MemRefType, type), name)
    except Unsupported as error:
        fail(kernel, f"argument {name} of kernel @{kernel.symbol} cannot be passed to the emulator: {error}")
    b[argument] = buffer
    # LLVM's descriptor has the allocated pointer first, which no kernel reads
    return [None, *(part if isinstance(part, Register) else None for part in buffer.parts)]


def _elements(kernel: GPUFuncOp, type: MemRefType) -> int:
    if not type.has_static_shape():
        fail(kernel, f"a buffer of kernel @{kernel.symbol} has type {type}, whose size is not known")
    return prod(type.get_shape())
