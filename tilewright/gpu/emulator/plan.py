"""A kernel ready to run: its program as Python functions, compiled once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tilewright.dialects.gpu.kernels import GPUFuncOp
from tilewright.gpu.emulator.order import arrange
from tilewright.gpu.emulator.program import Block, Instruction, Program
from tilewright.gpu.emulator.spins import Spin, find_spins
from tilewright.gpu.emulator.translate import translate
from tilewright.gpu.emulator.uniformity import find_uniform
from tilewright.gpu.emulator.values import Register, Unsupported
from tilewright.gpu.emulator.write import Writer
from tilewright.ir.diagnostics import fail


@dataclass(eq=False)
class Plan:
    """What a kernel's waves need to run."""

    program: Program
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
    program = translate(kernel, wave_size)
    arrange(program, careful)
    find_uniform(program)
    spins = find_spins(program)
    _keep_for_reports(program, spins)
    writer = Writer(program, careful)
    try:
        source = writer.source()
    except Unsupported as error:
        fail(kernel, f"kernel @{program.name} cannot be run by the emulator: {error}")
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


def _keep_for_reports(program: Program, spins: dict[Block, Spin]) -> None:
    """Let registers survive that a report of a wait shows."""
    for spin in spins.values():
        for instruction in [*spin.reads, *([spin.comparison] if spin.comparison is not None else [])]:
            for operand in (*instruction.ins, *instruction.outs):
                if isinstance(operand, Register):
                    program.kept.add(operand)
