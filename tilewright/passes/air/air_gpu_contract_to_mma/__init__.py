"""Multiplies with matrix instructions what all lanes of a wave would multiply each for itself.

A `vector.contract` in a kernel is computed by every lane, as is a `linalg.matmul` of buffers. Where the lanes of a wave
all read the same matrices, add up the same sums and write the same result, each lane keeps but the elements that it has
in the GPU's matrix instruction: reads and writes become those of its elements, loops carry its part of the sums. What
is not known to be alike, or has sizes that no instruction divides, stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from tilewright.device.gpu_matrices import MatrixInstruction, instructions_of
from tilewright.device.gpu_targets import DEFAULT_AMD, NAMED_BARRIERS
from tilewright.dialects import vector
from tilewright.dialects.gpu.kernels import GPUFuncOp
from tilewright.dialects.gpu.launches import LaunchOp
from tilewright.dialects.vector.types import element_type
from tilewright.ir.pass_manager import Pass
from tilewright.ir.traversal import all_operations, ops_of
from tilewright.passes.air.air_gpu_contract_to_mma.lowering import SumsLowering
from tilewright.passes.air.air_gpu_contract_to_mma.matmuls import MATMUL, as_contraction
from tilewright.passes.air.air_gpu_contract_to_mma.sums import Product, Sums
from tilewright.passes.air.air_gpu_contract_to_mma.wave_values import WaveValues
from tilewright.passes.air.hierarchies import find_target, wave_size_of


@dataclass(frozen=True)
class AirGpuContractToMmaPass(Pass):
    name = "air-gpu-contract-to-mma"

    wave_size: int = field(default=0, metadata={"help": "lanes of a wave; 0 for what the chip has"})
    chip: str = field(default=DEFAULT_AMD, metadata={"help": "the GPU to compile for"})

    def apply(self, ctx: Context, op: Operation) -> None:
        target = find_target(self.chip)
        lanes = wave_size_of(target, self.wave_size)
        for kernel in ops_of(all_operations(op), LaunchOp, GPUFuncOp):
            wave = WaveValues(kernel, lanes)
            # waves of several warps meet at barriers, of which a block has few
            most = NAMED_BARRIERS if lanes > target.wave_size else target.max_block_threads
            if 0 < wave.full_waves <= most and (isinstance(kernel, LaunchOp) or kernel.is_kernel):
                _lower_contractions(wave, target.chip)


def _lower_contractions(wave: WaveValues, chip: str) -> None:
    for op in all_operations(wave.kernel):
        if isinstance(op, vector.ContractionOp) and op.parent is not None:
            _lower(op, wave, chip)
        elif op.name == MATMUL:
            made = as_contraction(op)
            found = ops_of(made, vector.ContractionOp)
            superfluous = [op] if found and _lower(found[0], wave, chip) else made[::-1]
            for other in superfluous:
                Rewriter.erase_op(other)


def _lower(op: vector.ContractionOp, wave: WaveValues, chip: str) -> bool:
    """Lower a contraction and what hangs together with it, if there are instructions for all of that."""
    sums = Sums.of(op, wave)
    found = None if sums is None else _instructions(sums, chip)
    if sums is not None and found is not None:
        SumsLowering(sums, found).run()
    return found is not None


def _instructions(sums: Sums, chip: str) -> Mapping[Operation, MatrixInstruction] | None:
    """One for each product, whose lanes hold sums alike; None if there are none."""
    first, *others = (list(_fitting(product, sums, chip)) for product in sums.products.values())
    for row in first:
        found = [row, *(next((other for other in rows if _holds_alike(other, row)), None) for rows in others)]
        if None not in found:
            return {op: row for op, row in zip(sums.products, found, strict=True) if row is not None}
    return None


def _fitting(product: Product, sums: Sums, chip: str) -> Iterator[MatrixInstruction]:
    """Instructions for a product, those for small results first, of them the deepest first."""
    element, sum_type = product.a.element, str(element_type(product.op.result.type))
    for row in instructions_of(chip, str(element)) if element == product.b.element else ():
        sizes = zip((*sums.shape, product.depth), (row.m, row.n, row.k), strict=True)
        if row.is_for(sums.wave.lanes) and row.sum_type == sum_type and not any(size % by for size, by in sizes):
            yield row


def _holds_alike(one: MatrixInstruction, other: MatrixInstruction) -> bool:
    return (one.m, one.n, one.c) == (other.m, other.n, other.c)
