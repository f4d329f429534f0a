"""Kernels as code for a chip: PTX for NVIDIA's, assembly and objects for AMD's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from llvmlite import ir

from tilewright.device.gpu_targets import GpuTarget, Vendor
from tilewright.dialects.gpu.kernels import GPUModuleOp
from tilewright.ir.diagnostics import fail_op, shortened
from tilewright.native.gpu_amdgcn import AmdgcnMachine, link_code_object
from tilewright.native.gpu_kernel import lower_kernels
from tilewright.native.gpu_machine import GpuMachine
from tilewright.native.gpu_nvptx import NvptxMachine
from tilewright.native.gpu_operations import GPU_OPERATIONS
from tilewright.native.host import initialize_targets, optimized, with_llvm
from tilewright.native.kernel_facts import KernelFacts

MACHINES: dict[Vendor, type[GpuMachine]] = {Vendor.NVIDIA: NvptxMachine, Vendor.AMD: AmdgcnMachine}
OPTIMIZE = 3


@dataclass(frozen=True)
class GpuCode:
    """The code of a module of kernels."""

    name: str
    target: GpuTarget
    wave_size: int
    assembly: str
    """PTX, or AMD's assembly."""
    object: bytes | None
    """AMD: the relocatable object."""
    kernels: Sequence[KernelFacts]
    linked: bytes | None = None
    """AMD: the code object that the driver loads."""

    @property
    def loadable(self) -> bytes:
        """What a device loads."""
        return self.assembly.encode() if self.object is None else self.linked or self.object

    @property
    def suffix(self) -> str:
        """Of the file that holds what a device loads."""
        return ".ptx" if self.object is None else ".hsaco" if self.linked is not None else ".o"


def machine_of(target: GpuTarget, wave_size: int = 0, *, contract: bool = True) -> GpuMachine:
    """What makes code for a chip; a wave of 0 lanes has as many as the chip's."""
    return MACHINES[target.vendor](target, wave_size or target.wave_size, contract)


def llvm_module(module: GPUModuleOp, machine: GpuMachine) -> tuple[ir.Module, list[KernelFacts]]:
    """The kernels as LLVM IR, before any of LLVM's passes."""
    return lower_kernels(module, machine, GPU_OPERATIONS)


def _emitted(native: ir.Module, machine: GpuMachine) -> tuple[str, bytes | None]:
    """Assembly, and an object for AMD's chips."""
    initialize_targets()
    generator = machine.make()
    made = optimized(native, generator, OPTIMIZE)
    again = made.clone()  # making code changes a module
    assembly = generator.emit_assembly(made)
    return assembly, generator.emit_object(again) if machine.target.vendor is Vendor.AMD else None


def compile_kernels(module: GPUModuleOp, machine: GpuMachine) -> GpuCode:
    """The code of a module of kernels."""
    native, facts = llvm_module(module, machine)
    try:
        assembly, object = with_llvm(lambda: _emitted(native, machine))
    except RuntimeError as error:  # llvmlite's, from LLVM's reader and its verifier
        fail_op(module, f"is no code that LLVM takes for {machine.chip}: {shortened(str(error).strip())}")
    return GpuCode(module.sym_name.data, machine.target, machine.wave_size, assembly, object, facts)


def linked_code(code: GpuCode) -> GpuCode:
    """AMD's kernels as what a driver loads; raises `NoLinker` where that cannot be made."""
    return code if code.object is None else replace(code, linked=link_code_object(code.object))
