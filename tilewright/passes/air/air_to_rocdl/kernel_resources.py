"""Resources of a kernel: its grid, the shape of its blocks, and memory of blocks (L2) and threads (L1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.device.gpu_targets import GpuTarget, Vendor
from tilewright.dialects import arith, memref
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.levels import HerdOp
from tilewright.dialects.air.types import MemorySpace, memory_space
from tilewright.dialects.gpu.attributes import AddressSpace, AddressSpaceAttr
from tilewright.dialects.gpu.kernels import CLUSTER_SIZE
from tilewright.dialects.gpu.launches import LaunchOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.traversal import all_operations, ops_of
from tilewright.passes.air.buffer_homes import size_bytes
from tilewright.rewrite.effects import is_pure
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.air_views import VIEWS
from tilewright.rewrite.folding.constants import scalar_int

DIMENSIONS = 3
HERD_DIMENSIONS = 2
SHARED, PRIVATE = MemorySpace.L2, MemorySpace.L1
_SPACES: dict[Vendor, dict[int, Attribute]] = {
    Vendor.AMD: {SHARED: IntegerAttr(3, i64), PRIVATE: IntegerAttr(5, i64)},  # address spaces of the AMDGPU target
    Vendor.NVIDIA: {
        SHARED: AddressSpaceAttr(AddressSpace.WORKGROUP),
        PRIVATE: AddressSpaceAttr(AddressSpace.PRIVATE),
    },
}


class Outside:
    """Values of a hierarchy's body, computed anew before the hierarchy starts."""

    def __init__(self, root: Hierarchy, emitter: Emitter):
        self._root, self._emitter = root, emitter
        self._known: dict[SSAValue, SSAValue | None] = {}

    def value(self, value: SSAValue) -> SSAValue | None:
        """What `value` is; None if it differs from one point of the hierarchy to another."""
        if value not in self._known:
            self._known[value] = self._computed(value)
        return self._known[value]

    def _computed(self, value: SSAValue) -> SSAValue | None:
        owner = value.owner
        # an argument of a body is what was passed in, level by level
        if isinstance(value, BlockArgument):
            parent = value.block.parent_op()
            if parent is None or not (parent is self._root or self._root.is_ancestor(parent)):
                return value
            outer = parent.tied_operand(value) if isinstance(parent, Hierarchy) else None
            return outer if outer is None or parent is self._root else self.value(outer)
        assert isinstance(owner, Operation) and isinstance(value, OpResult)
        if not self._root.is_ancestor(owner):
            return value
        number = scalar_int(value)
        if number is not None:
            return self._emitter.constant(number, value.type)
        return self._copied(owner, value)

    def _copied(self, op: Operation, value: OpResult) -> SSAValue | None:
        operands = [self.value(operand) for operand in op.operands]
        # what is computed before the launch must give the same there, and change nothing
        if op.regions or not is_pure(op) or None in operands:
            return None
        copy = op.clone()
        copy.operands = [operand for operand in operands if operand is not None]
        return self._emitter.insert(copy).results[value.index]


def grid_sizes(op: Hierarchy, is_launch: bool, emitter: Emitter) -> list[SSAValue]:
    """Blocks in each dimension; what is launched without a launch is one block."""
    sizes = list(op.extents) if is_launch else []
    if len(sizes) > DIMENSIONS:
        fail_op(op, f"has {len(sizes)} dimensions; a grid has {DIMENSIONS}", (op, "merge some of them"))
    return _filled(sizes, emitter)


def cluster_size(op: Hierarchy) -> Sequence[int]:
    """How many neighbours in each dimension of the grid run together and see each other's memory; none if unsaid."""
    found = op.attributes.get(CLUSTER_SIZE)
    if found is None:
        return ()
    if isinstance(found, DenseArrayBase):
        written = cast("DenseArrayBase[IntegerType]", found)
        sizes = tuple(written.get_values()) if written.elt_type == i32 else ()
        if len(sizes) == DIMENSIONS and all(size >= 1 for size in sizes):
            return sizes
    fail_op(op, f"has no size of clusters in '{CLUSTER_SIZE}'", (op, "give three sizes, as in array<i32: 2, 1, 1>"))


