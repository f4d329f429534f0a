"""AMD GPUs: code objects for HSA."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from llvmlite import ir

from tilewright.errors import Error
from tilewright.native.gpu_instructions import add_attribute
from tilewright.native.gpu_machine import DIMENSIONS, GpuMachine, call, i32
from tilewright.native.values import I16, I32, I64, number_of

if TYPE_CHECKING:
    from tilewright.native.gpu_kernel import KernelLowering

ALL_LANES = i32(-1)
CONSTANT_SPACE = 4
CODE_OBJECT_VERSION = 500
"""Version 5: what ROCm from 5.4 on loads; says where the host puts the sizes of grid and block."""
WORD_SHIFT = 2
HALF_WAVE = 32
# LLVM, "User Guide for AMDGPU Backend": implicit arguments of code object version 5, offsets in bytes.
BLOCK_COUNT_BYTES, GROUP_SIZE_BYTES = (0, 4, 8), (12, 14, 16)
IDS = {"thread": "workitem", "block": "workgroup"}
RDNA_GENERATIONS = "gfx10", "gfx11", "gfx12"
"""Chips whose waves have 32 lanes or 64, and where the halves of 64 do not see each other's registers."""
LINKERS = "ld.lld", "ld.lld-22", "ld.lld-21", "ld.lld-20", "/opt/rocm/llvm/bin/ld.lld"
LINK_SECONDS = 60


@dataclass(frozen=True)
class AmdgcnMachine(GpuMachine):
    """A chip of AMD's."""

    TRIPLE: ClassVar[str] = "amdgcn-amd-amdhsa"
    CONVENTION: ClassVar[str] = "amdgpu_kernel"
    INTRINSICS: ClassVar[str] = "amdgcn"
    ASSEMBLY_OPERANDS: ClassVar[str] = ""
    private_space: ClassVar[int] = 5
    EXP2: ClassVar[str] = "llvm.exp2.f32"
    LOG2: ClassVar[str] = "llvm.log2.f32"
    SCOPES: ClassVar[Mapping[str, str]] = {
        "": "",
        "agent": "agent",
        "device": "agent",
        "workgroup": "workgroup",
        "block": "workgroup",
        "wavefront": "wavefront",
        "singlethread": "singlethread",
    }

    @property
    def features(self) -> str:
        return f"+wavefrontsize{self.wave_size}" if self._is_rdna else ""

    @property
    def _is_rdna(self) -> bool:
        return self.chip.startswith(RDNA_GENERATIONS)

    def read_register(self, lowering: KernelLowering, what: str, dimension: str) -> ir.Value:
        if what in IDS:
            return call(lowering, f"llvm.amdgcn.{IDS[what]}.id.{dimension}", I32)
        # Sizes are no registers here: the host hands them over behind the arguments.
        offsets, type = (BLOCK_COUNT_BYTES, I32) if what == "blocks" else (GROUP_SIZE_BYTES, I16)
        builder, pointer = lowering.builder, ir.PointerType(addrspace=CONSTANT_SPACE)
        base = call(lowering, "llvm.amdgcn.implicitarg.ptr", pointer)
        place = builder.gep(base, [ir.Constant(I64, offsets[DIMENSIONS.index(dimension)])], source_etype=ir.IntType(8))
        value = builder.load(place, typ=type)
        return value if type == I32 else builder.zext(value, I32)

    def lane(self, lowering: KernelLowering) -> ir.Value:
        """The lanes below this one, counted in both halves of the wave."""
        low = call(lowering, "llvm.amdgcn.mbcnt.lo", I32, ALL_LANES, i32(0))
        return low if self.wave_size <= HALF_WAVE else call(lowering, "llvm.amdgcn.mbcnt.hi", I32, ALL_LANES, low)

    def barrier(self, lowering: KernelLowering) -> None:
        # The instruction alone only waits; the fences make what was written visible.
        self.fence(lowering.builder, "release", "workgroup")
        call(lowering, "llvm.amdgcn.s.barrier", ir.VoidType())
        self.fence(lowering.builder, "acquire", "workgroup")

    def wave_barrier(self, lowering: KernelLowering) -> None:
        """Lanes go in step; this only keeps LLVM from moving code across."""
        call(lowering, "llvm.amdgcn.wave.barrier", ir.VoidType())

    def wave_fence(self, lowering: KernelLowering, ordering: str) -> None:
        self.fence(lowering.builder, ordering, "wavefront")

    def read_lane(self, lowering: KernelLowering, value: ir.Value, source: ir.Value) -> ir.Value:
        if number_of(source) is not None:
            return call(lowering, "llvm.amdgcn.readlane.i32", I32, value, source)
        builder = lowering.builder
        address = builder.shl(source, i32(WORD_SHIFT))
        near = call(lowering, "llvm.amdgcn.ds.bpermute", I32, address, value)
        # The instruction reaches all lanes of a wave, but on RDNA only those of its own half.
        if not self._is_rdna or self.wave_size <= HALF_WAVE:
            return near
        swapped = call(lowering, "llvm.amdgcn.permlane64.i32", I32, value)
        far = call(lowering, "llvm.amdgcn.ds.bpermute", I32, address, swapped)
        differs = builder.and_(builder.xor(source, self.lane(lowering)), i32(HALF_WAVE))
        return builder.select(builder.icmp_unsigned("==", differs, i32(0)), near, far)

    def mark_kernel(self, lowering: KernelLowering) -> None:
        super().mark_kernel(lowering)
        most = self.target.max_block_threads
        threads = f"1,{most}" if lowering.block is None else f"{prod(lowering.block)},{prod(lowering.block)}"
        add_attribute(lowering.function, "amdgpu-flat-work-group-size", threads)
        add_attribute(lowering.function, "uniform-work-group-size", "true")
        if self.features:
            add_attribute(lowering.function, "target-features", self.features)

    def finish_module(self, module: ir.Module) -> None:
        flag = module.add_metadata([i32(1), "amdhsa_code_object_version", i32(CODE_OBJECT_VERSION)])
        module.add_named_metadata("llvm.module.flags", flag)


class NoLinker(Error):
    """There is no linker for AMD GPUs here; says what to do."""


def find_linker() -> str:
    found = next((path for name in LINKERS if (path := shutil.which(name)) is not None), None)
    if found is None:
        raise NoLinker(
            "there is no ld.lld on this machine, so the kernels are not linked; install lld, or link them where it is: "
            "ld.lld -shared NAME.o -o NAME.hsaco"
        )
    return found


def link_code_object(data: bytes) -> bytes:
    """The shared object of a relocatable one."""
    linker = find_linker()
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "kernels.o", Path(folder) / "kernels.hsaco"
        source.write_bytes(data)
        command = [linker, "-shared", str(source), "-o", str(target)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LINK_SECONDS, check=False)
        if done.returncode:
            raise NoLinker(f"{linker} cannot link the kernels: {done.stderr.strip()}")
        return target.read_bytes()
