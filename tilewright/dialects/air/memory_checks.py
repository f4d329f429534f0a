"""Which memory the operations inside a segment or a herd may use."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation, Region, SSAValue

from tilewright.dialects.air.types import MemorySpace, is_symmetric, memory_space, space_text
from tilewright.ir.diagnostics import VerifyError

DIRECT_ACCESSES = {
    "affine.load": 0,
    "affine.store": 1,
    "memref.load": 0,
    "memref.store": 1,
    "vector.load": 0,
    "vector.store": 1,
    "vector.transfer_read": 0,
    "vector.transfer_write": 1,
}
"""What becomes a load or store instruction of a core, and which operand is the buffer."""

GPU_PROGRAM = "gpu.container_module"
"""On a module: this is a program for GPUs, whose processing elements reach all memory."""


def verify_allocations(op: Operation, body: Region, minimum: MemorySpace) -> None:
    """Buffers made inside `op` are at least as local as `minimum`."""
    for inner in body.walk():
        if inner.name != "memref.alloc" or is_symmetric(inner.results[0].type):
            continue
        space = memory_space(inner.results[0].type)
        if space is not None and space < minimum:
            named = space_text(space)
            found = f"memory space {named}" if named is not None else f"numeric memory space {space}"
            raise VerifyError(
                f"memref.alloc inside {op.name} must have memory space >= {minimum.name}, but found {found}",
                (op, f"give the buffer memory space {int(minimum)} ({minimum.name})"),
                at=inner,
            )


def verify_direct_accesses(herd: Operation, body: Region) -> None:
    """A core loads from and stores to its own memory only."""
    if _is_for_gpu(herd):
        return
    for inner, buffer in _direct_accesses(body):
        space = memory_space(buffer.type)
        if space is not None and space < MemorySpace.L1:
            raise VerifyError(
                f"inside 'air.herd' accesses memref with memory_space {space_text(space) or space}; AIE core tiles "
                "can only access L1 or more local memory directly. Use air.dma_memcpy_nd to stage data first.",
                (herd, f"a program for GPUs says so with the attribute {GPU_PROGRAM} on its module"),
                at=inner,
            )


def _direct_accesses(body: Region) -> Iterator[tuple[Operation, SSAValue]]:
    for op in body.walk():
        index = DIRECT_ACCESSES.get(op.name)
        if index is not None:
            yield op, op.operands[index]


def _is_for_gpu(op: Operation) -> bool:
    parent: Operation | None = op
    while parent is not None:
        if GPU_PROGRAM in parent.attributes:
            return True
        parent = parent.parent_op()
    return False
