"""`nvvm` and `rocdl`: what a thread asks a GPU of one vendor, answered by the one that code is made for."""

from __future__ import annotations

from llvmlite import ir
from xdsl.ir import Operation

from tilewright.device.gpu_targets import Vendor
from tilewright.native.gpu_kernel import KernelLowering
from tilewright.native.gpu_machine import DIMENSIONS, block_size, call, i32
from tilewright.native.lowering import Handler, Lowering
from tilewright.native.values import I32, Untranslatable

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


def _kernel(lowering: Lowering) -> KernelLowering:
    assert isinstance(lowering, KernelLowering), "these operations are those of kernels"
    return lowering


def _register(what: str, dimension: str) -> Handler:
    def lower(lowering: Lowering, op: Operation) -> None:
        lowering[op.results[0]] = _read(_kernel(lowering), what, dimension)

    return lower


def _read(kernel: KernelLowering, what: str, dimension: str) -> ir.Value:
    return block_size(kernel, dimension) if what == "threads" else kernel.machine.register(kernel, what, dimension)


def _all_threads(dimension: str) -> Handler:
    """The threads of the whole grid in a dimension, which is what AMD calls its size."""

    def lower(lowering: Lowering, op: Operation) -> None:
        blocks, threads = (_read(_kernel(lowering), what, dimension) for what in ("blocks", "threads"))
        lowering[op.results[0]] = lowering.builder.mul(blocks, threads)

    return lower


def _lane(lowering: Lowering, op: Operation) -> None:
    kernel = _kernel(lowering)
    lowering[op.results[0]] = kernel.machine.lane(kernel)


def _wave_size(lowering: Lowering, op: Operation) -> None:
    lowering[op.results[0]] = i32(_kernel(lowering).machine.wave_size)


def _barrier(lowering: Lowering, op: Operation) -> None:
    kernel = _kernel(lowering)
    kernel.machine.barrier(kernel)


def _intrinsic(lowering: Lowering, op: Operation) -> None:
    kernel = _kernel(lowering)
    if kernel.machine.target.vendor is not Vendor.AMD:
        raise Untranslatable(f"{kernel.machine.chip} has no such instruction; use gpu.shuffle or gpu.lane_id")
    values = [lowering[operand] for operand in op.operands]
    lowering[op.results[0]] = call(kernel, INTRINSICS[op.name], I32, *values)


HANDLERS: dict[str, Handler] = {
    **{f"nvvm.read.ptx.sreg.{name}.{d}": _register(what, d) for name, what in NVVM.items() for d in DIMENSIONS},
    **{f"rocdl.{name}.{d}": _register(what, d) for name, what in ROCDL.items() for d in DIMENSIONS},
    **{f"rocdl.grid.dim.{d}": _all_threads(d) for d in DIMENSIONS},
    **dict.fromkeys(INTRINSICS, _intrinsic),
    "nvvm.read.ptx.sreg.laneid": _lane,
    "nvvm.read.ptx.sreg.warpsize": _wave_size,
    "rocdl.wavefrontsize": _wave_size,
    "nvvm.barrier0": _barrier,
    "rocdl.barrier": _barrier,
    "rocdl.s.barrier": _barrier,
}
