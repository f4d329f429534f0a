"""Memory of blocks: of the block itself, or of the device, a part for each block, where that has no room.

`air.shared` is memory of the block itself. What an allocation in a segment becomes is decided here, and so is the
memory that operations need for themselves beside it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType, i8, i64
from xdsl.ir import SSAValue

from tilewright.air.arrays import Array, Region, buffer_type, product_of
from tilewright.air.dtypes import DType
from tilewright.air.micro_tiles import PackedShape
from tilewright.air.trace import OpenLevel, at_start, current, in_herd
from tilewright.dialects import memref as ops
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.types import MemorySpace
from tilewright.dialects.gpu import memory as gpu
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import InsertionPoint, build
from tilewright.iron.builders.scalars import ScalarValue, as_index
from tilewright.support.tracebacks import user_facing

PART_BYTES = 256
"""Parts of blocks begin at multiples of it, as memory of the device does."""


@user_facing
class BlockArray(Array):
    """An array that the waves of a block share, wherever it is; `packed` is its packed shape, if it has one."""

    def __init__(self, ssa: SSAValue, dtype: DType, shape: tuple[int, ...], packed: PackedShape | None = None):
        super().__init__(ssa, dtype, shape)
        self.packed, self.is_released = packed, False

    def __setitem__(self, key: Any, value: Any) -> None:
        whole = cast("tuple[Any, ...]", key) if isinstance(key, tuple) else (key,)
        if self.packed is not None and all(isinstance(part, slice) and part == slice(None) for part in whole):
            from tilewright.air.tile_transfers import store_tile  # it imports this module

            store_tile(value, self.here())
        else:
            super().__setitem__(key, value)

    def indices(self, keys: Sequence[Any]) -> list[SSAValue]:
        refuse_released(self)
        return super().indices(keys)

    def here(self) -> Region:
        """What a point of a herd works on: all of it, or of a packed array its rows and columns."""
        return Region.whole(self) if self.packed is None else _slab(self, self.packed.lead)


def refuse_released(buffer: Any) -> None:
    """Refuse to use what `air.dealloc` was told of."""
    if buffer.is_released:
        refuse(f"{buffer!r} is used behind its `air.dealloc`", (None, "move the `air.dealloc` down, or leave it out"))


def _slab(array: Array, lead: tuple[int, ...]) -> Region:
    herd = in_herd("a part for each point of a herd")
    ones = len(lead) - len(herd.grid)
    if lead != (*herd.grid, *(1,) * ones):
        sizes = " x ".join(map(str, herd.grid)) or "no"
        refuse(
            f"leading dimensions {lead} are no part for each point of a herd of {sizes} points",
            (None, f"allocate it with `lead={herd.grid}`" if herd.grid else "write it in an `air.herd(...)`"),
        )
    return Region.of(array, [*herd.point, *(0 for _ in range(ones)), slice(None), slice(None)])


def allocated(home: OpenLevel, shape: tuple[int, ...], dtype: DType, space: MemorySpace) -> SSAValue:
    """Memory of a lane or of a block, from the start of a level on."""
    if space == MemorySpace.L2:
        _launch().shared_bytes += _size_bytes(shape, dtype)
    type = buffer_type(shape, dtype, IntegerAttr(int(space), i64))
    return at_start(home.block, lambda: build(ops.AllocOp, results=[type]).results[0])


def segment_memory(shape: tuple[int, ...], dtype: DType, packed: PackedShape | None = None) -> BlockArray:
    """An array of a segment, which lies in memory of the device if the block has no room for it."""
    _launch().has_segment_memory = True
    return BlockArray(_memory(shape, dtype), dtype, shape, packed)


def room_for(shape: tuple[int, ...], dtype: DType) -> Array:
    """What an operation needs for itself; beside memory of segments, which may be large, it may be anywhere."""
    return BlockArray(_memory(shape, dtype), dtype, shape)


def _memory(shape: tuple[int, ...], dtype: DType) -> SSAValue:
    launch, home = _launch(), current().inner("segment", "launch")
    assert home is not None, "a launch is open"
    is_full = launch.shared_bytes + _size_bytes(shape, dtype) > current().target.shared_bytes
    if launch.has_segment_memory and is_full:
        return _device_part(launch, shape, dtype)
    return allocated(home, shape, dtype, MemorySpace.L2)


def _launch() -> OpenLevel:
    launch = current().inner("launch")
    if launch is None:
        refuse("memory of a block is for blocks", (None, "allocate it in a function under `@air.launch(...)`"))
    return launch


def _size_bytes(shape: tuple[int, ...], dtype: DType) -> int:
    return prod(shape) * dtype.itemsize


def _device_part(launch: OpenLevel, shape: tuple[int, ...], dtype: DType) -> SSAValue:
    """A part of memory of the device for each block."""
    part_bytes = -(-_size_bytes(shape, dtype) // PART_BYTES) * PART_BYTES
    with before_launch(launch) as blocks:
        whole = launch_memory(launch, MemRefType(i8, [DYNAMIC_INDEX]), [blocks * part_bytes]).memref

    def part() -> SSAValue:
        type, start = buffer_type(shape, dtype), block_number(launch) * part_bytes
        return build(ops.ViewOp, results=[type], source=whole, byte_shift=start, sizes=[]).result

    return at_start(launch.block, part)


@contextmanager
def before_launch(launch: OpenLevel) -> Generator[ScalarValue]:
    """Build what the host does before a launch; gives how many blocks that has."""
    with InsertionPoint(launch.op):
        blocks: Any = product_of([ScalarValue(extent) for extent in cast(Hierarchy, launch.op).extents])
        yield as_index(blocks)


def launch_memory(launch: OpenLevel, type: MemRefType[Any], sizes: Sequence[ScalarValue]) -> gpu.AllocOp:
    """Memory of the device that the host allocates here, before a launch, and frees behind it."""
    made = build(gpu.AllocOp, results=[type], dynamic_sizes=sizes)
    assert launch.op.parent is not None, "it stands in a function"
    with InsertionPoint.before_op(launch.op.next_op, launch.op.parent):
        build(gpu.DeallocOp, memref=made.memref)
    return made


def block_number(launch: OpenLevel) -> ScalarValue:
    """The number of a block among those of its launch."""
    op = cast(Hierarchy, launch.op)
    number: Any = 0
    for id, size in zip(op.ids, op.size_arguments, strict=True):
        number = ScalarValue(id) + number * ScalarValue(size)
    return as_index(number)
