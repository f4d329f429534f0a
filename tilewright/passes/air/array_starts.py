"""Where arrays begin, as far as a program tells: at multiples of how many bytes."""

from __future__ import annotations

from enum import Enum
from math import gcd

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tilewright.dialects import memref
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.types import MemorySpace, memory_space
from tilewright.dialects.gpu.kernels import GPUFuncOp
from tilewright.dialects.gpu.launches import LaunchOp
from tilewright.dialects.gpu.memory import AllocOp
from tilewright.rewrite.folding.divisors import divisor

DEVICE_BYTES = 256
"""What a GPU allocates begins at multiples of that."""
NEAR_BYTES = 16
"""So do buffers of blocks and threads, which the compiler places for the widest access of a lane."""
NEAR = MemorySpace.L1, MemorySpace.L2


class Start(Enum):
    """Whether an array begins at a multiple of some bytes."""

    PROVEN = "the program says so"
    TESTABLE = "the host knows when it launches the kernel"
    UNKNOWN = "a kernel makes it while it runs"


def start_of(buffer: SSAValue, size_bytes: int) -> Start:
    """Whether it is known that `buffer` begins at a multiple of `size_bytes`."""
    if divisor_bytes(buffer) % size_bytes == 0:
        return Start.PROVEN
    return Start.UNKNOWN if _is_in_kernel(passed_buffer(buffer)) else Start.TESTABLE


def passed_buffer(buffer: SSAValue) -> SSAValue:
    """The value that hierarchies were given under the name of a buffer; views have starts of their own."""
    while isinstance(buffer, BlockArgument) and isinstance(level := buffer.block.parent_op(), Hierarchy):
        outer = level.tied_operand(buffer)
        if outer is None:
            break
        buffer = outer
    return buffer


def divisor_bytes(buffer: SSAValue) -> int:
    """A number that the address is known to be a multiple of."""
    buffer = passed_buffer(buffer)
    match buffer.owner:
        case Block() as block if _is_of_block(buffer, block.parent_op()):
            return NEAR_BYTES
        case AllocOp():
            return DEVICE_BYTES
        case memref.AllocOp() if memory_space(buffer.type) in NEAR:
            return NEAR_BYTES
        case memref.AssumeAlignmentOp() as op:
            return max(op.alignment.value.data, divisor_bytes(op.memref))
        case memref.ViewOp() as op:
            return gcd(divisor_bytes(op.source), divisor(op.byte_shift))
        case memref.CastOp() | memref.ExpandShapeOp() | memref.CollapseShapeOp() as op:
            return divisor_bytes(op.operands[0])
        case _:
            return 1


def _is_of_block(buffer: SSAValue, kernel: Operation | None) -> bool:
    """Whether a kernel has a buffer for each of its blocks."""
    return isinstance(kernel, LaunchOp | GPUFuncOp) and buffer in kernel.workgroup_buffers


def _is_in_kernel(value: SSAValue) -> bool:
    owner = value.owner
    op: Operation | None = owner.parent_op() if isinstance(owner, Block) else owner
    while op is not None and not isinstance(op, Hierarchy | LaunchOp):
        op = op.parent_op()
    return op is not None
