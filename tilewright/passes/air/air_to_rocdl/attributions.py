"""Buffers of a kernel become memory of its blocks (L2) and its threads (L1)."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, FixedBitwidthType, IndexType, IntegerAttr, MemRefType, NoneAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.device.gpu_targets import GpuTarget, Vendor
from tilewright.dialects import memref
from tilewright.dialects.air.types import MemorySpace, memory_space
from tilewright.dialects.gpu.attributes import AddressSpace, AddressSpaceAttr
from tilewright.dialects.gpu.launches import LaunchOp
from tilewright.ir.diagnostics import fail_op
from tilewright.rewrite.folding.air_views import VIEWS

SHARED, PRIVATE = MemorySpace.L2, MemorySpace.L1
_SPACES: dict[Vendor, dict[int, Attribute]] = {
    Vendor.AMD: {SHARED: IntegerAttr(3, i64), PRIVATE: IntegerAttr(5, i64)},  # address spaces of the AMDGPU target
    Vendor.NVIDIA: {
        SHARED: AddressSpaceAttr(AddressSpace.WORKGROUP),
        PRIVATE: AddressSpaceAttr(AddressSpace.PRIVATE),
    },
}


def attribute_buffers(launch: LaunchOp, target: GpuTarget) -> None:
    """Replace what a kernel allocates by memory that it has from the start."""
    shared_bytes = 0
    for op in [found for found in launch.walk() if isinstance(found, memref.AllocOp)]:
        type = op.memref.type
        level = _level_of(op, type)
        if level == SHARED:
            shared_bytes += _size_bytes(op, type)
            _check_limit(op, shared_bytes, target)
        buffer_type = MemRefType(type.element_type, type.get_shape(), NoneAttr(), _SPACES[target.vendor][level])
        add = launch.add_workgroup_buffer if level == SHARED else launch.add_private_buffer
        _replace(op, add(buffer_type))


def _level_of(op: memref.AllocOp, type: MemRefType) -> int:
    level = memory_space(type)
    if level is None or level not in (SHARED, PRIVATE):
        fail_op(
            op,
            "allocates global memory in a kernel",
            (op, "allocate it before the launch and pass it in, or give it memory space 1 (block) or 2 (thread)"),
        )
    return level


def _size_bytes(op: memref.AllocOp, type: MemRefType) -> int:
    element = type.element_type
    bits = 64 if isinstance(element, IndexType) else element.bitwidth if isinstance(element, FixedBitwidthType) else 0
    if DYNAMIC_INDEX in type.get_shape() or not bits:
        fail_op(op, f"needs memory of unknown size for {type}", (op, "memory of a block has a known size"))
    return prod(type.get_shape()) * -(-bits // 8)


def _check_limit(op: memref.AllocOp, shared_bytes: int, target: GpuTarget) -> None:
    if shared_bytes > target.shared_bytes:
        fail_op(
            op,
            f"brings the memory of a block to {shared_bytes} bytes; {target.chip} has {target.shared_bytes}",
            (op, "use smaller tiles, or use one buffer for several purposes"),
        )


def _replace(op: memref.AllocOp, buffer: SSAValue) -> None:
    for use in list(op.memref.uses):
        if isinstance(use.operation, memref.DeallocOp):
            Rewriter.erase_op(use.operation)
    space = cast(MemRefType, buffer.type).memory_space
    op.memref.replace_all_uses_with(buffer)
    Rewriter.erase_op(op)
    for view in list(_views_of(buffer)):
        result = view.results[0]
        type = cast(MemRefType, result.type)
        moved = MemRefType(type.element_type, type.get_shape(), type.layout, space)
        Rewriter.replace_value_with_new_type(result, moved)


def _views_of(buffer: SSAValue) -> Iterator[Operation]:
    """The views of a buffer and the views of those; whatever else makes a memref of it would hide where it is."""
    for use in buffer.uses:
        op = use.operation
        if op.name in VIEWS:
            yield op
            yield from _views_of(op.results[0])
        elif any(isinstance(result.type, MemRefType) for result in op.results):
            fail_op(op, "passes on memory of a block or a thread", (op, "name the buffer itself where it is used"))