def _filled(sizes: Sequence[SSAValue], emitter: Emitter) -> list[SSAValue]:
    return [*sizes, *(emitter.index(1) for _ in range(DIMENSIONS - len(sizes)))]


class BlockShape:
    """The threads of a block: waves for the largest herd in each dimension."""

    def __init__(self, root: Hierarchy, herds: Sequence[HerdOp], wave_size: int, target: GpuTarget, emitter: Emitter):
        self._outside, self._emitter = Outside(root, emitter), emitter
        self._wave_size, self._target = wave_size, target
        self._shapes = {herd: self._herd_shape(herd) for herd in herds}

    @property
    def sizes(self) -> list[SSAValue]:
        if not self._shapes:
            return _filled([], self._emitter)
        width, height = (
            reduce(self._larger, [shape[dimension] for shape in self._shapes.values()])
            for dimension in range(HERD_DIMENSIONS)
        )
        threads = self._emitter.folded_product(width, self._emitter.index(self._wave_size))
        # only where both are constants; drivers refuse the others
        self._check_limit(threads, height)
        return [threads, height, self._emitter.index(1)]

    def is_smaller(self, herd: HerdOp, dimension: int) -> bool:
        """Whether some waves of the block may be no processing elements of a herd."""
        own = scalar_int(self._shapes[herd][dimension])
        sizes = {scalar_int(shape[dimension]) for shape in self._shapes.values()}
        same = len({shape[dimension] for shape in self._shapes.values()}) == 1
        return not same and (own is None or sizes != {own})

    def _herd_shape(self, herd: HerdOp) -> tuple[SSAValue, SSAValue]:
        if not 1 <= len(herd.extents) <= HERD_DIMENSIONS:
            fail_op(herd, f"has {len(herd.extents)} dimensions; herds of one or two dimensions run on GPUs")
        sizes = [self._outside.value(size) for size in herd.extents]
        known = [size for size in sizes if size is not None]
        if len(known) != len(sizes):
            fail_op(
                herd,
                "has a size that depends on where in the launch it is",
                (herd, "all blocks of a launch have the same number of threads"),
            )
        return known[0], known[1] if len(known) > 1 else self._emitter.index(1)

    def _larger(self, first: SSAValue, second: SSAValue) -> SSAValue:
        numbers = scalar_int(first), scalar_int(second)
        if first is second or (numbers[0] is not None and numbers[0] == numbers[1]):
            return first
        if numbers[0] is not None and numbers[1] is not None:
            return first if numbers[0] > numbers[1] else second
        return self._emitter.value(arith.MaxUIOp(first, second))

    def _check_limit(self, threads: SSAValue, height: SSAValue) -> None:
        numbers = scalar_int(threads), scalar_int(height)
        if numbers[0] is None or numbers[1] is None:
            return
        total, limit = numbers[0] * numbers[1], self._target.max_block_threads
        if total > limit:
            herd = max(self._shapes, key=self._known_points)
            fail_op(
                herd,
                f"needs a block of {total} threads, {self._wave_size} for each processing element; "
                f"{self._target.chip} has at most {limit}",
                (herd, f"a herd of at most {limit // self._wave_size} processing elements fits"),
            )

    def _known_points(self, herd: HerdOp) -> int:
        width, height = self._shapes[herd]
        return (scalar_int(width) or 1) * (scalar_int(height) or 1)


def attribute_buffers(launch: LaunchOp, target: GpuTarget) -> None:
    """Replace what a kernel allocates by memory that it has from the start."""
    shared_bytes = 0
    for op in ops_of(all_operations(launch), memref.AllocOp):
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
    size = size_bytes(type)
    if size is None:
        fail_op(op, f"needs memory of unknown size for {type}", (op, "memory of a block has a known size"))
    return size


def _check_limit(op: memref.AllocOp, shared_bytes: int, target: GpuTarget) -> None:
    if shared_bytes > target.shared_bytes:
        fail_op(
            op,
            f"brings the memory of a block to {shared_bytes} bytes; {target.chip} has {target.shared_bytes}",
            (op, "use smaller tiles, or use one buffer for several purposes"),
        )


def _replace(op: memref.AllocOp, buffer: SSAValue) -> None:
    # memory of blocks and threads lives as long as the kernel: nothing frees it
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
