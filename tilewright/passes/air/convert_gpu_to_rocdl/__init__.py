"""Lowers kernels and what they ask of an AMD GPU to the llvm and rocdl dialects; upstream MLIR's pass.

Operations of other dialects stay as they are. Where their types differ from those of the llvm dialect there are casts,
which the conversion of those operations makes superfluous.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from xdsl.context import Context
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from tilewright.dialects.gpu.kernels import GPUFuncOp, ReturnOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.passes.air.convert_gpu_to_rocdl.device_queries import QUERIES, is_known
from tilewright.passes.air.convert_gpu_to_rocdl.functions import lower_function
from tilewright.rewrite.emitter import Emitter


class Runtime(StrEnum):
    """What starts the kernels; it decides how they print, which is not lowered here."""

    UNKNOWN = "unknown"
    HIP = "HIP"
    OPENCL = "OpenCL"


@dataclass(frozen=True)
class ConvertGpuToRocdlPass(Pass):
    name = "convert-gpu-to-rocdl"
    anchor = "gpu.module"

    chipset: str = field(default="gfx000", metadata={"help": "the GPU to compile for"})
    runtime: Runtime = field(default=Runtime.UNKNOWN, metadata={"help": "what starts the kernels"})

    def apply(self, ctx: Context, op: Operation) -> None:
        for inner in [found for found in op.walk() if found.name.startswith("gpu.") and found is not op]:
            if not isinstance(inner, GPUFuncOp | ReturnOp):
                _lower(inner)
        for function in [found for found in op.walk() if isinstance(found, GPUFuncOp)]:
            lower_function(function, "rocdl.kernel")


def _lower(op: Operation) -> None:
    if not is_known(op):
        fail_op(op, "has no counterpart on AMD GPUs that this pass knows", (op, "lower it to shuffles and barriers"))
    results = QUERIES[type(op)](Emitter.before(op), op)
    for old, new in zip(op.results, results, strict=True):
        old.replace_all_uses_with(new)
    Rewriter.erase_op(op)
