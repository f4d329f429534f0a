"""Operations by what they do, and how many sums and products of floats they are: what profiles count.

Counted are operations of the lowered program, not instructions of a GPU: a compiler fuses and removes some of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import AnyFloat, VectorType
from xdsl.ir import Attribute, Operation

from tilewright.dialects import vector
from tilewright.gpu.emulator.program import CountedOperation, Instruction, Space

if TYPE_CHECKING:
    from tilewright.gpu.emulator.lower_tensor_cores import Product

FLOAT, INTEGER, CONVERSION, VECTOR, CONTROL = "float", "integer", "conversion", "vector", "control"
MATRIX, LANES, WAITS, PRIVATE = "matrix", "across lanes", "waits and fences", "private memory"
GLOBAL_MEMORY, SHARED_MEMORY, COPIES = "global memory", "shared memory", "copy engine"
KINDS = (
    *(MATRIX, FLOAT, INTEGER, CONVERSION, VECTOR, GLOBAL_MEMORY, SHARED_MEMORY, PRIVATE, COPIES),
    *(LANES, WAITS, CONTROL),
)
"""In the order of tables."""
ACCESSES = {"load", "store", "atomic", "cmpxchg"}
SPACES = {Space.GLOBAL: GLOBAL_MEMORY, Space.LDS: SHARED_MEMORY, Space.CLUSTER: SHARED_MEMORY, Space.PRIVATE: PRIVATE}
BY_INSTRUCTION = {
    "tensor_copy": COPIES,
    "tensor_store": COPIES,
    "shuffle": LANES,
    "readlane": LANES,
    "ballot": LANES,
    "vote": LANES,
    "wavereduce": LANES,
    "mbcnt": LANES,
    "fence": WAITS,
    "products_end": WAITS,
    "proxy_fence": WAITS,
    "stores_end": WAITS,
}
CONVERSIONS = {
    *("arith.extf", "arith.truncf", "arith.extsi", "arith.extui", "arith.trunci", "arith.bitcast", "arith.sitofp"),
    *("arith.uitofp", "arith.fptosi", "arith.fptoui", "arith.index_cast", "arith.index_castui", "index.casts"),
    *("index.castu", "llvm.sext", "llvm.zext", "llvm.trunc", "llvm.fpext", "llvm.fptrunc", "llvm.bitcast"),
    *("llvm.ptrtoint", "llvm.inttoptr", "llvm.addrspacecast"),
}
CONTROLS = "scf", "cf", "func", "affine.for", "affine.if"
BARRIERS = (
    *("gpu.barrier", "nvvm.barrier", "nvvm.barrier0", "rocdl.barrier", "rocdl.s.barrier"),
    *("nvvm.mbarrier", "nvvm.cluster"),
)
TWO_FLOPS = {"math.fma", "vector.fma"}
NO_FLOPS = {"arith.cmpf", "arith.select", "arith.negf", "math.absf", "math.copysign"}
MATRIX_LANES = {"wgmma": 128}
"""Lanes that one matrix instruction is of, where that is not a wave."""


def counted_operation(op: Operation, made: Sequence[Instruction], wave_size: int) -> CountedOperation:
    """An operation that became the instructions `made`."""
    for instruction in made:
        product: Product | None = instruction.extra.get("about")
        if product is not None:
            lanes = MATRIX_LANES.get(instruction.name, wave_size)
            flops = 2 * prod(product.shape) * product.blocks // lanes
            return CountedOperation(MATRIX, op.location, flops, f"matrix {product.types[0]}")
        if instruction.name in ACCESSES and not op.name.startswith(BARRIERS):
            # where only the address tells, most such pointers are to global memory
            return CountedOperation(SPACES.get(instruction.extra["space"], GLOBAL_MEMORY), op.location)
        if instruction.name in BY_INSTRUCTION:
            return CountedOperation(BY_INSTRUCTION[instruction.name], op.location)
    return _by_name(op)


def _by_name(op: Operation) -> CountedOperation:
    if op.name.startswith(BARRIERS):
        return CountedOperation(WAITS, op.location)
    if op.name in CONVERSIONS:
        return CountedOperation(CONVERSION, op.location)
    if op.name.startswith(CONTROLS):
        return CountedOperation(CONTROL, op.location)
    # what is computed with: results of comparisons are no floats
    floats = [type for value in op.operands if (type := _element(value.type)) is not None]
    if floats and op.name.startswith(("arith.", "math.", "vector.fma", "vector.reduction", "vector.contract")):
        return CountedOperation(FLOAT, op.location, _flops(op), str(floats[0]))
    return CountedOperation(VECTOR if op.name.startswith("vector.") else INTEGER, op.location)


def _element(type: Attribute) -> AnyFloat | None:
    if isinstance(type, VectorType):
        type = cast(VectorType[Attribute], type).element_type
    return type if isinstance(type, AnyFloat) else None


def _flops(op: Operation) -> int:
    if op.name in NO_FLOPS:
        return 0
    if isinstance(op, vector.ContractionOp):
        return 2 * prod(op.sizes.values())
    type = op.operands[0].type
    elements = prod(type.get_shape()) if isinstance(type, VectorType) else 1
    return elements * (2 if op.name in TWO_FLOPS else 1)
